"""Display of the distances between classes."""

from numbers import Real

import numpy as np

from skgeom._region_covariance import LUMA
from skgeom._statistics import checked_statistics
from skgeom.objectives._class_distances import (
    DISTANCES,
    SECOND_MOMENT_DISTANCES,
    find_distance,
)
from skgeom.objectives._pairwise import MeanPairwiseDistance
from skgeom.plotting._display import (
    Display,
    fitted_step,
    sparse_labels,
)
from skgeom.utils.methods import on_host
from skgeom.utils.validation import (
    check_array,
    check_labels,
    check_two_classes,
    real_array,
)

# Names that occur in both registries have the same distance.
_ALL_DISTANCES = DISTANCES | SECOND_MOMENT_DISTANCES


class DistanceMatrixDisplay(Display):
    """Display of the matrix of distances between pairs of classes.

    Use :meth:`from_estimator` or :meth:`from_statistics` to create and draw the
    display. To show a different matrix of distances, create the display from the matrix
    and call :meth:`plot`.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        The distances: a symmetric, nonnegative matrix with a zero diagonal.
    classes : array-like of shape (n_classes,), default=None
        The class labels, in the order of the rows. None uses the numbers 0, 1, ...
    label : str, default="distance"
        Label of the color bar, such as the name of the distance.

    Attributes
    ----------
    im_ : matplotlib AxesImage
        The image of the matrix.
    text_ : ndarray of shape (n_classes, n_classes) of matplotlib Text, or None
        The numbers in the cells. None for more than ten classes.
    ax_ : matplotlib Axes
        The axes of the display.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    ClassEllipsesDisplay : Class means and covariances in two dimensions.
    sklearn.metrics.ConfusionMatrixDisplay : Confusion matrix of a classifier.

    Notes
    -----
    The values with the label "Fisher-Rao distance" are Calvo-Oller lower bounds of the
    Fisher-Rao distance, as in :class:`~skgeom.SQFA`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import SQFA
    >>> from skgeom.plotting import DistanceMatrixDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> sqfa = SQFA(2, random_state=0).fit(StandardScaler().fit_transform(X), y)
    >>> display = DistanceMatrixDisplay.from_estimator(sqfa)
    >>> display.text_.shape
    (3, 3)
    """

    def __init__(self, matrix, classes=None, label="distance"):
        self.matrix = matrix
        self.classes = classes
        self.label = label

    @classmethod
    def from_estimator(cls, estimator, *, regularized=True, ax=None, **kwargs):
        """Draw the distances between the classes after projection by an estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with the method ``class_distances``, such as
            :class:`~skgeom.SQFA`, or a fitted pipeline with such an estimator.
        regularized : bool, default=True
            Whether the covariances include the regularization, see
            :meth:`skgeom.SQFA.class_distances`.
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Further parameters of :meth:`plot`.

        Returns
        -------
        display : DistanceMatrixDisplay
            The display, which is drawn.

        Raises
        ------
        TypeError
            If the estimator has no method ``class_distances``.
        ValueError
            If ``regularized=False`` and a projected class covariance is singular.
        """
        estimator = fitted_step(
            estimator,
            ("class_distances",),
            "Use from_statistics, for example with estimator.statistics_ or "
            "ClassStatistics.from_data(X, y).",
        )
        estimator = on_host(estimator)
        matrix = estimator.class_distances(regularized=regularized)
        # class_distances of estimators without a choice are Hellinger distances.
        label = _label(getattr(estimator, "distance_", "hellinger"))
        return cls(matrix, estimator.classes_, label).plot(ax=ax, **kwargs)

    @classmethod
    def from_statistics(
        cls,
        statistics,
        distance="fisher-rao",
        *,
        regularization=0.0,
        ax=None,
        **kwargs,
    ):
        """Draw the distances between classes with the given statistics.

        Parameters
        ----------
        statistics : ClassStatistics
            The statistics of the classes.
        distance : str, StudentT or callable, default="fisher-rao"
            Distance between two classes: a value of the parameter ``distance`` of
            :class:`~skgeom.SQFA`, or the name of a distance between second moments of
            :class:`~skgeom.SecondMomentSQFA`, such as ``"affine-invariant"``.
        regularization : float, default=0.0
            Variance that is added to each feature.
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Further parameters of :meth:`plot`.

        Returns
        -------
        display : DistanceMatrixDisplay
            The display, which is drawn.

        Raises
        ------
        TypeError
            If ``statistics`` is not a :class:`~skgeom.ClassStatistics`.
        ValueError
            If the distance is unknown, if there is only one class, if the regularized
            covariance of a class is singular, or if the distance requires means and
            the statistics contain only second moments.
        """
        matrix = _distances(statistics, distance, regularization)
        return cls(matrix, statistics.classes, _label(distance)).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, values_format=".2f", **kwargs):
        """Draw the matrix. The cells contain the numbers for up to ten classes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        values_format : str, default=".2f"
            Format of the numbers.
        **kwargs : dict
            Parameters of matplotlib's ``imshow``, such as ``cmap``. By default, the
            color scale begins at zero.

        Returns
        -------
        display : DistanceMatrixDisplay
            The display, with the attributes ``im_``, ``text_``, ``ax_`` and
            ``figure_``.

        Raises
        ------
        TypeError
            If the matrix does not contain real numbers.
        ValueError
            If the matrix is not symmetric, not nonnegative or has a nonzero diagonal,
            or if the number of labels differs from the number of rows.
        """
        matrix, classes = _checked(self.matrix, self.classes)
        ax = self._set_axes(ax)
        vmax = matrix.max() if matrix.max() > 0 else 1.0
        self.im_ = ax.imshow(matrix, **{"vmin": 0, "vmax": vmax} | kwargs)
        positions, texts = sparse_labels(classes)
        ax.set(xlabel="class", ylabel="class")
        too_long = len(texts) * max(map(len, texts)) > 30  # labels would overlap
        slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(positions, texts, **slanted if too_long else {})
        ax.set_yticks(positions, texts)
        self.text_ = None
        if len(matrix) <= 10:
            self._write(matrix, values_format)
        self.figure_.colorbar(self.im_, ax=ax, label=self.label)
        return self

    def _write(self, matrix, values_format):
        """Write the numbers in black or white, in contrast to the color of the cell."""
        dark = self.im_.to_rgba(matrix)[..., :3] @ LUMA < 0.5
        size = "medium" if len(matrix) <= 5 else "x-small"
        properties = {"ha": "center", "va": "center", "fontsize": size}
        self.text_ = np.empty(matrix.shape, dtype=object)
        for (row, column), value in np.ndenumerate(matrix):
            properties["color"] = "white" if dark[row, column] else "black"
            text = format(value, values_format)
            self.text_[row, column] = self.ax_.text(column, row, text, **properties)


