"""Projections onto the differences between class means: supervised PCA and LOL."""

from numbers import Integral

import numpy as np

from skgeom.utils._mixins import LinearProjection
from skgeom.utils._sklearn import Interval
from skgeom.utils.linalg import fix_signs
from skgeom.utils.methods import fit_method
from skgeom.utils.validation import encoded_labels, validated_samples


class SupervisedPCA(LinearProjection):
    r"""Supervised principal component analysis with the delta kernel of the labels.

    The components are the leading eigenvectors of the matrix (algorithm 1 of [1]_)

    .. math::

       X^\top H K_y H X = \sum_c n_c^2 (\bar x_c - \bar x) (\bar x_c - \bar x)^\top,

    where H centers the samples, :math:`K_y` is the delta kernel, which is 1 for two
    samples of the same class and 0 otherwise, :math:`n_c` is the number of samples of
    class c, :math:`\bar x_c` is their mean, and :math:`\bar x` is the mean of all
    samples. The components maximize the Hilbert-Schmidt independence criterion between
    the projected samples and the labels. The estimator computes the right-hand side,
    which does not require the matrix :math:`K_y` of all pairs of samples.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, at most ``n_classes - 1``: the class means lie in an
        affine subspace of this dimension. None keeps all components.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The orthonormal eigenvectors. The entry of each eigenvector with the largest
        absolute value is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the components, in descending order. Eigenvalues that exceed the
        range of floating-point numbers are infinite.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X is a data frame whose column names are all strings.

    See Also
    --------
    LOL : Also uses the directions of the largest variance within the classes.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Uses the within-class
        covariance as well as the class means.

    Notes
    -----
    The eigenvectors after the first ``n_classes - 1`` are not computed: their
    eigenvalues are zero, so they are arbitrary.

    References
    ----------
    .. [1] E. Barshan, A. Ghodsi, Z. Azimifar and M. Zolghadri Jahromi, "Supervised
       principal component analysis: Visualization, classification and regression on
       subspaces and submanifolds", Pattern Recognition 44(7), 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom.baselines import SupervisedPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> SupervisedPCA().fit_transform(X, y).shape
    (150, 2)
    """

    _parameter_constraints = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_components=None):
        self.n_components = n_components

    @fit_method
    def fit(self, X, y):
        """Compute the eigenvectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples. At least two classes are required.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is only one class, or if ``n_components``
            exceeds the number of directions in which the class means differ.
        """
        X, y, *_ = validated_samples(self, X, y, double=True)
        self.classes_, codes = encoded_labels(y, type(self).__name__)
        n_classes = len(self.classes_)
        sums = _class_sums(X - X.mean(axis=0), codes, n_classes)
        axes, sizes = _principal_directions(sums, n_classes - 1, _rounding(X, len(X)))
        n_components = self.n_components or len(axes)
        if not 0 < n_components <= len(axes):
            raise ValueError(
                f"n_components={self.n_components}, but the means of the {n_classes} "
                f"classes differ in {len(axes)} directions only. Use at most this "
                "number of components."
            )
        self.components_ = fix_signs(axes[:n_components])
        with np.errstate(over="ignore"):
            self.eigenvalues_ = sizes[:n_components] ** 2
        return self


