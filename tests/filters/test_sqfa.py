"""SQFA as an estimator: what it finds, its use, and bad input."""

import numpy as np
import pytest
from comparisons import all_pairs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.exceptions import ConvergenceWarning

from skgeom import SQFA, AMAGauss, ClassStatistics, SecondMomentSQFA
from skgeom.datasets import sqfa_toy_statistics
from skgeom.geometry import distance_calvo_oller


def energy(components, axes):
    """Share of the squared norm of the filters in some axes."""
    return (components[:, axes] ** 2).sum() / (components**2).sum()


# What it finds.


def moments(distance, constraint="unit-norm"):
    options = {"distance": distance, "constraint": constraint, "n_init": 20}
    return SecondMomentSQFA(regularization=0.001, **options)


# Each with its toy problem, axes and objective: figures 2 and 3 of the paper, and
# figure 7 of its first version, whose text differs for jeffreys, see the user guide.
TOYS = [
    (SQFA(regularization=0.002, init="random"), "covariances", [0, 1], (3.0, 5e-5)),
    (SQFA(regularization=0.002), "covariances", [0, 1], (3.0, 5e-5)),
    # Of equal means, the bound is the distance.
    (
        SQFA(distance="fisher-rao-exact", regularization=0.002),
        "covariances",
        [0, 1],
        (3.0, 5e-5),
    ),
    # The axes 1-2 themselves give 4.02319; two filters that are not quite orthogonal
    # gain a little more.
    (SQFA(regularization=0.001), "means", [0, 1], (4.0233, 2e-4)),
    (SecondMomentSQFA(regularization=0.001), "means", [2, 3], (3.6768, 1e-4)),
    (moments("affine-invariant"), "distances", [0, 1], (3.685, 1e-3)),
    (moments("log-euclidean"), "distances", [0, 1], (3.512, 1e-3)),
    (moments("jeffreys"), "distances", [0, 1], (12.525, 1e-3)),
    (moments("wasserstein"), "distances", [2, 3], (0.497, 1e-3)),
    (moments("euclidean", "orthonormal"), "distances", [2, 3], (0.600, 1e-3)),
]


@pytest.mark.parametrize(("model", "toy", "axes", "objective"), TOYS)
def test_toy_problems(model, toy, axes, objective):
    statistics = sqfa_toy_statistics(toy)
    for seed in range(3 if toy != "distances" else 1):
        filters = clone(model).set_params(n_components=2, random_state=seed)
        filters.fit_statistics(statistics)
        assert energy(filters.components_, axes) > 0.999
        value, tolerance = objective
        assert filters.objective_ == pytest.approx(value, abs=tolerance)


def test_two_dimensional_comparison_with_lda():
    statistics = sqfa_toy_statistics("lda")
    for seed in range(3):
        sqfa = SQFA(1, regularization=0.001, random_state=seed)
        sqfa.fit_statistics(statistics)
        assert sqfa.objective_ == pytest.approx(4.5634, abs=5e-5)
        np.testing.assert_allclose(sqfa.components_, [[0.8735, 0.4869]], atol=1e-3)


def test_given_filters_at_the_optimum_stay(iris):
    settings = {"regularization": 0.05, "random_state": 0}
    first = SQFA(2, tol=1e-10, **settings).fit(*iris)
    again = SQFA(2, init=first.components_, tol=1e-6, **settings).fit(*iris)
    assert again.objective_ == pytest.approx(first.objective_, rel=1e-9)
    assert again.n_iter_ < first.n_iter_
    np.testing.assert_allclose(again.components_, first.components_, atol=1e-3)


def test_repeated_filters_are_a_warning(iris):
    sqfa = SQFA(2, regularization=10.0, covariance_estimator=None, random_state=0)
    with pytest.warns(UserWarning, match="2 filters span 1 directions only") as record:
        sqfa.fit(*iris)
    assert record[0].filename == __file__
    sqfa.set_params(constraint="orthonormal")
    assert np.linalg.matrix_rank(sqfa.fit(*iris).components_) == 2


