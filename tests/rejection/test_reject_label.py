"""The label of rejected samples, and the type of predictions that hold it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator

from skgeom import RejectionClassifier

PROBABILITIES = [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("classes", "label", "expected", "dtype"),
    [
        (np.array([0, 1, 2]), None, -1, np.int64),
        (np.array([-1, 1, 5]), None, -2, np.int64),
        (np.array([3, 4, 5]), 0, 0, np.int64),
        (np.array([0, 1, 2], dtype=np.int8), None, -1, np.int8),
        (np.array([0, 1, 2], dtype=np.uint8), None, -1, np.int16),
        (np.array([0, 1, 2], dtype=np.uint64), 9, 9, np.uint64),
        (np.array([0, 1, 2], dtype=np.uint64), None, -1, np.int64),
        (np.array([0, 1, 2], dtype=np.uint64) + 2**60, None, -1, np.int64),
        (np.array([0, 1, 2]), np.nan, np.nan, np.float64),
        (np.array([-1.5, 1.0, 2.0]), None, -3.0, np.float64),
        (np.array(["a", "b", "c"]), None, "rejected", np.dtype("U8")),
        (np.array(["a", "b", "cccc"]), "?", "?", np.dtype("U4")),
        (np.array(["a", "b", "c"], dtype=object), None, "rejected", object),
        (np.array(["a", "b", "c"], dtype=object), -1, -1, object),
        (np.array([1, 2, 3], dtype=object), None, -1, object),
    ],
)
def test_reject_label(classes, label, expected, dtype, given):
    given.classes_ = classes
    model = RejectionClassifier(FrozenEstimator(given), reject_label=label)
    predicted = model.fit(PROBABILITIES, [0, 1, 2, 2]).predict(PROBABILITIES)
    assert predicted.dtype == dtype
    assert_array_equal(predicted[[0, 1, 3]], classes)
    assert_array_equal([predicted[2], model.reject_label_], [expected, expected])


def test_boolean_classes_become_numbers(given):
    X = [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]
    model = RejectionClassifier(given, threshold=0.6).fit(X, [False, True, True])
    assert_array_equal(model.predict(X), [0, -1, 1])
    assert model.score(X, [False, True, True]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("y", "label", "message"),
    [
        ([0, 1, 2, 2], 2, r"reject_label=2 is one of the classes, \[0, 1, 2\]"),
        (["a", "b", "rejected", "b"], None, "'rejected' is one of the classes"),
        ([0, 1, 2, 2], "no", "reject_label='no' cannot be stored"),
        (["a", "b", "c", "c"], -1, "classes of dtype <U1"),
        (np.array([0, 1, 2, 2], np.uint64) + 2**63, -1, "classes of dtype uint64"),
        (np.array([0, 1, 2, 2]) + 2**60, np.nan, "reject_label=nan cannot be stored"),
        (np.array([0, 1, 2, 2]), 2**70, "cannot be stored in one array"),
    ],
)
def test_bad_reject_label(y, label, message, given):
    with pytest.raises(ValueError, match=message):
        RejectionClassifier(given, reject_label=label).fit(PROBABILITIES, y)
    given.classes_ = np.array(["a", 1, 2], dtype=object)
    with pytest.raises(ValueError, match="neither all strings nor all numbers"):
        RejectionClassifier(FrozenEstimator(given)).fit(PROBABILITIES, [0, 1, 2, 2])
    days = np.arange("2026-01-01", "2026-01-04", dtype="M8[D]").astype("M8[ns]")
    given.classes_, y = days, days[[0, 1, 2, 2]]
    with pytest.raises(ValueError, match="neither all strings nor all numbers"):
        RejectionClassifier(FrozenEstimator(given)).fit(PROBABILITIES, y)
