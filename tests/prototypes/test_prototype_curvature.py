"""The model of the curvature that starts the search for prototypes."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import hessian, jacobian
from numpy.testing import assert_allclose

from skgeom._prototypes._losses import LikelihoodLoss, MarginLoss
from skgeom._prototypes._metrics import (
    AffineInvariantMetric,
    VectorMetric,
    VectorPairs,
    WhitenedPairs,
)
from skgeom._prototypes._solvers import PrototypeCost
from skgeom.geometry import expm

LABELS = np.array([0, 0, 1, 2])
SCALE, REFERENCE, GAMMA = 1.2, 1.5, 0.1


def random_spd(rng, count, size=3):
    roots = rng.normal(size=(count, size, 2 * size))
    return roots @ roots.mT / size


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def solved(monkeypatch):
    """Equations are solved to three digits here; a search needs one."""
    for pairs in (VectorPairs, WhitenedPairs):
        monkeypatch.setattr(pairs, "model_tol", 1e-3)


def cost_and_point(rng, kind, gamma=GAMMA):
    loss = LikelihoodLoss(LABELS, np.log(np.full(4, 0.25)), gamma, REFERENCE)
    y, weights = np.arange(12) % 3, rng.uniform(0.5, 2, 12)
    if kind == "riemann":
        metric, Z, W = AffineInvariantMetric(), random_spd(rng, 12), random_spd(rng, 4)
    else:
        metric, Z, W = VectorMetric(), rng.normal(size=(12, 5)), rng.normal(size=(4, 5))
    return PrototypeCost(metric, Z, y, weights, loss, SCALE), (Z, y, weights), W


@pytest.mark.parametrize("kind", ["riemann", "flat"])
def test_slopes_are_derivatives_along_geodesics(rng, kind):
    _, (Z, _, _), W = cost_and_point(rng, kind)
    metric = AffineInvariantMetric() if kind == "riemann" else VectorMetric()
    pairs = metric.pairs(Z, W)
    size = 6 if kind == "riemann" else 5
    coordinates = rng.normal(size=(4, size))
    tangents = pairs.tangents(coordinates)
    assert_allclose(pairs.coordinates(tangents), coordinates, atol=1e-12)
    manifold = metric.manifold(W.shape)
    assert_allclose(manifold.norm(W, tangents), np.linalg.norm(coordinates))

    def squared(t):
        moved = manifold.retraction(W, t * tangents)
        return metric.squared_distances(Z, moved)

    numerical = (squared(1e-5) - squared(-1e-5)) / 2e-5
    assert_allclose(pairs.jvp(coordinates), numerical, rtol=1e-6, atol=1e-7)
    weights = rng.normal(size=(12, 4))
    assert_allclose(
        (weights * pairs.jvp(coordinates)).sum(),
        (pairs.vjp(weights) * coordinates).sum(),
    )


def test_steps_on_spd_matrices_are_geodesics(rng):
    W, tangent = random_spd(rng, 2), random_spd(rng, 2) - 2 * np.eye(3)
    moved = AffineInvariantMetric().manifold(W.shape).retraction(W, tangent)
    for w, u, after in zip(W, tangent, moved, strict=True):
        factor = np.linalg.cholesky(w)
        inverse = np.linalg.inv(factor)
        whitened = expm(inverse @ u @ inverse.T)
        assert_allclose(after, factor @ whitened @ factor.T, rtol=1e-10)


@pytest.mark.parametrize("gamma", [0, GAMMA])
def test_model_of_flat_prototypes(rng, gamma):
    """Against the matrix that its definition and autograd give."""
    cost, (Z, y, weights), W = cost_and_point(rng, "flat", gamma)

    def scores(w):
        return -anp.sum((Z[:, None] - w) ** 2, axis=2) / (2 * SCALE)

    J = jacobian(scores)(W).reshape(12, 4, 20)
    terms = np.exp(scores(W))
    p = terms / terms.sum(axis=1, keepdims=True)
    own = terms * (y[:, None] == LABELS)
    q = own / own.sum(axis=1, keepdims=True)
    far = np.exp(scores(W) * SCALE / REFERENCE) * (y[:, None] == LABELS)
    drawn = far / far.sum(axis=1, keepdims=True)
    model = np.einsum("i,ika,ik,ikb->ab", weights, J, p, J)
    mean = np.einsum("ik,ika->ia", p, J)
    model -= np.einsum("i,ia,ib->ab", weights, mean, mean)
    diagonal = weights @ (0.02 * np.abs(q - p) / SCALE + gamma * drawn / REFERENCE)
    model += np.diag(np.repeat(diagonal, 5))
    vector = rng.normal(size=W.shape)
    (solution,) = cost.solve([W], [vector])
    expected = np.linalg.solve(model, vector.ravel())
    residual = model @ solution.ravel() - vector.ravel()
    assert np.linalg.norm(residual) < 2e-3 * np.linalg.norm(vector)
    assert_allclose(solution.ravel(), expected, atol=5e-3 * np.abs(expected).max())


def test_model_is_the_hessian_where_nothing_is_left_out(rng):
    """With one prototype a class and what it leaves out being zero."""
    labels = np.arange(2)
    loss = LikelihoodLoss(labels, np.log([0.5, 0.5]))
    Z, W = rng.normal(size=(6, 3)), rng.normal(size=(2, 3))
    Z = np.concatenate([Z, Z])  # each sample once in each class, so that
    y = np.repeat(labels, 6)  # the derivatives for the distances cancel, at p = 1/2
    W[1] = W[0]
    cost = PrototypeCost(VectorMetric(), Z, y, np.ones(12), loss, SCALE)

    def value(w):
        scores = -anp.sum((Z[:, None] - w) ** 2, axis=2) / (2 * SCALE)
        own = scores[np.arange(12), y]
        return anp.sum(anp.log(anp.sum(anp.exp(scores), axis=1)) - own)

    exact = hessian(value)(W).reshape(6, 6)
    damping = 0.02 * 12 * 0.5 / SCALE
    vector = rng.normal(size=W.shape)
    (solution,) = cost.solve([W], [vector])
    residual = (exact + damping * np.eye(6)) @ solution.ravel() - vector.ravel()
    assert np.linalg.norm(residual) < 2e-3 * np.linalg.norm(vector)


def test_model_is_affine_invariant(rng):
    cost, (Z, y, weights), W = cost_and_point(rng, "riemann")
    A = rng.normal(size=(3, 3))
    moved = PrototypeCost(
        AffineInvariantMetric(), A @ Z @ A.T, y, weights, cost._loss, SCALE
    )
    vector = random_spd(rng, 4)
    (solution,) = cost.solve([W], [vector])
    (of_moved,) = moved.solve([A @ W @ A.T], [A @ vector @ A.T])
    assert_allclose(of_moved, A @ solution @ A.T, rtol=0.02, atol=1e-3)


def test_solve_does_not_depend_on_the_last_call(rng):
    cost, _, W = cost_and_point(rng, "riemann")
    vector = random_spd(rng, 4)
    (first,) = cost.solve([W], [vector])
    cost([random_spd(rng, 4)])
    (second,) = cost.solve([W], [vector])
    assert_allclose(second, first)


def test_where_there_is_no_model(rng, monkeypatch):
    cost, (Z, y, weights), W = cost_and_point(rng, "riemann")
    metric, loss = AffineInvariantMetric(), cost._loss
    assert cost.has_curvature(W)
    assert not PrototypeCost(metric, Z, y, weights, loss).has_curvature(W)
    margin = MarginLoss(LABELS)
    assert not PrototypeCost(metric, Z, y, weights, margin, 1.0).has_curvature(W)
    monkeypatch.setattr("skgeom._prototypes._solvers._KEPT", 12 * W.size - 1)
    assert not cost.has_curvature(W)
