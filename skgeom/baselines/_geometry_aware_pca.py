"""Geometry-aware principal component analysis of SPD matrices."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from skgeom.geometry import logm, mean_affine_invariant, sqrtm
from skgeom.optim._manifolds import CONSTRAINTS
from skgeom.optim._minimize import minimize
from skgeom.utils._sklearn import Interval
from skgeom.utils.errors import naming
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.linalg import fix_signs
from skgeom.utils.methods import fit_method, predict_method
from skgeom.utils.validation import check_spd_samples
from skgeom.utils.warn import warn_user


class GeometryAwarePCA(TransformerMixin, BaseEstimator):
    r"""Geometry-aware principal component analysis of SPD matrices (gaPCA).

    gaPCA reduces n x n matrices X to m x m matrices :math:`W^\top X W`. The m
    orthonormal columns of W maximize the dispersion of the reduced matrices about the
    reduced mean [1]_, [2]_,

    .. math::

       \max_{W^\top W = I} \; \frac1N \sum_i
       d_{AI}^2(W^\top X_i W,\; W^\top M W),

    where M is the Riemannian mean of the matrices, and :math:`d_{AI}` the
    affine-invariant distance. The method uses no class labels.

    Parameters
    ----------
    n_components : int, default=2
        Number m of rows of the reduced matrices, at most n.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-6
        The optimization stops when ten iterations together increase the dispersion by
        at most the fraction ``tol``, or when the norm of the gradient is at most
        ``tol`` times its initial norm.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n)
        The transpose of W. The objective depends only on the span of the components.
        The estimator selects the orthonormal basis in which the reduced mean is
        diagonal, with descending entries. The entry of each component with the largest
        absolute value is positive.
    mean_ : ndarray of shape (n, n)
        The Riemannian mean M.
    objective_ : float
        The dispersion of the reduced matrices.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        The size n of the training matrices.

    See Also
    --------
    skgeom.SecondMomentSQFA : Maximizes the distances between the second moments of
        classes.

    Notes
    -----
    If :math:`A X_i A^\top` replaces each matrix :math:`X_i`, the span of W is
    multiplied by :math:`A^{-\top}`, and the maximum of the objective does not change.

    The initialization of W is computed from the leading eigenvectors of the mean of the
    squared logarithms of the matrices, whitened with M.

    To reduce vectors instead of matrices, fit the estimator to the covariances or
    second moments of the classes, and multiply the vectors X by ``components_.T``.

    References
    ----------
    .. [1] M. Harandi, M. Salzmann and R. Hartley, "Dimensionality Reduction on SPD
       Manifolds: The Emergence of Geometry-Aware Methods", IEEE TPAMI 40(1), 2018.
    .. [2] I. Horev, F. Yger and M. Sugiyama, "Geometry-aware principal component
       analysis for symmetric positive definite matrices", Machine Learning 106, 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> from skgeom.baselines import GeometryAwarePCA
    >>> X = RegionCovariance().transform(load_digits(n_class=3).images)
    >>> gapca = GeometryAwarePCA(n_components=3).fit(X)
    >>> gapca.transform(X).shape
    (537, 3, 3)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    _accepts_vectors, _accepts_matrices = False, True
    _fitted_array = "components_"

    def __init__(self, n_components=2, *, max_iter=500, tol=1e-6):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol

    @fit_method
    def fit(self, X, y=None):
        """Compute the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            At least two symmetric positive definite matrices; not modified.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is not a stack of SPD matrices (the message names the matrix), or if
            ``n_components`` exceeds n.

        Warns
        -----
        ConvergenceWarning
            If the optimization did not converge, usually because ``max_iter`` was
            reached.
        """
        X = check_spd_samples(self, X, reset=True, ensure_min_samples=2)
        X = X.astype(np.float64)
        if self.n_components > X.shape[1]:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the size of the "
                f"matrices: n_features={X.shape[1]}."
            )
        self.mean_ = mean_affine_invariant(X)
        inverse_root = np.linalg.inv(sqrtm(self.mean_))
        whitened = inverse_root @ X @ inverse_root
        whitened = (whitened + whitened.mT) / 2
        with naming("X"):
            result = self._optimize(whitened)
        self.objective_ = -result.cost
        self.n_iter_ = max(result.n_iter, 1)  # scikit-learn requires n_iter_ >= 1
        differ = np.ptp(X, axis=0).any()  # otherwise all filters have dispersion 0
        if differ and not result.converged:
            warn_user(
                f"GeometryAwarePCA did not converge: {result.reason} Increase max_iter "
                "or tol.",
                ConvergenceWarning,
            )
        self.components_ = self._principal_basis(inverse_root @ result.point)
        return self

    @predict_method
    def transform(self, X):
        """Reduce matrices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n)
            Symmetric positive definite matrices.

        Returns
        -------
        ndarray of shape (n_samples, n_components, n_components)
            The matrices ``components_ @ X @ components_.T``, in single precision if X
            is in single precision.
        """
        X = check_spd_samples(self, X, reset=False)
        components = self.components_.astype(X.dtype, copy=False)
        reduced = components @ X @ components.T
        return (reduced + reduced.mT) / 2

    def _optimize(self, whitened):
        """Maximize the dispersion by filters of the whitened matrices."""
        logarithms = logm(whitened)
        _, axes = np.linalg.eigh((logarithms @ logarithms).mean(axis=0))
        init = np.ascontiguousarray(axes[:, ::-1][:, : self.n_components])

        def cost(filters):
            value, gradient = projected_dispersion(filters, whitened)
            return -value, -gradient

        manifold = CONSTRAINTS["orthonormal"](*init.shape)
        return minimize(cost, manifold, init, max_iter=self.max_iter, tol=self.tol)

    def _principal_basis(self, filters):
        """Orthonormal basis (rows) of a span that diagonalizes the mean."""
        basis, _ = np.linalg.qr(filters)
        _, axes = np.linalg.eigh(basis.T @ self.mean_ @ basis)
        return fix_signs((basis @ axes[:, ::-1]).T)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def projected_dispersion(filters, matrices):
    r"""Mean squared distance of projected matrices from the identity, and gradient.

    For filters G of shape (n, m) with orthonormal columns, the value is

    .. math::

       \frac1N \sum_i d_{AI}^2(G^\top Y_i G,\; I)
       = \frac1N \sum_i \|\log(G^\top Y_i G)\|_F^2 .

    With :math:`S_i = G^\top Y_i G`, the gradient is the mean of
    :math:`4\, Y_i G\, S_i^{-1} \log S_i`. If :math:`Y_i = M^{-1/2} X_i M^{-1/2}` and
    :math:`W = M^{-1/2} G`, the value is the mean squared distance of
    :math:`W^\top X_i W` from :math:`W^\top M W`.
    """
    n_matrices, n_features, _ = matrices.shape
    n_filters = filters.shape[1]
    # The products G' Y_i, computed as one product.
    half = filters.T @ matrices.reshape(-1, n_features).T
    by_matrix = half.reshape(n_filters, n_matrices, n_features).swapaxes(0, 1)
    eigenvalues, vectors = np.linalg.eigh(by_matrix @ filters)
    if not (eigenvalues > 0).all():
        raise np.linalg.LinAlgError("A projected matrix is singular.")
    logarithms = np.log(eigenvalues)
    weights = (vectors * (logarithms / eigenvalues)[:, None, :]) @ vectors.mT
    weights = weights.transpose(1, 2, 0).reshape(n_filters, -1)
    gradient = (weights @ half.reshape(-1, n_features)).T
    return np.square(logarithms).sum() / n_matrices, 4 / n_matrices * gradient
