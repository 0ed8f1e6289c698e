"""Values of regularization that are too large for the data."""

import pytest
from sklearn.datasets import load_iris

from skgeom import SQFA, AMAGauss, SecondMomentSQFA


@pytest.mark.parametrize("cls", [SQFA, SecondMomentSQFA, AMAGauss])
def test_regularization_above_the_rounding_of_the_data_is_an_error(cls):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"Decrease\s+regularization"):
        cls(2, regularization=1e308).fit(X, y)
    model = cls(2, regularization=1e3, random_state=0).fit(X, y)
    assert model.regularization_ == 1e3
