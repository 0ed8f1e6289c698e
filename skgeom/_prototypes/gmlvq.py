"""Generalized matrix learning vector quantization, GMLVQ."""

from dataclasses import replace
from math import sqrt
from numbers import Integral

import numpy as np
from scipy.sparse import issparse

from skgeom._prototypes._minimization import fit_lbfgs
from skgeom._prototypes._prototype_classifier import (
    PrototypeClassifier,
    shared_constraints,
)
from skgeom._prototypes.glrsq import MarginMixin, margin_constraints
from skgeom.utils._sklearn import Interval, positive
from skgeom.utils.array_api import average, like, namespace, to_numpy
from skgeom.utils.docs import documented_parameters, substitute_docs
from skgeom.utils.linalg import fix_signs
from skgeom.utils.memory import require_memory


@substitute_docs(**documented_parameters(PrototypeClassifier, MarginMixin))
class GMLVQ(MarginMixin, PrototypeClassifier):
    r"""Generalized matrix learning vector quantization.

    GMLVQ learns the prototypes w of the classes together with a linear map, the matrix
    :math:`\Omega` of unit Frobenius norm [1]_. The map defines the squared distance
    :math:`d(x, w) = \|\Omega (x - w)\|^2`. Training minimizes the cost

    .. math:: \sum_i \phi\left(s \, \frac{d_J - d_K}{d_J + d_K}\right), \qquad
       \phi(t) = \frac{1}{1 + e^{-t}},

    where :math:`d_J` is the squared distance of sample i from the nearest prototype of
    its class, :math:`d_K` is its squared distance from the nearest prototype of all
    other classes, and s is the slope.

    The samples are vectors or SPD matrices. For SPD matrices, :class:`GLRSQ` is usually
    more accurate and faster. SPD matrices are converted to vectors (see ``omega_``).
    Their prototypes are symmetric, but not necessarily positive definite.

    Parameters
    ----------
    {n_prototypes}
    n_components : int or None, default=None
        Number of rows of :math:`\Omega`: the dimension of the space in which distances
        are computed. None is the number of features that vary or, if there are fewer
        samples than features, the rank of the centered samples. If ``n_components``
        exceeds this number, the remaining rows are zero.
    slope : float, default=10
        The slope s of the sigmoid :math:`\phi`. The default differs from ``"auto"`` of
        :class:`GLRSQ`, which is the same number for the same solver.
    class_weight : None, "balanced" or dict, default=None
        Class weights, which multiply ``sample_weight``. A dict maps labels to positive
        numbers, and labels that it does not contain have the weight 1. With
        ``"balanced"``, all classes have the same total weight.
    temperature : float or "auto", default="auto"
        Temperature T of the class probabilities (see Notes). ``"auto"`` selects
        T by the log-loss of about 200 distinct held-out samples. This requires one
        additional training for more than about 1,000 distinct samples, and up to five
        for fewer samples. A number saves this time and does not change the predicted
        classes.
    init : "kmeans" or array-like, default="kmeans"
        Initial prototypes. With ``"kmeans"``, the initial prototype of a class is the
        mean of its samples. A class with several prototypes starts from the means of
        the k-means clusters of its samples. An array contains the prototypes class by
        class, in the order of ``classes_``. ``init=model.prototypes_`` continues from
        the prototypes of a fitted model, but not from its :math:`\Omega`. An array does
        not change the automatic ``temperature``, which ``fit`` selects with the
        prototypes of ``"kmeans"``.
    max_iter : int, default=100
        Largest number of iterations of Riemannian L-BFGS, which optimizes the
        prototypes and :math:`\Omega` together.
    tol : float, default=0.01
        The optimization stops when ten iterations together decrease the cost by less
        than the fraction ``tol``, when the mean loss of the samples is below ``2 *
        tol``, which reduces overfitting, or when the norm of the gradient is below
        ``tol`` times its initial norm.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means, which initializes several prototypes per class.
    verbose : int, default=0
        If positive, prints the loss of each iteration.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_total_prototypes, n_features) or (..., n, n)
        The prototypes of all classes, class by class.
    {prototype_labels_}
    temperature_ : float
        The temperature T: ``temperature``, or the selected value.
    omega_ : ndarray of shape (n_components, n_features)
        The matrix :math:`\Omega`. Distances determine it up to a rotation; the rows are
        the eigenvectors of :math:`\Omega^\top \Omega`, multiplied by the square roots
        of the eigenvalues, in descending order of the eigenvalues. For vectors,
        ``X @ omega_[:2].T`` is a 2-D projection whose squared distances are at most d,
        and approximate d if the remaining eigenvalues are small. For SPD matrices of
        size n, the features are the n (n + 1) / 2 entries of the upper triangle, row by
        row, with off-diagonal entries multiplied by the square root of 2.
    relevances_ : ndarray of shape (n_features,)
        The relevance of each feature, a diagonal entry of :math:`\Omega^\top \Omega`.
        The relevances sum to one.
    {classes_}
    loss_curve_ : ndarray
        The initial cost and the cost after each iteration.
    n_iter_ : int
        Number of iterations.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    RSLVQ : Maximizes class probabilities, with the Euclidean metric.

    Notes
    -----
    The class probabilities are

    .. math:: p(k \mid x) \propto \exp(-\delta_k^2(x) / (T u \bar\delta(x))),

    where :math:`\delta_k(x)` is the distance of x from the nearest prototype of class
    k, :math:`\bar\delta(x)` is the root mean square of these distances, and u that of
    the distances between the prototypes. If classes that overlap differ in size, their
    prototypes can move far away from the samples, in order to predict the large class.

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

    _accepts_vectors = _accepts_sparse = True
    _parameter_constraints = {
        **shared_constraints,
        **margin_constraints,
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "slope": [positive],
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
        max_iter=100,
        tol=0.01,
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
        self.random_state = random_state
        self.verbose = verbose

    def _scale(self, model):
        return float(self.slope)

    def _check_parameters(self, model):
        n_features = model.prototypes.shape[1]
        if (self.n_components or 1) > n_features:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the number of "
                f"features, {n_features}."
            )

    def _train(self, samples, model, loss, rng, limits, report=None):
        n_samples, n_features = samples.Z.shape
        if issparse(samples.Z) and n_samples < n_features:
            samples = replace(samples, Z=samples.Z.toarray())
        mean, axes, unit = _principal_axes(samples.Z, samples.weights)
        n_rows = self.n_components or axes.shape[0]
        omega = axes[:n_rows, :] / sqrt(min(n_rows, axes.shape[0]))
        # The gradient is zero outside the span of the samples, so the optimization is
        # restricted to that span, unless prototypes from ``init`` may be outside.
        spanned = axes.shape[0] < n_features and not issparse(samples.Z)
        spanned = spanned and isinstance(self.init, str)
        if issparse(samples.Z):
            mean = namespace(mean).zeros_like(mean)
        coordinates = Coordinates(mean, axes if spanned else None, n_rows, unit)
        samples = replace(samples, Z=coordinates.of(samples.Z))
        omega = omega @ axes.T if spanned else omega
        prototypes = coordinates.of(model.prototypes)
        start = replace(model, prototypes=prototypes, matrix=omega)

        def restored(found):
            return replace(found, model=coordinates.restored(found.model))

        def note(name, value, result):
            return report(name, value, lambda: restored(result()))

        note = note if report else None
        scale = self._scale(model)
        found = fit_lbfgs(samples, start, loss, scale, limits, report=note)
        return restored(found)

    def _attributes(self, found, progress):
        # Of all matrices with the same distances, the one with orthogonal rows.
        matrix = found.model.matrix
        _, sizes, axes = np.linalg.svd(to_numpy(matrix), full_matrices=False)
        omega = like(fix_signs(sizes[:, None] * axes), matrix)
        found = replace(found, model=replace(found.model, matrix=omega))
        return {**super()._attributes(found, progress), "omega_": omega}

    @property
    def relevances_(self):
        """Relevance of each feature: the diagonal entries of Omega' Omega."""
        return namespace(self.omega_).sum(self.omega_**2, axis=0)


