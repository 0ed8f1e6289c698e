"""Filters of arrays of other libraries than numpy."""

import pickle
from unittest import mock

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import skgeom.utils.array_api as _arrays
import skgeom.utils.array_api as _sklearn
from skgeom import (
    SQFA,
    AMAGauss,
    ClassStatistics,
    SecondMomentSQFA,
)
from skgeom.objectives import _posterior, _projection, projected_classes
from skgeom.utils.array_api import ARRAY_API, to_numpy

# Those that learn what does not depend on a rotation of the filters.
FILTERS = [
    SQFA(2, distance="wasserstein", constraint="orthonormal", random_state=0),
    SQFA(2, distance="hellinger", constraint="orthonormal", random_state=0),
    SQFA(2, regularization=0, random_state=0),
    SQFA(2, covariance_estimator="oas", random_state=0),
    SecondMomentSQFA(2, regularization=0.1, random_state=0),
    AMAGauss(2, regularization=0.1, random_state=0),
    AMAGauss(2, class_weight={0: 0, 1: 1, 2: 1}, regularization=0.1, random_state=0),
]
CHECKED = [
    SQFA(),
    SecondMomentSQFA(),
    AMAGauss(tol=1e-4),
]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    # Single precision, so that all libraries begin with the same numbers.
    return StandardScaler().fit_transform(X).astype(np.float32).astype(float), y


def projector(components):
    """That onto the span of the filters."""
    basis, _ = np.linalg.qr(to_numpy(components).T)
    return basis @ basis.T


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_are_those_of_numpy(filters, library, wine):
    X, y = wine
    expected = clone(filters).fit(X, y)
    fitted = clone(filters).fit(library.array(X), library.array(y))
    assert library.is_mine(fitted.components_)
    assert type(fitted.objective_) is float
    np.testing.assert_allclose(fitted.objective_, expected.objective_, rtol=1e-6)
    np.testing.assert_allclose(
        fitted.regularization_, expected.regularization_, rtol=1e-6
    )
    # A search passes on rounding, and ends where the objective is flat.
    np.testing.assert_allclose(
        projector(fitted.components_), projector(expected.components_), atol=2e-3
    )
    features = fitted.transform(library.array(X))
    assert library.is_mine(features)
    assert library.dtype in str(features.dtype)
    np.testing.assert_allclose(
        to_numpy(features), X @ to_numpy(fitted.components_).T, atol=library.tolerance
    )


def test_labels_may_be_texts_or_lie_elsewhere(library, wine):
    X, y = wine
    names = np.array(["a", "b", "c"])[y]
    there = library.array(X)
    first, *others = (
        SQFA(2, distance="hellinger", random_state=0).fit(there, labels)
        for labels in (library.array(y), y, y.tolist(), names)
    )
    for other in others:
        np.testing.assert_array_equal(
            to_numpy(first.components_), to_numpy(other.components_)
        )
    assert others[-1].classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("filters", [SQFA(2), SecondMomentSQFA(2)], ids=str)
def test_weights_lie_anywhere(filters, library, wine, rng):
    X, y = wine
    weights = rng.integers(0, 4, size=len(y)).astype(float)
    filters.set_params(regularization=0.1, distance="hellinger", random_state=0)
    there = library.array(X), library.array(y)
    expected = clone(filters).fit(
        np.repeat(X, weights.astype(int), axis=0), np.repeat(y, weights.astype(int))
    )
    for given in (library.array(weights), weights):
        fitted = clone(filters).fit(*there, sample_weight=given)
        np.testing.assert_allclose(fitted.objective_, expected.objective_, rtol=1e-6)


def test_fewer_samples_than_features(library, rng):
    X = rng.normal(size=(30, 50)).astype(np.float32).astype(float)
    X[::2, :2] *= 3
    y = np.arange(30) % 2
    sqfa = SQFA(2, distance="hellinger", random_state=0)
    expected = clone(sqfa).fit(X, y)
    fitted = sqfa.fit(library.array(X), library.array(y))
    assert library.is_mine(fitted.components_)
    assert library.is_mine(fitted.statistics_.covariances)
    np.testing.assert_allclose(fitted.objective_, expected.objective_, rtol=1e-6)


