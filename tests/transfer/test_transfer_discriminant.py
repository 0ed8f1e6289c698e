"""Discriminant analysis of SPD matrices whose classes move with the domain."""

import pickle

import numpy as np
import pytest
from comparisons import needs, trials_of
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.geometry.base import logm as logm_of_pyriemann
from pyriemann.geometry.tangentspace import upper
from scipy.linalg import fractional_matrix_power
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import cohen_kappa_score, log_loss

from skgeom import Recentering, TransferDiscriminantAnalysis
from skgeom._transfer._adaptation import Source, adapted_to
from skgeom.datasets import make_spd_classes
from skgeom.geometry import expm, logm


@pytest.fixture
def moved(rng, make_symmetric):
    """Matrices of five people, whose classes are moved from those of all, and mixed.

    The last one moves most. The order of samples is random.
    """
    classes = rng.normal(size=(3, 4, 4)) * 0.3
    X, y, domain = [], [], []
    for person in range(5):
        mixing = expm(make_symmetric((), 4))  # no rotation, which re-centering leaves
        moves = rng.normal(size=(3, 4, 4)) * (0.4 if person == 4 else 0.1)
        for label in range(3):
            steps = classes[label] + moves[label] + 0.35 * rng.normal(size=(40, 4, 4))
            X.append(mixing @ expm(steps + steps.mT) @ mixing.T)
            y += 40 * ["abc"[label]]
            domain += 40 * [person]
    order = rng.permutation(600)
    return np.concatenate(X)[order], np.array(y)[order], np.array(domain)[order]


def fitted(moved, **parameters):
    X, y, domain = moved
    known = domain < 4
    model = TransferDiscriminantAnalysis(**parameters)
    return model.fit(X[known], y[known], domain=domain[known]), X[~known], y[~known]


def test_adaptation_finds_classes_that_moved(moved):
    model, X, y = fitted(moved, prior_strength=10, relevance=0)
    model.adapt(X)
    adapted = model.score(X, y)
    # The same without what adapt does to the class means: infinite trust in training.
    still, _, _ = fitted(moved, prior_strength=1e12, relevance=0)
    recentered = still.adapt(X).score(X, y)
    assert adapted > recentered + 0.05
    supervised = np.array(
        [upper(logm(model.recentering_.transform(X)))[y == c].mean(0) for c in "abc"]
    )

    def far(one):
        return np.linalg.norm(upper(logm(one.means_)) - supervised)

    assert far(model) < 0.6 * far(still)


def test_adaptation_in_so_many_words(rng):
    """Expectation maximization with densities by scipy, and its fixed point."""
    start = rng.normal(size=(3, 2)) * 2
    Z = np.concatenate([rng.normal(m + 0.7, 1, size=(50, 2)) for m in start])
    priors = np.array([0.3, 0.3, 0.4])
    means, _, responsibilities = adapted_to(
        Z, Source(start, priors, priors, 20), "means"
    )
    assert np.linalg.norm(means - start, axis=1).min() > 0.3
    densities = np.stack([multivariate_normal(m).pdf(Z) for m in means], axis=1)
    factors = priors.copy()
    for _ in range(1000):  # proportional fitting of rows and columns
        expected = densities * factors
        expected /= expected.sum(axis=1, keepdims=True)
        factors *= priors / expected.mean(axis=0)
    assert_allclose(responsibilities, expected, atol=0.01)
    assert_allclose(responsibilities.mean(axis=0), priors, rtol=0.01)
    for k in range(3):
        mean = (20 * start[k] + expected[:, k] @ Z) / (20 + expected[:, k].sum())
        assert_allclose(means[k], mean, atol=0.02)