def _principal_axes(Z, weights):
    """Mean of the samples, principal axes (r, n_features), and a unit of length.

    The axes are sorted by descending variance. r is the number of features that vary
    or, for dense samples fewer than the features, the rank of the centered samples. The
    unit is the square root of the total variance divided by r, or 1 if it is 0.
    """
    xp, mean = namespace(Z), average(Z, weights)
    n_samples, n_features = Z.shape
    if not issparse(Z) and n_samples < n_features:
        centered = xp.sqrt(weights)[:, None] * (Z - mean)
        _, sizes, axes = xp.linalg.svd(centered, full_matrices=False)
        varies = sizes > xp.finfo(Z.dtype).eps * n_features * sizes[0]
        variances = sizes**2
    else:
        require_memory(
            24 * n_features**2,  # the matrix, its eigenvectors and their workspace
            f"The covariances of {n_features} features and their axes",
            "Reduce the features first, for example by TruncatedSVD.",
        )
        if issparse(Z):
            squares = (Z.T @ Z.multiply(weights[:, None])).toarray()
            scatter = squares - weights.sum() * np.outer(mean, mean)
        else:
            centered = Z - mean
            scatter = centered.T @ (weights[:, None] * centered)
        variances = xp.linalg.diagonal(scatter)
        rounding = 100 * xp.finfo(Z.dtype).eps * mean
        varies = variances > xp.sum(weights) * rounding**2
        # The axes of constant features get the smallest eigenvalue, and are omitted.
        identity = like(np.eye(n_features), scatter, scatter.dtype)
        last = -xp.sum(variances) * identity
        _, axes = xp.linalg.eigh(xp.where(varies[:, None] & varies, scatter, last))
        axes = xp.flip(axes, axis=1).T
    rank = max(int(xp.count_nonzero(varies)), 1)
    total = float(xp.sum(variances) / xp.sum(weights))
    return mean, axes[:rank, :], sqrt(max(total, 0) / rank) or 1.0


