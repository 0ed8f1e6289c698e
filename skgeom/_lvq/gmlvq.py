"""Generalised matrix learning vector quantisation, GMLVQ."""

from dataclasses import replace
from math import sqrt
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from skgeom._lvq.base import PrototypeClassifier
from skgeom._lvq.cost import Relevance
from skgeom._lvq.docs import LVQ_DOCS
from skgeom._lvq.lbfgs import fit_lbfgs
from skgeom._lvq.losses import MarginLoss
from skgeom.utils.array_api import average, like, namespace, sum_of, to_numpy
from skgeom.utils.estimator import estimator_method, substitute_docs
from skgeom.utils.linalg import fix_signs

# How much larger than ``tol`` the mean loss may be at which the search ends.
_ENOUGH = 20


@substitute_docs(**LVQ_DOCS)
class GMLVQ(PrototypeClassifier):
    r"""Generalised matrix learning vector quantisation.

    Learns prototypes w together with a metric, a matrix :math:`\Omega` of unit norm
    [1]_. With :math:`d(x, w) = \|\Omega (x - w)\|^2`, the nearest prototype of the
    sample's class at :math:`d_J`, and the nearest of the others at :math:`d_K`, they
    minimise

    .. math:: \sum_i \phi\left(s \, \frac{d_J - d_K}{d_J + d_K}\right), \qquad
       \phi(t) = \frac{1}{1 + e^{-t}}.

    The samples are vectors, or SPD matrices, which are taken as vectors; the prototypes
    of matrices are symmetric then, but need not be positive definite.

    Parameters
    ----------
    {n_prototypes}
    n_components : int or None, default=None
        Number of rows of :math:`\Omega`: the dimension of the subspace in which
        distances are taken. None is the number of features.
    slope : float, default=10
        The slope s of the sigmoid.
    class_weight : None, "balanced" or dict, default=None
        What the weights of the samples are multiplied by in training, for each class.
        ``"balanced"`` makes the sums of their weights equal. A dict has labels and
        positive numbers.
    {init}
    max_iter : int, default=1000
        Largest number of iterations of Riemannian L-BFGS, which learns prototypes and
        metric from all samples together.
    tol : float, default=1e-3
        The search stops when ten iterations together lower the cost by less than this
        fraction of it, or when the mean loss falls below 20 times it: a metric that is
        learnt further fits the training samples rather than the classes.
    {warm_start}
    random_state : int, RandomState instance or None, default=None
        For the start with several prototypes.
    verbose : int, default=0
        Whether to print the loss of each iteration.

    Attributes
    ----------
    {prototypes_}
    {prototype_labels_}
    omega_ : ndarray of shape (n_components, n_features)
        The matrix :math:`\Omega`. For SPD matrices of size n, the features are the
        n (n + 1) / 2 entries of the upper triangle, row by row, those off the diagonal
        times the square root of 2.
    relevances_ : ndarray of shape (n_features,)
        The relevance of each feature, the diagonal of :math:`\Omega^\top \Omega`; they
        add up to one.
    components_ : ndarray of shape (n_components, n_features)
        :math:`\Omega` up to a rotation, which changes no distance: its rows are the
        eigenvectors of :math:`\Omega^\top \Omega`, in falling order, times the roots of
        the eigenvalues. ``X @ components_[:2].T`` shows most of the distances.
    {classes_}
    loss_curve_ : ndarray
        The cost at the start and after each iteration.
    n_iter_ : int
        Number of iterations.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    RSLVQ : Probabilistic, with the Euclidean metric.

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
        **PrototypeClassifier._parameter_constraints,
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
        init="auto",
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
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @estimator_method
    def fit(self, X, y, sample_weight=None):
        """Learn the prototypes and the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n, n)
            Vectors, which may be sparse, or SPD matrices; not modified. Sparse ones
            that are fewer than their features are made dense.
        y : array-like of shape (n_samples,)
            Their classes, at least two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative; a sample of weight 2 counts as two.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If an array is malformed or not finite, or a matrix not SPD, if there is one
            class only, if a class has fewer samples than prototypes, or if parameters
            do not fit together.

        Warns
        -----
        ConvergenceWarning
            If the search does not end within ``max_iter`` iterations.
        """
        goes_on = self._goes_on()
        rng = check_random_state(self.random_state)
        problem = self._problem(X, y, sample_weight, rng)
        n_samples, n_features = problem.Z.shape
        n_rows = self.n_components or n_features
        if n_rows > n_features:
            raise ValueError(
                f"n_components={n_rows} must not exceed the number of features, "
                f"{n_features}."
            )
        # Prototypes that are given, or learnt before, may be outside of the span.
        spanned = n_samples < n_features and isinstance(self.init, str) and not goes_on
        if spanned and issparse(problem.Z):
            problem = replace(problem, Z=problem.Z.toarray())
        goes_on = goes_on and self.omega_.shape == (n_rows, n_features)
        coordinates = (_Span if spanned else _Features)(problem, n_rows)
        unit = _unit(problem.Z, problem.weights)

        def finish(model, outcome):
            prototypes = coordinates.decode(unit * outcome.prototypes)
            model._store(problem, replace(outcome, prototypes=prototypes))
            model.omega_ = coordinates.omega(outcome.matrix)

        outcome = fit_lbfgs(
            replace(
                problem,
                Z=coordinates.encode(problem.Z) / unit,
                prototypes=coordinates.encode(problem.prototypes) / unit,
            ),
            MarginLoss(problem.labels),
            float(self.slope),
            reduction=Relevance,
            matrix=self.omega_ if goes_on else coordinates.start(),
            enough=_ENOUGH * self.tol,
            report=self._reporter(problem, finish),
            **self._search_options,
        )
        finish(self, outcome)
        return self

    @property
    def relevances_(self):
        """How much each feature counts: the diagonal of Omega' Omega, of sum one."""
        return sum_of(self.omega_**2, axis=0)

    @property
    def components_(self):
        """Omega, rotated to the principal axes of the relevance matrix."""
        _, sizes, axes = np.linalg.svd(to_numpy(self.omega_), full_matrices=False)
        return like(fix_signs(sizes[:, None] * axes), self.omega_)

    def _check_definite(self, prototypes):
        """Distances are Euclidean: prototypes may be any symmetric matrices."""

    def _compare(self, space, Z, prototypes):
        omega = self.omega_.T
        return space.squared_distances(Z @ omega, prototypes @ omega)


