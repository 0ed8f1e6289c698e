"""Display of class statistics in two dimensions."""

from numbers import Real

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skgeom._statistics import ClassStatistics, checked_statistics
from skgeom.plotting._display import (
    Display,
    checked_dims,
    component_names,
    fitted_step,
    label_text,
    sparse_labels,
)
from skgeom.utils.methods import on_host
from skgeom.utils.validation import check_array, check_finite, check_labels


class ClassEllipsesDisplay(Display):
    """Display of class means and covariances in two dimensions, as ellipses.

    Use :meth:`from_statistics` or :meth:`from_estimator` to create and draw the
    display.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The class labels.
    means : array-like of shape (n_classes, 2)
        Mean of each class in two dimensions.
    covariances : array-like of shape (n_classes, 2, 2)
        Covariance of each class in two dimensions.
    axis_names : tuple of two str, default=("feature 0", "feature 1")
        Names of the two axes.

    Attributes
    ----------
    ellipses_ : list of matplotlib Ellipse
        The ellipses, one per class.
    means_ : matplotlib PathCollection
        The markers of the means.
    arrows_ : list of matplotlib Quiver
        The arrows, one object for each call of :meth:`plot_filters`.
    ax_ : matplotlib Axes
        The axes of the display.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    DistanceMatrixDisplay : Distances between the classes in all dimensions.
    FilterDisplay : Filters as images.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom import SQFA, ClassStatistics
    >>> from skgeom.plotting import ClassEllipsesDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> statistics = ClassStatistics.from_data(X, y)
    >>> sqfa = SQFA(1, random_state=0).fit_statistics(statistics)
    >>> display = ClassEllipsesDisplay.from_statistics(statistics, dims=(2, 3))
    >>> display = display.plot_filters(sqfa.components_[:, 2:])
    >>> len(display.ellipses_), display.ax_.get_xlabel()
    (3, 'feature 2')

    The class moments of the outputs of a fitted estimator:

    >>> sqfa = SQFA(2, random_state=0).fit(X, y)
    >>> display = ClassEllipsesDisplay.from_estimator(sqfa, X, y)
    >>> display.ax_.get_xlabel()
    'sqfa0'
    """

    def __init__(
        self, classes, means, covariances, axis_names=("feature 0", "feature 1")
    ):
        self.classes = classes
        self.means = means
        self.covariances = covariances
        self.axis_names = axis_names

    @classmethod
    def from_statistics(
        cls, statistics, *, dims=(0, 1), feature_names=None, ax=None, **kwargs
    ):
        """Draw the class statistics of two features.

        Parameters
        ----------
        statistics : ClassStatistics
            The statistics. If they contain only second moments, the means are drawn at
            zero.
        dims : tuple of two ints, default=(0, 1)
            Indices of the two features.
        feature_names : array-like of str of shape (n_features,), default=None
            Names of all features. None uses "feature 0", "feature 1", ...
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Further parameters of :meth:`plot`.

        Returns
        -------
        display : ClassEllipsesDisplay
            The display, which is drawn.

        Raises
        ------
        TypeError
            If ``statistics`` is not a :class:`~skgeom.ClassStatistics`.
        ValueError
            If ``dims`` are not the indices of two different features, or if the number
            of ``feature_names`` differs from the number of features.
        """
        statistics = on_host(checked_statistics(statistics))
        n_features = statistics.n_features
        dims = checked_dims(dims, n_features)
        if feature_names is None:
            feature_names = [f"feature {k}" for k in range(n_features)]
        if len(feature_names) != n_features:
            raise ValueError(
                f"feature_names must have {n_features} names, got {len(feature_names)}."
            )
        names = tuple(str(feature_names[k]) for k in dims)
        moments = _moments_of_two(statistics, dims)
        return cls(statistics.classes, *moments, names).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator, X=None, y=None, *, dims=(0, 1), ax=None, **kwargs
    ):
        """Draw the class moments of two components of a fitted transformer.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer or pipeline. A last step of a pipeline without
            ``transform``, such as a classifier, is omitted.
        X : array-like of shape (n_samples, n_features), default=None
            The samples. None uses the attribute ``statistics_`` of the estimator, for
            example of :class:`~skgeom.SQFA`.
        y : array-like of shape (n_samples,), default=None
            Class labels of the samples.
        dims : tuple of two ints, default=(0, 1)
            Indices of the two components.
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Further parameters of :meth:`plot`.

        Returns
        -------
        display : ClassEllipsesDisplay
            The display, which is drawn.

        Raises
        ------
        TypeError
            If the estimator has no ``transform``, or if X is None and the estimator has
            no ``statistics_``.
        ValueError
            If ``dims`` are not the indices of two different components, or if only one
            of ``X`` and ``y`` is given.
        """
        check_is_fitted(estimator)
        if (X is None) != (y is None):
            raise ValueError("Pass both X and y, or neither: statistics_ is then used.")
        if isinstance(estimator, Pipeline) and not hasattr(estimator, "transform"):
            estimator = estimator[:-1]
        if X is None:
            estimator = fitted_step(estimator, ("statistics_",), "Pass X and y.")
            statistics = estimator.statistics_
        elif not hasattr(estimator, "transform"):
            raise TypeError(
                "estimator must be a transformer, or a pipeline with transformers "
                f"before its last step, got a {type(estimator).__name__}."
            )
        else:
            statistics = ClassStatistics.from_data(estimator.transform(X), y)
        names = component_names(estimator, statistics.n_features)
        return cls.from_statistics(
            statistics, dims=dims, feature_names=names, ax=ax, **kwargs
        )

    def plot(
        self,
        ax=None,
        *,
        n_std=1.0,
        cmap=None,
        legend=True,
        label="class",
    ):
        """Draw the ellipses and the means.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes. Both axes have the same scale,
            unless the ranges of the features differ by more than ten times.
        n_std : float, default=1.0
            Length of the semi-axes of the ellipses, in standard deviations.
        cmap : str or matplotlib Colormap, default=None
            Color map for ordered classes, such as speeds. Numerical labels determine
            the positions in the color map. All other labels are equally spaced. None
            uses matplotlib's color cycle, or "viridis" for more than ten classes.
        legend : bool, default=True
            Whether to draw a legend or, if a color map is used, a color bar.
        label : str, default="class"
            Title of the legend or label of the color bar, such as "speed (deg/s)".

        Returns
        -------
        display : ClassEllipsesDisplay
            The display, with the attributes ``ellipses_``, ``means_``, ``arrows_``,
            ``ax_`` and ``figure_``.

        Raises
        ------
        ValueError
            If ``n_std`` is not positive, if the shape of ``means`` is not (n_classes,
            2), or if the shape of ``covariances`` is not (n_classes, 2, 2).
        """
        if not (isinstance(n_std, Real) and 0 < n_std < np.inf):
            raise ValueError(f"n_std must be positive, got {n_std!r}.")
        means, covariances = self._checked_moments()
        outside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
        new_figure, ax = ax is None, self._set_axes(ax)
        from matplotlib.patches import Ellipse

        colors, mappable = self._colors(cmap)
        self._legend_kw = outside if new_figure and mappable is None else {}
        self.arrows_, self.ellipses_ = [], []
        half_axes, angles = _axes_of_ellipses(covariances)
        for mean, (large, small), angle, color in zip(
            means, n_std * half_axes, angles, colors, strict=True
        ):
            properties = {"edgecolor": color, "facecolor": "none", "linewidth": 1.5}
            ellipse = Ellipse(mean, 2 * large, 2 * small, angle=angle, **properties)
            self.ellipses_.append(ax.add_patch(ellipse))
        self.means_ = ax.scatter(*means.T, s=12, c=colors)
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1], aspect="equal")
        low, high = ax.dataLim.min, ax.dataLim.max
        small, large = np.sort(high - low)
        if 0 < small < large / 10:  # features in different units
            ax.set_aspect("auto")
        else:  # a feature may be constant
            low, high = (low + high) / 2 - large / 20, (low + high) / 2 + large / 20
            ax.update_datalim([low, high])
        ax.autoscale_view()
        if legend and mappable is None:
            for ellipse, name in zip(self.ellipses_, self.classes, strict=True):
                text = label_text(name)  # legends ignore labels that begin with "_"
                ellipse.set_label(f" {text}" if text.startswith("_") else text)
            self._legend_kw["title"] = label
            ax.legend(**self._legend_kw)
        elif legend:
            bar = self.figure_.colorbar(mappable, ax=ax, label=label)
            if np.asarray(self.classes).dtype.kind not in "iuf":
                positions, texts = sparse_labels(self.classes)
                bar.set_ticks(positions, labels=texts)
        return self

    def plot_filters(self, filters, *, color="black", label=None, scale=1.0):
        """Add filters to the display, as arrows that start at the mean of the means.

        Parameters
        ----------
        filters : array-like of shape (n_filters, 2)
            The entries of each filter for the two features of the display.
        color : color, default="black"
            Color of the arrows.
        label : str, default=None
            Label of the filters in the legend. None adds no entry.
        scale : float, default=1.0
            Length of the arrow of a filter of unit norm, in units of the axes.

        Returns
        -------
        display : ClassEllipsesDisplay
            The display, with a new entry of ``arrows_``.

        Raises
        ------
        ValueError
            If a filter does not have two entries.
        """
        check_labels(filters, -1, self.axis_names, "filters", "axis_names")
        filters = check_array(filters, dtype=np.float64, input_name="filters")
        if filters.shape[1] != 2:
            raise ValueError(
                "filters must have two columns, one for each axis, got "
                f"shape {filters.shape}."
            )
        if not hasattr(self, "ax_"):
            self.plot()
        arrows = scale * filters
        starts = np.broadcast_to(np.mean(self.means, axis=0), arrows.shape)
        self.arrows_.append(
            self.ax_.quiver(
                *starts.T,
                *arrows.T,
                angles="xy",
                scale_units="xy",
                scale=1,
                color=color,
                width=0.012,
                label=label,
                zorder=3,
            )
        )
        self.ax_.update_datalim(starts + arrows)
        self.ax_.autoscale_view()
        if label is not None:
            self.ax_.legend(**self._legend_kw)
        return self

    def _checked_moments(self):
        check_labels(self.means, 0, self.classes, "means", "classes")
        means, covariances = np.asarray(self.means), np.asarray(self.covariances)
        n_classes = len(self.classes)
        for name, moments, shape in [
            ("means", means, (n_classes, 2)),
            ("covariances", covariances, (n_classes, 2, 2)),
        ]:
            if moments.shape != shape:
                raise ValueError(
                    f"{name} of {n_classes} classes must have shape "
                    f"{shape}, got {moments.shape}."
                )
            check_finite(moments, name, axis=tuple(range(1, moments.ndim)))
        return means, covariances

    def _colors(self, cmap):
        """Colors of the classes, and the ScalarMappable for a color bar or None."""
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable

        n_classes = len(self.classes)
        if cmap is None and n_classes <= 10:  # the length of matplotlib's color cycle
            return [f"C{k}" for k in range(n_classes)], None
        classes = np.asarray(self.classes)
        values = classes if classes.dtype.kind in "iuf" else np.arange(n_classes)
        cmap = colormaps.get_cmap("viridis" if cmap is None else cmap)
        mappable = ScalarMappable(cmap=cmap)
        mappable.set_array(values.astype(np.float64))
        mappable.autoscale()
        return mappable.to_rgba(values), mappable


def _moments_of_two(statistics, dims):
    """Means and covariances of two features, or zeros and their second moments."""
    block = np.ix_(range(len(statistics.classes)), dims, dims)
    if statistics.means is None:
        moments = statistics.second_moments[block]
        return np.zeros(moments.shape[:2]), moments
    return statistics.means[:, dims], statistics.covariances[block]


def _axes_of_ellipses(covariances):
    """Half axes, larger half axis first, and the angles of the larger half axes."""
    eigenvalues, vectors = np.linalg.eigh(covariances)
    # Rounding may make an eigenvalue of a singular covariance negative.
    half_axes = np.sqrt(np.maximum(eigenvalues[:, ::-1], 0))
    return half_axes, np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))
