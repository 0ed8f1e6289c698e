"""The authors' run of PLRSQ on the first subject of BCI competition IV, 2a."""

import numpy as np
import pytest
from comparisons import needs, trials_of
from sklearn.base import clone

from skgeom import PLRSQ
from skgeom.geometry import mean_affine_invariant


def cost(model, X, y):
    return -model.predict_log_proba(X)[np.arange(len(y)), y].sum()


@pytest.mark.exhaustive
@needs("bci_iv_2a_s1_to_s4.npz")
def test_stored_result_of_the_authors():
    covariances, movements, test = trials_of(1)
    X, y = covariances[~test], movements[~test]
    means = np.stack([mean_affine_invariant(X[y == c]) for c in range(4)])
    model = PLRSQ(metric="riemann", sigma2=9.5, solver="sgd", random_state=0)
    start = clone(model).set_params(init=means, learning_rate=1e-300, max_iter=1)
    assert cost(start.fit(X, y), X, y) == pytest.approx(341.5, abs=0.5)
    assert cost(model.fit(X, y), X, y) == pytest.approx(120.4, abs=1)
    assert model.score(X, y) == pytest.approx(0.944, abs=0.005)
    assert model.score(covariances[test], movements[test]) == pytest.approx(
        0.809, abs=0.005
    )
