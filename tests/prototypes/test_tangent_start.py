"""Searches that begin in tangent coordinates, and pairs too far apart to matter.

The affine-invariant distance is not smaller than that of logarithms at any matrix
(Bhatia, "Positive definite matrices", theorem 6.1.4), so these are lower bounds.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.geometry.distance import distance_riemann
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skgeom import GLRSQ, PLRSQ
from skgeom._prototypes._losses import LikelihoodLoss, MarginLoss
from skgeom._prototypes._metrics import (
    SPD_METRICS,
    AffineInvariantMetric,
    TangentMetric,
)
from skgeom._prototypes._solvers import Problem, PrototypeCost, sample_blocks
from skgeom.datasets import make_spd_classes

CHARTED = [
    name
    for name, metric in SPD_METRICS.items()
    if metric().tangent_metric(np.eye(2)[None]) is not None
]
LABELS = np.repeat(np.arange(4), 3)
LOG_PRIORS = np.log(np.full(12, 1 / 12))
LOSSES = {
    "likelihood": (LikelihoodLoss(LABELS, LOG_PRIORS), 0.1),
    "representability": (LikelihoodLoss(LABELS, LOG_PRIORS, 0.1, 0.3), 0.1),
    "unequal priors": (LikelihoodLoss(LABELS, np.log(np.arange(1, 13) / 78)), 0.1),
    "margin": (MarginLoss(LABELS), 10.0),
}


def random_spd(rng, count, size=4, variance=1.0):
    basis = np.linalg.qr(rng.normal(size=(count, size, size)))[0]
    eigenvalues = np.exp(variance * rng.normal(size=(count, 1, size)))
    return (basis * eigenvalues) @ basis.mT


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=LOSSES)
def costs(request, rng):
    """The cost of all pairs, that of pairs that matter, and prototypes."""
    loss, scale = LOSSES[request.param]
    Z, W = random_spd(rng, 60), random_spd(rng, 12)
    y, weights = np.arange(60) % 4, rng.uniform(0.5, 2, 60)
    metric = AffineInvariantMetric()
    counts = tuple(np.bincount(LABELS).tolist())
    problem = Problem(metric, Z, Z, W, y, LABELS, counts, weights, None, 1.0, W)
    data = metric, Z, y, weights, loss, scale
    return (
        PrototypeCost(*data),
        PrototypeCost(*data, flat=problem.in_tangent_space()),
        W,
    )


def fits(estimator, X, y, monkeypatch):
    """A fit as it is, and one without a tangent_metric."""
    estimator = clone(estimator).set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        in_tangent = clone(estimator).fit(X, y)
        for name in CHARTED:
            monkeypatch.setattr(
                SPD_METRICS[name], "tangent_metric", lambda self, W: None
            )
        return in_tangent, clone(estimator).fit(X, y)


@pytest.mark.parametrize("variance", [0.1, 1.0, 3.0])
def test_distances_in_the_chart_are_lower_bounds(rng, variance):
    X, W = random_spd(rng, 30, variance=variance), random_spd(rng, 5, variance=variance)
    tangent_metric = AffineInvariantMetric().tangent_metric(W)
    found = tangent_metric.squared_distances(
        tangent_metric.encode(X), tangent_metric.encode(W)
    )
    exact = np.array([[distance_riemann(x, w) ** 2 for w in W] for x in X])
    assert (found <= exact * (1 + 1e-12)).all()
    if variance == 0.1:
        assert_allclose(found, exact, rtol=0.02)


@pytest.mark.parametrize("name", CHARTED)
def test_the_chart_is_close_nearby_and_follows_congruences(rng, name):
    metric, A = SPD_METRICS[name](), rng.normal(size=(4, 4))
    X, W = random_spd(rng, 9, variance=0.1), random_spd(rng, 3, variance=0.1)
    found = []
    for matrices, prototypes in ((X, W), (A @ X @ A.T, A @ W @ A.T)):
        tangent_metric = metric.tangent_metric(prototypes)
        Z, encoded = tangent_metric.encode(matrices), tangent_metric.encode(prototypes)
        found.append(tangent_metric.squared_distances(Z, encoded))
        assert_allclose(tangent_metric.decode(encoded), prototypes, atol=1e-12)
    assert_allclose(found[1], found[0], rtol=1e-9)
    assert_allclose(found[0], metric.squared_distances(X, W), rtol=0.05)


def test_the_cost_is_that_of_all_pairs(costs):
    of_all, of_some, W = costs
    value, (gradient,) = of_all([W])
    assert_allclose(of_some([W])[0], value, rtol=1e-9)
    atol = 1e-8 * np.abs(gradient).max()
    assert_allclose(of_some([W])[1][0], gradient, atol=atol)
    if of_all.has_curvature(W):
        expected, found = (cost.solve([W], [gradient])[0] for cost in (of_all, of_some))
        assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_only_pairs_that_matter_are_computed(costs, monkeypatch):
    of_all, of_some, W = costs
    counts, eigh = [], np.linalg.eigh

    def counted(matrices):
        counts.append(matrices[..., 0, 0].size)
        return eigh(matrices)

    monkeypatch.setattr(np.linalg, "eigh", counted)
    of_all([W])
    assert sum(counts) == 60 * 12
    counts.clear()
    of_some([W])
    least = 60 * 2 if isinstance(of_some._loss, MarginLoss) else 60
    assert least <= sum(counts) - 12 < 0.7 * 60 * 12  # twelve are the prototypes


@pytest.mark.parametrize("loss", LOSSES)
def test_no_pair_that_matters_is_left_out(rng, loss):
    """Whatever the bounds are: of zero, all pairs may matter."""
    loss, scale = LOSSES[loss]
    Z, W, y = random_spd(rng, 20), random_spd(rng, 12), np.arange(20) % 4
    exact = AffineInvariantMetric().squared_distances(Z, W)
    expected = loss(exact, y, scale)[0]
    for bounds in (0 * exact, exact * rng.uniform(0, 1, exact.shape), exact.copy()):
        pairs = AffineInvariantMetric().pairs(Z, W, bounds)
        pairs.resolve(lambda squared: loss.matter(squared, y, scale))
        squared = pairs.squared_distances
        known = np.isclose(squared, exact, rtol=1e-12)
        assert (known | ~loss.matter(squared, y, scale)).all()
        assert_allclose(loss(squared, y, scale)[0], expected, rtol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        PLRSQ(),
        PLRSQ(2),
        PLRSQ(metric="logdet"),
        GLRSQ(),
        GLRSQ(2),
    ],
    ids=repr,
)
def test_the_search_ends_as_low_in_fewer_iterations(monkeypatch, estimator):
    X, y = make_spd_classes(3, 40, 4, separation=0.5, random_state=0)
    in_tangent, plain = fits(estimator, X, y, monkeypatch)
    assert in_tangent.n_iter_ <= plain.n_iter_
    assert in_tangent.loss_curve_[0] == pytest.approx(plain.loss_curve_[0])
    assert in_tangent.loss_curve_[-1] <= 1.002 * plain.loss_curve_[-1]
    assert (np.diff(in_tangent.loss_curve_) <= 0).all()
    assert len(in_tangent.loss_curve_) == in_tangent.n_iter_ + 1


@pytest.mark.parametrize("failure", ["misleads", "raises", "cannot hold prototypes"])
@pytest.mark.parametrize("estimator", [PLRSQ(metric="riemann"), GLRSQ()], ids=repr)
def test_a_chart_that_does_not_help(spd, monkeypatch, estimator, failure):
    decode = TangentMetric.decode

    def worse(self, Z):
        matrices = decode(self, Z)
        if failure == "raises" and len(matrices) == 3:
            raise np.linalg.LinAlgError
        return 100 * matrices

    def cannot(self, prototypes):
        raise np.linalg.LinAlgError

    if failure == "cannot hold prototypes":
        monkeypatch.setattr(TangentMetric, "check_representable", cannot)
    else:
        monkeypatch.setattr(TangentMetric, "decode", worse)
    in_tangent, plain = fits(estimator, *spd, monkeypatch)
    assert_allclose(in_tangent.loss_curve_, plain.loss_curve_, rtol=1e-8)
    assert_allclose(in_tangent.prototypes_, plain.prototypes_, rtol=1e-4)


@pytest.mark.parametrize("estimator", [PLRSQ(2, metric="riemann"), GLRSQ(2)], ids=repr)
@pytest.mark.parametrize("max_iter", [1, 2, 4])
def test_the_search_in_the_chart_counts_as_an_iteration(spd, estimator, max_iter):
    model = clone(estimator).set_params(max_iter=max_iter, tol=0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model.fit(*spd)
    assert model.n_iter_ == max_iter == len(model.loss_curve_) - 1


@pytest.mark.parametrize("estimator", [PLRSQ(3), GLRSQ(3)], ids=repr)
def test_results_do_not_depend_on_the_number_of_threads(spd, monkeypatch, estimator):
    monkeypatch.setattr("skgeom._prototypes._solvers._WORTHWHILE_MATRICES", 1)
    assert len(sample_blocks(60, np.empty((9, 4, 4)))) == 8
    found = []
    for n_threads in (1, 3):
        threads = "skgeom.utils.threads.effective_n_threads"
        monkeypatch.setattr(threads, lambda n_threads=n_threads: n_threads)
        found.append(clone(estimator).set_params(random_state=0).fit(*spd))
    assert_array_equal(found[1].prototypes_, found[0].prototypes_)
    assert_array_equal(found[1].loss_curve_, found[0].loss_curve_)


def test_the_limit_of_iterations_is_named():
    X, y = make_spd_classes(random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations were made"):
        PLRSQ(max_iter=1, tol=1e-9, random_state=0).fit(X, y)