def test_adaptation_without_clusters_is_rejected(moved, make_signals):
    """Matrices of one distribution, in which the classes cannot be found."""
    model, X, _ = fitted(moved)
    before = model.means_
    noise, _ = make_signals(per_class=120, n_classes=1)
    model.adapt(noise)
    assert model.adaptation_ == "none"
    assert max(model.adaptation_evidence_.values()) <= 2
    assert_array_equal(model.means_, before)
    assert_array_equal(model.priors_, 1 / 3)
    model.adapt(X)
    assert model.adaptation_ == "means"
    assert model.adaptation_evidence_["means"] > 2


def test_class_proportions_are_estimated(rng):
    """Of a new subject, one class is six times rarer: re-centering moves the others."""
    y = np.repeat([0, 1, 2], 100)
    centers = 0.35 * rng.normal(size=(3, 4, 4))

    def sample(y):
        L = centers[y] + 0.3 * rng.normal(size=(len(y), 4, 4))
        return expm(L + L.mT)

    model = TransferDiscriminantAnalysis().fit(sample(y), y, domain="known")
    y = np.repeat([0, 1, 2], [90, 90, 15])
    X = sample(y)
    unadapted = cohen_kappa_score(y, model.predict(X, domain=np.zeros(len(y))))
    model.adapt(X)
    assert model.adaptation_ == "means and priors"
    assert_allclose(model.priors_, [0.46, 0.46, 0.08], atol=0.06)
    assert cohen_kappa_score(y, model.predict(X)) > unadapted + 0.05


def test_partial_adapt_goes_on_from_adapt(moved):
    model, X, _ = fitted(moved)
    model.adapt(X[:60]).partial_adapt(X[60:])
    once, _, _ = fitted(moved)
    once.adapt(X[:60])
    again = once.means_
    assert not np.allclose(model.means_, again)
    assert_array_equal(once.adapt(X[:60]).means_, again)  # adapt begins anew
    assert model.recentering_.counts_ == {None: len(X)}
    assert once.recentering_.counts_ == {None: 60}


def test_the_unit_of_the_new_person_does_not_matter(moved):
    model, X, _ = fitted(moved)
    expected = model.adapt(X).predict_proba(X)
    for unit in (1e-6, 1e6):
        found = model.adapt(unit * X).predict_proba(unit * X)
        assert_allclose(found, expected, atol=1e-6)


def test_priors(moved):
    X, y, domain = moved
    rare = (y != "a") | (np.arange(len(y)) % 4 == 0)
    X, y, domain = X[rare], y[rare], domain[rare]
    model = TransferDiscriminantAnalysis().fit(X, y, domain=domain)
    assert_allclose(model.priors_, np.unique(y, return_counts=True)[1] / len(y))
    uniform = TransferDiscriminantAnalysis(priors="uniform").fit(X, y, domain=domain)
    assert_allclose(uniform.priors_, 1 / 3)
    frequent = [np.mean(m.predict(X, domain=domain) == "a") for m in (model, uniform)]
    assert frequent[0] < frequent[1]


def test_domains_of_one_matrix(moved):
    X, y, _ = moved
    with pytest.raises(ValueError, match="the matrices of each domain in X are"):
        TransferDiscriminantAnalysis().fit(0 * X + np.eye(X.shape[1]), y)
    model, X, _ = fitted(moved)
    with pytest.raises(ValueError, match=r"X has one sample.*partial_adapt"):
        model.adapt(X[:1])
    model.partial_adapt(X[:1], domain=["new"])
    assert model.predict(X[:1], domain=["new"])[0] in model.classes_


