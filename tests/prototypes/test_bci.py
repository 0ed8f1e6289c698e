"""The authors' run of PLRSQ on the first subject of BCI competition IV, 2a."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from skgeom import PLRSQ
from skgeom.geometry import mean_affine_invariant

FILE = Path(os.environ.get("SKGEOM_DATA", "")) / "bci_iv_2a_s1_to_s4.npz"
pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="needs the data")


def days_of(subject):
    data = np.load(FILE)
    test = data[f"test_{subject}"].astype(bool)
    y = data[f"y_{subject}"] if f"y_{subject}" in data else data["y"]
    X = data[f"cov_{subject}"]
    return X[~test], y[~test], X[test], y[test]


def cost(model, X, y):
    return -model.predict_log_proba(X)[np.arange(len(y)), y].sum()


@pytest.mark.exhaustive
def test_stored_result_of_the_authors():
    X, y, X_test, y_test = days_of(1)
    means = np.stack([mean_affine_invariant(X[y == c]) for c in range(4)])
    model = PLRSQ(metric="riemann", sigma2=9.5, solver="sgd", random_state=0)
    start = clone(model).set_params(init=means, learning_rate=1e-300, max_iter=1)
    assert cost(start.fit(X, y), X, y) == pytest.approx(341.5, abs=0.5)
    assert cost(model.fit(X, y), X, y) == pytest.approx(120.4, abs=1)
    assert model.score(X, y) == pytest.approx(0.944, abs=0.005)
    assert model.score(X_test, y_test) == pytest.approx(0.809, abs=0.005)
