"""The cost of prototypes: gradients, the model of its curvature, and bounds."""

from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import jacobian
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.geometry.distance import distance_riemann
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skgeom import GLRSQ, PLRSQ
from skgeom._prototypes import _cost, _minimization, _model
from skgeom._prototypes._cost import PrototypeCost
from skgeom._prototypes._losses import LikelihoodLoss, MarginLoss
from skgeom._prototypes._metrics import AffineInvariantMetric, VectorMetric
from skgeom._prototypes._model import EncodedSamples, Model, in_tangent_space
from skgeom.datasets import make_spd_classes
from skgeom.geometry import expm

LABELS = np.array([0, 0, 1, 2, 2])
SCALE, REFERENCE, GAMMA = 1.2, 1.5, 0.1
LIKELIHOOD = LikelihoodLoss(LABELS, np.log(np.full(5, 0.2)), GAMMA, REFERENCE)
MARGIN = MarginLoss(LABELS)


def random_spd(rng, count, size=3, spread=0.5):
    basis = np.linalg.qr(rng.normal(size=(count, size, size)))[0]
    eigenvalues = np.exp(spread * rng.normal(size=(count, 1, size)))
    return (basis * eigenvalues) @ basis.mT


def training_of(rng, metric, n_samples=12, **options):
    """Twelve samples of three classes, and five prototypes."""
    if isinstance(metric, VectorMetric):
        Z, W = rng.normal(size=(n_samples, 4)), rng.normal(size=(5, 4))
    else:
        Z = random_spd(rng, n_samples, **options)
        W = random_spd(rng, 5, **options)
    y, weights = np.arange(n_samples) % 3, rng.uniform(0.5, 2, n_samples)
    model = Model(metric, None, (2, 1, 2), LABELS, np.ones(3), W, 1.0)
    return EncodedSamples(Z, Z, y, weights), model


def cost_of(rng, kind):
    """A cost and a point."""
    vectors = kind in ("vectors", "relevance")
    metric = VectorMetric() if vectors else AffineInvariantMetric()
    samples, model = training_of(rng, metric)
    W = model.prototypes
    if kind == "margin":
        return PrototypeCost(samples, model, MARGIN, 2.0), W
    if kind == "scale":
        return PrototypeCost(samples, model, LIKELIHOOD), [W, np.array([0.3])]
    if kind == "relevance":
        matrix = rng.normal(size=(2, 4))
        model = replace(model, matrix=matrix)
        return PrototypeCost(samples, model, MARGIN, 2.0), [W, matrix]
    return PrototypeCost(samples, model, LIKELIHOOD, SCALE), W


@pytest.mark.parametrize("kind", ["riemann", "margin", "scale", "vectors", "relevance"])
def test_gradient_of_the_cost(rng, kind):
    cost, point = cost_of(rng, kind)
    gradients = cost.at(point).gradient
    alone = not isinstance(point, list)
    point, gradients = ([point], [gradients]) if alone else (point, gradients)
    assert len(gradients) == len(point)
    for number, (part, gradient) in enumerate(zip(point, gradients, strict=True)):
        direction = velocity = rng.normal(size=part.shape)
        if part.ndim == 3:  # along a geodesic: F exp(t S) F', with the velocity F S F'
            factors = np.linalg.cholesky(part)
            direction = direction + direction.mT
            velocity = factors @ direction @ factors.mT

        def value(t, number=number, part=part, direction=direction):
            moved = list(point)
            moved[number] = part + t * direction
            if part.ndim == 3:
                factors = np.linalg.cholesky(part)
                moved[number] = factors @ expm(t * direction) @ factors.mT
            return cost.at(moved[0] if alone else moved).value

        numerical = (value(1e-5) - value(-1e-5)) / 2e-5
        assert_allclose((gradient * velocity).sum(), numerical, rtol=1e-7)


def test_cost_does_not_depend_on_blocks(rng, monkeypatch):
    cost, point = cost_of(rng, "scale")
    expected = cost.at(point)
    monkeypatch.setattr(_model, "_BLOCK", 1)
    found = cost.at(list(point))
    assert_allclose(found.value, expected.value)
    for one, all_ in zip(found.gradient, expected.gradient, strict=True):
        assert_allclose(one, all_, rtol=1e-10)


@pytest.mark.parametrize("gamma", [0, GAMMA])
def test_model_of_the_curvature_of_vectors(rng, gamma, monkeypatch):
    """Against the matrix that its definition and autograd give."""
    monkeypatch.setattr(_cost, "_RESIDUAL", 1e-3)
    samples, model = training_of(rng, VectorMetric())
    loss = LikelihoodLoss(LABELS, np.log(np.full(5, 0.2)), gamma, REFERENCE)
    cost, W = PrototypeCost(samples, model, loss, SCALE), model.prototypes

    def scores(w):
        return -anp.sum((samples.Z[:, None] - w) ** 2, axis=2) / (2 * SCALE)

    J = jacobian(scores)(W).reshape(12, 5, 20)
    terms, is_own = np.exp(scores(W)), samples.y[:, None] == LABELS
    p = terms / terms.sum(axis=1, keepdims=True)
    q = is_own * terms / (is_own * terms).sum(axis=1, keepdims=True)
    far = np.exp(scores(W) * SCALE / REFERENCE) * is_own
    drawn = far / far.sum(axis=1, keepdims=True)
    H = np.einsum("i,ika,ik,ikb->ab", samples.weights, J, p, J)
    mean = np.einsum("ik,ika->ia", p, J)
    H -= np.einsum("i,ia,ib->ab", samples.weights, mean, mean)
    pull = gamma * drawn / REFERENCE
    diagonal = samples.weights @ (0.02 * np.abs(q - p) / SCALE + pull)
    H += np.diag(np.repeat(diagonal, 4))
    vector = rng.normal(size=W.shape)
    solution = cost.at(W).solve(vector)
    residual = H @ solution.ravel() - vector.ravel()
    assert np.linalg.norm(residual) < 2e-3 * np.linalg.norm(vector)


