"""The metrics of prototypes: those of the registry, and new ones."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pyriemann.geometry import distance, mean
from pyriemann.geometry.tangentspace import exp_map_riemann, log_map_riemann

from skgeom import GLRSQ, PLRSQ
from skgeom._prototypes._metrics import SPD_METRICS, VectorMetric, VectorPairs
from skgeom.utils.validation import cholesky

# Of each metric, a distance, the square of which is compared, a mean of weighted
# samples, and options of that.
EXACT = {"tol": 1e-12, "maxiter": 500}
REFERENCES = {
    "euclid": (distance.distance_euclid, mean.mean_euclid, {}),
    "logdet": (distance.distance_logdet, mean.mean_logdet, EXACT),
    "logeuclid": (distance.distance_logeuclid, mean.mean_logeuclid, {}),
    # From the identity; test_tangent_spaces.py has other means.
    "mahalanobis": (distance.distance_logeuclid, mean.mean_logeuclid, {}),
    "tangent": (distance.distance_logeuclid, mean.mean_logeuclid, {}),
    "riemann": (distance.distance_riemann, mean.mean_riemann, EXACT),
}
WITH_GEODESICS = sorted(set(SPD_METRICS) - {"logdet"})


def random_spd(rng, count, size=4):
    roots = rng.normal(size=(count, size, 2 * size))
    return roots @ roots.mT / size


def fitted(name, X=None):
    """A metric that has learnt from matrices, or from the identity."""
    metric, X = SPD_METRICS[name](), np.eye(4)[None] if X is None else X
    metric.fit(X, np.zeros(len(X), int), np.ones(len(X)))
    return metric


@pytest.fixture(params=sorted(SPD_METRICS))
def encoded(request, rng):
    """A metric, twelve encoded samples and two prototypes, and all as matrices."""
    X, W = random_spd(rng, 12), random_spd(rng, 2)
    is_flat = SPD_METRICS[request.param].pairs is VectorPairs
    metric = fitted(request.param, None if is_flat else X)
    return request.param, metric, metric.encode(X), metric.encode(W), X, W


def random_tangents(rng, prototypes):
    tangents = rng.normal(size=prototypes.shape)
    return tangents + tangents.mT if tangents.ndim == 3 else tangents


def test_distances_are_those_of_the_reference(encoded):
    name, metric, Z, prototypes, X, W = encoded
    function, *_ = REFERENCES[name]
    expected = np.array([[function(x, w) ** 2 for w in W] for x in X])
    assert_allclose(metric.pairs(Z, prototypes).squared_distances, expected, rtol=1e-9)
    assert_allclose(metric.squared_distances(Z, prototypes), expected, rtol=1e-9)
    assert_allclose(metric.decode(prototypes), W)
    own = np.diagonal(metric.squared_distances(Z, Z))
    assert (own >= 0).all()
    assert_allclose(own, 0, atol=1e-13)


def test_decoded_prototypes_are_positive_definite(encoded, rng):
    """Vectors may be far from all samples, and matrices singular."""
    _, metric, Z, *_ = encoded
    if not metric.keeps_definite:
        pytest.skip("its steps keep prototypes positive definite")
    roots = rng.normal(size=(12, 4, 1)) * np.array([[1e3], [1], [1], [1e-3]])
    far = metric.decode(roots @ roots.mT if Z.ndim == 3 else 1e3 * Z)
    assert np.isfinite(far**2).all()
    cholesky(far, "far")
    if Z.ndim == 3:  # only by the rounding of their eigenvalues
        assert_allclose(metric.encode(far), roots @ roots.mT, atol=1e-6)


def test_gradient_is_that_of_the_squared_distances(encoded, rng):
    _, metric, Z, prototypes, *_ = encoded
    weights, tangents = rng.normal(size=(12, 2)), random_tangents(rng, prototypes)

    def value(t):
        return (weights * metric.squared_distances(Z, prototypes + t * tangents)).sum()

    gradient = metric.pairs(Z, prototypes).gradient(weights)
    numerical = (value(1e-5) - value(-1e-5)) / 2e-5
    assert_allclose((gradient * tangents).sum(), numerical, rtol=1e-7)


def test_slopes_are_derivatives_along_the_manifold(encoded, rng):
    _, metric, Z, prototypes, *_ = encoded
    pairs, manifold = metric.pairs(Z, prototypes), metric.manifold(prototypes.shape)
    coordinates = rng.normal(size=(2, 10))
    tangents = pairs.tangents(coordinates)
    assert_allclose(pairs.coordinates(tangents), coordinates, atol=1e-12)
    assert_allclose(manifold.norm(prototypes, tangents), np.linalg.norm(coordinates))

    def squared(t):
        return metric.squared_distances(
            Z, manifold.retraction(prototypes, t * tangents)
        )

    numerical = (squared(1e-5) - squared(-1e-5)) / 2e-5
    jvp = pairs.jvp(coordinates)
    assert_allclose(jvp, numerical, rtol=1e-6, atol=1e-7)
    weights = rng.normal(size=(12, 2))
    assert_allclose((weights * jvp).sum(), (pairs.vjp(weights) * coordinates).sum())


def test_curvature_is_the_second_derivative_at_the_sample(encoded, rng):
    _, metric, _, prototypes, *_ = encoded
    pairs = metric.pairs(prototypes, prototypes)
    coordinates = rng.normal(size=(2, 10))
    coordinates /= np.linalg.norm(coordinates, axis=1, keepdims=True)
    manifold = metric.manifold(prototypes.shape)
    moved = manifold.retraction(prototypes, 1e-3 * pairs.tangents(coordinates))
    squared = np.diagonal(metric.squared_distances(prototypes, moved))
    assert_allclose(2 * squared / 1e-6, pairs.curvature, rtol=1e-2)


def test_steps_to_far_samples_stay_within_reach(encoded):
    """Whatever the distance, a step of one does not lead farther than the sample."""
    _, metric, *_ = encoded
    for size in (1e2, 1e4, 1e8):
        Z = metric.encode(np.stack([np.eye(4), size * np.eye(4)]))
        pairs = metric.pairs(Z[1:], Z[:1])
        moved = metric.step(Z[:1], pairs, np.ones((1, 1)))
        eigenvalues = np.linalg.eigvalsh(metric.decode(moved)[0])
        assert (eigenvalues > 0.999).all()
        assert (eigenvalues < 1.001 * size).all()


def test_mean_is_that_of_the_reference(encoded, rng):
    name, metric, Z, _, X, _ = encoded
    weights = rng.uniform(1, 2, 12)
    _, function, options = REFERENCES[name]
    expected = function(X, sample_weight=weights, **options)
    found = metric.decode(metric.mean(Z, weights)[None])[0]
    assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", WITH_GEODESICS)
def test_a_step_of_one_leads_to_the_sample(rng, name):
    metric = fitted(name)
    sample, *prototypes = metric.encode(random_spd(rng, 3))
    Z, prototypes = sample[None], np.stack(prototypes)
    pairs = metric.pairs(Z, prototypes)
    whole = pairs.squared_distances[0]
    vectors = metric.tangent_vectors(prototypes, sample)
    origin = metric.tangent_vectors(Z, sample)
    assert_allclose(np.linalg.norm(vectors - origin, axis=1) ** 2, whole)
    moved = metric.step(prototypes, pairs, np.array([[1.0, -0.2]]))
    left = metric.squared_distances(Z, moved)
    assert_allclose(left, [[0, 1.2**2 * whole[1]]], atol=1e-20 + 1e-12 * whole[0])


def test_step_is_the_exponential_map_of_a_sum_of_logarithms(rng):
    X, W = random_spd(rng, 4), random_spd(rng, 2)
    metric, coefficients = fitted("riemann"), rng.normal(size=(4, 2)) / 4
    for rows in (slice(0, 1), slice(0, 4)):
        moved = metric.step(W, metric.pairs(X[rows], W), coefficients[rows])
        for w, after, column in zip(W, moved, coefficients.T, strict=True):
            logarithms = log_map_riemann(X[rows], w)
            tangent = np.einsum("i,ikl->kl", column[rows], logarithms)
            assert_allclose(after, exp_map_riemann(tangent[None], w)[0], rtol=1e-10)


@pytest.mark.parametrize("unit", [1.0, 1e8])
@pytest.mark.parametrize("size", [2e-4, 1e-6, 1e-11])
def test_near_matrices_keep_their_distances(rng, size, unit):
    """Not as differences of large numbers: 8 digits of those would be lost."""
    eigenvalues = unit * rng.uniform(0.1, 10, size=(1, 4))
    near = eigenvalues * (1 + size * rng.uniform(-1, 1, size=(5, 4)))
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    W, X = ((basis * e[:, None]) @ basis.T for e in (eigenvalues, near))
    ratios = near / eigenvalues - 1
    found = fitted("logdet").squared_distances(X, W)[:, 0]
    expected = (np.log1p(ratios / 2) - np.log1p(ratios) / 2).sum(axis=1)
    # The matrices themselves are rounded.
    assert_allclose(found, expected, rtol=1e-14 / size)


class LogCholeskyMetric(VectorMetric):
    """The log-Cholesky metric in its shortest form, without limits in ``decode``."""

    def encode(self, X):
        factors = np.linalg.cholesky(X)
        diagonals = np.log(np.diagonal(factors, axis1=1, axis2=2))
        rows, columns = np.tril_indices(X.shape[1], -1)
        return np.hstack([diagonals, factors[:, rows, columns]])

    def decode(self, Z):
        size = int(np.sqrt(2 * Z.shape[1]))
        factors = np.exp(Z[:, :size, None]) * np.eye(size)
        factors[:, *np.tril_indices(size, -1)] = Z[:, size:]
        return factors @ factors.mT


METRICS = [LogCholeskyMetric, *SPD_METRICS.values()]
FITS = list(product((PLRSQ, GLRSQ), ("lbfgs", "sgd")))
CASES = [  # each metric with one estimator and solver in the fast tests
    pytest.param(metric, *fit, marks=[pytest.mark.exhaustive] if (k + i) % 4 else [])
    for k, metric in enumerate(METRICS)
    for i, fit in enumerate(FITS)
]


@pytest.mark.parametrize(("metric", "estimator", "solver"), CASES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_each_metric_and_new_ones(spd, monkeypatch, metric, estimator, solver):
    monkeypatch.setitem(SPD_METRICS, "new", metric)
    X, y = spd
    if not metric.keeps_definite:
        solver = "auto"  # that is, "sgd"
    options = {"metric": "new", "solver": solver, "max_iter": 10, "random_state": 0}
    model = estimator(2, **options).fit(X, y)
    # By how much depends on the selected weight of representability.
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert model.score(X, y) > 0.9
    assert (np.linalg.eigvalsh(model.prototypes_) > 0).all()
    metric = model._model.metric  # with what it may have learnt
    Z, prototypes = metric.encode(X), metric.encode(model.prototypes_)
    expected = metric.squared_distances(Z, prototypes)
    assert_allclose(model.transform(X) ** 2, expected)


@pytest.mark.parametrize("solver", ["sgd", "lbfgs"])
@pytest.mark.parametrize("metric", ["riemann", "logdet", "tangent", "mahalanobis"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_samples_that_are_nearly_singular(spd, metric, solver):
    """They are learnt from, or refused with the remedy."""
    centering = np.eye(4) - 1 / 4
    X = centering @ spd[0] @ centering + 1e-14 * np.eye(4)
    model = PLRSQ(metric=metric, solver=solver, max_iter=4, random_state=0)
    try:
        model.fit(X, spd[1])
    except ValueError as error:
        assert "add 0.001 of" in str(error)
    else:
        assert model.score(X, spd[1]) > 0.5


@pytest.mark.parametrize("slope", [0.1, 1.0, 100.0])
def test_log_determinant_divergence_of_crossed_matrices(slope):
    """Of determinant 1 both, and far apart if the slope is large, by closed form."""
    X, W = (np.array([[[1, s], [s, 1 + s**2]]]) for s in (slope, -slope))
    found = fitted("logdet").squared_distances(X, W)
    assert_allclose(found, [[np.log1p(slope**2)]], rtol=1e-11)


class LabelMetric(LogCholeskyMetric):
    """A metric that counts the labels of its fit."""

    uses_labels = True

    def fit(self, X, y, weights):
        self._counts = np.bincount(y)


def test_a_metric_that_uses_labels_is_fitted_again_in_folds(make_spd):
    X, y = make_spd((6,), 2), np.array([0, 0, 0, 1, 1, 1])
    metric = LabelMetric()
    metric.fit(X, y, np.ones(6))
    again = metric.refitted(X[:4], y[:4], np.ones(4))
    assert again._counts.tolist() == [3, 1]
    assert metric._counts.tolist() == [3, 3]