class _Features:
    """All features, with the principal axes of the samples as the start of Omega."""

    def __init__(self, problem, n_rows):
        self._problem, self._n_rows = problem, n_rows

    def encode(self, Z):
        return Z

    decode = omega = encode

    def start(self):
        """The leading axes, all of the same weight."""
        Z, weights = self._problem.Z, self._problem.weights
        xp, mean = namespace(Z), average(Z, weights)
        if issparse(Z):
            squares = (Z.T @ Z.multiply(weights[:, None])).toarray()
            scatter = squares - weights.sum() * np.outer(mean, mean)
        else:
            centered = Z - mean
            scatter = centered.T @ (weights[:, None] * centered)
        _, axes = xp.linalg.eigh(scatter)
        return xp.flip(axes, axis=1)[:, : self._n_rows].T / sqrt(self._n_rows)


class _Span:
    """The same in the span of the samples, which are fewer than the features.

    The gradient for Omega is zero outside of the span, where a search from the
    principal axes only multiplies Omega by a number. That part is one more coordinate,
    in which all samples are zero, so that the search is the one among all features but
    for the length of its first step.
    """

    def __init__(self, problem, n_rows):
        Z, weights = problem.Z, problem.weights
        xp, self._mean, self._n_rows = namespace(Z), average(Z, weights), n_rows
        centered = xp.sqrt(weights)[:, None] * (Z - self._mean)
        _, sizes, axes = xp.linalg.svd(centered, full_matrices=False)
        smallest = xp.finfo(Z.dtype).eps * Z.shape[1] * sizes[0]
        rank = max(int(xp.count_nonzero(sizes > smallest)), 1)
        self._axes, self._inside = axes[:rank, :], min(n_rows, rank)

    def encode(self, Z):
        xp, coordinates = namespace(Z), (Z - self._mean) @ self._axes.T
        zero = xp.zeros_like(coordinates[:, :1])
        return xp.concat([coordinates, zero], axis=1)

    def decode(self, encoded):
        return self._mean + encoded[:, :-1] @ self._axes

    def start(self):
        """The leading axes, all of the same weight; those outside are the last row."""
        omega = np.eye(self._inside + 1, self._axes.shape[0] + 1)
        omega[-1] = 0
        omega[-1, -1] = np.sqrt(self._n_rows - self._inside)
        return omega / np.sqrt(self._n_rows)

    def omega(self, encoded):
        """Omega among all features."""
        rows = encoded[:-1, :-1] @ self._axes
        n_outside = self._n_rows - self._inside
        if not n_outside:
            return rows
        xp = namespace(rows)
        basis, _ = xp.linalg.qr(self._axes.T, mode="complete")
        outside = basis[:, self._axes.shape[0] :].T[:n_outside, :]
        return xp.concat([rows, encoded[-1, -1] / sqrt(n_outside) * outside])


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
