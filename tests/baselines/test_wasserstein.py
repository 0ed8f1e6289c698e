"""Wasserstein discriminant analysis against its definition, and against POT."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from skgeom.baselines import WassersteinDiscriminantAnalysis as WDA
from skgeom.baselines import _transport
from skgeom.baselines._transport import TransportCosts, mean_costs


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2] - X[::2].mean(axis=0), y[::2]


def plan(costs, regularization, n_iter=2000):
    """Transport plan between equal weights by Sinkhorn's algorithm."""
    kernel = np.exp(-costs / regularization)
    u, v = np.ones(len(costs)), np.ones(costs.shape[1])
    for _ in range(n_iter):
        u = 1 / len(costs) / (kernel @ v)
        v = 1 / costs.shape[1] / (kernel.T @ u)
    return u[:, None] * kernel * v


def sums(Z, y, regularization, start=None):
    """Sums of the costs within and between classes; in units of those at the start."""
    within = between = 0
    labels = np.unique(y)
    for i, first in enumerate(labels):
        for second in labels[: i + 1]:
            costs = cdist(Z[y == first], Z[y == second], "sqeuclidean")
            scale = 1
            if start is not None:
                scale = cdist(start[y == first], start[y == second], "sqeuclidean")
            cost = (plan(costs, regularization * np.mean(scale)) * costs).sum()
            if first == second:
                within += cost
            else:
                between += cost
    return np.array([within, between])


def ratio(components, X, y, regularization, start=None):
    start = None if start is None else X @ start.T
    within, between = sums(X @ components.T, y, regularization, start)
    return within / between


def gammas(regularization, n_classes=3):
    return np.full((n_classes, n_classes), float(regularization))


@pytest.mark.parametrize("regularization", [0.2, 1.0, 30.0])
def test_costs(iris, regularization):
    """Those of plain Sinkhorn iterations, for classes of different sizes."""
    X, y = iris[0][3:-8, 1:3], iris[1][3:-8]
    costs = TransportCosts(y, np.ones(len(y)), gammas(regularization))
    expected = sums(X, y, regularization)
    np.testing.assert_allclose(costs(X)[0], expected, rtol=1e-7)


@pytest.mark.parametrize("regularization", [1e-3, 0.05, 1.0, 1e3])
def test_gradients_are_those_of_differences(iris, rng, monkeypatch, regularization):
    monkeypatch.setattr(_transport, "_TOLERANCE", 1e-10)
    X, y = iris[0][4:-3, 1:3], iris[1][4:-3]
    weights = rng.uniform(0.5, 2, len(y))
    costs = TransportCosts(y, weights, gammas(regularization))
    _, gradients = costs(X)
    for _ in range(3):
        direction = rng.normal(size=X.shape)
        step = 1e-6 * direction
        slopes = (costs(X + step)[0] - costs(X - step)[0]) / 2e-6
        scale = np.linalg.norm(gradients, axis=(1, 2)) * np.linalg.norm(direction)
        differences = (gradients * direction).sum(axis=(1, 2)) - slopes
        assert (np.abs(differences) < 1e-6 * scale).all()


def test_costs_do_not_depend_on_where_the_plans_begin(iris, rng):
    X, y = iris[0][:, 1:3], iris[1]
    costs = TransportCosts(y, np.ones(len(y)), gammas(0.05))
    first, gradients = costs(X)
    for factor in (3.0, 0.01, 1e3):  # far away, so that the plans begin anew
        costs(factor * X + rng.normal(size=X.shape))
        again, others = costs(X)
        np.testing.assert_allclose(again, first, rtol=1e-8)
        np.testing.assert_allclose(
            others, gradients, atol=1e-4 * np.abs(gradients).max()
        )


def test_point_without_finite_costs_is_forgotten(iris):
    X, y = iris[0][:, 1:3], iris[1]
    costs = TransportCosts(y, np.ones(len(y)), gammas(1.0))
    first, _ = costs(X)
    with np.errstate(all="ignore"):
        assert not np.isfinite(costs(1e200 * X)[0]).all()
    np.testing.assert_allclose(costs(X)[0], first, rtol=1e-8)


