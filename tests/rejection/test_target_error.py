"""The threshold that keeps the error among accepted samples below a target."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from skgeom import RejectionClassifier
from skgeom._rejection._rejection_thresholds import threshold_of_error


def rising(confidences):
    """Half of the least confident predictions are wrong."""
    return 0.5 * (1 - confidences)


def overconfident(confidences):
    """The most confident tenth is wrong more often than the rest."""
    return np.where(confidences > 0.9, 0.2, 0.02)


def at_target(confidences):
    """The error is just above the target at each threshold."""
    return np.full_like(confidences, 0.1001)


def drawn(error, n, rng, levels=None):
    """Confidences between 0 and 1, and whether the predictions are correct."""
    confidences = rng.random(n)
    if levels is not None:
        confidences = np.ceil(confidences * levels) / levels
    return confidences, rng.random(n) >= error(confidences)


def true_error(error, threshold, levels=None):
    """Error among all accepted samples that could be drawn."""
    confidences = (np.arange(20_000) + 0.5) / 20_000
    if levels is not None:
        confidences = np.ceil(confidences * levels) / levels
    kept = confidences >= threshold
    return error(confidences[kept]).mean() if kept.any() else 0.0


@pytest.mark.filterwarnings("ignore:All samples are rejected:UserWarning")
@pytest.mark.parametrize("levels", [None, 7])
@pytest.mark.parametrize("error", [rising, overconfident, at_target])
@pytest.mark.parametrize("n", [150, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_guarantee(error, levels, n):
    """In 300 draws at the level .8, at most as many fail as chance explains.

    The number of failures of a rule with the risk .2 is above the limit with a
    probability of one in a million.
    """
    rng = np.random.default_rng(0)
    failures = 0
    for _ in range(300):
        threshold = threshold_of_error(*drawn(error, n, rng, levels), 0.1, 0.8)
        failures += true_error(error, threshold, levels) > 0.1
    assert failures <= binom.isf(1e-6, 300, 0.2)


def two_gaussians(n, rng):
    """Calibrated confidences of two Gaussian classes, and whether they are correct."""
    x = rng.normal(1.25, 1, n)
    return expit(2.5 * np.abs(x)), x > 0


@pytest.mark.filterwarnings("ignore:All samples are rejected:UserWarning")
@pytest.mark.parametrize("slope", [0.3, 1, 4])
def test_validity_and_power_do_not_depend_on_calibration(slope):
    """Underconfident, calibrated and overconfident: n=200, target 5 %, level .95.

    Twenty candidates with equal shares of the risk (Bonferroni) accept 20 % of the
    samples, and reject all in 65 % of draws.
    """
    reference, right = two_gaussians(100_000, np.random.default_rng(1))
    accepted, failures, draws = [], 0, 100
    for seed in range(draws):
        confidences, correct = two_gaussians(200, np.random.default_rng(seed))
        scaled = expit(slope * logit(confidences))
        threshold = threshold_of_error(scaled, correct, 0.05, 0.95)
        kept = expit(slope * logit(reference)) >= threshold
        accepted.append(kept.mean())
        failures += kept.any() and (~right[kept]).mean() > 0.05
    assert failures <= binom.isf(1e-6, draws, 0.05)
    assert np.mean(accepted) > 0.35
    assert np.mean(np.array(accepted) == 0) < 0.35


def test_errors_of_the_most_confident_samples_do_not_reject_all():
    """The most confident tenth is wrong in 20 % of the cases, the rest in 2 %."""
    for seed in range(20):
        draw = drawn(overconfident, 200, np.random.default_rng(seed))
        assert threshold_of_error(*draw, 0.2, 0.95) == 0


@pytest.mark.parametrize(("target", "n"), [(0.05, 59), (0.1, 29), (0.01, 299)])
def test_fewest_samples(target, n):
    """The rule of three: (1 - target)^n is at most .05."""
    confidences, correct = np.linspace(0.5, 1, n), np.ones(n, dtype=bool)
    assert threshold_of_error(confidences, correct, target, 0.95) == 0
    message = f"requires at least {n} held-out .* are 0 errors in {n - 1} samples"
    with pytest.warns(UserWarning, match=message):
        found = threshold_of_error(confidences[1:], correct[1:], target, 0.95)
    assert found == np.inf


def test_equal_confidences_are_accepted_or_rejected_together():
    """The errors are at .7, which the smallest threshold above leaves out."""
    confidences = np.repeat([0.7, 0.9], [100, 400])
    correct = confidences > 0.8
    threshold = threshold_of_error(confidences, correct, 0.05, 0.95)
    assert threshold == np.nextafter(0.7, 1)
    single = confidences.astype(np.float32)
    threshold = threshold_of_error(single, correct, 0.05, 0.95)
    np.testing.assert_array_equal(single >= threshold, correct)


def test_warning_reports_the_error_rate_of_the_most_confident_samples():
    """More samples are a remedy only if this rate is at most the target."""
    confidences = np.repeat([0.9, 0.5], [60, 40])
    correct = (confidences == 0.9) & (np.arange(100) >= 12)
    message = "52 errors in 100 samples, and 12 errors in the 60 most confident sampl"
    with pytest.warns(UserWarning, match=f"{message}.*Use a more accurate classifier"):
        threshold_of_error(confidences, correct, 0.1, 0.95)
    message = "0 errors in the 20 most confident samples.*Use more samples or a more ac"
    with pytest.warns(UserWarning, match=message):
        threshold_of_error(confidences[:20], correct[12:32], 0.1, 0.95)


def test_all_are_rejected_if_the_target_cannot_be_met():
    X, y = make_blobs(300, centers=[[0, 0], [0.1, 0]], random_state=0)
    model = RejectionClassifier(GaussianNB(), target_error=0.05)
    with pytest.warns(UserWarning, match=r"All samples are rejected: no threshold"):
        model.fit(X, y)
    assert model.threshold_ == np.inf
    assert (model.predict(X) == model.reject_label_).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("classifier", [GaussianNB(), KNeighborsClassifier(15)])
def test_classifiers_of_several_classes(classifier):
    """With folds, the target holds in nearly all of 40 draws.

    A risk of .05 explains more than 8 failures with a probability of one in 10,000.
    """
    X, y = make_blobs(50_000, centers=4, cluster_std=2.0, random_state=3)
    rng = np.random.default_rng(0)
    failures, accepted = 0, []
    for _ in range(40):
        train, test = np.split(rng.permutation(len(y))[:6000], [1000])
        model = RejectionClassifier(classifier, target_error=0.05)
        model.fit(X[train], y[train])
        predicted = model.predict(X[test])
        kept = predicted != model.reject_label_
        # The error is itself estimated by the 5,000 test samples.
        wrong = (predicted[kept] != y[test][kept]).sum()
        failures += binom.sf(wrong - 1, kept.sum(), 0.05) < 0.05
        accepted.append(kept.mean())
    assert failures <= 8
    assert np.mean(accepted) > 0.3


def test_what_is_not_supported():
    X, y = make_blobs(200, centers=2, random_state=0)
    model = RejectionClassifier(GaussianNB(), target_error=0.05)
    with pytest.raises(ValueError, match="sample_weight cannot be used with target"):
        model.fit(X, y, sample_weight=np.ones(200))
    model.set_params(cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2))
    with pytest.raises(ValueError, match="cv tests some samples more than once"):
        model.fit(X, y)


def test_folds_and_labels(rng, given):
    """Confidences of folds are those of classifiers that did not see the samples."""
    confidences, correct = drawn(rising, 500, rng)
    X = np.column_stack([(1 + confidences) / 2, (1 - confidences) / 2])
    y = np.where(correct, "a", "b")
    cv = StratifiedKFold(5)
    folds = RejectionClassifier(given, target_error=0.2, cv=cv).fit(X, y)
    frozen = RejectionClassifier(FrozenEstimator(given.fit(X, y)), target_error=0.2)
    assert folds.threshold_ == frozen.fit(X, y).threshold_
    assert 0.5 < folds.threshold_ < 1
