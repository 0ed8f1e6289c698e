"""Displays of covariance and Hessian projections, and of their class separation."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skgeom.plotting._axes import legend_text, new_axes, one_axes, several_axes
from skgeom.utils._frames import named_like_fit


class ProjectionDisplay:
    """Display of samples in a plane, with the decision boundaries of a classifier.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        The samples in the plane.
    y : ndarray of shape (n_samples,)
        Their class labels.
    classifier : estimator
        A classifier that is fitted on points of the plane.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes it is drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skgeom import CovarianceHessianProjection
    >>> from skgeom.plotting import ProjectionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> projection = CovarianceHessianProjection(GaussianNB()).fit(X, y)
    >>> display = ProjectionDisplay.from_estimator(projection, X, y)
    >>> len(display.ax_.collections) > 3
    True
    """

    def __init__(self, points, y, classifier):
        self.points = points
        self.y = y
        self.classifier = classifier

    @classmethod
    def from_estimator(cls, estimator, X, y, *, classifier=None, ax=None):
        """Transform samples, and draw them.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer with two components, or a fitted pipeline of such a
            transformer and a classifier.
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their class labels.
        classifier : estimator or None, default=None
            A classifier that was fitted on transformed samples. None for the classifier
            of the pipeline, or without one for a :class:`~sklearn.svm.LinearSVC` that
            is fitted on the samples given here.
        ax : matplotlib Axes or None, default=None
            Axes to draw in; None for a new figure.

        Returns
        -------
        display : ProjectionDisplay
            The display.

        Raises
        ------
        ValueError
            If the transformer does not have two components.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        if isinstance(estimator, Pipeline) and not hasattr(estimator, "transform"):
            classifier = estimator[-1] if classifier is None else classifier
            estimator = estimator[:-1]
        check_consistent_length(X, y)
        points, y = np.asarray(estimator.transform(X)), np.asarray(y)
        if points.shape[1] != 2:
            raise ValueError(
                f"estimator has {points.shape[1]} components, but a plane has 2; fit "
                "it with n_covariance + n_hessian = 2."
            )
        if classifier is None:
            classifier = LinearSVC(random_state=0).fit(points, y)
        return cls(points, y, classifier).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the samples and the boundaries.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw in; None for a new figure.

        Returns
        -------
        self
            This display.
        """
        self.ax_ = ax = one_axes(ax)
        self.figure_ = ax.figure
        for label in np.unique(self.y).tolist():
            points = self.points[self.y == label]
            ax.scatter(points[:, 0], points[:, 1], s=9, label=legend_text(label))
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
        x, y = np.meshgrid(*np.linspace(low, high, 300).T)
        plane = np.column_stack([x.ravel(), y.ravel()])
        predicted = self.classifier.predict(named_like_fit(plane, self.classifier))
        classes, codes = np.unique(predicted, return_inverse=True)
        for code in range(len(classes) - 1 if len(classes) < 3 else len(classes)):
            inside = (codes == code).reshape(x.shape)
            ax.contour(x, y, inside, levels=[0.5], colors="black", linewidths=1)
        ax.set(xlabel="component 0", ylabel="component 1")
        ax.legend()
        return self


class SeparationDisplay:
    """Display of the class separation along pairs of eigenvectors, as heat maps.

    Distances between classes are along the covariance eigenvector, variances within
    classes along the Hessian eigenvector: the attribute ``separation_`` of
    :class:`~skgeom.CovarianceHessianProjection`.

    Parameters
    ----------
    grid : SeparationGrid
        Distances, variances and ratios.

    Attributes
    ----------
    axes_ : ndarray of shape (3,)
        The axes it is drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skgeom import CovarianceHessianProjection
    >>> from skgeom.plotting import SeparationDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> projection = CovarianceHessianProjection(GaussianNB()).fit(X, y)
    >>> SeparationDisplay.from_estimator(projection).axes_.shape
    (3,)
    """

    def __init__(self, grid):
        self.grid = grid

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, axes=None):
        """Draw the class separation of a fitted projection.

        Parameters
        ----------
        estimator : CovarianceHessianProjection
            The fitted projection.
        X : array-like of shape (n_samples, n_features) or None, default=None
            The samples; None for the training samples.
        y : array-like of shape (n_samples,) or None, default=None
            Their class labels.
        axes : array-like of three matplotlib Axes or None, default=None
            Axes to draw in; None for a new figure.

        Returns
        -------
        display : SeparationDisplay
            The display.

        Raises
        ------
        ValueError
            If the projection has no Hessian.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        _check_hessian(estimator)
        grid = estimator.separation_ if X is None else estimator.separation(X, y)
        return cls(grid).plot(axes=axes)

    def plot(self, *, axes=None):
        """Draw the three heat maps.

        Parameters
        ----------
        axes : array-like of three matplotlib Axes or None, default=None
            Axes to draw in; None for a new figure.

        Returns
        -------
        self
            This display.
        """
        axes = new_axes(3) if axes is None else axes
        self.axes_ = several_axes(axes, 3, "heat maps")
        self.figure_ = self.axes_[0].figure
        panels = [
            (self.grid.between, "squared distance of means\n(covariance axis)"),
            (self.grid.within, "variance within classes\n(Hessian axis)"),
            (self.grid.ratio, "ratio"),
        ]
        for ax, (values, title) in zip(self.axes_, panels, strict=True):
            image = ax.imshow(values, aspect="auto")
            ax.set_title(title)
            ax.set(xlabel="covariance eigenvector", ylabel="Hessian eigenvector")
            self.figure_.colorbar(image, ax=ax)
        return self


def _check_hessian(estimator):
    if estimator.separation_ is None:
        raise ValueError(
            "estimator has no Hessian, n_hessian=0, and so no axes to compare; fit it "
            "with n_hessian=1 or more."
        )
