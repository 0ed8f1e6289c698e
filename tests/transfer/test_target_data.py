"""Data of a new subject that a fit receives by the names of MOABB."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.estimation import Covariances
from pyriemann.geometry.base import invsqrtm
from pyriemann.geometry.mean import mean_riemann
from sklearn import config_context
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from skgeom import PLRSQ, Recentering, TransferDiscriminantAnalysis


@pytest.fixture
def signals(rng):
    """Trials of four subjects, with the channel of larger power as class."""
    y, subject = np.arange(240) % 3, np.repeat(np.arange(4), 60)
    signals = rng.normal(size=(240, 4, 100))
    signals[np.arange(240), y] *= 1.5
    return signals * rng.lognormal(size=(4, 4, 1))[subject], y, subject


def recentered(X):
    root = invsqrtm(mean_riemann(X, tol=1e-12))
    return root @ X @ root


@pytest.mark.parametrize("name", ["X_target_unlabeled", "X_target_labeled"])
def test_recentering_by_target_matrices(signals, name):
    signals, _, subject = signals
    X = Covariances("oas").transform(signals)
    known, target, new = subject < 3, subject == 3, X[subject == 3][:10]
    for domain in (None, subject[known]):
        model = Recentering()
        Z = model.fit_transform(X[known], domain=domain, **{name: X[target]})
        assert_array_equal(Z, Recentering().fit_transform(X[known], domain=domain))
        assert_allclose(model.transform(new), recentered(X[target])[:10], rtol=1e-6)
        again = Recentering().fit(X[known], domain=domain, **{name: X[target]})
        assert_array_equal(again.transform(new), model.transform(new))
        assert again.counts_[None] == 60


def test_fit_adapts_to_target_matrices(signals):
    signals, y, subject = signals
    X, known = Covariances("oas").transform(signals), subject < 3
    data, target = (X[known], y[known]), X[~known]
    domain = subject[known]
    model = TransferDiscriminantAnalysis(prior_strength=10)
    adapted = model.fit(*data, domain=domain, X_target_unlabeled=target[:40])
    assert adapted.adaptation_ == "means"
    proba = adapted.predict_proba(target)
    expected = model.fit(*data, domain=domain).adapt(target[:40]).predict_proba(target)
    assert_array_equal(proba, expected)
    model.fit(*data, domain=domain, X_target_unlabeled=target[:40])
    with pytest.raises(ValueError, match="After a fit with target matrices, omit dom"):
        model.predict(target, domain="new")


@pytest.mark.parametrize("weights", [None, np.arange(180) // 3 % 3])
def test_labeled_target_matrices_count_ten_times(signals, weights):
    signals, y, subject = signals
    X, known = Covariances("oas").transform(signals), subject < 3
    target, labels = X[~known][:40], y[~known][:40]
    copies = np.ones(180, dtype=int) if weights is None else weights
    times = int(10 * copies[copies > 0].mean())
    rows = np.append(np.arange(180).repeat(copies), np.arange(180, 220).repeat(times))
    for domain in (subject[known], None):
        copied = TransferDiscriminantAnalysis().fit(
            X[rows],
            y[rows],
            domain=subject[rows] if domain is not None else rows < 180,
        )
        model = TransferDiscriminantAnalysis().fit(
            X[known],
            y[known],
            domain=domain,
            sample_weight=weights,
            X_target_labeled=target,
            y_target_labeled=labels,
        )
        new = X[~known][40:]
        expected = copied.adapt(target).predict_proba(new)
        assert_allclose(model.predict_proba(new), expected, rtol=1e-6)
        assert model.recentering_.counts_ == {None: 40}


def test_target_data_that_are_rejected(signals):
    signals, y, _ = signals
    X = Covariances("oas").transform(signals)
    for model in (Recentering(), TransferDiscriminantAnalysis(shrinkage=0.5)):
        model.fit(X, y)
        with pytest.raises(ValueError, match="either X_target_unlabeled or X_target_l"):
            model.fit(X, y, X_target_unlabeled=X, X_target_labeled=X)
        with pytest.raises(ValueError, match="y_target_labeled requires X_target_lab"):
            model.fit(X, y, X_target_unlabeled=X, y_target_labeled=y)
        with pytest.raises(ValueError, match=r"has 239 labels, but X_.* 240 matrices"):
            model.fit(X, y, X_target_labeled=X, y_target_labeled=y[1:])
        for name in ("X_target_unlabeled", "X_target_labeled"):
            with pytest.raises(ValueError, match=rf"{name}: .*requires square matrice"):
                model.fit(X, y, **{name: signals})
            with pytest.raises(ValueError, match=rf"{name}: X has 3 features, .* 4 f"):
                model.fit(X, y, **{name: X[:, :3, :3]})
    for labels, message in (
        (y + 1, r"y_target_labeled contains 3, which is not a class .* \[0, 1, 2\]"),
        (None, "X_target_labeled requires y_target_labeled"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, X_target_labeled=X, y_target_labeled=labels)
    assert model.recentering_.counts_ == {None: 240}


def test_pipelines_transform_target_signals(signals):
    signals, y, subject = signals
    known, target = subject < 3, signals[subject == 3]
    X, X_target = (Covariances("oas").transform(each) for each in (signals, target))
    names = ["X_target_unlabeled", "X_target_labeled"]
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(
            Covariances("oas"), Recentering(), PLRSQ(), transform_input=names
        )
        model.fit(
            signals[known], y[known], domain=subject[known], X_target_unlabeled=target
        )
        labeled = make_pipeline(
            Covariances("oas"), TransferDiscriminantAnalysis(), transform_input=names
        ).fit(
            signals[known],
            y[known],
            domain=subject[known],
            X_target_labeled=target,
            y_target_labeled=y[~known],
        )
    Z = Recentering().fit_transform(X[known], domain=subject[known])
    plrsq = PLRSQ().fit(Z, y[known])
    expected = plrsq.predict_proba(Recentering().fit_transform(X_target))
    assert_allclose(model.predict_proba(target), expected, rtol=1e-6)
    expected = TransferDiscriminantAnalysis().fit(
        X[known],
        y[known],
        domain=subject[known],
        X_target_labeled=X_target,
        y_target_labeled=y[~known],
    )
    assert_array_equal(labeled.predict_proba(target), expected.predict_proba(X_target))


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
def test_evaluation_of_moabb_equals_a_loop(tmp_path, monkeypatch):
    """The first half of each session is for calibration, the second half for scores."""
    monkeypatch.setenv("MNE_DATA", str(tmp_path))
    monkeypatch.setenv("_MNE_FAKE_HOME_DIR", str(tmp_path))  # MOABB stores its folder
    pytest.importorskip("moabb", minversion="1.7")
    page = Path(__file__).parents[2] / "doc/faq.rst"
    code = re.search(r":: python\n((?:\n|    .*\n)*)", page.read_text())[1]
    exec(f"if True:\n{code}", used := {})
    X, y, metadata = used["paradigm"].get_data(used["dataset"])
    X = Covariances("oas").transform(X)
    subject, session = (metadata[name].to_numpy() for name in ("subject", "session"))
    place = metadata.groupby(["subject", "session"]).cumcount().to_numpy()
    first = place < len(X) // 12  # half of the trials of three subjects, two sessions
    assert len(used["results"]) == 12
    for row in used["results"].itertuples():
        own = subject == int(row.subject)
        test = own & (session == row.session) & ~first
        data = X[~own], y[~own]
        if row.pipeline == "adapted":
            model = TransferDiscriminantAnalysis().fit(*data, domain=subject[~own])
            model.adapt(X[own & first])
            scores = model.predict_proba(X[test])[:, 1]
        else:
            Z = Recentering().fit_transform(X[~own], domain=subject[~own])
            recentering = Recentering().fit(X[own & first])
            model = PLRSQ().fit(Z, y[~own])
            scores = model.predict_proba(recentering.transform(X[test]))[:, 1]
        assert_allclose(row.score, roc_auc_score(y[test] == "right_hand", scores))
