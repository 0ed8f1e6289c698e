"""The one entry for samples of a fit, and the decorators of public methods."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import skgeom
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.methods import fit_method, predict_method
from skgeom.utils.validation import check_spd_samples, validated_samples

X = np.random.default_rng(0).standard_normal((30, 3))
Y = np.repeat(["a", "b", "c"], 10)
WEIGHTS = np.tile([0.0, 1.0, 2.0], 10)
GROUPS = np.repeat(np.arange(15)[::-1], 2)


def test_samples_of_weight_zero_are_removed():
    samples = validated_samples(skgeom.SQFA(), X, Y, WEIGHTS, GROUPS)
    kept = WEIGHTS > 0
    assert_array_equal(samples.X, X[kept])
    assert_array_equal(samples.y, Y[kept])
    assert_array_equal(samples.weights, WEIGHTS[kept])
    assert_array_equal(samples.rows, np.flatnonzero(kept))
    assert_array_equal(samples.groups, GROUPS[kept])  # each group has a sample


def test_validation_sets_only_the_features():
    estimator = skgeom.SQFA()
    before = vars(estimator).copy()
    samples = validated_samples(estimator, X, Y)
    assert samples.X is not None and samples.weights is samples.groups is None
    assert vars(estimator) == before | {"n_features_in_": 3}
    matrices = skgeom.PLRSQ()
    before = vars(matrices).copy()
    hermitian = np.array([[2, 1j], [-1j, 3]])[None]
    check_spd_samples(matrices, hermitian, reset=True, hermitian=True)
    assert vars(matrices) == before | {"n_features_in_": 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": Y[1:]}, "X has 30 samples, but y has 29 labels"),
        ({"groups": GROUPS[1:]}, "groups must contain one label per sample, 30"),
        ({"sample_weight": -WEIGHTS}, "(?i)negative values.*sample_weight"),
        ({"X": 1e307 * X, "double": True}, "too large"),
        ({"numeric": True}, "y must hold real numbers, got dtype <U1"),
    ],
)
def test_errors_name_the_argument(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        validated_samples(skgeom.SQFA(), **{"X": X, "y": Y} | changes)


def test_an_outlier_is_counted_in_the_data_of_the_user():
    far = X.copy()
    far[20] = 1e6
    weights = np.ones(30)
    weights[:5] = 0
    with pytest.warns(UserWarning, match="Sample 20 "):
        skgeom.GaussianClassifier(regularization=1.0).fit(far, Y, weights)


class Counter(BaseEstimator):
    """Counts samples. The names of the methods have no meaning for the decorators."""

    _parameter_constraints = {"step": [int]}

    def __init__(self, step=1):
        self.step = step

    @fit_method
    def begin(self, X):
        self.total_ = self.step * len(X)
        if not len(X):
            raise ValueError("no samples")
        return self

    @fit_method(updates=True)
    def go_on(self, X):
        self.total_ += self.step * len(X)
        if not len(X):
            raise ValueError("no samples")
        return self

    @predict_method
    def fit(self, X):
        return self.total_ * len(X)


def test_decorators_do_not_depend_on_names():
    counter = Counter()
    with pytest.raises(NotFittedError):
        counter.fit(X)
    assert counter.begin(X).fit(X) == 900
    assert counter.go_on(X).total_ == 60
    for method in (counter.begin, counter.go_on):  # nothing changes after an error
        with pytest.raises(ValueError, match="no samples"):
            method(X[:0])
        assert counter.total_ == 60
    with pytest.raises(ValueError, match="The 'step' parameter of Counter"):
        Counter(step="large").begin(X)


def test_warnings_of_a_cross_validation_name_the_line_of_the_user():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) % 2
    with pytest.warns(UserWarning, match="not significantly better") as caught:
        cross_val_score(skgeom.GaussianClassifier(), X, y, cv=3)
    assert {warning.filename for warning in caught} == {__file__}
