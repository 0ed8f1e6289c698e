"""Weights of pairs of classes for SQFA, and of samples for AMA-Gauss."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skgeom import SQFA, AMAGauss, SecondMomentSQFA

OF_PAIRS = np.array([[9.0, 3.0, 0.0], [3.0, 9.0, 0.2], [0.0, 0.2, 9.0]])


@pytest.mark.parametrize("pair_weight", [OF_PAIRS, OF_PAIRS.tolist()])
@pytest.mark.parametrize("estimator", [SQFA, SecondMomentSQFA])
def test_mean_over_pairs_is_weighted(estimator, pair_weight, wine):
    options = {"pair_weight": pair_weight, "regularization": 0.3, "random_state": 0}
    sqfa = estimator(2, **options).fit(*wine)
    pairs = np.triu_indices(3, 1)
    for _ in range(2):  # in another basis, and with the parameters of the fit
        expected = np.average(sqfa.class_distances()[pairs], weights=OF_PAIRS[pairs])
        assert sqfa.objective_ == pytest.approx(expected, rel=1e-12)
        sqfa.set_params(pair_weight=None).orthonormalize()


def test_balanced_and_ones_are_none(iris):
    found = [
        AMAGauss(2, class_weight=weight, regularization=0.1, random_state=0)
        .fit(*iris)
        .components_
        for weight in (None, "balanced", {0: 1.0}, {0: 3, 1: 3, 2: 3})
    ]
    for components in found[1:]:
        assert_allclose(components, found[0], atol=1e-6)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ({0: -1.0}, "class_weight .* nonnegative, got -1 for the class 0"),
        ({0: np.inf}, "class_weight must be finite"),
        ({0: 2.0, 7: 1.0}, "not in class_weight"),
        ("heavy", "class_weight"),
    ],
)
def test_bad_weights(weight, message, wine):
    with pytest.raises(ValueError, match=message):
        AMAGauss(2, class_weight=weight).fit(*wine)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones((2, 2)), r"shape \(2, 2\), but there are 3 classes. Use .* \(3, 3\)"),
        (np.arange(9.0).reshape(3, 3), "pair_weight is not symmetric"),
        (OF_PAIRS - 1, "pair_weight has a negative entry, -1"),
        (OF_PAIRS * np.nan, "pair_weight contains NaN"),
        (pd.DataFrame(OF_PAIRS, columns=[2, 1, 0]), "pair_weight has labels, which"),
        (np.eye(3), "No pair of classes has a positive weight"),
    ],
)
def test_bad_weights_of_pairs(weight, message, wine):
    with pytest.raises(ValueError, match=message):
        SQFA(2, pair_weight=weight).fit(*wine)


def test_weights_that_leave_no_class(wine):
    with pytest.raises(ValueError, match="positive for at least one class"):
        AMAGauss(2, class_weight={0: 0, 1: 0, 2: 0}).fit(*wine)
