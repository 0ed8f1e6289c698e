"""Display of the decision regions of a classifier in a two-dimensional projection."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skgeom.plotting._display import (
    Display,
    checked_dims,
    component_names,
    label_text,
)
from skgeom.utils.array_api import to_numpy

_MARGIN = 0.05  # of the range of the samples, on each side


class DecisionRegionsDisplay(Display):
    r"""Display of the decision regions of a classifier in a 2-D projection.

    Use :meth:`from_estimator` to create and draw the display. The classifier is not
    fitted to the two components z: the display shows what the fitted classifier
    predicts for the features

    .. math:: x(z) = \bar x + C_{xz} C_{zz}^{-1} (z - \bar z) ,

    the linear regression of the samples on their components, with the covariances
    :math:`C_{xz}` and :math:`C_{zz}`. If the classifier itself uses two components
    only, x(z) = z.

    Parameters
    ----------
    grid : tuple of two ndarrays of shape (n,) and (m,)
        Coordinates of the columns and rows of the grid.
    regions : ndarray of shape (m, n)
        Predictions for the points of the grid.
    components : ndarray of shape (n_samples, 2)
        Components of the samples.
    predictions : ndarray of shape (n_samples,)
        Predictions for the samples.
    classes : ndarray of shape (n_classes,)
        The class labels. All other predictions are rejections.
    y : ndarray of shape (n_samples,), default=None
        Class labels of the samples. None colors the samples by their predictions.
    axis_names : tuple of two str, default=("component 0", "component 1")
        Names of the two axes.

    Attributes
    ----------
    regions_ : matplotlib QuadMesh
        The decision regions. Points that the classifier rejects are white.
    points_ : list of matplotlib PathCollection
        The accepted samples of each class, then the rejected samples, as crosses.
    ax_ : matplotlib Axes
        The axes of the display.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    ClassEllipsesDisplay : Means and covariances of the classes in two dimensions.
    skgeom.CovarianceHessianProjection : 2-D projection of a classifier.
    sklearn.inspection.DecisionBoundaryDisplay : Classifiers of two features.

    Examples
    --------
    A support vector machine of four features in the plane of two SQFA filters:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skgeom import SQFA
    >>> from skgeom.plotting import DecisionRegionsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = DecisionRegionsDisplay.from_estimator(
    ...     SVC().fit(X, y), X, y, projection=SQFA(2, random_state=0).fit(X, y)
    ... )
    >>> display.regions.shape, display.ax_.get_xlabel()
    ((200, 200), 'sqfa0')
    """

    def __init__(
        self,
        *,
        grid,
        regions,
        components,
        predictions,
        classes,
        y=None,
        axis_names=("component 0", "component 1"),
    ):
        self.grid = grid
        self.regions = regions
        self.components = components
        self.predictions = predictions
        self.classes = classes
        self.y = y
        self.axis_names = axis_names

    def plot(self, ax=None, *, legend=True, **kwargs):
        """Draw the decision regions and the samples.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        legend : bool, default=True
            Whether to draw a legend.
        **kwargs : dict
            Properties of the regions, for matplotlib's ``pcolormesh``.

        Returns
        -------
        display : DecisionRegionsDisplay
            The display, with the attributes ``regions_``, ``points_``, ``ax_`` and
            ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If ``ax`` is not a matplotlib Axes.
        """
        ax = self._set_axes(ax)
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap

        classes = np.asarray(self.classes)
        few = len(classes) <= 10
        colors = colormaps["tab10" if few else "viridis"]
        colors = colors(np.arange(10) if few else np.linspace(0, 1, len(classes)))
        colors = colors[: len(classes)]
        chosen = _positions(self.regions, classes)
        properties = {"alpha": 0.25, "rasterized": True, "shading": "nearest"}
        properties |= {"vmin": 0, "vmax": max(len(classes) - 1, 1)}
        properties |= {"cmap": ListedColormap(colors)} | kwargs
        chosen = np.ma.masked_equal(chosen, -1)
        self.regions_ = ax.pcolormesh(*self.grid, chosen, **properties)
        rejected = _positions(self.predictions, classes) < 0
        shown = self.predictions if self.y is None else self.y
        shown = _positions(shown, classes)
        marks = {"s": 12, "linewidths": 0.8}
        self.points_ = []
        for k, label in enumerate(classes):
            points = self.components[(shown == k) & ~rejected]
            name = {"label": label_text(label)}
            self.points_.append(ax.scatter(*points.T, color=colors[k], **marks, **name))
        if rejected.any():
            points = self.components[rejected]
            edges = [colors[k] if k >= 0 else "gray" for k in shown[rejected]]
            style = {"c": edges, "marker": "x", "label": "rejected"}
            self.points_.append(ax.scatter(*points.T, **marks, **style))
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        if legend:
            ax.legend(fontsize="small")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        projection=None,
        dims=(0, 1),
        resolution=200,
        ax=None,
        **kwargs,
    ):
        """Draw the decision regions of a fitted classifier.

        Parameters
        ----------
        estimator : classifier or Pipeline
            A fitted classifier. Rejections of a :class:`~skgeom.RejectionClassifier`
            are drawn as white regions and crosses.
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Class labels of the samples. None colors the samples by their predictions.
        projection : transformer, default=None
            A fitted linear transformer of X, such as
            :class:`~skgeom.CovarianceHessianProjection`. None uses the transformers of
            the pipeline ``estimator``, which may be nonlinear, and the regions are
            those of its last step, or the features themselves if the estimator is not a
            pipeline.
        dims : tuple of two ints, default=(0, 1)
            Indices of the two components.
        resolution : int, default=200
            Number of rows and of columns of the grid.
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Further parameters of :meth:`plot`.

        Returns
        -------
        display : DecisionRegionsDisplay
            The display, which is drawn.

        Raises
        ------
        TypeError
            If the estimator is not a classifier, or ``projection`` has no
            ``transform``.
        ValueError
            If ``dims`` are not the indices of two different components; if ``y``
            contains other labels than the classes; if the samples vary in less than
            two directions of the projection; or if ``projection`` is not linear.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "classes_"):
            kind = type(estimator).__name__
            raise TypeError(f"estimator must be a classifier, got a {kind}.")
        classifier, predictions = estimator, to_numpy(estimator.predict(X))
        if projection is not None and not hasattr(projection, "transform"):
            kind = type(projection).__name__
            raise TypeError(f"projection must be a transformer, got a {kind}.")
        features = Z = X
        if projection is not None:
            Z = projection.transform(X)
        elif isinstance(estimator, Pipeline) and len(estimator) > 1:
            projection, classifier = estimator[:-1], estimator[-1]
            features = Z = projection.transform(X)
        values, Z = _matrix(features), _matrix(Z)
        if projection is None:
            columns = getattr(X, "columns", None)
            names = [f"feature {k}" for k in range(Z.shape[1])]
            names = names if columns is None else [str(name) for name in columns]
        else:
            names = component_names(projection, Z.shape[1])
        dims = checked_dims(dims, Z.shape[1])
        components = Z[:, dims]
        axis_names = names[dims[0]], names[dims[1]]
        lift = _regression(values, components, axis_names)
        low, high = components.min(axis=0), components.max(axis=0)
        low, high = low - _MARGIN * (high - low), high + _MARGIN * (high - low)
        grid = tuple(np.linspace(low, high, resolution).T)
        points = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
        lifted = _like(features, lift(points))
        if projection is not None and features is X:
            # The regions belong to z only if x(z) has the components z.
            again = _matrix(projection.transform(lifted))[:, dims]
            if np.abs(again - points).max() > 1e-3 * (high - low).max():
                raise ValueError(
                    "projection must be linear, but the features that belong to two "
                    "components have different components. Pass a linear transformer "
                    "such as PCA(2).fit(X), or, as estimator, a pipeline of the "
                    "nonlinear transformer and a classifier."
                )
        regions = to_numpy(classifier.predict(lifted)).reshape(resolution, resolution)
        classes = to_numpy(classifier.classes_)
        display = cls(
            grid=grid,
            regions=regions,
            components=components,
            predictions=predictions,
            classes=classes,
            y=None if y is None else _known_labels(y, len(Z), classes),
            axis_names=axis_names,
        )
        return display.plot(ax=ax, **kwargs)