def _label(distance):
    """Label of the color bar for a distance."""
    if isinstance(distance, str):
        return f"{find_distance(distance, _ALL_DISTANCES).label} distance"
    return f"distance {getattr(distance, '__name__', repr(distance))}"


def _distances(statistics, distance, regularization):
    """Matrix of the distances between the classes of statistics."""
    statistics = checked_statistics(statistics)
    check_two_classes(statistics.classes, "DistanceMatrixDisplay", "statistics")
    if not (isinstance(regularization, Real) and 0 <= regularization < np.inf):
        raise ValueError(f"regularization must be at least 0, got {regularization!r}.")
    kind = find_distance(distance, _ALL_DISTANCES)
    means, matrices = _compared(statistics, distance)
    if kind.translation_invariant:
        means = means - means.mean(axis=0)
    try:
        return MeanPairwiseDistance(means, matrices, regularization, kind).matrix()
    except np.linalg.LinAlgError:
        raise ValueError(
            "The covariance of a class is singular, so its distance from the "
            "remaining classes is infinite. Set regularization > 0, or project the "
            "statistics onto fewer components."
        ) from None


def _compared(statistics, distance):
    """Means and covariances, or zero means and second moments."""
    named = isinstance(distance, str)
    if statistics.means is not None and (not named or distance in DISTANCES):
        return statistics.means, statistics.covariances
    if named and distance not in SECOND_MOMENT_DISTANCES:
        raise ValueError(
            f"The distance {distance!r} compares means, but the statistics contain "
            "only second moments. Use distance='affine-invariant', or another distance "
            "of SecondMomentSQFA."
        )
    second_moments = statistics.second_moments
    return np.zeros(second_moments.shape[:2]), second_moments


def _checked(matrix, classes):
    for axis in (0, -1):
        check_labels(matrix, axis, classes, "matrix", "classes")
    matrix = check_array(
        real_array(matrix, "matrix"), dtype=np.float64, input_name="matrix"
    )
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix must be square, got shape {matrix.shape}.")
    largest = np.abs(matrix).max()
    rounding = 1e-6 * largest
    # The square root of a squared distance has half of the accurate digits near zero.
    if (
        matrix.min() < -rounding
        or np.abs(np.diagonal(matrix)).max() > 1e-3 * largest
        or np.abs(matrix - matrix.T).max() > rounding
    ):
        raise ValueError(
            "matrix must contain distances: symmetric, nonnegative, and zero on the "
            f"diagonal, got\n{np.array2string(matrix, threshold=50)}"
        )
    classes = range(len(matrix)) if classes is None else list(classes)
    if len(classes) != len(matrix):
        raise ValueError(
            f"classes must have {len(matrix)} labels, one for each row of the matrix, "
            f"got {len(classes)}."
        )
    return np.maximum(matrix, 0), classes