@pytest.mark.parametrize("relevance, number", [(0, 600), (0.3, 600), (0.3, 9)])
def test_without_adaptation_it_is_lda_of_weighted_logarithms(relevance, number, moved):
    """Logarithms times R on both sides, and shrunk discriminant analysis of these.

    There are ten entries of the logarithms, so the covariance of nine is singular.
    """
    X, y, domain = moved
    if number == 9:
        rows = np.concatenate([np.flatnonzero(y == label)[:3] for label in "abc"])
        X, y, domain = X[rows], y[rows], np.zeros(9)
    Z = Recentering().fit_transform(X, domain=domain)
    logarithms = logm_of_pyriemann(Z)
    means = [logarithms[y == c].mean(axis=0) for c in "abc"]
    R = fractional_matrix_power(sum(mean @ mean for mean in means), relevance)
    R = R / np.linalg.norm(R, 2)
    vectors = upper(R @ logarithms @ R)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.4).fit(vectors, y)
    model = TransferDiscriminantAnalysis(shrinkage=0.4, relevance=relevance)
    model.fit(X, y, domain=domain)
    expected = lda.predict_proba(vectors)
    assert_allclose(model.predict_proba(X, domain=domain), expected, atol=1e-8)
    # The class means are given without the weights.
    assert_allclose(logm(model.means_), means, atol=1e-8)


@pytest.mark.parametrize("relevance", [0.1, 0.5, 1.0])
def test_class_means_where_one_direction_tells_classes_apart(rng, relevance):
    """What the weights take away, rounding must not bring back."""
    y = np.arange(60) % 2
    logarithms = np.diag([1.0, 0, 0]) * (y + 0.3 * rng.normal(size=60))[:, None, None]
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    X = expm(Q @ logarithms @ Q.T)
    model = TransferDiscriminantAnalysis(relevance=relevance, shrinkage=0.2).fit(X, y)
    Z = model.recentering_.transform(X)
    expected = [logm(Z)[y == label].mean(axis=0) for label in (0, 1)]
    assert_allclose(logm(model.means_), expected, atol=1e-5)


def test_recentering_is_a_parameter(moved):
    model, X, y = fitted(moved, recentering=Recentering(window=30))
    assert model.recentering_.window == 30 and not hasattr(model.recentering, "means_")
    assert model.adapt(X).decision_function(X).shape == (len(X), 3)
    two = y != "c"
    binary = TransferDiscriminantAnalysis().fit(X[two], y[two])
    assert binary.decision_function(X).shape == (len(X),)


def test_refused_data_leave_it_as_it_was(moved):
    model, X, _ = fitted(moved)
    recentering, means = model.recentering_, model.means_
    bad = X.copy()
    bad[7, 0, 0] = np.nan
    indefinite = np.concatenate([X[:5], -np.eye(4)[None]])
    for method in (model.adapt, model.partial_adapt):
        with pytest.raises(ValueError, match=r"X\[7\] contains NaN"):
            method(bad)
        with pytest.raises(ValueError, match=r"X\[5\] is not positive definite"):
            method(indefinite)
        with pytest.raises(ValueError, match=r"domain must .* got shape \(2,\)"):
            method(X, domain=["a", "b"])
        with pytest.raises(ValueError, match="expecting 4 features"):
            method(X[:, :2, :2])
    assert model.recentering_ is recentering
    assert_array_equal(model.means_, means)
    same = np.stack([np.eye(4)] * 2 + [2 * np.eye(4)] * 2)
    singular = pytest.raises(ValueError, match=r"are equal, .* Pass several different")
    with pytest.warns(match="fewer than two folds can be held out"), singular:
        TransferDiscriminantAnalysis().fit(same, [0, 0, 1, 1])
    same = X[[0] * 5 + [1] * 7]  # equal up to the rounding of means
    for shrinkage in (0.5, 1):
        with pytest.raises(ValueError, match=r"are equal, .* Pass several different"):
            TransferDiscriminantAnalysis(shrinkage=shrinkage).fit(
                same, [0] * 5 + [1] * 7
            )
    with pytest.raises(ValueError, match=r"singular with shrinkage=0\. Increase"):
        TransferDiscriminantAnalysis(shrinkage=0).fit(X[:8], [0, 1] * 4)