def _known_labels(y, n_samples, classes):
    """The labels in NumPy; ValueError unless each sample has the label of a class."""
    y = to_numpy(y)
    if len(y) != n_samples:
        raise ValueError(f"y has {len(y)} labels, but X has {n_samples} samples.")
    unknown = y[_positions(y, classes) < 0]
    if len(unknown):
        raise ValueError(
            f"y contains the label {label_text(unknown[0])}, which is not a class of "
            f"the classifier: {', '.join(map(label_text, classes))}."
        )
    return y


def _matrix(X):
    """Samples of any array or data frame library as a NumPy matrix."""
    X = X.toarray() if hasattr(X, "toarray") else X
    X = X.to_numpy() if hasattr(X, "columns") else to_numpy(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix of samples, got the shape {X.shape}.")
    return np.asarray(X, dtype=float)


def _like(X, values):
    """``values`` as a data frame with the columns of X, if X is a data frame."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return values
    return type(X)(dict(zip(columns, values.T, strict=True)))


def _regression(values, components, names):
    """The linear regression of the features on two components, as a function."""
    mean, center = values.mean(axis=0), components.mean(axis=0)
    centered = components - center
    scale = centered.std(axis=0)
    if not (scale > 0).all() or np.linalg.matrix_rank(centered / scale, rtol=1e-8) < 2:
        raise ValueError(
            f"The samples vary in less than two directions of {names[0]} and "
            f"{names[1]}. Choose different dims, or a projection such as "
            "projection=PCA(2).fit(X)."
        )
    slopes = np.linalg.lstsq(centered / scale, values - mean)[0]
    return lambda points: mean + (points - center) / scale @ slopes


def _positions(labels, classes):
    """Positions of the labels in the classes; -1 for all other labels."""
    matches = np.asarray(labels)[..., None] == np.asarray(classes)
    return np.where(matches.any(axis=-1), matches.argmax(axis=-1), -1)