def test_hardly_regularised_costs_are_those_of_a_linear_program(rng):
    """Twelve samples move to seven places; within a class nearly nothing moves.

    The entropy, of at most log n, cannot pay for more than that times gamma.
    """
    y = np.repeat([0, 1], [12, 7])
    X = rng.normal(size=(19, 2)) + 2.0 * y[:, None]
    distances = cdist(X[:12], X[12:], "sqeuclidean")
    rows, columns = np.indices(distances.shape)
    sides = [rows.ravel() == i for i in range(12)]
    sides += [columns.ravel() == j for j in range(7)]
    masses = np.repeat([1 / 12, 1 / 7], [12, 7])
    optimum = linprog(distances.ravel(), A_eq=np.array(sides), b_eq=masses).fun
    (within, between), _ = TransportCosts(y, np.ones(19), gammas(1e-3, 2))(X)
    assert between == pytest.approx(optimum, rel=1e-3)
    assert within < 1e-3 * (np.log(12) + np.log(7))


def test_many_small_classes_together(rng):
    """The costs of pairs that are computed together are those of each alone."""
    y = np.repeat(np.arange(12), rng.integers(1, 6, 12))
    X, weights = rng.normal(size=(len(y), 3)), rng.uniform(1, 2, len(y))
    (within, between), _ = TransportCosts(y, weights, gammas(0.5, 12))(X)
    total = 0
    for i in range(12):
        for j in range(i):
            both = np.isin(y, [i, j])
            codes = (y[both] == i).astype(int)
            part = TransportCosts(codes, weights[both], gammas(0.5, 2))
            total += part(X[both])[0][1]
    assert between == pytest.approx(total, rel=1e-8)
    assert within > 0


def test_mean_costs(iris, rng):
    X, y = iris
    weights = rng.integers(1, 4, len(y))
    copies, labels = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    expected = [
        [
            cdist(copies[labels == i], copies[labels == j], "sqeuclidean").mean()
            for j in range(3)
        ]
        for i in range(3)
    ]
    np.testing.assert_allclose(mean_costs(X, y, weights), expected, rtol=1e-12)


@pytest.mark.parametrize("normalize", [False, True])
def test_objective(iris, normalize):
    X, y = iris
    init = np.eye(4)[[1, 2]]
    regularization = 0.3 if normalize else 1.0
    model = WDA(regularization=regularization, normalize=normalize, init=init)
    model.fit(X, y)
    start = init if normalize else None
    expected = ratio(model.components_, X, y, regularization, start)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
    assert model.objective_ < ratio(init, X, y, regularization, start)
    np.testing.assert_allclose(
        model.components_ @ model.components_.T, np.eye(2), atol=1e-10
    )


def test_result_is_that_of_pot(iris, capsys):
    """The same minimum from the same start, where ten of its iterations are enough."""
    dr = pytest.importorskip("ot.dr", reason="needs the package POT")
    from pymanopt.optimizers import ConjugateGradient

    X, y = iris[0][::3], iris[1][::3]
    start = np.eye(4)[:, :2]
    solver = ConjugateGradient(verbosity=0, max_iterations=100)
    with np.errstate(all="ignore"):
        theirs, _ = dr.wda(X.copy(), y, p=2, reg=5.0, solver=solver, P0=start)
    model = WDA(regularization=5.0, normalize=False, init=start.T, tol=1e-9).fit(X, y)
    assert np.sin(subspace_angles(model.components_.T, theirs)).max() < 1e-3
    assert model.objective_ < ratio(theirs.T, X, y, 5.0) * (1 + 1e-9)
    assert capsys.readouterr().out == ""


def test_large_regularization_gives_the_trace_ratio(iris):
    """Plans are even then, so that the costs are traces of scatter matrices."""
    X, y = iris
    classes = [X[y == k] for k in range(3)]

    def mean_scatter(a, b):
        offsets = (a[:, None] - b).reshape(-1, 4)
        return offsets.T @ offsets / len(offsets)

    within = sum(mean_scatter(a, a) for a in classes)
    between = sum(mean_scatter(classes[i], classes[j]) for i, j in [(0, 1), (0, 2)])
    between += mean_scatter(classes[1], classes[2])
    least = 1.0
    for _ in range(100):  # Newton's method for the least ratio of traces
        _, axes = np.linalg.eigh(within - least * between)
        axes = axes[:, :2]
        least = np.trace(axes.T @ within @ axes) / np.trace(axes.T @ between @ axes)
    model = WDA(regularization=1e6, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(least, rel=1e-4)
    assert np.sin(subspace_angles(model.components_.T, axes)).max() < 1e-2


def test_class_of_several_parts(rng):
    """What LDA cannot see: each class is on both sides of the other, beside noise."""
    y = np.repeat([0, 1], 120)
    X = 2.0 * rng.normal(size=(240, 5))
    X[:, 0] = 0.3 * rng.normal(size=240) + rng.choice([-3, 1], 240) + 2 * y
    init = np.eye(5)[[0]] + 0.2
    model = WDA(1, regularization=0.02, init=init).fit(X, y)
    assert abs(model.components_[0, 0]) > 0.98


def test_weights_count_samples(iris, rng):
    X, y = iris[0][::2], iris[1][::2]
    weights = rng.integers(0, 4, len(y))
    weights[[0, -1]] = 1
    weighted = WDA().fit(X, y, sample_weight=weights)
    copies = WDA().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.components_, copies.components_, atol=1e-6)
    assert weighted.objective_ == pytest.approx(copies.objective_, rel=1e-8)