@pytest.mark.exhaustive
@needs("bci_iv_2a_s1_to_s4.npz")
@pytest.mark.parametrize("subject", [1, 2, 3, 4])
def test_adaptation_to_a_new_subject_is_never_much_worse(subject):
    """BCI competition IV 2a: kappa without labels, with equal and unequal classes.

    Without the test of the adaptation, subject 2 loses .05, and with unequal classes
    subjects 1 and 3 lose .09.
    """
    others = [trials_of(s)[:2] for s in (1, 2, 3, 4) if s != subject]
    X, y = map(np.concatenate, zip(*others, strict=True))
    model = TransferDiscriminantAnalysis(shrinkage=0.5)
    model.fit(X, y, domain=np.arange(len(X)) // 288)
    X, y = (array[:288] for array in trials_of(subject)[:2])
    rare = np.arange(288) % 7 == 0
    gains = []
    for kept in (y >= 0, (y < np.unique(y)[2]) | rare):
        new = ["new"] * kept.sum()
        unadapted = cohen_kappa_score(y[kept], model.predict(X[kept], domain=new))
        adapted = pickle.loads(pickle.dumps(model)).adapt(X[kept])
        gains.append(cohen_kappa_score(y[kept], adapted.predict(X[kept])) - unadapted)
    assert min(gains) >= -0.02
    assert gains[0] > 0.1 or subject != 3


def test_copies_are_no_evidence():
    """Ten distinct matrices per class are required."""
    X, y = make_spd_classes(2, 40, 3, random_state=0)
    model = TransferDiscriminantAnalysis().fit(X, y)
    new, _ = make_spd_classes(2, 40, 3, random_state=1)
    for few in (np.eye(3)[None], new[:19]):
        model.adapt(np.repeat(few, 40, axis=0))
        assert model.adaptation_ == "none"
        assert model.adaptation_evidence_ == {}
    once = model.adapt(X).adaptation_evidence_
    many = model.adapt(np.repeat(X, 25, axis=0)).adaptation_evidence_
    # Class means and Gaussians are fitted to the copies, which count in the prior.
    assert max(many.values()) < 2 * max(once.values())


def test_shrinkage_does_not_depend_on_the_names_of_domains(moved, capsys):
    X, y, domain = moved
    model = TransferDiscriminantAnalysis(verbose=1).fit(X, y, domain=domain)
    assert f"shrinkage {model.shrinkage_:g} and temp" in capsys.readouterr().out
    renamed = clone(model).fit(X, y, domain=(domain * 3) % 5)
    assert renamed.shrinkage_ == model.shrinkage_
    selections = model.selection_, renamed.selection_
    assert_allclose(*(each.scores for each in selections), rtol=1e-6)
    assert model.shrinkage_ == model.selection_.selected["shrinkage"]
    model.adapt(X[domain == 4])
    assert f"adapted: {model.adaptation_}" in capsys.readouterr().out


def test_selection_calibrates_probabilities():
    """More directions than matrices make Gaussians overconfident."""
    X, y = make_spd_classes(3, 80, 10, separation=0.14, random_state=0)
    domain = np.arange(240) // 2 % 4
    (X, new), (y, true), (domain, _) = (
        (a[domain < 3], a[domain == 3]) for a in (X, y, domain)
    )
    model = TransferDiscriminantAnalysis().fit(X, y, domain=domain)
    given = clone(model).set_params(shrinkage=model.shrinkage_).fit(X, y, domain=domain)
    calibrated, raw = (m.decision_function(new, domain=3) for m in (model, given))
    # Differences, because log-probabilities contain a term that all classes share.
    gaps = np.diff(raw) / model.temperature_
    assert_allclose(np.diff(calibrated), gaps, rtol=1e-6, atol=1e-9)
    proba = (m.predict_proba(new, domain=3) for m in (model, given))
    calibrated, raw = (log_loss(true, p) for p in proba)
    assert calibrated < np.log(3) < raw


def test_labels_without_information_warn():
    """Held-out labels do not influence the relevance matrix, which is large here."""
    X, _ = make_spd_classes(1, 80, 12, random_state=0)
    with pytest.warns(match="not significantly better than chance"):
        model = TransferDiscriminantAnalysis().fit(X, np.arange(80) % 2)
    assert np.abs(model.predict_proba(X) - 0.5).max() < 0.2


def test_calibration_follows_priors():
    X, y = make_spd_classes(2, 400, 4, separation=0.25, dispersion=0.5, random_state=1)
    train = np.arange(800) % 2 == 0
    model = TransferDiscriminantAnalysis(priors=[0.95, 0.05]).fit(X[train], y[train])
    weights = np.where(y == 0, 0.95, 0.05)[~train]
    loss = log_loss(y[~train], model.predict_proba(X[~train]), sample_weight=weights)
    assert loss < 0.12  # 0.14 if the classes are equally weighted


@needs("bci_iv_2a_s1_to_s4.npz")
def test_few_trials_of_a_second_day_do_not_determine_the_shrinkage():
    """Without the first day, 24 or 48 trials of 22 channels would remain."""
    gains = []
    for subject in (1, 2, 3, 4):
        X, y, test = trials_of(subject)
        first, second = np.flatnonzero(~test), np.flatnonzero(test)
        scores = []
        domain = test.astype(int)
        domain[second[24:48]] = 2
        for rows in (
            first,
            np.append(first, second[:24]),
            np.append(first, second[:48]),
        ):
            model = TransferDiscriminantAnalysis()
            model.fit(X[rows], y[rows], domain=domain[rows]).adapt(X[second])
            scores.append(model.score(X[second[48:]], y[second[48:]]))
        gains.append(np.array(scores[1:]) - scores[0])
    assert np.mean(gains, axis=0).min() > -0.01


def test_shrinkage_that_cannot_be_selected():
    X, y = make_spd_classes(3, 10, 3, random_state=0)
    one_class = pytest.warns(match=r"The domain 2 contains only the class 2 .* 3 of 3")
    with pytest.warns(match="fewer than two folds can be held out"), one_class:
        model = TransferDiscriminantAnalysis().fit(X, y, domain=y)
    assert model.shrinkage_ == model.temperature_ == 1


def test_trials_of_varying_amplitude_need_a_small_shrinkage():
    rng, y = np.random.default_rng(3), np.arange(400) % 2
    signals = rng.normal(size=(400, 4, 250)) * np.exp(4 * rng.normal(size=(400, 1, 1)))
    signals[np.arange(400), y] *= 1.1
    mixing = rng.normal(size=(4, 4))
    X = mixing @ (signals @ signals.mT) @ mixing.T
    with pytest.warns(match=r"shrinkage, 0.001, is the smallest .* by its trace"):
        model = TransferDiscriminantAnalysis().fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.85


@pytest.mark.parametrize("scalar", [False, True])
def test_weights_are_copies_in_each_domain(scalar):
    X, y = make_spd_classes(2, 40, 3, random_state=0)
    rng = np.random.default_rng(0)
    weights, domain = rng.integers(0, 4, size=80), rng.integers(0, 5, size=80)
    options = {"domain": 7 if scalar else domain, "sample_weight": weights}
    model = TransferDiscriminantAnalysis().fit(X, y, **options)
    copied = 7 if scalar else domain.repeat(weights)
    copies = X.repeat(weights, axis=0), y.repeat(weights)
    again = TransferDiscriminantAnalysis().fit(*copies, domain=copied)
    assert model.shrinkage_ == again.shrinkage_
    assert_allclose(model.temperature_, again.temperature_, rtol=1e-6)
    assert_allclose(model.priors_, again.priors_)
    assert_allclose(model.means_, again.means_, rtol=1e-8)
    new = 7 if scalar else domain[0]
    found, expected = (m.predict_proba(X[:9], domain=new) for m in (model, again))
    assert_allclose(found, expected, rtol=1e-6)