def test_classes_far_apart():
    """The distance of classes 1e7 deviations apart, to many digits."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = rng.standard_normal((150, 5)) + 1e7 * rng.standard_normal((3, 5))[y]
    sqfa = SQFA(2, covariance_estimator=None, random_state=0).fit(X, y)
    features = ClassStatistics.from_data(X, y).project(sqfa.components_)
    covariances = features.covariances + sqfa.regularization_ * np.eye(2)
    distances = all_pairs(distance_calvo_oller, features.means, covariances)
    mean = distances[np.triu_indices(3, 1)].mean()
    assert sqfa.objective_ == pytest.approx(mean, rel=1e-9)


# Groups.


def test_groups_begin_with_the_solution_of_the_first_group(wine):
    (X, y), objectives = wine, []
    for constraint in ("orthonormal", "unit-norm"):
        settings = {
            "constraint": constraint,
            "regularization": 0.01,
            "covariance_estimator": None,
            "random_state": 0,
        }
        first = SQFA(2, **settings).fit(X, y)
        grouped = SQFA(5, group_size=2, **settings).fit(X, y)
        assert grouped.components_.shape == (5, 13)
        np.testing.assert_allclose(grouped.components_[:2], first.components_)
        joint = SQFA(5, **settings).fit(X, y)
        assert first.objective_ < grouped.objective_ <= joint.objective_ * (1 + 1e-6)
        gram = grouped.components_ @ grouped.components_.T
        np.testing.assert_allclose(np.diag(gram), 1)
        if constraint == "orthonormal":
            np.testing.assert_allclose(gram, np.eye(5), atol=1e-10)
        objectives.append(joint.objective_)
    assert objectives[1] >= objectives[0] * (1 - 1e-6)


@pytest.mark.parametrize(("distance", "size"), [("hellinger", 1), ("fisher-rao", 2)])
def test_groups_of_as_many_filters_as_features_are_independent(distance, size, iris):
    """All filters with this span have the same objective."""
    options = {"regularization": 0, "covariance_estimator": None, "random_state": 0}
    joint = SQFA(4, distance=distance, **options).fit(*iris)
    grouped = clone(joint).set_params(group_size=size).fit(*iris)
    np.testing.assert_allclose(grouped.objective_, joint.objective_, rtol=1e-6)


def test_distances_of_dependent_filters(iris):
    model = SQFA(2, regularization=0, random_state=0).fit(*iris)
    model.statistics_ = model.statistics_.project([[1.0, 0.0], [0.0, 0.0]])
    for method in (model.class_distances, model.filter_importances):
        with pytest.raises(ValueError, match=r"singular.*constraint='orthonormal'"):
            method()


# Use.


@pytest.mark.parametrize("estimator", ["oas", "lwf", LedoitWolf()])
def test_covariance_estimator(iris, estimator):
    X, y = iris
    # Statistics alone would have another automatic noise.
    sqfa = SQFA(2, regularization=0.01, random_state=0)
    statistics = ClassStatistics.from_data(X, y, estimator)
    expected = clone(sqfa).fit_statistics(statistics)
    sqfa.set_params(covariance_estimator=estimator).fit(X, y)
    assert sqfa.objective_ == pytest.approx(expected.objective_, rel=1e-10)


def test_verbose_prints_a_line_a_stage(iris, capsys):
    sqfa = SQFA(2, init="random", n_init=3, verbose=1, random_state=0).fit(*iris)
    lines = capsys.readouterr().out.splitlines()
    for stage in ("start 1", "start 2", "start 3", "best start"):
        assert len([line for line in lines if f"[SQFA] {stage}: " in line]) == 1
    end = f"[SQFA] end: objective {sqfa.objective_:.6f} after {sqfa.n_iter_} iterations"
    assert lines[-1] == end
    sqfa.set_params(verbose=2).fit(*iris)
    steps = capsys.readouterr().out.splitlines()
    assert len(steps) > 3 * len(lines)
    assert any(line.startswith("[SQFA] start 2, iteration 1: obj") for line in steps)


def test_verbose_prints_the_selection_once(iris, capsys):
    statistics = ClassStatistics.from_data(*iris)
    sqfa, ama = SQFA(1, verbose=1, random_state=0), AMAGauss(1, verbose=1)
    given = SQFA(1, verbose=1, regularization=0.1, covariance_estimator=None)
    fits = [(model.fit, iris) for model in (sqfa, given, ama)]
    fits += [(sqfa.fit_statistics, (s,)) for s in (statistics, 2 * [statistics])]
    for fit, data in [*fits, (sqfa.partial_fit, iris)]:
        model = fit(*data)
        line = f"[{type(model).__name__}] shrinkage {model.shrinkage_} and "
        line += f"regularization {model.regularization_:.6g} ("
        printed = capsys.readouterr().out.splitlines()
        (found,) = [each for each in printed if "] shrinkage" in each]
        assert found.startswith(line)
        assert (model.selection_ is not None) == found.endswith("log posterior)")


# Bad input, and input that looks bad but is not.


def test_class_with_one_sample(iris):
    X, y = iris
    keep = np.flatnonzero((y < 2) | (np.arange(150) == 149))
    with pytest.warns(UserWarning, match=r"class 2 \(number: 1\)"):
        sqfa = SQFA(2, covariance_estimator=None, random_state=0).fit(X[keep], y[keep])
    assert np.isfinite(sqfa.components_).all()
    with pytest.raises(ValueError, match=r"class 2, which has 1 samples.*rank is 0"):
        SQFA(2, covariance_estimator=None, regularization=0).fit(X[keep], y[keep])


def test_singular_class_covariance_without_regularization(iris):
    X, y = iris
    X = X.copy()
    X[y == 1, 3] = X[y == 1, 2]
    with pytest.raises(ValueError, match=r"class .*1.*rank is 3, .* vary in 4.*'auto'"):
        SQFA(2, covariance_estimator=None, regularization=0).fit(X, y)
    assert np.isfinite(SQFA(2).fit(X, y).objective_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 5}, r"n_components=5 exceeds .* Use at most 4"),
        ({"init": np.ones((4, 2))}, r"init must have .*\(2, 4\), got \(4, 2\)"),
        ({"distance": "manhattan"}, "The 'distance' parameter of SQFA must be"),
        ({"n_components": 1.5}, "The 'n_components' parameter of SQFA must be"),
        ({"regularization": -1.0}, "The 'regularization' parameter of SQFA must be"),
        ({"init": "zeros"}, "The 'init' parameter of SQFA must be"),
        ({"optimizer": "adam"}, "The 'optimizer' parameter of SQFA must be"),
    ],
)
def test_invalid_parameter(iris, parameters, message):
    with pytest.raises(ValueError, match=message):
        SQFA(**{"n_components": 2} | parameters).fit(*iris)


def test_features_without_so_many_directions(iris):
    X = np.c_[iris[0], iris[0][:, 0]]
    with pytest.raises(ValueError, match="in 4 directions only, so n_components=5"):
        SQFA(5, regularization=0).fit(X, iris[1])


def test_statistics_of_the_wrong_kind(iris):
    constructors = r"from_data.*ClassStatistics\(classes, counts, .*from_second_moments"
    with pytest.raises(TypeError, match=rf"got dict\..*{constructors}"):
        SQFA().fit_statistics({"means": iris[0]})
    with pytest.raises(TypeError, match=rf"got ndarray\..*{constructors}"):
        ClassStatistics.merge([np.eye(2)])
    one = ClassStatistics.from_data(iris[0], np.full(len(iris[0]), "a"))
    with pytest.raises(ValueError, match="statistics contains 1 class, a"):
        SQFA().fit_statistics(one)


def test_constant_features(iris):
    X, y = iris
    plain = SQFA(2, random_state=0).fit(X, y)
    wider = SQFA(2, random_state=0).fit(np.c_[X, np.full(150, 7.0)], y)
    assert wider.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    np.testing.assert_allclose(wider.components_[:, 4], 0, atol=1e-9)
    unregularized = SQFA(2, regularization=0, random_state=0)
    assert np.isfinite(unregularized.fit(np.c_[X, np.zeros(150)], y).objective_)


def test_no_convergence(iris):
    with pytest.warns(
        ConvergenceWarning,
        match=r"max_iter=1 .*Increase max_iter or tol, or increase regularization",
    ) as record:
        sqfa = SQFA(2, max_iter=1, init="random", random_state=0).fit(*iris)
    assert record[0].filename == __file__
    assert sqfa.transform(iris[0]).shape == (150, 2)


# Weights and streams.


def test_partial_fit_ends_where_the_statistics_of_all_samples_do(rng, wine):
    X, y = wine
    stream = SQFA(2, random_state=0)
    for rows in np.array_split(rng.permutation(len(y)), 4):
        stream.partial_fit(X[rows], y[rows])
    statistics = ClassStatistics.from_data(X, y).shrunk()
    expected = SQFA(2, random_state=0).fit_statistics(statistics)
    assert_allclose(stream.regularization_, expected.regularization_, rtol=1e-9)
    assert_allclose(stream.objective_, expected.objective_, rtol=1e-4)


def test_partial_fit_after_fit_starts_a_stream(iris):
    X, y = iris
    model = SQFA(random_state=0).fit(X, y).partial_fit(X[:100], y[:100])
    assert_array_equal(model.classes_, [0, 1])
    model.partial_fit(X[100:], y[100:])
    assert_array_equal(model.classes_, [0, 1, 2])
    with pytest.raises(ValueError, match="partial_fit needs sample covariances"):
        SQFA(covariance_estimator="oas").partial_fit(X, y)
    with pytest.raises(ValueError, match="2 features, but SQFA is expecting 4"):
        model.partial_fit(X[:, :2], y)


def test_callbacks_may_outlive_the_iterations_of_a_stage():
    class Silent:
        max_estimator_depth = None

        def setup(self, *args, **kwargs):
            pass

        on_fit_task_begin = on_fit_task_end = teardown = setup

    sqfa = SQFA(
        4, regularization=0.1, covariance_estimator=None, max_iter=4, random_state=0
    )
    if not hasattr(sqfa, "set_callbacks"):
        pytest.skip("this version of scikit-learn has no callbacks")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 12)), rng.integers(3, size=90)
    with pytest.warns(ConvergenceWarning):
        sqfa.set_callbacks(Silent()).fit(X, y)


def test_one_class_of_tiny_numbers(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    X[y == 1] = np.abs(X[y == 1]) * 1e-160
    assert SQFA(1, regularization=1.0, random_state=0).fit(X, y).objective_ > 0
    with pytest.raises(ValueError, match="their squares underflow"):
        SQFA(1, regularization=1.0, random_state=0).fit(X * 1e-160, y)


@pytest.mark.parametrize("estimator", [SQFA, SecondMomentSQFA])
def test_statistics_in_axes_are_enough(iris, estimator):
    """Beyond the leading axes, classes hardly differ, wherever the origin is."""
    X, y = iris
    X = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 3)) / 100])
    X = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(7, 7)))[0]
    some = ClassStatistics.from_data(X, y, n_axes=4)
    options = {"regularization": 0.1, "random_state": 0}
    found = estimator(2, **options).fit_statistics(some)
    assert found.components_.shape == (2, 7)
    best = estimator(2, covariance_estimator=None, **options).fit(X, y)
    assert found.objective_ == pytest.approx(best.objective_, rel=1e-3)
    assert found.objective_ <= best.objective_ * (1 + 1e-6)
    np.testing.assert_allclose(
        found.statistics_.second_moments,
        ClassStatistics.from_data(found.transform(X), y).second_moments,
        rtol=1e-8,
    )
