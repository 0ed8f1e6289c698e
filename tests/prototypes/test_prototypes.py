"""Losses, metrics and cost of learning vector quantisation."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from numpy.testing import assert_allclose
from pyriemann.geometry.distance import distance_riemann
from pyriemann.geometry.mean import mean_riemann
from pyriemann.geometry.tangentspace import exp_map_riemann, log_map_riemann

from skgeom._prototypes._losses import LikelihoodLoss, MarginLoss
from skgeom._prototypes._metrics import (
    AffineInvariantMetric,
    EuclideanSPDMetric,
    LogEuclideanMetric,
    VectorMetric,
)
from skgeom._prototypes._solvers import BilinearProjection, PrototypeCost, Relevance
from skgeom.geometry import expm, logm

LABELS = np.array([0, 0, 1, 2, 2])


def random_spd(rng, count, size=3):
    roots = rng.normal(size=(count, size, 2 * size))
    return roots @ roots.mT / size


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def priors(rng):
    priors = rng.uniform(1, 2, len(LABELS))
    return np.log(priors / priors.sum())


def likelihood_by_autograd(log_priors, gamma, reference):
    def cost(squared, y, scale):
        own = anp.array(y[:, None] == LABELS)
        density = anp.exp(log_priors - squared / (2 * scale))
        drawn = anp.exp(log_priors - squared / (2 * reference))
        return anp.sum(
            -anp.log(anp.sum(own * density, axis=1) / anp.sum(density, axis=1))
            - gamma * anp.log(anp.sum(own * drawn, axis=1))
        )

    return cost


@pytest.mark.parametrize("gamma", [0.0, 0.2])
def test_likelihood_is_equation_18_and_its_gradient(rng, priors, gamma):
    squared, y = rng.uniform(0.1, 5, (7, 5)), np.arange(7) % 3
    loss = LikelihoodLoss(LABELS, priors, gamma, reference=0.9)
    cost = likelihood_by_autograd(priors, gamma, 0.9)
    values, derivatives, of_log_scale = loss(squared, y, 1.3)
    assert_allclose(values.sum(), cost(squared, y, 1.3), rtol=1e-13)
    assert_allclose(derivatives, grad(cost)(squared, y, 1.3), atol=1e-14)
    of_scale = grad(lambda scale: cost(squared, y, scale))(1.3)
    assert_allclose(of_log_scale.sum(), 1.3 * of_scale, rtol=1e-12)


def test_likelihood_of_far_samples_is_finite(priors):
    squared = np.array([[1e6, 2e6, 3e5, 1e6, 4e6]])
    values, derivatives, _ = LikelihoodLoss(LABELS, priors)(squared, np.array([0]), 0.1)
    assert_allclose(values, (1e6 - 3e5) / 0.2, rtol=1e-4)
    assert np.isfinite(derivatives).all()


def test_margin_is_the_authors_rule(rng):
    squared, y = rng.uniform(0.1, 5, (7, 5)), np.arange(7) % 3
    losses, derivatives, _ = MarginLoss(LABELS)(squared, y, 2.0)
    for row, label in enumerate(y):
        own = np.flatnonzero(label == LABELS)
        other = np.flatnonzero(label != LABELS)
        j = own[squared[row, own].argmin()]
        k = other[squared[row, other].argmin()]
        dj, dk = squared[row, j], squared[row, k]
        phi = 1 / (1 + np.exp(-2.0 * (dj - dk) / (dj + dk)))
        expected = np.zeros(5)
        expected[j] = 2.0 * phi * (1 - phi) * 2 * dk / (dj + dk) ** 2
        expected[k] = -2.0 * phi * (1 - phi) * 2 * dj / (dj + dk) ** 2
        assert_allclose(losses[row], phi)
        assert_allclose(derivatives[row], expected)


@pytest.mark.parametrize("squared", [0.0, 5e-324, 1e-300, 1e-280])
@pytest.mark.parametrize("slope", [1.0, 10.0, 1e6])
def test_margin_of_a_sample_on_two_prototypes(squared, slope):
    losses, derivatives, _ = MarginLoss(np.array([0, 1]))(
        np.full((1, 2), squared), np.array([0]), slope
    )
    assert_allclose(losses, 0.5)
    expected = slope / 8 / squared if squared > 1e-290 else 0.0
    assert_allclose(derivatives, [[expected, -expected]])


def test_affine_invariant_distances_are_those_of_pyriemann(rng):
    X, W = random_spd(rng, 6), random_spd(rng, 2)
    expected = [[distance_riemann(x, w) ** 2 for w in W] for x in X]
    metric = AffineInvariantMetric()
    assert_allclose(metric.squared_distances(X, W), expected)
    assert_allclose(metric.pairs(X, W).squared_distances, expected)
    assert_allclose(metric.stochastic(W).evaluate(X), expected)


def test_step_is_the_exponential_map_of_a_sum_of_logarithms(rng):
    X, W = random_spd(rng, 4), random_spd(rng, 2)
    coefficients = rng.normal(size=(4, 2)) / 4
    for rows in (slice(0, 1), slice(0, 4)):
        state = AffineInvariantMetric().stochastic(W)
        state.evaluate(X[rows])
        state.move(coefficients[rows])
        for j, prototype in enumerate(state.prototypes):
            tangent = np.einsum(
                "i,ikl->kl", coefficients[rows, j], log_map_riemann(X[rows], W[j])
            )
            expected = exp_map_riemann(tangent[None], W[j])[0]
            assert_allclose(prototype, expected, rtol=1e-10)
        # What is evaluated next are the moved prototypes.
        moved = AffineInvariantMetric().squared_distances(X, state.prototypes)
        assert_allclose(state.evaluate(X), moved, rtol=1e-10)


def test_rounding_does_not_add_up_over_many_steps(rng):
    X, state = (
        random_spd(rng, 50),
        AffineInvariantMetric().stochastic(random_spd(rng, 2)),
    )
    for x in np.tile(X, (20, 1, 1)):
        state.evaluate(x[None])
        state.move(np.full((1, 2), 0.3))
    expected = AffineInvariantMetric().squared_distances(X, state.prototypes)
    assert_allclose(state.evaluate(X), expected, rtol=1e-9)
    state.refresh()
    assert_allclose(state.evaluate(X), expected, rtol=1e-12)


def test_mean_is_that_of_pyriemann(rng):
    X, weights = random_spd(rng, 12), rng.uniform(1, 2, 12)
    mean = AffineInvariantMetric().mean(X, weights)
    assert_allclose(mean, mean_riemann(X, sample_weight=weights, tol=1e-12), rtol=1e-8)


def test_geodesic_is_on_the_geodesic(rng):
    base, sample = random_spd(rng, 2)
    metric = AffineInvariantMetric()
    point = metric.geodesic(base, sample, 0.25)
    whole = distance_riemann(base, sample)
    assert_allclose(distance_riemann(base, point), 0.25 * whole)
    assert_allclose(distance_riemann(point, sample), 0.75 * whole)


@pytest.mark.parametrize("metric", [LogEuclideanMetric(), EuclideanSPDMetric()])
def test_vectors_of_matrices_are_isometric(rng, metric):
    X = random_spd(rng, 5)
    seen = logm(X) if isinstance(metric, LogEuclideanMetric) else X
    expected = np.linalg.norm(seen[:, None] - seen[:2], axis=(-2, -1)) ** 2
    Z = metric.encode(X)
    assert_allclose(metric.squared_distances(Z, Z[:2]), expected, atol=1e-12)
    assert_allclose(metric.decode(Z), X)


def test_clipping_finds_the_nearest_matrix_above_the_floor():
    metric = EuclideanSPDMetric()
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    low = rotation @ np.diag([-1.0, 1e-6, 2.0]) @ rotation.T
    fine = np.eye(3)
    vectors = metric.encode(np.stack([low, fine]))
    clipped = metric.decode(metric.project(vectors))
    assert_allclose(clipped[0], rotation @ np.diag([1e-4, 1e-4, 2]) @ rotation.T)
    assert_allclose(clipped[1], fine)


def cost_of(rng, kind):
    """A cost, a point, and curves through the point."""
    y = np.arange(12) % 3
    weights = rng.uniform(0.5, 2, 12)
    X, W = random_spd(rng, 12), random_spd(rng, 5)
    likelihood = LikelihoodLoss(LABELS, np.log(np.full(5, 0.2)), 0.1, 1.5)
    margin = MarginLoss(LABELS)
    if kind == "riemann":
        return PrototypeCost(AffineInvariantMetric(), X, y, weights, likelihood, 1.2), [
            W
        ]
    if kind == "riemann margin":
        return PrototypeCost(AffineInvariantMetric(), X, y, weights, margin, 2.0), [W]
    if kind == "scale":
        cost = PrototypeCost(AffineInvariantMetric(), X, y, weights, likelihood)
        return cost, [W, np.array([0.3])]
    if kind == "congruence":
        cost = PrototypeCost(
            AffineInvariantMetric(), X, y, weights, likelihood, None, BilinearProjection
        )
        return cost, [W[:, :2, :2], np.array([0.3]), rng.normal(size=(3, 2))]
    Z, w = rng.normal(size=(12, 4)), rng.normal(size=(5, 4))
    if kind == "flat":
        return PrototypeCost(VectorMetric(), Z, y, weights, likelihood, 1.2), [w]
    cost = PrototypeCost(VectorMetric(), Z, y, weights, margin, 2.0, Relevance)
    return cost, [w, rng.normal(size=(2, 4))]


@pytest.mark.parametrize(
    "kind", ["riemann", "riemann margin", "scale", "congruence", "flat", "relevance"]
)
def test_gradient_of_the_cost(rng, kind):
    cost, point = cost_of(rng, kind)
    _, gradients = cost(point)
    assert len(gradients) == len(point)
    for part, gradient in enumerate(gradients):
        spd = point[part].ndim == 3
        direction = rng.normal(size=point[part].shape)
        if spd:  # along a geodesic: F exp(t S) F', with the velocity F S F' at 0
            factors = np.linalg.cholesky(point[part])
            direction = direction + direction.mT

        def value(t, part=part, spd=spd, direction=direction):
            moved = list(point)
            if spd:
                moved[part] = factors @ expm(t * direction) @ factors.mT  # noqa: B023
            else:
                moved[part] = point[part] + t * direction
            return cost(moved)[0]

        velocity = factors @ direction @ factors.mT if spd else direction
        step = 1e-5
        numerical = (value(step) - value(-step)) / (2 * step)
        assert_allclose((gradient * velocity).sum(), numerical, rtol=1e-7)


def test_cost_does_not_depend_on_blocks(rng, monkeypatch):
    cost, point = cost_of(rng, "congruence")
    value, gradients = cost(point)
    monkeypatch.setattr("skgeom._prototypes._solvers._BLOCK", 1)
    value_of_ones, gradients_of_ones = cost(list(point))
    assert_allclose(value_of_ones, value)
    for one, all_ in zip(gradients_of_ones, gradients, strict=True):
        assert_allclose(one, all_, rtol=1e-10)


def test_gradient_of_the_affine_invariant_distance_by_autograd(rng):
    X, W = random_spd(rng, 1), random_spd(rng, 1)

    def squared(x, w):
        inverse = anp.linalg.inv(anp.linalg.cholesky(w))
        whitened = anp.dot(anp.dot(inverse, x), inverse.T)
        return anp.sum(anp.log(anp.linalg.eigh(whitened)[0]) ** 2)

    pairs = AffineInvariantMetric().pairs(X, W)
    one = np.ones((1, 1))
    of_w = grad(squared, 1)(X[0], W[0])
    of_x = grad(squared, 0)(X[0], W[0])
    assert_allclose(pairs.gradient(one)[0], (of_w + of_w.T) / 2, rtol=1e-9)
    assert_allclose(pairs.sample_gradient(one)[0], (of_x + of_x.T) / 2, rtol=1e-9)


def test_ill_conditioned_matrices_have_finite_distances():
    variance = np.diag(np.logspace(-6, 6, 6))
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    X = np.stack([variance, rotation @ variance @ rotation.T, np.eye(6)])
    pairs = AffineInvariantMetric().pairs(X, X)
    assert np.isfinite(pairs.squared_distances).all()
    assert np.isfinite(pairs.gradient(np.ones((3, 3)))).all()
