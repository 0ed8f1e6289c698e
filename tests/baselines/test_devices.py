"""Linear projections that are moved to another library project samples there."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.datasets import load_wine
from sklearn.utils import _array_api

from skgeom.baselines import LOL, GeneralizedEigenvectors, SupervisedPCA
from skgeom.utils.array_api import to_numpy


@pytest.mark.parametrize(
    "projection",
    [LOL(2), SupervisedPCA(2), GeneralizedEigenvectors(2)],
    ids=lambda projection: type(projection).__name__,
)
def test_moved_projections(library, projection):
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    with config_context(array_api_dispatch=False):
        expected = projection.fit(X, y).transform(X)
    moved = _array_api.move_estimator_to(projection, library.xp, library.device)
    found = moved.transform(library.array(X))
    assert library.is_mine(found)
    assert library.dtype in str(found.dtype)
    size = np.abs(expected).max()
    assert_allclose(to_numpy(found), expected, rtol=0, atol=library.tolerance * size)
    with pytest.raises(ValueError, match="move_estimator_to"):
        projection.transform(library.array(X))