class LOL(LinearProjection):
    r"""Linear optimal low-rank projection.

    The components are the result of orthonormalizing the following vectors in this
    order [1]_,

    .. math::

       [\delta_1, \dots, \delta_{C-1}, v_1, v_2, \dots], \qquad
       \sum_i (x_i - \bar x_{y_i}) (x_i - \bar x_{y_i})^\top v_k = \lambda_k v_k,

    where :math:`\delta_k` are the differences between the means of the C classes,
    :math:`\bar x_{y_i}` is the mean of the class of sample i, and :math:`v_k` are the
    principal directions within the classes, in descending order of
    :math:`\lambda_k`. The number of samples may be smaller than the number of features.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most ``n_features``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The orthonormal components. The entry of each component with the largest
        absolute value is positive.
    n_mean_directions_ : int
        Number of leading components that span differences between class means.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X is a data frame whose column names are all strings.

    See Also
    --------
    SupervisedPCA : Uses only the differences between class means.

    Notes
    -----
    The estimator replaces the differences between the means by their principal
    directions, with the classes weighted by their numbers of samples. The span is the
    same. If ``n_components`` is smaller than the number of these directions, the last
    ones are omitted. Principal directions within the classes are omitted if they
    depend linearly on earlier components.

    References
    ----------
    .. [1] J. T. Vogelstein et al., "Supervised dimensionality reduction for big data",
       Nature Communications 12, 2872, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom.baselines import LOL
    >>> X, y = load_iris(return_X_y=True)
    >>> lol = LOL(n_components=3).fit(X, y)
    >>> lol.n_mean_directions_
    2
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_components=2):
        self.n_components = n_components

    @fit_method
    def fit(self, X, y):
        """Compute the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples. At least two classes are required.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is only one class, or if ``n_components``
            exceeds the number of directions in which X varies.
        """
        X, y, *_ = validated_samples(self, X, y, double=True)
        self.classes_, codes = encoded_labels(y, type(self).__name__)
        n_classes = len(self.classes_)
        counts = np.bincount(codes)[:, None]
        center = X.mean(axis=0)
        offsets = _class_sums(X - center, codes, n_classes) / counts
        rounding = _rounding(X, np.sqrt(len(X)))
        between, _ = _principal_directions(
            np.sqrt(counts) * offsets, n_classes - 1, rounding
        )
        within, _ = _principal_directions(
            X - (center + offsets)[codes], self.n_components + n_classes, rounding
        )
        components = _orthonormalized([*between, *within], self.n_components)
        if len(components) < self.n_components:
            raise ValueError(
                f"n_components={self.n_components}, but the differences between the "
                "class means and the variation within the classes span only "
                f"{len(components)} directions. Use at most this number of components."
            )
        self.components_ = fix_signs(components)
        self.n_mean_directions_ = min(len(between), self.n_components)
        return self


def _rounding(X, factor):
    """Bound of the rounding error of sums of ``factor`` entries of X."""
    return max(X.shape) * np.finfo(float).eps * factor * np.abs(X).max()


def _orthonormalized(directions, n_directions):
    """Orthonormal rows from the first linearly independent unit vectors."""
    basis = np.empty((0, len(directions[0]) if len(directions) else 0))
    for direction in directions:
        for _ in range(2):  # twice, because the first pass leaves rounding errors
            direction = direction - (basis @ direction) @ basis
        length = np.linalg.norm(direction)
        if length > np.sqrt(np.finfo(float).eps):  # linearly independent
            basis = np.vstack([basis, direction / length])
        if len(basis) == n_directions:
            break
    return basis


def _class_sums(X, codes, n_classes):
    """Sums of the rows of each class, (n_classes, n_features)."""
    return np.array([X[codes == code].sum(axis=0) for code in range(n_classes)])


def _principal_directions(rows, n_directions, smallest):
    """Leading right singular vectors (rows) and their singular values.

    Singular values up to ``smallest`` are omitted.
    """
    n_rows, n_features = rows.shape
    if n_rows > n_features:  # the scatter matrix is smaller than the matrix of rows
        scale = np.abs(rows).max() or 1.0  # squares could overflow or underflow
        squares, axes = np.linalg.eigh((rows / scale).T @ (rows / scale))
        sizes, axes = scale * np.sqrt(np.maximum(squares, 0))[::-1], axes.T[::-1]
        # The square root of an eigenvalue has half of the accurate digits.
        smallest = max(smallest, np.sqrt(n_features * np.finfo(float).eps) * sizes[0])
    else:
        _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    kept = (sizes > smallest)[:n_directions]
    return axes[:n_directions][kept], sizes[:n_directions][kept]
