"""Generalized matrix learning vector quantization, GMLVQ."""

from dataclasses import replace
from math import sqrt
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.utils._param_validation import Interval

from skgeom._prototypes._prototype_classifier import (
    PrototypeClassifier,
    shared_constraints,
)
from skgeom._prototypes.glrsq import MarginMixin, margin_constraints
from skgeom.optim import Sphere
from skgeom.utils.array_api import average, like, namespace, sum_of, to_numpy
from skgeom.utils.estimator import documented_parameters, substitute_docs
from skgeom.utils.linalg import fix_signs
from skgeom.utils.validation import require_memory

# The optimization ends at a mean loss of ``tol`` times this factor. Chosen on UCI data
# in `bench_defaults.py`.
_LOSS_GOAL = 20


@substitute_docs(**documented_parameters(PrototypeClassifier, MarginMixin))
class GMLVQ(MarginMixin, PrototypeClassifier):
    r"""Generalized matrix learning vector quantization.

    GMLVQ learns prototypes w together with a metric, a matrix :math:`\Omega` of unit
    norm [1]_. With :math:`d(x, w) = \|\Omega (x - w)\|^2`, the distance :math:`d_J`
    from the nearest prototype of the sample's class, and the distance :math:`d_K` from
    the nearest prototype of the remaining classes, GMLVQ minimizes

    .. math:: \sum_i \phi\left(s \, \frac{d_J - d_K}{d_J + d_K}\right), \qquad
       \phi(t) = \frac{1}{1 + e^{-t}}.

    The samples are vectors, or SPD matrices, which are converted to vectors; prototypes
    of matrices are symmetric, but need not be positive definite.

    Parameters
    ----------
    {n_prototypes}
    n_components : int or None, default=None
        Number of rows of :math:`\Omega`: the dimension of the subspace in which
        distances are computed. None is the number of features or, if the samples are
        fewer, the rank of the centered samples. Rows beyond that rank are zero.
    slope : float, default=10
        The slope s of the sigmoid.
    class_weight : None, "balanced" or dict, default=None
        Factors of the sample weights of each class in training. With ``"balanced"``,
        all classes have the same total weight. A dict maps labels to positive numbers.
    {temperature}
    {init}
    max_iter : int, default=1000
        Largest number of iterations of Riemannian L-BFGS, which optimizes prototypes
        and metric together.
    tol : float, default=1e-3
        The optimization stops when ten iterations together decrease the cost by less
        than the fraction ``tol``, or when the mean loss is below ``20 * tol``: further
        training of the metric would overfit the training samples.
    warm_start : bool, default=False
        Whether ``fit`` continues from the prototypes and the metric of the last fit.
        The samples of earlier fits are not kept: the result is the optimum for the new
        samples only.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialization of several prototypes.
    verbose : int, default=0
        If positive, prints the loss of each iteration.

    Attributes
    ----------
    {prototypes_}
    {prototype_labels_}
    {temperature_}
    omega_ : ndarray of shape (n_components, n_features)
        The matrix :math:`\Omega`. For SPD matrices of size n, the features are the
        n (n + 1) / 2 entries of the upper triangle, row by row, with off-diagonal
        entries multiplied by the square root of 2.
    relevances_ : ndarray of shape (n_features,)
        The relevances of the features, the diagonal of :math:`\Omega^\top \Omega`. The
        relevances sum to one.
    components_ : ndarray of shape (n_components, n_features)
        :math:`\Omega` up to a rotation, which does not change distances. The rows are
        the eigenvectors of :math:`\Omega^\top \Omega`, multiplied by the square roots
        of the eigenvalues, in descending order. ``X @ components_[:2].T`` is the 2-D
        projection that preserves the distances best.
    {classes_}
    loss_curve_ : ndarray
        The cost at the start and after each iteration.
    n_iter_ : int
        Number of iterations.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    RSLVQ : Probabilistic prototypes, with the Euclidean metric.

    Notes
    -----
    Class probabilities are computed as in :class:`GLRSQ`, with the distance d.

    References
    ----------
    .. [1] P. Schneider, M. Biehl and B. Hammer, "Adaptive relevance matrices in
       learning vector quantization", Neural Computation 21(12), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import GMLVQ
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), GMLVQ(n_components=2)).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    _accepts_vectors = True
    _parameter_constraints = {
        **shared_constraints,
        **margin_constraints,
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "slope": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_prototypes=1,
        *,
        n_components=None,
        slope=10.0,
        class_weight=None,
        temperature="auto",
        init="kmeans",
        max_iter=1000,
        tol=1e-3,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.n_prototypes = n_prototypes
        self.n_components = n_components
        self.slope = slope
        self.class_weight = class_weight
        self.temperature = temperature
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _scale(self, training):
        return float(self.slope)

    def _lbfgs_options(self, training):
        n_samples, n_features = training.Z.shape
        if (self.n_components or 1) > n_features:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the number of "
                f"features, {n_features}."
            )
        if issparse(training.Z) and n_samples < n_features:
            training = replace(training, Z=training.Z.toarray())
        continues = training.scale is not None
        mean, axes = _principal_axes(training.Z, training.weights)
        n_rows = self.n_components or axes.shape[0]
        if continues and self.n_components in (None, self.omega_.shape[0]):
            omega = self.omega_
        else:
            omega = axes[:n_rows, :] / sqrt(min(n_rows, axes.shape[0]))
        # Gradients outside of the span of the samples are zero; but prototypes that are
        # given, or learned before, may be there.
        spanned = (
            n_samples < n_features and isinstance(self.init, str) and not continues
        )
        reduction = Relevance(training, mean, axes if spanned else None, n_rows)
        return {
            **super()._lbfgs_options(training),
            "reduction": reduction,
            "matrix": omega @ axes.T if spanned else omega,
            "loss_goal": _LOSS_GOAL * self.tol,
        }

    def _store(self, training, result):
        super()._store(training, result)
        self.omega_ = result.matrix

    @property
    def relevances_(self):
        """Relevance of each feature: the diagonal of Omega' Omega."""
        return sum_of(self.omega_**2, axis=0)

    @property
    def components_(self):
        """Omega, rotated to the principal axes of the relevance matrix."""
        _, sizes, axes = np.linalg.svd(to_numpy(self.omega_), full_matrices=False)
        return like(fix_signs(sizes[:, None] * axes), self.omega_)

    def _compare(self, metric, Z, prototypes):
        omega = self.omega_.T
        if not issparse(Z):  # so that a large offset of all samples costs no digits
            center = namespace(prototypes).mean(prototypes, axis=0)
            Z, prototypes = Z - center, prototypes - center
        return metric.squared_distances(Z @ omega, prototypes @ omega)