def test_more_samples_come_to_the_same_device(library, wine):
    X, y = wine
    parts = [(X[::2], y[::2]), (X[1::2], y[1::2])]
    sqfa = SQFA(2, distance="hellinger", regularization=0.1, random_state=0)
    expected = clone(sqfa)
    for part in parts:
        sqfa.partial_fit(*map(library.array, part))
        expected.partial_fit(*part)
    assert library.is_mine(sqfa.components_)
    np.testing.assert_allclose(sqfa.objective_, expected.objective_, rtol=1e-6)
    with pytest.raises(ValueError, match=r"SQFA\.partial_fit\(\) must use the same"):
        sqfa.partial_fit(*parts[0])


def test_what_follows_a_fit_is_on_the_device(library, wine):
    X, y = wine
    sqfa = SQFA(3, distance="hellinger", regularization=0.1, random_state=0)
    expected = clone(sqfa).fit(X, y)
    sqfa.fit(library.array(X), library.array(y))
    distances = sqfa.class_distances()
    assert library.is_mine(distances)
    np.testing.assert_allclose(
        to_numpy(distances), expected.class_distances(), atol=1e-4
    )
    importances = sqfa.filter_importances()
    assert library.is_mine(importances)
    np.testing.assert_allclose(
        to_numpy(importances), expected.filter_importances(), atol=1e-3
    )
    objective = sqfa.objective_
    sqfa.orthonormalize()
    assert library.is_mine(sqfa.components_)
    assert library.is_mine(sqfa.statistics_.means)
    assert abs(objective - sqfa.objective_) < 0.2


def test_moved_pickled_and_refused(library, wine):
    X, y = wine
    there = library.array(X)
    sqfa = SQFA(2, distance="hellinger", random_state=0).fit(there, library.array(y))
    features = to_numpy(sqfa.transform(there))
    np.testing.assert_array_equal(
        to_numpy(pickle.loads(pickle.dumps(sqfa)).transform(there)), features
    )
    with pytest.raises(ValueError, match=r"SQFA\.transform\(\) must use the same"):
        sqfa.transform(X)
    moved = _sklearn.move_estimator_to(sqfa, np, "cpu")
    assert type(moved.statistics_.covariances) is np.ndarray
    np.testing.assert_allclose(moved.transform(X), features, atol=library.tolerance)
    assert type(moved.class_distances()) is np.ndarray
    back = _sklearn.move_estimator_to(moved, library.xp, library.device)
    np.testing.assert_array_equal(to_numpy(back.transform(there)), features)


def test_statistics_need_the_switch_to_stay_on_a_device(library, wine):
    X, y = wine
    statistics = ClassStatistics.from_data(library.array(X), library.array(y))
    sqfa = SQFA(2, regularization=0.1, distance="hellinger", random_state=0)
    assert library.is_mine(clone(sqfa).fit_statistics(statistics).components_)
    with config_context(array_api_dispatch=False):
        assert type(sqfa.fit_statistics(statistics).components_) is np.ndarray


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_covariances_in_single_precision(library, factor, rng):
    """Also where their unit, a power of two near the largest trace, is one."""
    means, filters = rng.normal(size=(3, 5)), rng.normal(size=(5, 2))
    factors = rng.normal(size=(3, 5, 9))
    covariances = factors @ factors.mT
    covariances *= factor / np.trace(covariances, axis1=1, axis2=2).max()
    expected = projected_classes(means, covariances, 0.1 * factor)
    classes = projected_classes(means, library.array(covariances), 0.1 * factor)
    single = classes.in_single_precision()
    assert "float32" in str(single.covariances.dtype)
    _, wanted, pull_back_wanted = expected(filters)
    found_means, found, pull_back = single(filters)
    np.testing.assert_allclose(found, wanted, atol=1e-5 * factor)
    np.testing.assert_allclose(
        pull_back(found_means, found),
        pull_back_wanted(found_means, wanted),
        rtol=1e-4,
        atol=1e-5 * factor,
    )
    _, found, _ = single.project(filters)
    np.testing.assert_allclose(found, expected.project(filters)[1], atol=1e-5 * factor)