def test_class_without_weight(iris):
    X, y = iris
    model = WDA().fit(X, y, sample_weight=y > 0)
    np.testing.assert_array_equal(model.classes_, [1, 2])
    expected = WDA().fit(X[y > 0], y[y > 0])
    np.testing.assert_allclose(model.components_, expected.components_)
    with pytest.raises(ValueError, match="one class only: 2"):
        WDA().fit(X, y, sample_weight=y > 1)


def test_regularization_without_bounds(iris):
    """In units of X, it is infinite for very small samples, and zero for large ones."""
    X, y = iris
    expected = WDA(regularization=1e6).fit(X, y)
    model = WDA(normalize=False).fit(1e-200 * X, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-4)
    with pytest.raises(ValueError, match=r"not finite at the start.* increase regu"):
        WDA(normalize=False).fit(1e200 * X, y)
    model = WDA(regularization=1e300, normalize=False).fit(1e150 * X, y)
    expected = WDA(regularization=1.0, normalize=False).fit(X, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-6)


def test_small_regularization_needs_no_other_domain(iris):
    X, y = iris
    model = WDA(regularization=1e-3, tol=1e-2).fit(X, y)
    assert 0 < model.objective_ < 1e-3


def test_random_start_draws_from_its_own_generator(iris):
    before = str(np.random.get_state())  # noqa: NPY002
    first = WDA(init="random", max_iter=3, tol=1.0, random_state=1).fit(*iris)
    again = WDA(init="random", max_iter=3, tol=1.0, random_state=1).fit(*iris)
    other = WDA(init="random", max_iter=3, tol=1.0, random_state=2).fit(*iris)
    np.testing.assert_array_equal(first.components_, again.components_)
    assert not np.allclose(first.components_, other.components_)
    assert str(np.random.get_state()) == before  # noqa: NPY002


def test_largest_number_of_samples(iris):
    """Of more, a random part, of the same fraction of each class."""
    X, y = iris
    X, y = X[:-15], y[:-15]  # 25, 25 and 10
    model = WDA(max_samples=30, random_state=0)
    rows = model._sampled(y, np.random.RandomState(0))
    np.testing.assert_allclose(np.bincount(y[rows]), [12, 13, 5], atol=1)
    few = model.fit(X, y)
    expected = WDA(max_samples=None).fit(X[rows], y[rows])
    np.testing.assert_allclose(few.components_, expected.components_)
    other = WDA(max_samples=30, random_state=1).fit(X, y)
    assert not np.allclose(few.components_, other.components_)


def test_rare_class_keeps_a_sample():
    y = np.repeat([0, 1], [500, 2])
    rows = WDA(max_samples=20)._sampled(y, np.random.RandomState(0))
    assert (y[rows] == 1).any()
    assert len(rows) <= 22


def test_search_that_does_not_end(iris):
    with pytest.warns(ConvergenceWarning, match="Increase max_iter or tol"):
        model = WDA(1, max_iter=2, tol=0).fit(*iris)
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("normalize", [False, True])
def test_class_without_distances(iris, copies, normalize):
    X, y = iris
    rows = [*np.flatnonzero(y < 2), *[len(y) - 1] * copies]
    model = WDA(normalize=normalize).fit(X[rows], y[rows])
    assert np.isfinite(model.objective_)
    assert len(model.classes_) == 3


def test_one_sample_per_class(rng):
    with pytest.raises(ValueError, match="does not vary within the classes"):
        WDA().fit(rng.normal(size=(3, 5)), np.arange(3))


def test_shape_of_init(iris):
    with pytest.raises(ValueError, match=r"init must have shape .* = \(2, 4\)"):
        WDA(init=np.eye(3)).fit(*iris)


@pytest.mark.parametrize(
    ("init", "rank"), [(np.zeros((2, 4)), 0), (np.ones((2, 4)), 1)]
)
def test_rank_of_init(iris, init, rank):
    with pytest.raises(
        ValueError, match=rf"independent rows, .* span {rank} direction"
    ):
        WDA(init=init).fit(*iris)
