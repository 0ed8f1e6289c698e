"""Filters of arrays of other libraries than numpy."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import _array_api

from skgeom import SQFA, AMAGauss, SecondMomentSQFA
from skgeom.utils._sklearn import ARRAY_API
from skgeom.utils.array_api import to_numpy

# Those that learn what does not depend on a rotation of the filters.
FILTERS = [
    SQFA(2, distance="hellinger", constraint="orthonormal", random_state=0),
    SecondMomentSQFA(2, regularization=0.1, random_state=0),
    AMAGauss(2, class_weight={0: 0, 1: 1, 2: 1}, regularization=0.1, random_state=0),
]


def projector(components):
    """That onto the span of the filters."""
    basis, _ = np.linalg.qr(to_numpy(components).T)
    return basis @ basis.T


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_are_those_of_numpy(filters, library, wine_32):
    X, y = wine_32
    expected = clone(filters).fit(X, y)
    fitted = clone(filters).fit(library.array(X), library.array(y))
    assert library.is_mine(fitted.components_)
    assert type(fitted.objective_) is float
    assert_allclose(fitted.objective_, expected.objective_, rtol=1e-6)
    assert_allclose(fitted.regularization_, expected.regularization_, rtol=1e-6)
    # A search passes on rounding, and ends where the objective is flat.
    assert_allclose(
        projector(fitted.components_), projector(expected.components_), atol=2e-3
    )
    features = fitted.transform(library.array(X))
    assert library.is_mine(features)
    assert library.dtype in str(features.dtype)
    assert_allclose(
        to_numpy(features), X @ to_numpy(fitted.components_).T, atol=library.tolerance
    )


def test_what_follows_a_fit_is_on_the_device(device_library, wine_32):
    library, (X, y) = device_library, wine_32
    sqfa = SQFA(3, distance="hellinger", regularization=0.1, random_state=0)
    expected = clone(sqfa).fit(X, y)
    sqfa.fit(library.array(X), library.array(y))
    distances = sqfa.class_distances()
    assert library.is_mine(distances)
    assert_allclose(to_numpy(distances), expected.class_distances(), atol=1e-4)
    importances = sqfa.filter_importances()
    assert library.is_mine(importances)
    assert_allclose(to_numpy(importances), expected.filter_importances(), atol=1e-3)
    objective = sqfa.objective_
    sqfa.orthonormalize()
    assert library.is_mine(sqfa.components_)
    assert library.is_mine(sqfa.statistics_.means)
    assert abs(objective - sqfa.objective_) < 0.2


def test_moved_pickled_and_refused(library, wine_32):
    X, y = wine_32
    there = library.array(X)
    sqfa = SQFA(2, distance="hellinger", random_state=0).fit(there, library.array(y))
    features = to_numpy(sqfa.transform(there))
    assert_array_equal(
        to_numpy(pickle.loads(pickle.dumps(sqfa)).transform(there)), features
    )
    with pytest.raises(ValueError, match=r"SQFA\.transform\(\) must use the same"):
        sqfa.transform(X)
    moved = _array_api.move_estimator_to(sqfa, np, "cpu")
    assert type(moved.statistics_.covariances) is np.ndarray
    assert_allclose(moved.transform(X), features, atol=library.tolerance)
    assert type(moved.class_distances()) is np.ndarray
    back = _array_api.move_estimator_to(moved, library.xp, library.device)
    assert_array_equal(to_numpy(back.transform(there)), features)


@pytest.mark.skipif(not ARRAY_API, reason="needs scikit-learn 1.9")
@pytest.mark.parametrize("estimator", [SQFA(), SecondMomentSQFA()], ids=str)
def test_a_device_without_double_precision(estimator, wine_32):
    xp = pytest.importorskip("array_api_strict")
    X, y = wine_32
    device = xp.Device("no_float64")
    estimator = clone(estimator).set_params(random_state=0)
    expected = clone(estimator).fit(X.astype(np.float32), y)
    with config_context(array_api_dispatch=True):
        there = xp.asarray(X, device=device, dtype=xp.float32)
        fitted = estimator.fit(there, y)
        assert fitted.transform(there).dtype == xp.float32
    assert_allclose(fitted.objective_, expected.objective_, rtol=1e-4)
