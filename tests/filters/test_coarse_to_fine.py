"""The optimization of filters: a small subspace first, then the whole space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom import SQFA, ClassStatistics
from skgeom._filters._basis import orthonormal
from skgeom._filters._optimization import maximize
from skgeom._filters._problem import Problem, Search
from skgeom.objectives._class_distances import DISTANCES
from skgeom.objectives._objective import Objective
from skgeom.objectives._pairwise import MeanPairwiseDistance
from skgeom.optim._manifolds import CONSTRAINTS
from skgeom.optim._minimize import OPTIMIZERS

N, K, M = 12, 5, 2


class Recorded(Objective):
    """An objective that records what the one for the whole space is asked."""

    def __init__(self, objective):
        self.objective = objective
        self.calls, self.coarse_calls = [], []

    def project(self, basis):
        coarse = Recorded(self.objective.project(basis))
        self.coarse_calls = coarse.calls
        return coarse

    def __call__(self, filters):
        self.calls.append(filters.shape)
        return self.objective(filters)


class Trace(Objective):
    """The trace of a projected matrix, whose maximum is known for either constraint."""

    def __init__(self, matrix):
        self.matrix = matrix

    def project(self, basis):
        return Trace(basis.T @ self.matrix @ basis)

    def __call__(self, filters):
        product = self.matrix @ filters
        return (filters * product).sum(), 2 * product

    def maximum(self, constraint):
        eigenvalues = np.linalg.eigvalsh(self.matrix)[::-1]
        return {"unit-norm": M * eigenvalues[0], "orthonormal": eigenvalues[:M].sum()}[
            constraint
        ]


def axes(rng):
    return np.linalg.qr(rng.standard_normal((N, N)))[0]


def trace(rng):
    columns = axes(rng)
    return Trace((columns * 0.7 ** np.arange(N)) @ columns.T), columns[:, :K]


def pairwise(rng, n=N, k=K, decay=0.7):
    """Random classes, and the principal axes of their mean covariance."""
    scale = decay ** np.arange(n)
    roots = rng.standard_normal((4, n, 3 * n)) * scale[:, None]
    covariances = roots @ roots.mT / (3 * n)
    means = rng.standard_normal((4, n)) * scale
    _, columns = np.linalg.eigh(covariances.mean(axis=0))
    objective = MeanPairwiseDistance(means, covariances, 0.1, DISTANCES["fisher-rao"])
    return objective, columns[:, : -k - 1 : -1]


def random_start(rng, constraint, shape=(K, M)):
    return CONSTRAINTS[constraint].nearest(rng.standard_normal(shape))


def maximize_from(starts, objective, basis, complete, constraint, **options):
    problem = Problem(objective, np.eye(N), np.eye(N), 0.1, constraint)
    coarse = problem.restrict(orthonormal(basis, complete))
    return maximize(coarse, starts, Search(**options))


def assert_on_constraint(filters, constraint):
    assert filters.shape == (N, M)
    gram = filters.T @ filters
    if constraint == "unit-norm":
        gram = np.diag(np.diag(gram))
    assert_allclose(gram, np.eye(M), atol=1e-12)


@pytest.fixture(params=list(CONSTRAINTS))
def constraint(request):
    return request.param


@pytest.fixture(params=[trace, pairwise], ids=lambda make: make.__name__)
def problem(request):
    objective, basis = request.param(np.random.default_rng(0))
    return Recorded(objective), basis


@pytest.mark.parametrize("complete", [True, False])
def test_result(problem, constraint, complete):
    objective, basis = problem
    start = random_start(np.random.default_rng(1), constraint)
    result, values = maximize_from([start], objective, basis, complete, constraint)
    assert_on_constraint(result.point, constraint)
    assert result.converged
    assert result.cost == pytest.approx(-objective.objective(result.point)[0])
    assert len(values) == 1
    assert result.n_evaluations == len(objective.calls) + len(objective.coarse_calls)
    assert set(objective.coarse_calls) == {(K, M)}
    assert set(objective.calls) == (set() if complete else {(N, M)})
    if complete:
        assert values == [-result.cost]
        in_subspace = basis @ (basis.T @ result.point)
        assert_allclose(result.point, in_subspace, atol=1e-12)
    else:
        assert -result.cost > values[0]


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
def test_maximum_of_the_trace(constraint, optimizer):
    objective, basis = trace(np.random.default_rng(0))
    start = random_start(np.random.default_rng(1), constraint)
    problem = objective, basis, False, constraint
    result, _ = maximize_from([start], *problem, optimizer=optimizer)
    assert_allclose(-result.cost, objective.maximum(constraint), rtol=1e-5)


@pytest.mark.parametrize("n_starts", [1, 3])
@pytest.mark.parametrize("complete", [True, False])
def test_callback(problem, constraint, n_starts, complete):
    objective, basis = problem
    rng = np.random.default_rng(2)
    starts = [random_start(rng, constraint) for _ in range(n_starts)]
    reports = []
    problem = objective, basis, complete, constraint
    callback = lambda *report: reports.append(report)  # noqa: E731
    result, values = maximize_from(starts, *problem, callback=callback)
    stages = [stage for stage, _, _ in reports]
    # One stage for each start, one in the subspace, and one in the whole space.
    expected = ["search"]
    if n_starts > 1:
        expected = [*(f"start {k + 1}" for k in range(n_starts)), "best start"]
    seen = list(dict.fromkeys(stages))
    # The last one has nothing to do if the subspace holds the solution.
    assert seen in ([expected] if complete else [expected, [*expected, "all features"]])
    assert stages == sorted(stages, key=seen.index)  # one after another
    for _, filters, value in reports:
        assert_on_constraint(filters, constraint)
        assert value == pytest.approx(objective.objective(filters)[0])
    chosen = int(np.argmax(values))
    lost = {*seen[:n_starts]} - {seen[chosen]}
    kept = [stage for stage in stages if stage not in lost]
    assert result.n_iter == len(kept)
    assert_allclose(result.point, reports[-1][1], atol=1e-14)


def test_objective_that_is_finite_in_the_subspace_only(constraint):
    """No other start would help, and so the message names none."""
    objective, basis = trace(np.random.default_rng(0))

    class OfSubspace(Objective):
        project = objective.project

        def __call__(self, filters):
            return np.nan, np.zeros_like(filters)

    start = random_start(np.random.default_rng(0), constraint)
    with pytest.raises(ValueError, match="not for the same filters of all features"):
        maximize_from([start], OfSubspace(), basis, False, constraint)


def test_axes_above_the_noise_are_part_of_the_subspace():
    """Classes may differ along axes behind the first hundred, of smaller variance.

    The reference is the fit to these axes alone. In a subspace of 100 axes, all classes
    are equal and the selected start is arbitrary: the mean is below 0.6.
    """
    n_features, first, stop = 300, 100, 118
    reached = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        variances = np.tile(np.where(np.arange(n_features) < first, 1, 1e-4), (4, 1))
        informative = np.exp(rng.standard_normal((4, stop - first)))
        informative *= 0.25 / informative.mean(axis=0)
        variances[:, first:stop] = informative
        rotation = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
        of_all = (rotation * variances[:, None]) @ rotation.T
        of_few = informative[:, None] * np.eye(stop - first)
        objectives = []
        for covariances in (of_all, of_few):
            means = np.zeros(covariances.shape[:2])
            statistics = ClassStatistics(range(4), [1000] * 4, means, covariances)
            sqfa = SQFA(2, regularization=0.01, random_state=0)
            objectives.append(sqfa.fit_statistics(statistics).objective_)
        reached.append(objectives[0] / objectives[1])
    assert np.mean(reached) > 0.9
