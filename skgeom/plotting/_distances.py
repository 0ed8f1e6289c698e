"""Display of the distances between classes."""

from numbers import Real

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_array

from skgeom.objectives import (
    DISTANCES,
    SECOND_MOMENT_DISTANCES,
    MeanPairwiseDistance,
    find_distance,
)
from skgeom.plotting._axes import one_axes, sparse_labels
from skgeom.plotting._inputs import check_statistics, fitted_step
from skgeom.utils._arrays import on_host
from skgeom.utils._validation import check_two_classes, real_array

SINGULAR = (
    "The covariance of a class is singular, so that its distance to others is "
    "infinite; give a regularization above 0, or project the statistics onto fewer "
    "components."
)
# Numbers are written into the cells of as many classes at most.
_READABLE = 10
# Where a name is in both, the distance is the same.
_REGISTRY = DISTANCES | SECOND_MOMENT_DISTANCES


class DistanceMatrixDisplay:
    """Distances between pairs of classes, as a matrix in colours.

    Make it with :meth:`from_estimator`, :meth:`from_statistics` or :meth:`from_matrix`,
    which also draw it.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        The distances.
    classes : array-like of shape (n_classes,), default=None
        The labels, in the order of the rows; None for numbers from 0.
    label : str, default="distance"
        What the distances are, written next to the colour bar.

    Attributes
    ----------
    im_ : matplotlib AxesImage
        The image of the matrix.
    text_ : ndarray of shape (n_classes, n_classes) of matplotlib Text, or None
        The numbers in the cells.
    ax_ : matplotlib Axes
        The axes it is drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.

    See Also
    --------
    ClassEllipsesDisplay : The classes in two dimensions.
    sklearn.metrics.ConfusionMatrixDisplay : Which classes a classifier confuses.

    Notes
    -----
    What is labelled as Fisher-Rao distance is its lower bound by Calvo and Oller, as it
    is in :class:`~skgeom.SQFA`.

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
        """Draw the distances between the features of the classes of an estimator.

        Parameters
        ----------
        estimator : SQFA, SecondMomentSQFA or AMAGauss
            The fitted estimator, or a fitted pipeline with one.
        regularized : bool, default=True
            As for :meth:`skgeom.SQFA.class_distances`.
        ax : matplotlib Axes, default=None
            Axes to draw in; None for new ones.
        **kwargs : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : DistanceMatrixDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no method ``class_distances``.
        ValueError
            If a class covariance of the features is singular, without regularisation.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        estimator = fitted_step(
            estimator,
            ("class_distances",),
            "Use from_statistics with those of the features, "
            "ClassStatistics.from_data(estimator.transform(X), y).",
        )
        matrix = estimator.class_distances(regularized=regularized)
        label = label_of_distance(estimator._parameters_of_fit["distance"])
        return cls(on_host(matrix), on_host(estimator.classes_), label).plot(
            ax=ax, **kwargs
        )

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
        """Draw the distances between classes, given their statistics.

        Parameters
        ----------
        statistics : ClassStatistics
            The statistics of the classes.
        distance : str, StudentT or callable, default="fisher-rao"
            Distance between two classes, as for :class:`~skgeom.SQFA`; or a name that
            only :class:`~skgeom.SecondMomentSQFA` knows, such as
            ``"affine-invariant"``, for the distance between second moments.
        regularization : float, default=0.0
            Variance that is added to each feature.
        ax : matplotlib Axes, default=None
            Axes to draw in; None for new ones.
        **kwargs : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : DistanceMatrixDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If ``statistics`` is no :class:`~skgeom.ClassStatistics`.
        ValueError
            If the distance is unknown, if there is one class only, if the covariance of
            a class is singular without regularisation, or if the statistics have no
            means, and the distance needs them.
        """
        check_matplotlib_support(f"{cls.__name__}.from_statistics")
        matrix = _distances(statistics, distance, regularization)
        return cls(matrix, statistics.classes, label_of_distance(distance)).plot(
            ax=ax, **kwargs
        )

    @classmethod
    def from_matrix(cls, matrix, *, classes=None, label="distance", ax=None, **kwargs):
        """Draw given distances.

        Parameters
        ----------
        matrix : array-like of shape (n_classes, n_classes)
            The distances, symmetric, not negative, and zero on the diagonal.
        classes : array-like of shape (n_classes,), default=None
            The labels, in the order of the rows; None for numbers from 0.
        label : str, default="distance"
            What the distances are, written next to the colour bar.
        ax : matplotlib Axes, default=None
            Axes to draw in; None for new ones.
        **kwargs : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : DistanceMatrixDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the matrix holds no real numbers.
        ValueError
            If the matrix is not as above, or not finite, or if there is not one label a
            row.
        """
        check_matplotlib_support(f"{cls.__name__}.from_matrix")
        return cls(matrix, classes, label).plot(ax=ax, **kwargs)

    def plot(
        self,
        ax=None,
        *,
        include_values="auto",
        values_format=".2f",
        cmap="viridis",
        colorbar=True,
        xticks_rotation="auto",
        im_kw=None,
        text_kw=None,
    ):
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None for new ones.
        include_values : "auto" or bool, default="auto"
            Whether to write the distances into the cells; ``"auto"`` for up to ten
            classes.
        values_format : str, default=".2f"
            How they are written.
        cmap : str or matplotlib Colormap, default="viridis"
            The colour map, which begins at zero.
        colorbar : bool, default=True
            Whether to draw a colour bar.
        xticks_rotation : "auto", "vertical", "horizontal" or float, default="auto"
            Rotation of the class labels below; ``"auto"`` slants long ones.
        im_kw : dict, default=None
            Other parameters of matplotlib's ``imshow``.
        text_kw : dict, default=None
            Other properties of the numbers.

        Returns
        -------
        display : DistanceMatrixDisplay
            This object, with the attributes ``im_``, ``text_``, ``ax_`` and
            ``figure_``.

        Raises
        ------
        TypeError, ValueError
            As :meth:`from_matrix`.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        matrix, classes = _checked(self.matrix, self.classes)
        self.ax_ = ax = one_axes(ax)
        self.figure_ = ax.figure
        vmax = matrix.max() if matrix.max() > 0 else 1.0
        properties = {"cmap": cmap, "vmin": 0, "vmax": vmax} | (im_kw or {})
        self.im_ = ax.imshow(matrix, **properties)
        positions, texts = sparse_labels(classes)
        ax.set(xlabel="class", ylabel="class")
        ax.set_xticks(positions, texts)
        ax.set_yticks(positions, texts)
        slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        if xticks_rotation != "auto":
            plt.setp(ax.get_xticklabels(), rotation=xticks_rotation)
        elif len(texts) * max(map(len, texts)) > 30:
            plt.setp(ax.get_xticklabels(), **slanted)
        self.text_ = None
        if include_values == "auto":
            include_values = len(matrix) <= _READABLE
        if include_values:
            self._write(matrix, values_format, text_kw or {})
        if colorbar:
            self.figure_.colorbar(self.im_, ax=ax, label=self.label)
        return self

    def _write(self, matrix, values_format, text_kw):
        """Write the numbers in what contrasts with the colours of the cells."""
        luminance = self.im_.to_rgba(matrix)[..., :3] @ [0.299, 0.587, 0.114]
        size = "medium" if len(matrix) <= 5 else "x-small"
        self.text_ = np.empty(matrix.shape, dtype=object)
        for (row, column), value in np.ndenumerate(matrix):
            dark = luminance[row, column] < 0.5
            properties = {
                "ha": "center",
                "va": "center",
                "color": "white" if dark else "black",
                "fontsize": size,
            }
            self.text_[row, column] = self.ax_.text(
                column, row, format(value, values_format), **properties | text_kw
            )