def _principal_axes(Z, weights):
    """Mean of the samples, and principal axes (r, n_features) in descending order.

    If the samples are fewer than the features, r is the rank of the centered samples.
    """
    xp, mean = namespace(Z), average(Z, weights)
    n_samples, n_features = Z.shape
    if issparse(Z) or n_samples >= n_features:
        require_memory(
            24 * n_features**2,  # with eigenvectors and their workspace
            f"The covariances of {n_features} features and their axes",
            "Reduce the features first, for example by TruncatedSVD.",
        )
    if issparse(Z):
        squares = (Z.T @ Z.multiply(weights[:, None])).toarray()
        scatter = squares - weights.sum() * np.outer(mean, mean)
    elif Z.shape[0] < Z.shape[1]:
        centered = xp.sqrt(weights)[:, None] * (Z - mean)
        _, sizes, axes = xp.linalg.svd(centered, full_matrices=False)
        smallest = xp.finfo(Z.dtype).eps * Z.shape[1] * sizes[0]
        return mean, axes[: max(int(xp.count_nonzero(sizes > smallest)), 1), :]
    else:
        centered = Z - mean
        scatter = centered.T @ (weights[:, None] * centered)
    _, axes = xp.linalg.eigh(scatter)
    return mean, xp.flip(axes, axis=1).T


def _unit(Z, weights):
    """The standard deviation of the features, or one.

    In a search for prototypes together with a matrix of unit norm, neither may dwarf
    the other.
    """
    mean = average(Z, weights)
    if issparse(Z):
        variances = average(Z.multiply(Z).tocsr(), weights) - mean**2
        return sqrt(max(variances.mean(), 0)) or 1.0
    return sqrt(namespace(Z).mean(average((Z - mean) ** 2, weights))) or 1.0


class Relevance:
    """Samples and prototypes are multiplied by a matrix.

    Parameters
    ----------
    training : Training
        The samples. Their standard deviation is the unit of the optimization.
    mean : ndarray of shape (n_features,)
        The mean of the samples, which is the origin of the optimization unless the
        samples are sparse.
    axes : ndarray of shape (r, n_features) or None
        The axes of the coordinates of the optimization, if these are not the features.
    n_rows : int
        Number of rows of the restored matrix, of which the last ones may be zero.

    Attributes
    ----------
    training : Training
        The same in the coordinates of the optimization.
    """

    manifold = Sphere

    def __init__(self, training, mean, axes, n_rows):
        Z, prototypes = training.Z, training.prototypes
        self._origin = namespace(mean).zeros_like(mean) if issparse(Z) else mean
        self._axes, self._n_rows = axes, n_rows
        if not issparse(Z):
            Z, prototypes = Z - mean, prototypes - mean
        if axes is not None:
            Z, prototypes = Z @ axes.T, prototypes @ axes.T
        self._unit = _unit(Z, training.weights)
        Z, prototypes = Z / self._unit, prototypes / self._unit
        self.training = replace(training, Z=Z, prototypes=prototypes)

    def restore(self, prototypes, matrix):
        """Prototypes and matrix in the coordinates of the features."""
        prototypes = self._unit * prototypes
        if self._axes is not None:
            prototypes, matrix = prototypes @ self._axes, matrix @ self._axes
        prototypes = self._origin + prototypes
        missing = max(self._n_rows - matrix.shape[0], 0)
        padded = np.pad(to_numpy(matrix), [(0, missing), (0, 0)])
        return prototypes, like(padded, matrix)

    def apply(self, Z, prototypes, matrix):
        return Z @ matrix.T, prototypes @ matrix.T

    def vjp(self, Z, prototypes, matrix, of_samples, of_prototypes):
        """Gradients for prototypes and matrix by those for both results."""
        of_matrix = of_samples.T @ Z + of_prototypes.T @ prototypes
        return of_prototypes @ matrix, of_matrix
