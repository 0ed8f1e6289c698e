"""Projections by the differences between class means: supervised PCA and LOL."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval

from skgeom.baselines._decompositions import class_sums, principal_directions
from skgeom.utils._mixins import LinearProjection
from skgeom.utils.estimator import estimator_method
from skgeom.utils.linalg import fix_signs


class SupervisedPCA(LinearProjection):
    r"""Supervised principal component analysis, with the delta kernel of the labels.

    The components are the leading eigenvectors of

    .. math::

       X^\top H K_y H X = \sum_c n_c^2 (\bar x_c - \bar x) (\bar x_c - \bar x)^\top

    (algorithm 1 of [1]_, with samples in rows), where H centers the samples and
    :math:`K_y` is one for samples of the same class and zero otherwise. The components
    maximize the dependence on the labels, measured with the Hilbert-Schmidt
    independence criterion. The right-hand side requires no matrix of the size of
    :math:`K_y`.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components. There are at most ``n_classes - 1``, because the class
        means lie in an affine subspace of this dimension. None keeps all components.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The eigenvectors, orthonormal; the largest entry of each is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the components, in descending order; infinity if too large for
        floating-point numbers.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    LOL : Also uses the directions of the largest variance within the classes.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Uses the within-class
        covariance as well as the class means.

    Notes
    -----
    Eigenvectors beyond the first ``n_classes - 1`` are not computed: they are
    arbitrary, because their eigenvalues are zero.

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

    @estimator_method
    def fit(self, X, y):
        """Compute the eigenvectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples, of at least two classes.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, or if ``n_components``
            exceeds the number of components.
        """
        X, codes = self._validate(X, y)
        n_classes = len(self.classes_)
        sums = class_sums(X - X.mean(axis=0), codes, n_classes)
        axes, sizes = principal_directions(sums, n_classes - 1, _rounding(X, len(X)))
        n_components = self.n_components or len(axes)
        if not 0 < n_components <= len(axes):
            raise ValueError(
                f"n_components={self.n_components}, but the means of the {n_classes} "
                f"classes differ in {len(axes)} directions only, and there are no "
                "further components."
            )
        self.components_ = fix_signs(axes[:n_components])
        with np.errstate(over="ignore"):
            self.eigenvalues_ = sizes[:n_components] ** 2
        return self


class LOL(LinearProjection):
    r"""Linear optimal low-rank projection.

    The components are an orthonormal basis of the differences between the class means
    and the leading principal directions within the classes,

    .. math::

       [\delta_1, \dots, \delta_{C-1}, v_1, v_2, \dots], \qquad
       \sum_i (x_i - \bar x_{y_i}) (x_i - \bar x_{y_i})^\top v_k = \lambda_k v_k

    which are orthonormalized in this order [1]_. The number of samples may be smaller
    than the number of features.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most ``n_features``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The components, orthonormal; the largest entry of each is positive.
    n_mean_directions_ : int
        Number of leading components that span differences between class means.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    SupervisedPCA : Differences between class means only.

    Notes
    -----
    The differences between the means are replaced by their principal directions, with
    the classes weighted by counts. The principal directions have the same span, and the
    last directions are omitted if ``n_components`` is smaller than their number.
    Principal directions within the classes are omitted if they depend linearly on
    earlier components.

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

    @estimator_method
    def fit(self, X, y):
        """Compute the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples, of at least two classes.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, or if ``n_components``
            exceeds the number of features or of directions in which X varies.
        """
        X, codes = self._validate(X, y)
        n_classes = len(self.classes_)
        counts = np.bincount(codes)[:, None]
        center = X.mean(axis=0)
        offsets = class_sums(X - center, codes, n_classes) / counts
        rounding = _rounding(X, np.sqrt(len(X)))
        between, _ = principal_directions(
            np.sqrt(counts) * offsets, n_classes - 1, rounding
        )
        within, _ = principal_directions(
            X - (center + offsets)[codes], self.n_components + n_classes, rounding
        )
        components = _orthonormalized([*between, *within], self.n_components)
        if len(components) < self.n_components:
            raise ValueError(
                f"n_components={self.n_components}, but the differences between the "
                "class means and the variation within the classes span "
                f"{len(components)} directions only."
            )
        self.components_ = fix_signs(components)
        self.n_mean_directions_ = min(len(between), self.n_components)
        return self


def _rounding(X, factor):
    """Bound of the rounding error of sums of ``factor`` numbers of the size of X."""
    return max(X.shape) * np.finfo(float).eps * factor * np.abs(X).max()


def _orthonormalized(directions, n_directions):
    """Orthonormal rows that span the first independent ones of some unit vectors."""
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
