"""Wasserstein discriminant analysis against POT and against its definition."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from skgeom.baselines import WassersteinDiscriminantAnalysis as WDA

pytest.importorskip("ot", reason="needs the package POT")


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2] - X[::2].mean(axis=0), y[::2]


def plan(costs, regularization, n_iter=10):
    """Transport plan between equal weights by Sinkhorn's algorithm."""
    kernel = np.exp(-costs / regularization)
    u, v = np.ones(len(costs)), np.ones(costs.shape[1])
    for _ in range(n_iter):
        u = 1 / len(costs) / (kernel @ v)
        v = 1 / costs.shape[1] / (kernel.T @ u)
    return u[:, None] * kernel * v


def ratio(components, X, y, regularization, start=None):
    """The objective of WDA, and the plans that it has."""
    within = between = 0
    classes = [X[y == k] for k in np.unique(y)]
    for i, a in enumerate(classes):
        for b in classes[: i + 1]:
            costs = cdist(a @ components.T, b @ components.T, "sqeuclidean")
            scale = 1
            if start is not None:
                scale = cdist(a @ start.T, b @ start.T, "sqeuclidean").mean()
            cost = (plan(costs, regularization * scale) * costs).sum()
            if a is b:
                within += cost
            else:
                between += cost
    return within / between


@pytest.mark.parametrize("log_domain", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
def test_objective(iris, normalize, log_domain):
    X, y = iris
    init = np.eye(4)[[1, 2]]
    regularization = 0.3 if normalize else 1.0
    model = WDA(
        regularization=regularization,
        normalize=normalize,
        log_domain=log_domain,
        init=init,
    ).fit(X, y)
    start = init if normalize else None
    expected = ratio(model.components_, X, y, regularization, start)
    assert model.objective_ == pytest.approx(expected, rel=1e-3)
    assert model.objective_ < ratio(init, X, y, regularization, start)
    np.testing.assert_allclose(
        model.components_ @ model.components_.T, np.eye(2), atol=1e-10
    )


def test_result_is_that_of_the_package(iris, capsys):
    """The same minimum as by POT's own search from the same start."""
    from ot.dr import wda
    from pymanopt.optimizers import ConjugateGradient

    X, y = iris[0][::3], iris[1][::3]
    start = np.eye(4)[:, :2]
    solver = ConjugateGradient(verbosity=0, max_iterations=100)
    with np.errstate(all="ignore"):
        theirs, _ = wda(X.copy(), y, p=2, reg=1.0, solver=solver, P0=start)
    model = WDA(regularization=1.0, normalize=False, init=start.T, tol=1e-9).fit(X, y)
    assert np.sin(subspace_angles(model.components_.T, theirs)).max() < 1e-3
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


def test_regularization_without_bounds(iris):
    """In units of X, it is infinite for very small samples, and zero for large ones."""
    X, y = iris
    expected = WDA(regularization=1e6).fit(X, y)
    model = WDA(normalize=False).fit(1e-200 * X, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-4)
    with pytest.raises(ValueError, match=r"not finite at the start.* or increase regu"):
        WDA(normalize=False).fit(1e200 * X, y)
    model = WDA(regularization=1e300, normalize=False).fit(1e150 * X, y)
    expected = WDA(regularization=1.0, normalize=False).fit(X, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-6)


def test_random_start_draws_from_its_own_generator(iris):
    before = str(np.random.get_state())  # noqa: NPY002
    first = WDA(init="random", max_iter=3, tol=1.0, random_state=1).fit(*iris)
    again = WDA(init="random", max_iter=3, tol=1.0, random_state=1).fit(*iris)
    other = WDA(init="random", max_iter=3, tol=1.0, random_state=2).fit(*iris)
    np.testing.assert_array_equal(first.components_, again.components_)
    assert not np.allclose(first.components_, other.components_)
    assert str(np.random.get_state()) == before  # noqa: NPY002


def test_objective_that_is_not_finite(iris):
    X, y = iris
    with pytest.raises(ValueError, match="not finite at the start: set log_domain"):
        WDA(regularization=1e-5, normalize=False).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter or tol"):
        model = WDA(
            1, regularization=1e-3, normalize=False, log_domain=True, max_iter=2
        )
        model.fit(X, y)
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize(("copies", "text"), [(1, "1 sample,"), (2, "2 samples, all")])
def test_class_without_distances(iris, copies, text):
    X, y = iris
    rows = [*np.flatnonzero(y < 2), *[len(y) - 1] * copies]
    with pytest.raises(ValueError, match=f"Class 2 has {text}.* normalize=False"):
        WDA().fit(X[rows], y[rows])
    # As the message says.
    model = WDA(regularization=1.0, normalize=False).fit(X[rows], y[rows])
    assert np.isfinite(model.objective_)
    assert len(model.classes_) == 3


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