class Coordinates:
    """The coordinates of the optimization, and the way back.

    The coordinates of a sample x are ``(x - origin) @ axes.T / unit``.

    Parameters
    ----------
    origin : ndarray of shape (n_features,)
        The mean of the samples; zero for sparse samples, which are not centered.
    axes : ndarray of shape (r, n_features) or None
        Orthonormal axes of the coordinates; None for the features themselves.
    n_rows : int
        Number of rows of the restored Omega. Rows that the optimization does not have
        are zero.
    unit : float
        The unit of the coordinates: ``unit**2`` is the mean variance along the
        principal axes.
    """

    def __init__(self, origin, axes, n_rows, unit):
        self._origin, self._axes, self._n_rows, self._unit = origin, axes, n_rows, unit

    def of(self, points):
        """The coordinates of samples or prototypes."""
        if not issparse(points):
            points = points - self._origin
        if self._axes is not None:
            points = points @ self._axes.T
        return points / self._unit

    def restored(self, model):
        """The model with prototypes and Omega in the coordinates of the features."""
        prototypes, matrix = self._unit * model.prototypes, model.matrix
        if self._axes is not None:
            prototypes, matrix = prototypes @ self._axes, matrix @ self._axes
        missing = max(self._n_rows - matrix.shape[0], 0)
        padded = np.pad(to_numpy(matrix), [(0, missing), (0, 0)])
        prototypes = self._origin + prototypes
        return replace(model, prototypes=prototypes, matrix=like(padded, matrix))
