"""The authors' run of PLRSQ on the first subject of BCI competition IV, 2a."""

import os
from pathlib import Path

import numpy as np
import pytest

from skgeom import PLRSQ
from skgeom.geometry import mean_affine_invariant

FILE = Path(os.environ.get("SKGEOM_DATA", "")) / "bci_iv_2a_s1_to_s4.npz"
pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="needs the data")


@pytest.fixture(scope="module")
def days():
    data = np.load(FILE)
    test = data["test_1"].astype(bool)
    y = data["y_1"] if "y_1" in data else data["y"]
    X = data["cov_1"]
    return X[~test], y[~test], X[test], y[test]


def cost(model, X, y):
    return -model.predict_log_proba(X)[np.arange(len(y)), y].sum()


def test_stored_result_of_the_authors(days):
    X, y, X_test, y_test = days
    means = np.stack([mean_affine_invariant(X[y == c]) for c in range(4)])
    start = PLRSQ(
        metric="riemann",
        sigma2=9.5,
        init=means,
        solver="sgd",
        learning_rate=1e-300,
        max_iter=1,
    ).fit(X, y)
    assert cost(start, X, y) == pytest.approx(341.5, abs=0.5)
    model = PLRSQ(
        metric="riemann",
        sigma2=9.5,
        annealing=False,
        solver="sgd",
        max_iter=100,
        random_state=0,
    ).fit(X, y)
    assert cost(model, X, y) == pytest.approx(120.4, abs=1)
    assert model.score(X, y) == pytest.approx(0.944, abs=0.005)
    assert model.score(X_test, y_test) == pytest.approx(0.809, abs=0.005)
