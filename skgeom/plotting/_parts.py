"""Display of what separates classes: their means, or their covariances."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skgeom.objectives import DISTANCES, find_distance, parts_of_pairs
from skgeom.plotting._axes import columns_of_grid, new_grid, several_axes, sparse_labels
from skgeom.plotting._distances import SINGULAR, check_noise, label_of_distance
from skgeom.plotting._inputs import check_statistics, fitted_step
from skgeom.utils._validation import check_two_classes


class DistancePartsDisplay:
    r"""What separates each pair of classes: their means, or their covariances.

    In each panel, a cell above the diagonal is the part of the pair's distance that is
    due to the means, and the cell below, mirrored, that due to the covariances. Make it
    with :meth:`from_estimator` or :meth:`from_statistics`, which also draw it.

    Parameters
    ----------
    by_means, by_covariances : array-like of shape (n_panels, n_classes, n_classes)
        The parts, symmetric matrices.
    classes : array-like of shape (n_classes,)
        The labels, in the order of the rows.
    titles : list of str
        One for each panel.
    label : str, default="squared distance"
        What the parts add up to, written next to the colour bar.

    Attributes
    ----------
    images_ : list of matplotlib AxesImage
        The images of the matrices.
    axes_ : ndarray of matplotlib Axes
        The axes they are drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.

    See Also
    --------
    DistanceMatrixDisplay : The distances themselves.
    FilterDisplay : The filters as images.

    Notes
    -----
    The squared distance v of a pair is split, or the value of a divergence, which is no
    root. With the average :math:`\bar\Sigma` of the two covariances,
    :math:`v(\mu, \bar\Sigma)` is what the means alone make of it, and
    :math:`v(0, \Sigma)` the covariances alone. They do not add up to
    :math:`v(\mu, \Sigma)`, so each part is the mean of what it adds to nothing and of
    what it adds to the other:

    .. math::

       v_\mu = \tfrac12 \big( v(\mu, \bar\Sigma) + v(\mu, \Sigma) - v(0, \Sigma)
       \big), \qquad v_\Sigma = v(\mu, \Sigma) - v_\mu

    the Shapley values [1]_ of the two. They add up to v; equal means, or equal
    covariances, have no part; and what linear maps do not change, they do not change.
    For the Bhattacharyya distance these are the two terms of its formula, and for the
    Wasserstein distance the squared difference of the means and that of the
    covariances. A part may be negative: where covariances are large along the
    difference of the means, they bring classes nearer than the means alone would be.

    References
    ----------
    .. [1] L. S. Shapley, "A value for n-person games", Contributions to the Theory of
       Games II, Princeton University Press, 1953.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import SQFA
    >>> from skgeom.plotting import DistancePartsDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> sqfa = SQFA(2, random_state=0).fit(StandardScaler().fit_transform(X), y)
    >>> display = DistancePartsDisplay.from_estimator(sqfa, each_filter=True)
    >>> display.by_means.shape
    (2, 3, 3)
    """

    def __init__(
        self, by_means, by_covariances, classes, titles, label="squared distance"
    ):
        self.by_means = by_means
        self.by_covariances = by_covariances
        self.classes = classes
        self.titles = titles
        self.label = label

    @classmethod
    def from_estimator(
        cls, estimator, *, each_filter=False, regularized=True, axes=None, **kwargs
    ):
        """Draw the parts of the distances between the features of the classes.

        Parameters
        ----------
        estimator : SQFA
            The fitted estimator, or a fitted pipeline with one.
        each_filter : bool, default=False
            Whether to draw a panel for each filter alone, instead of one for all
            together.
        regularized : bool, default=True
            As for :meth:`skgeom.SQFA.class_distances`.
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one for each panel; None for a new figure.
        **kwargs : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : DistancePartsDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no statistics of Gaussian classes and no distance.
        ValueError
            If it compares second moments, which are not split; or if the covariance of
            a class is singular, without regularisation.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        estimator = fitted_step(
            estimator,
            ("class_distances",),
            "Use from_statistics with those of the features, "
            "ClassStatistics.from_data(estimator.transform(X), y).",
        )
        return cls.from_statistics(
            estimator.statistics_,
            estimator._parameters_of_fit["distance"],
            regularization=estimator.regularization_ if regularized else 0.0,
            each_filter=each_filter,
            axes=axes,
            **kwargs,
        )

    @classmethod
    def from_statistics(
        cls,
        statistics,
        distance="fisher-rao",
        *,
        regularization=0.0,
        each_filter=False,
        axes=None,
        **kwargs,
    ):
        """Draw the parts of the distances between classes, given their statistics.

        Parameters
        ----------
        statistics : ClassStatistics
            Those of the features of the classes.
        distance : str, StudentT or callable, default="fisher-rao"
            Distance between two classes, as for :class:`~skgeom.SQFA`.
        regularization : float, default=0.0
            Variance that is added to each feature.
        each_filter : bool, default=False
            Whether to draw a panel for each feature alone.
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one for each panel; None for a new figure.
        **kwargs : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : DistancePartsDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If ``statistics`` is no :class:`~skgeom.ClassStatistics`.
        ValueError
            If the distance is none of means and covariances, if there is one class
            only, if the statistics have no means, or if the covariance of a class is
            singular without regularisation.
        """
        check_matplotlib_support(f"{cls.__name__}.from_statistics")
        check_statistics(statistics)
        check_two_classes(statistics.classes, cls.__name__)
        check_noise(regularization)
        if statistics.means is None or (
            isinstance(distance, str) and distance not in DISTANCES
        ):
            raise ValueError(
                "Second moments are not split into means and covariances. Give "
                "statistics with means, and one of the distances of SQFA: "
                f"{sorted(DISTANCES)}."
            )
        kind = find_distance(distance, DISTANCES)
        n_features = statistics.n_features
        axes_of_panels, titles = [np.eye(n_features)], ["all filters"]
        if each_filter:
            axes_of_panels = np.eye(n_features)[:, None]
            titles = [f"filter {k}" for k in range(n_features)]
        parts = [
            _parts(statistics.project(part), kind, regularization)
            for part in axes_of_panels
        ]
        by_means, by_covariances = map(np.stack, zip(*parts, strict=True))
        label = label_of_distance(distance)
        if kind.returns_square:
            label = f"squared {label}"
        display = cls(by_means, by_covariances, statistics.classes, titles, label)
        return display.plot(axes=axes, **kwargs)

    def plot(self, *, axes=None, cmap="viridis", colorbar=True, im_kw=None):
        """Draw the parts, all panels in one scale of colours.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one for each panel; None for a new figure.
        cmap : str or matplotlib Colormap, default="viridis"
            The colour map, which begins at zero.
        colorbar : bool, default=True
            Whether to draw a colour bar.
        im_kw : dict, default=None
            Other parameters of matplotlib's ``imshow``.

        Returns
        -------
        display : DistancePartsDisplay
            This object, with the attributes ``images_``, ``axes_`` and ``figure_``.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        n_panels, n_classes, _ = np.shape(self.by_means)
        upper = np.triu(np.ones((n_classes, n_classes), dtype=bool))
        panels = np.where(upper, self.by_means, self.by_covariances)
        panels[:, range(n_classes), range(n_classes)] = np.nan
        if axes is None:
            axes = new_grid(n_panels, columns_of_grid(n_panels), 2.8, 2.6)
        self.axes_ = several_axes(axes, n_panels, "panels")
        self.figure_, self.images_ = self.axes_[0].figure, []
        positions, texts = sparse_labels(self.classes)
        largest = np.nanmax(panels, initial=0)
        colours = {"cmap": cmap, "vmin": 0, "vmax": largest if largest > 0 else 1.0}
        for ax, panel, title in zip(self.axes_, panels, self.titles, strict=True):
            self.images_.append(ax.imshow(panel, **colours | (im_kw or {})))
            ends = [-0.5, n_classes - 0.5]
            ax.plot(ends, ends, color="black", linewidth=1)
            ax.set_xticks(positions, texts)
            ax.set_yticks(positions, texts)
            ax.set_title(title, fontsize="medium")
        if colorbar:
            label = (
                f"part of the {self.label}\n"
                "(above the diagonal: of the means, below: of the covariances)"
            )
            self.figure_.colorbar(self.images_[0], ax=list(self.axes_), label=label)
        return self


def _parts(statistics, kind, regularization):
    """Parts by the means and by the covariances of the classes."""
    means = statistics.means
    if kind.translation_invariant:
        means = means - means.mean(axis=0)
    noise = regularization * np.eye(statistics.n_features)
    try:
        _, *parts = parts_of_pairs(kind, means, statistics.covariances + noise)
    except np.linalg.LinAlgError:
        raise ValueError(SINGULAR) from None
    return parts
