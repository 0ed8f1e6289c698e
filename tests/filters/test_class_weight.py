"""``class_weight``: of classes in pairs for SQFA, of samples for AMA-Gauss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from skgeom import SQFA, AMAGauss
from skgeom.objectives import DISTANCES, MeanPairwiseDistance


@pytest.mark.parametrize("estimator", [SQFA, AMAGauss])
def test_balanced_and_ones_are_none(estimator):
    X, y = load_iris(return_X_y=True)
    found = [
        estimator(2, class_weight=weight, regularization=0.1, random_state=0)
        .fit(X, y)
        .components_
        for weight in (None, "balanced", {0: 1.0}, {0: 3, 1: 3, 2: 3})
    ]
    for components in found[1:]:
        assert_allclose(components, found[0], atol=1e-6)


def test_class_of_no_weight_is_left_out(wine):
    X, y = wine
    options = {"regularization": 0.3, "covariance_estimator": None, "random_state": 0}
    without = SQFA(2, **options).fit(X[y < 2], y[y < 2])
    weightless = SQFA(2, class_weight={2: 0}, **options).fit(X, y)
    assert weightless.objective_ == pytest.approx(without.objective_, rel=1e-6)


def test_gradient_of_weighted_pairs(rng):
    means, factors = rng.normal(size=(4, 5)), rng.normal(size=(4, 5, 5))
    weights = np.array([1.0, 0.3, 2.0, 0.0])
    objective = MeanPairwiseDistance(
        means, factors @ factors.mT, 0.1, DISTANCES["fisher-rao"], weights=weights
    )
    filters, step = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    _, gradient = objective(filters)
    numeric = (objective(filters + 1e-6 * step)[0] - objective(filters)[0]) / 1e-6
    assert numeric == pytest.approx(np.sum(gradient * step), rel=1e-4)
    i, j = np.triu_indices(4, 1)
    basis = np.linalg.qr(filters)[0]
    projected = objective.project(basis)
    distances = projected.matrix()[i, j]
    expected = np.average(distances, weights=weights[i] * weights[j])
    assert projected(np.eye(2))[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ({0: -1.0}, "class_weight .* not negative, got -1 for the class 0"),
        ({0: np.inf}, "class_weight must be finite"),
        ({0: 2.0, 7: 1.0}, "not in class_weight"),
        ("heavy", "class_weight"),
    ],
)
@pytest.mark.parametrize("estimator", [SQFA, AMAGauss])
def test_bad_weights(estimator, weight, message, wine):
    with pytest.raises(ValueError, match=message):
        estimator(2, class_weight=weight).fit(*wine)


def test_weights_that_leave_no_pair(wine):
    with pytest.raises(ValueError, match="positive for at least two classes"):
        SQFA(2, class_weight={0: 0, 1: 0}).fit(*wine)
    with pytest.raises(ValueError, match="positive for some class"):
        AMAGauss(2, class_weight={0: 0, 1: 0, 2: 0}).fit(*wine)
