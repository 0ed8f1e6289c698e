"""The authors' run of PLRSQ on the first subject of BCI competition IV, 2a."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import cohen_kappa_score

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


@pytest.mark.exhaustive
def test_trial_by_trial_or_all_at_once():
    """The default metric, from a single first trial and few trials for the start."""
    X, y, X_test, y_test = days_of(4)
    kappas = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        few = [order[y[order] == c][:8] for c in range(4)]
        start = np.stack([mean_affine_invariant(X[own]) for own in few])
        model = PLRSQ(init=start, shuffle=False)
        whole = clone(model).partial_fit(X[order], y[order])
        for i in order:
            model.partial_fit(X[[i]], y[[i]], classes=[0, 1, 2, 3])
        kappas.append(
            [cohen_kappa_score(y_test, m.predict(X_test)) for m in (whole, model)]
        )
    at_once, one_by_one = np.mean(kappas, axis=0)
    assert one_by_one >= at_once - 0.02