def label_of_distance(distance):
    if isinstance(distance, str):
        return f"{find_distance(distance, _REGISTRY).label} distance"
    return f"distance {getattr(distance, '__name__', repr(distance))}"


def check_noise(regularization):
    """Raise ValueError unless a regularisation is a finite number of at least 0."""
    if not (isinstance(regularization, Real) and 0 <= regularization < np.inf):
        raise ValueError(f"regularization must be at least 0, got {regularization!r}.")


def _distances(statistics, distance, regularization):
    """Matrix of the distances between the classes of statistics."""
    check_statistics(statistics)
    check_two_classes(statistics.classes, "DistanceMatrixDisplay")
    check_noise(regularization)
    kind = find_distance(distance, _REGISTRY)
    means, matrices = _compared(statistics, distance)
    if kind.translation_invariant:
        means = means - means.mean(axis=0)
    try:
        return MeanPairwiseDistance(means, matrices, regularization, kind).matrix()
    except np.linalg.LinAlgError:
        raise ValueError(SINGULAR) from None


def _compared(statistics, distance):
    """Means and covariances; or zeros and second moments, if those are compared."""
    name = distance if isinstance(distance, str) else None
    of_gaussians = name is None or name in DISTANCES
    if statistics.means is not None and of_gaussians:
        return statistics.means, statistics.covariances
    if name in set(DISTANCES) - set(SECOND_MOMENT_DISTANCES):
        raise ValueError(
            f"The distance {name!r} compares means, but these statistics hold second "
            "moments only; use distance='affine-invariant', or another one of "
            "SecondMomentSQFA."
        )
    second_moments = statistics.second_moments
    return np.zeros(second_moments.shape[:2]), second_moments


def _checked(matrix, classes):
    matrix = real_array(matrix, "matrix")
    matrix = check_array(matrix, dtype=np.float64, input_name="matrix")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix must be square, got shape {matrix.shape}.")
    rounding = 1e-6 * np.abs(matrix).max()
    if matrix.min() < -rounding:
        row, column = np.unravel_index(matrix.argmin(), matrix.shape)
        raise ValueError(
            f"matrix must hold distances, but matrix[{row}, {column}] is "
            f"{matrix.min():.3g}."
        )
    own = np.abs(np.diagonal(matrix))
    if own.max() > 1e-3 * np.abs(matrix).max():  # half the digits, if roots were taken
        raise ValueError(
            "matrix must hold distances, of each class from itself zero, but "
            f"matrix[{own.argmax()}, {own.argmax()}] is {own.max():.3g}."
        )
    gap = np.abs(matrix - matrix.T)
    if gap.max() > rounding:
        row, column = np.unravel_index(gap.argmax(), matrix.shape)
        raise ValueError(
            f"matrix must be symmetric, but matrix[{row}, {column}] is "
            f"{matrix[row, column]:.6g}, and matrix[{column}, {row}] "
            f"{matrix[column, row]:.6g}."
        )
    classes = range(len(matrix)) if classes is None else list(classes)
    if len(classes) != len(matrix):
        raise ValueError(
            f"classes must have {len(matrix)} labels, one a row of the matrix, got "
            f"{len(classes)}."
        )
    return np.maximum(matrix, 0), classes