def test_model_of_the_curvature_is_affine_invariant(rng, monkeypatch):
    monkeypatch.setattr(_cost, "_RESIDUAL", 1e-6)
    samples, model = training_of(rng, AffineInvariantMetric())
    W, A, vector = model.prototypes, rng.normal(size=(3, 3)), random_spd(rng, 5)
    solution = PrototypeCost(samples, model, LIKELIHOOD, SCALE).at(W).solve(vector)
    moved = replace(samples, Z=A @ samples.Z @ A.T)
    cost = PrototypeCost(moved, model, LIKELIHOOD, SCALE)
    of_moved = cost.at(A @ W @ A.T).solve(A @ vector @ A.T)
    expected = A @ solution @ A.T
    assert_allclose(of_moved, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
def test_distances_in_the_tangent_space_are_lower_bounds(rng, spread):
    """Bhatia, "Positive definite matrices", theorem 6.1.4."""
    samples, model = training_of(rng, AffineInvariantMetric(), spread=spread)
    flat, model_there = in_tangent_space(samples, model)
    found, W = model_there.squared_distances(flat.Z), model.prototypes
    exact = np.array([[distance_riemann(x, w) ** 2 for w in W] for x in samples.Z])
    assert (found <= exact * (1 + 1e-12)).all()
    if spread == 0.1:
        assert_allclose(found, exact, rtol=0.02)


def test_margins_compute_only_active_distances(rng, monkeypatch):
    training = training_of(rng, AffineInvariantMetric(), 60, size=4, spread=1.0)
    W, counts, eigh = training[1].prototypes, [], np.linalg.eigh
    cost = PrototypeCost(*training, MARGIN, 10.0)

    def counted(matrices):
        counts.append(matrices[..., 0, 0].size)
        return eigh(matrices)

    monkeypatch.setattr(np.linalg, "eigh", counted)
    found = cost.at(W)
    assert 2 * 60 <= sum(counts) - 5 < 0.8 * 60 * 5  # five are the prototypes
    monkeypatch.delattr(AffineInvariantMetric, "tangent_metric")
    expected = PrototypeCost(*training, MARGIN, 10.0).at(W)
    assert_allclose(found.value, expected.value, rtol=1e-12)
    tolerance = 1e-10 * np.abs(expected.gradient).max()
    assert_allclose(found.gradient, expected.gradient, atol=tolerance)


@pytest.mark.parametrize("estimator", [PLRSQ(2, metric="riemann"), GLRSQ(2)], ids=repr)
def test_optimization_through_the_tangent_space(monkeypatch, estimator):
    X, y = make_spd_classes(3, 40, 4, separation=0.5, random_state=0)
    estimator.set_params(random_state=0, tol=1e-3)
    through = clone(estimator).fit(X, y)
    assert (np.diff(through.loss_curve_) <= 0).all()
    assert len(through.loss_curve_) == through.n_iter_ + 1
    monkeypatch.delattr(AffineInvariantMetric, "tangent_metric")
    plain = clone(estimator).fit(X, y)
    assert through.n_iter_ <= plain.n_iter_
    assert through.loss_curve_[0] == pytest.approx(plain.loss_curve_[0])


@pytest.mark.parametrize("fails", [True, False])
def test_a_tangent_space_that_does_not_help(spd, monkeypatch, fails):
    def misled(cost, scale, *_):
        if fails:
            raise np.linalg.LinAlgError
        return replace(cost.model, prototypes=100 * cost.model.prototypes, scale=1.0)

    model = PLRSQ(metric="riemann")
    monkeypatch.setattr(_minimization, "tangent_minimum", misled)
    found = clone(model).fit(*spd)
    monkeypatch.delattr(AffineInvariantMetric, "tangent_metric")
    assert_allclose(found.loss_curve_, model.fit(*spd).loss_curve_, rtol=1e-8)


@pytest.mark.parametrize("max_iter", [1, 4])
def test_the_limit_of_iterations_is_named(spd, max_iter, monkeypatch):
    """The optimization in the tangent space is the first iteration."""
    found, original = [], _minimization.tangent_minimum
    spy = lambda *arguments: found.append(original(*arguments)) or found[0]  # noqa: E731
    monkeypatch.setattr(_minimization, "tangent_minimum", spy)
    model = PLRSQ(2, metric="riemann", max_iter=max_iter, tol=0, random_state=0)
    with pytest.warns(ConvergenceWarning, match=f"limit max_iter={max_iter} was"):
        model.fit(*spd)
    assert model.n_iter_ == max_iter == len(model.loss_curve_) - 1
    stays = np.array_equal(model._model.prototypes, found[0].prototypes)
    assert stays == (max_iter == 1)


def test_results_do_not_depend_on_the_number_of_threads(spd, monkeypatch):
    monkeypatch.setattr(_model, "_BLOCK", 1000)
    assert len(_model.sample_blocks(60, np.empty((9, 4, 4)))) == 10
    found = []
    for n_threads in (1, 3):
        threads = "skgeom.utils.threads.effective_n_threads"
        monkeypatch.setattr(threads, lambda n_threads=n_threads: n_threads)
        found.append(PLRSQ(3, metric="riemann", random_state=0).fit(*spd))
    assert_array_equal(found[1].prototypes_, found[0].prototypes_)
