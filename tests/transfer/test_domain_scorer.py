"""Scores of predictions that need the domain of each sample."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    cohen_kappa_score,
    f1_score,
    hamming_loss,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skgeom import Recentering, TransferDiscriminantAnalysis, make_domain_scorer

# 40 matrices of two other subjects are too few for the classes of the fixture.
pytestmark = pytest.mark.filterwarnings("ignore:The predictions of held-out samples")


def diagonals(X):
    return np.diagonal(X, axis1=1, axis2=2)


@pytest.fixture
def subjects(make_signals):
    rng = np.random.default_rng(0)
    X, y = make_signals(0, per_class=30, n_classes=2)
    domain = np.arange(len(y)) % 3
    mixing = np.linalg.qr(rng.standard_normal((3, 4, 4)))[0]
    return mixing[domain] @ X @ mixing[domain].mT, y, domain


@pytest.mark.parametrize("adapt", [False, True])
def test_scores_equal_a_loop(subjects, adapt):
    X, y, domain = subjects
    scorers = {
        "accuracy": make_domain_scorer(accuracy_score, adapt=adapt),
        "kappa": make_domain_scorer(cohen_kappa_score, adapt=adapt),
        "auc": make_domain_scorer(
            roc_auc_score, response_method="predict_proba", adapt=adapt
        ),
    }
    cv, params = LeaveOneGroupOut(), {"domain": domain, "groups": domain}
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            TransferDiscriminantAnalysis(), X, y, scoring=scorers, cv=cv, params=params
        )
    expected = []
    for train, test in cv.split(X, y, domain):
        model = TransferDiscriminantAnalysis()
        model.fit(X[train], y[train], domain=domain[train])
        if adapt:
            model.adapt(X[test], domain=domain[test])
        labels = model.predict(X[test], domain=domain[test])
        probabilities = model.predict_proba(X[test], domain=domain[test])
        expected.append(
            [
                accuracy_score(y[test], labels),
                cohen_kappa_score(y[test], labels),
                roc_auc_score(y[test], probabilities[:, 1]),
            ]
        )
    for name, scores in zip(scorers, np.transpose(expected), strict=True):
        assert_allclose(found[f"test_{name}"], scores, rtol=1e-12)


def test_adaptation_is_part_of_a_search_and_leaves_the_estimator(subjects):
    X, y, domain = subjects
    scorer = make_domain_scorer(f1_score, adapt=True, average="macro")
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            TransferDiscriminantAnalysis(),
            {"prior_strength": [4, 64]},
            scoring=scorer,
            cv=LeaveOneGroupOut(),
        ).fit(X, y, domain=domain, groups=domain)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    model = search.best_estimator_
    before = model.means_.copy()
    held_out = X[domain == 0], y[domain == 0], domain[domain == 0]
    assert scorer(model, *held_out) == scorer(search, *held_out)
    assert_allclose(model.means_, before, rtol=0)


def test_pipelines_receive_domains(subjects):
    X, y, domain = subjects
    scorer = make_domain_scorer(roc_auc_score, response_method="decision_function")
    loss = make_domain_scorer(hamming_loss, greater_is_better=False)
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(
            Recentering(), FunctionTransformer(diagonals), LogisticRegression()
        ).fit(X, y, domain=domain)
        found = scorer(model, X, y, domain)
        assert found == roc_auc_score(y, model.decision_function(X, domain=domain))
        accuracy = make_domain_scorer(accuracy_score)(model, X, y, domain)
        assert_allclose(loss(model, X, y, domain), accuracy - 1)


@pytest.mark.parametrize("positive", ["left", "right"])
def test_pos_label_selects_the_class_of_the_scores(subjects, positive):
    X, y, domain = subjects
    y = np.array(["left", "right"])[y]
    model = TransferDiscriminantAnalysis().fit(X, y, domain)
    column = ["left", "right"].index(positive)
    of_class = model.predict_proba(X, domain)[:, column]
    expected = {
        brier_score_loss: np.mean((of_class - (y == positive)) ** 2),
        average_precision_score: average_precision_score(y == positive, of_class),
    }
    options = {"pos_label": positive, "response_method": "predict_proba"}
    for metric, score in expected.items():
        scorer = make_domain_scorer(metric, **options)
        assert_allclose(scorer(model, X, y, domain), score)
    # Decision values have the order of the probabilities.
    options["response_method"] = "decision_function"
    scorer = make_domain_scorer(average_precision_score, **options)
    assert scorer(model, X, y, domain) == expected[average_precision_score]


def test_averages_over_classes_need_no_pos_label(subjects):
    X, y, domain = subjects
    y = np.array(["left", "right"])[y]
    model = TransferDiscriminantAnalysis().fit(X, y, domain)
    predicted = model.predict(X, domain)
    scorer = make_domain_scorer(f1_score, average="macro")
    of_class = [f1_score(y, predicted, pos_label=label) for label in ("left", "right")]
    assert_allclose(scorer(model, X, y, domain), np.mean(of_class))
    of_pair = make_domain_scorer(lambda y, predicted, average: average, average=3)
    assert of_pair(model, X, y, domain) == 3


def test_unknown_methods_are_errors():
    with pytest.raises(ValueError, match=r"response_method' .*'transform'"):
        make_domain_scorer(accuracy_score, response_method="transform")
    with pytest.raises(TypeError, match=r"score_func' .*'accuracy'"):
        make_domain_scorer("accuracy")
    with pytest.raises(ValueError, match="adapt=False for LogisticRegression"):
        make_domain_scorer(accuracy_score, adapt=True)(LogisticRegression(), [], [])


def test_adaptation_without_domains_warns(subjects):
    X, y, domain = subjects
    scorer = make_domain_scorer(accuracy_score, adapt=True)
    model = TransferDiscriminantAnalysis(shrinkage=0.5).fit(X, y, domain)
    with pytest.warns(UserWarning, match="received no domain.*enable_metadata_routing"):
        scorer(model, X, y)
    scorer(model, X, y, domain=domain)
    scorer(TransferDiscriminantAnalysis(shrinkage=0.5).fit(X, y), X, y)