class Crossings:
    """Counts the arrays that are moved, and their largest size."""

    def __init__(self):
        self.sizes = []

    def counting(self, function):
        def move(array, *args, **kwargs):
            result = function(array, *args, **kwargs)
            if (_arrays.namespace(array) is np) != (_arrays.namespace(result) is np):
                self.sizes.append(np.size(array) if array is None else array.size)
            return result

        return move


@pytest.fixture
def crossings():
    """What is moved by evaluations of objectives."""
    counted = Crossings()
    with (
        mock.patch.multiple(
            _projection,
            to_numpy=counted.counting(to_numpy),
            like=counted.counting(_arrays.like),
        ),
        mock.patch.multiple(
            _posterior,
            to_numpy=counted.counting(to_numpy),
            like=counted.counting(_arrays.like),
        ),
    ):
        yield counted


def strict_array(array):
    """On a device from which numpy cannot read."""
    xp = pytest.importorskip("array_api_strict")
    return xp.asarray(array, device=xp.Device("device1"))


@pytest.mark.skipif(not ARRAY_API, reason="needs scikit-learn 1.9")
@pytest.mark.parametrize("of_samples", [False, True])
def test_an_evaluation_moves_filters_and_small_matrices(of_samples, crossings, rng):
    n, m, c = 40, 3, 4
    X, y = rng.normal(size=(3000, n)), rng.integers(c, size=3000)
    with config_context(array_api_dispatch=True):
        samples = strict_array(X)
        statistics = ClassStatistics.from_data(samples, y)
        arrays = statistics.means, statistics.covariances, 0.1
        if of_samples:
            priors = np.full(c, -np.log(c))
            objective = _posterior.MeanInformation(samples, y, *arrays, priors)
        else:
            from skgeom.objectives import DISTANCES, MeanPairwiseDistance

            objective = MeanPairwiseDistance(*arrays, DISTANCES["hellinger"])
        crossings.sizes.clear()
        filters = np.linalg.qr(rng.normal(size=(n, m)))[0]
        objective(filters)
    # Filters twice, and matrices of the classes; with samples, also these matrices as
    # they whiten, the sums over samples, and labels of the classes in each block.
    assert len(crossings.sizes) <= (16 if of_samples else 5)
    assert max(crossings.sizes) <= max(n * m, c * m * m)


@pytest.mark.skipif(not ARRAY_API, reason="needs scikit-learn 1.9")
def test_transform_copies_nothing_to_the_host(wine, nothing_leaves_the_device):
    X, y = wine
    with config_context(array_api_dispatch=True):
        sqfa = SQFA(2, distance="hellinger").fit(strict_array(X), y)
        there = strict_array(X)
        with nothing_leaves_the_device("skgeom._filters._linear_filters"):
            sqfa.transform(there)


@pytest.mark.skipif(not ARRAY_API, reason="needs scikit-learn 1.9")
@pytest.mark.parametrize("estimator", CHECKED[:-1], ids=str)
def test_a_device_without_double_precision(estimator, wine):
    xp = pytest.importorskip("array_api_strict")
    X, y = wine
    device = xp.Device("no_float64")
    estimator = clone(estimator).set_params(random_state=0)
    expected = clone(estimator).fit(X.astype(np.float32), y)
    with config_context(array_api_dispatch=True):
        there = xp.asarray(X, device=device, dtype=xp.float32)
        fitted = estimator.fit(there, y)
        assert fitted.transform(there).dtype == xp.float32
    np.testing.assert_allclose(fitted.objective_, expected.objective_, rtol=1e-4)
