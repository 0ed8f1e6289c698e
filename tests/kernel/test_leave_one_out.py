"""Closed-form leave-one-out: selected parameters, calibration, weights and groups."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from skgeom import Calibration
from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom._kernel import _calibration, discriminant
from skgeom._kernel._calibration import calibrate
from skgeom._kernel._held_out_errors import held_out_components
from skgeom._kernel._kernels import Kernel
from skgeom._kernel._system import KernelSystem

pytestmark = pytest.mark.filterwarnings("ignore:The selected")


def assert_same_model(first, second, X, atol=1e-6):
    for name in ("gamma_", "regularization_"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), rel=1e-5)
    temperatures = [model.calibration_.temperature for model in (first, second)]
    assert temperatures[0] == pytest.approx(temperatures[1], rel=1e-5)
    size = np.abs(first.transform(X)).max()
    assert_allclose(first.transform(X), second.transform(X), rtol=0, atol=atol * size)
    assert_allclose(first.predict_proba(X), second.predict_proba(X), rtol=0, atol=atol)


# The closed form.


@pytest.mark.parametrize("penalty", ["kernel", "identity"])
def test_errors_are_those_of_fits_without_each_group(wine, penalty):
    """Of single samples and of groups, with weights."""
    X, y = wine[0][::4], wine[1][::4]
    n, value = len(y), 1e-3
    groups = np.r_[np.repeat(np.arange(5), 3), np.arange(5, n - 10)]
    rng = np.random.default_rng(0)
    order, weights = rng.permutation(n), rng.uniform(0.5, 2, n)
    X, y, weights = X[order], y[order], weights / weights.sum()
    data = SimpleNamespace(
        X=X, codes=y, weights=weights, class_weights=np.bincount(y, weights)
    )
    K, kernel = rbf_kernel(X, gamma=0.1), Kernel("rbf", {"gamma": 0.1})
    system = KernelSystem(kernel, data, identity=penalty == "identity")
    (predicted,) = system.held_out_indicators([value], groups)
    # Kernel ridge regression with an intercept, which has no penalty.
    centering = np.eye(n) - weights
    Kc, Y = centering @ K @ centering.T, np.eye(3)[y]
    roots = np.sqrt(weights)[:, None]
    design = np.hstack([np.ones((n, 1)), Kc * (1 if penalty == "kernel" else roots.T)])
    penalty_matrix = value * system.total_trace * np.eye(n)
    if penalty == "kernel":
        penalty_matrix = value * (weights @ Kc.diagonal()) * Kc
    expected = np.zeros(groups.max() + 1)
    for group in range(len(expected)):
        kept = groups != group
        A = roots[kept] * design[kept]
        normal = A.T @ A
        normal[1:, 1:] += penalty_matrix
        right = A.T @ (roots[kept] * Y[kept])
        solution = np.linalg.lstsq(normal, right, rcond=1e-14)[0]
        errors = np.square(design[~kept] @ solution - Y[~kept]).sum(axis=1)
        expected[group] = weights[~kept] @ errors
    errors = np.square(predicted - Y).sum(axis=1)
    found = np.bincount(groups, weights * errors)
    assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("criterion", ["between", "total"])
@pytest.mark.parametrize("penalty", ["kernel", "identity"])
@pytest.mark.parametrize("solver", ["cholesky", "eigen", "nystroem"])
def test_components_are_those_of_fits_without_each_sample(
    wine, monkeypatch, solver, penalty, criterion
):
    """Kernel ridge regression onto the same targets, again without each sample."""
    X, y = wine[0][::3], wine[1][::3]
    n, calls = len(y), []

    def spy(found, *arguments):
        held_out = held_out_components(found, *arguments)
        calls.append((found.last.components, held_out.copy()))
        return held_out

    monkeypatch.setattr(_calibration, "held_out_components", spy)
    kda = KDA(gamma=0.1, regularization=1e-2, solver=solver)
    kda.set_params(penalty=penalty, criterion=criterion).fit(X, y)
    ((in_training, found),) = calls
    # The order of the samples is the model's own.
    order = [np.abs(kda.transform(X) - z).max(axis=1).argmin() for z in in_training]
    X, y = X[order], y[order]
    centering = np.eye(n) - 1 / n
    K = centering @ rbf_kernel(X, gamma=0.1) @ centering
    Z, means = kda.transform(X), kda.means_[y]
    targets = means + (means if criterion == "between" else Z) / kda.eigenvalues_
    R = K if penalty == "kernel" else np.eye(n)
    assert_allclose(K @ np.linalg.solve(K @ K + kda.lambda_ * R, K @ targets), Z)
    design = np.hstack([np.ones((n, 1)), K])
    expected = []
    for left_out in range(n):
        kept = np.arange(n) != left_out
        normal = design[kept].T @ design[kept]
        normal[1:, 1:] += kda.lambda_ * R
        weights = np.linalg.lstsq(normal, design[kept].T @ targets[kept], rcond=1e-13)
        expected.append(design[left_out] @ weights[0])
    assert_allclose(found, expected, rtol=1e-5, atol=1e-7 * np.abs(Z).max())


# Selection.


def test_gamma_is_selected_where_features_are_irrelevant():
    """Two moons and 15 features of noise: a wide kernel is 3 points better."""
    X, y = make_moons(500, noise=0.25, random_state=1)
    X = np.hstack([X, np.random.default_rng(0).standard_normal((500, 15))])
    train = np.arange(500) % 2 == 0
    models = (KDA(gamma=g).fit(X[train], y[train]) for g in ("select", "scale"))
    selected, scale = models
    assert selected.gamma_ < scale.gamma_
    accuracy = selected.score(X[~train], y[~train])
    assert accuracy > scale.score(X[~train], y[~train]) + 0.01


def test_gamma_is_large_enough_for_many_small_classes():
    """A log-loss that depends on the labels of held-out samples is 0.31 larger."""
    settings = {"center_box": (-4, 4), "shuffle": False, "random_state": 2}
    (X, y), train = make_blobs(640, 8, centers=20, **settings), np.arange(640) % 32 < 2
    kda = KDA().fit(X[train], y[train])
    assert log_loss(y[~train], kda.predict_proba(X[~train])) < 0.5


def test_gamma_follows_the_units():
    X, y = make_moons(100, noise=0.3, random_state=0)
    for kernel in ("laplacian", "chi2"):
        kda, scaled = (KDA(kernel=kernel).fit(Z, y) for Z in (X + 2, (X + 2) / 1000))
        assert scaled.gamma_ == pytest.approx(1000 * kda.gamma_)


def test_few_samples_of_many_classes():
    """Errors of predictions times the best factor select too small penalties."""
    for seed in (4, 5, 7):
        rng = np.random.default_rng(seed)
        y = np.arange(1040) % 10
        X = rng.normal(size=(10, 10))[y] + rng.normal(size=(1040, 10))
        kda, lda = (
            each.fit(X[:40], y[:40]).score(X[40:], y[40:])
            for each in (KDA(), LinearDiscriminantAnalysis("lsqr", "auto"))
        )
        assert kda > lda - 0.03


@pytest.mark.filterwarnings("error:The selected")
def test_end_of_the_range_warns():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 5)), rng.integers(3, size=400)
    largest, chance = (
        "regularization, 1, is the largest",
        "not significantly better than chance",
    )
    with pytest.warns(match=largest), pytest.warns(match=chance):
        KDA().fit(X, y)
    X, y = np.arange(400)[:, None] / 400, np.arange(400) // 20 % 2
    assert KDA(regularization=1e-5).fit(X, y).score(X, y) == 1
    with pytest.warns(UserWarning, match="largest of 8 cand.*StandardScaler"):
        KDA(regularization=1e-5).fit(X, np.arange(400) // 4 % 2)
    KDA(gamma=0.1, regularization=1.0).fit(X, y)


def test_held_out_samples_are_compared_with_the_remaining_samples():
    """Otherwise, their class seems smaller, and the warning of chance is wrong."""
    X, y = load_digits(return_X_y=True)
    X = X + 12 * np.random.default_rng(0).normal(size=X.shape)
    train = np.concatenate([np.flatnonzero(y == c)[:5] for c in range(10)])
    assert KDA().fit(X[train], y[train]).score(X, y) > 0.2


def test_verbose_prints_the_selected_values(wine, capsys):
    KDA().fit(*wine)
    assert capsys.readouterr().out == ""
    kda = KDA(verbose=1, solver="nystroem", n_landmarks=50, random_state=0).fit(*wine)
    *_, tried, line = capsys.readouterr().out.splitlines()
    assert tried.endswith("selection: 136 candidates after 8 kernels")
    assert f"regularization={kda.regularization_:.6g}, solver=nystroem" in line
    assert f"gamma={kda.gamma_:.6g}" in line and "n_landmarks=50" in line


# Weights and copies.


@pytest.mark.parametrize("factor", [10, 1000, 1e-3])
def test_a_factor_of_all_weights_changes_nothing(factor):
    X, y = make_moons(400, noise=0.45, random_state=0)
    expected = KDA().fit(X, y)
    assert_same_model(KDA().fit(X, y, np.full(400, factor)), expected, X)


@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_weights_are_copies(solver):
    """Also of a class that is oversampled, and with cross-class copies."""
    X, y = make_moons((200, 60), noise=0.3, random_state=0)
    X, y = np.vstack([X, X[:5]]), np.r_[y, 1 - y[:5]]
    weights = np.where(y == 1, 3, 1) + np.arange(265) % 2
    kda = KDA(solver=solver)
    copies = kda.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_same_model(clone(kda).fit(X, y, weights), copies, X)
    # Equal samples of both classes are observations, which are different samples.
    n_observed = weights[:5].sum() + weights[-5:].sum()
    if solver == "cholesky":
        assert len(copies.X_fit_) == 255 + n_observed
    else:  # landmarks are distinct
        assert len(np.unique(copies.X_fit_, axis=0)) == len(copies.X_fit_)


# Groups.


def test_groups_are_held_out_together():
    """Noisy copies of 40 samples: each tells the class of the others."""
    X, y = make_moons(80, noise=0.4, random_state=0)
    X_test, y_test = make_moons(500, noise=0.4, random_state=1)
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 6)
    many = X[groups] + 0.01 * rng.standard_normal((480, 2))
    settings = {"gamma": 10.0}
    single = KDA(**settings).fit(many, y[groups])
    grouped = KDA(**settings).fit(many, y[groups], groups=groups)
    names = np.array([f"person {group}" for group in groups])
    assert_same_model(KDA(**settings).fit(many, y[groups], groups=names), grouped, X)
    assert grouped.regularization_ > 3 * single.regularization_
    losses = [log_loss(y_test, k.predict_proba(X_test)) for k in (single, grouped)]
    assert losses[1] < losses[0] - 0.1
    landmarks = KDA(solver="nystroem", **settings).fit(many, y[groups], groups=groups)
    assert_same_model(landmarks, grouped, X, atol=1e-4)


def test_bad_groups(wine):
    X, y = wine
    with pytest.raises(ValueError, match="groups must contain one label per sample"):
        KDA().fit(X, y, groups=[0, 1])
    with pytest.raises(ValueError, match="groups contains NaN"):
        KDA().fit(X, y, groups=np.r_[np.nan, y[1:]])
    with pytest.raises(ValueError, match="groups contains 1 missing label"):
        KDA().fit(X, y, groups=[None, *map(str, y[1:])])
    for groups in (y, np.zeros(len(y))):
        with pytest.raises(ValueError, match=r"each group \(.*\) contains all samples"):
            KDA().fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="more distinct samples"):
        first = np.unique(y, return_index=True)[1].repeat(3)
        KDA().fit(X[first], y[first])
    # A class that is one group cannot be held out.
    kda = KDA(regularization=1e-2, gamma=0.05).fit(X, y, groups=y)
    assert kda.calibration_.temperature == 1
    assert kda.calibration_ == Calibration()
    equal = Calibration([1, 0.5]), Calibration(np.array([1, 0.5]))
    assert equal[0] == equal[1] != Calibration() and len({*equal}) == 1


def test_the_selection_is_stored(wine):
    X, y = wine
    kda = KDA().fit(X, y)
    selection = kda.selection_
    gammas, values = map(selection.candidates.get, ("gamma", "regularization"))
    # From the most to the least regularized candidate.
    assert_array_equal(np.lexsort([-values, gammas]), np.arange(8 * 17))
    assert_allclose(np.diff(np.log(np.unique(gammas))), np.log(4))
    expected = {"gamma": kda.gamma_, "regularization": kda.regularization_}
    assert selection.selected == expected
    assert selection.temperature == kda.calibration_.temperature
    assert (selection.scores < 0).all() and len(selection.scores) == 8 * 17
    # Scores and errors of all candidates are finite, as for the other estimators.
    assert np.isfinite(selection.standard_errors).all()
    assert selection.standard_errors[selection.scores.argmax()] == 0
    lost = selection.scores.max() - selection.scores[selection.index]
    allowed = max(selection.standard_errors[selection.index], 1 / len(y))
    assert lost <= allowed + 1e-6
    fixed = KDA(gamma=0.1).fit(X, y).selection_
    assert fixed.candidates["gamma"].tolist() == [0.1] * 17
    assert list(KDA(kernel="linear").fit(X, y).selection_.candidates) == [
        "regularization"
    ]
    assert KDA(gamma=0.1, regularization=0.1).fit(X, y).selection_ is None


def test_groups_of_a_whole_class_select_nothing(wine):
    """The errors of the first class, held out as a whole, do not count."""
    X, y = wine
    rest = np.arange(len(y)) % 20 + 3
    whole = KDA().fit(X, y, groups=np.where(y == 0, 0, rest))
    shared = KDA().fit(X, y, groups=rest)
    assert abs(np.log(whole.gamma_ / shared.gamma_)) < np.log(4.1)
    assert whole.regularization_ == pytest.approx(shared.regularization_, rel=10)


# Calibration.


@pytest.mark.parametrize(("noise", "scale"), [(4, 2), (0.3, 0.4)])
def test_calibration(noise, scale):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [100, 60, 20])
    means = scale * np.array([[3.0, 0], [0, 3], [-3, -3]])
    trained = means[codes] + rng.standard_normal((180, 2))
    left_out = 0.8 * trained + noise * rng.standard_normal((180, 2))
    weights, priors = rng.uniform(1, 2, 180), np.array([0.2, 0.3, 0.5])
    shares = weights / np.bincount(codes, weights)[codes]
    samples = codes, np.arange(180), weights
    found = calibrate(trained, left_out, samples, shares, means, priors)
    weight, temperature = found.prior_weight, found.temperature
    members = np.eye(3)[codes] * shares[:, None]
    h = (members**2).sum(axis=0)  # 1 / effective number of samples
    products, held_out = (((members.T @ z) * means).sum(1) for z in (trained, left_out))
    c = priors @ (products - held_out) / (priors @ (h * held_out))
    m = means / (1 + c * h)[:, None]
    assert_allclose(means * found.mean_factors[:, None], m)
    within = sum(
        p * np.cov(left_out[codes == k].T, aweights=weights[codes == k], ddof=0)
        for k, p in enumerate(priors)
    )
    doublings = np.log2(weight / min(np.trace(m @ within @ m.T) / (m**2).sum(), 1))
    assert doublings == pytest.approx(max(doublings.round(), 0))
    scores = left_out @ m.T - (m**2).sum(axis=1) / 2 + weight * np.log(priors)
    weights = weights * (priors / np.bincount(codes, weights))[codes]

    def loss(log_temperature):
        fits = log_softmax(scores / np.exp(log_temperature), axis=1)
        return -weights @ fits[np.arange(180), codes]

    # A temperature of the grid next to the best one; not below 1 without evidence.
    best = minimize_scalar(loss, bounds=(-3, 6), method="bounded")
    assert np.log(temperature) == pytest.approx(max(best.x, 0), abs=np.log(2) / 2)


def test_units_of_rows_with_equal_sums(rng, monkeypatch):
    """Parts of a whole, and rows of equal mean and variance."""
    monkeypatch.setattr(discriminant, "_MAX_HELD_OUT", 400)
    parts = rng.dirichlet(2 * np.ones(8), 600)
    for X in (parts, scale(parts, axis=1)):
        y = X[:, 0] + 0.3 * X.std() * rng.standard_normal(600) > X[:, 1]
        kda, scaled = KDA().fit(X, y), KDA().fit(3.7 * X, y)
        assert scaled.regularization_ == pytest.approx(kda.regularization_, rel=1e-6)
        assert_allclose(kda.predict_proba(X), scaled.predict_proba(3.7 * X), atol=1e-6)


def test_a_sample_that_determines_its_own_prediction():
    """Its held-out components are rounding errors and do not affect the calibration."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.c_[rng.normal(size=(200, 4)), np.arange(200) == 0]
        y = X[:, 0] + rng.normal(size=200) > 0
        kda = KDA(kernel="linear", regularization=0).fit(X, y)
        assert 0.5 < kda.calibration_.temperature < 2
        assert kda.score(X, y) > 0.65


def test_agreement_with_lda_on_many_samples():
    """Three Gaussians of unequal frequency that overlap, 90,000 samples."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 90_000, p=[0.6, 0.3, 0.1])
    X = 0.6 * rng.standard_normal((3, 5))[y] + rng.standard_normal((90_000, 5))
    kda = KDA(kernel="linear", n_landmarks=20, random_state=0).fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    assert (kda.predict(X) == lda.predict(X)).mean() > 0.99
    assert kda.calibration_.temperature == pytest.approx(1, abs=0.3)


def test_classes_that_are_separated_perfectly():
    """The temperature is positive: one error is expected among the samples."""
    X, y = make_blobs(60, centers=[[-50, 0], [0, 0], [50, 0]], random_state=0)
    kda = KDA(regularization=1e-3).fit(X, y)
    noise = kda.calibration_.label_noise
    assert noise == 1 / 120
    probabilities = (kda.predict_proba(X) - noise / 3) / (1 - noise)
    errors = (1 - probabilities.max(axis=1)).sum()
    assert errors == pytest.approx(1, rel=0.01)  # held-out samples differ a little
    assert kda.score(X, y) == 1


def test_probabilities_are_bounded(wine):
    """Half of a label among the training samples is random."""
    X, y = wine
    kda = KDA(gamma=0.05, regularization=1e-3).fit(X, y)
    noise = 0.5 / len(y)
    assert kda.calibration_.label_noise == noise
    logits = kda.decision_function(X)
    expected = (1 - noise) * softmax(logits, axis=1) + noise / len(kda.priors_)
    assert_allclose(kda.predict_proba(X), expected)
    raw = kda.set_params(calibration=None).fit(X, y)
    assert raw.calibration_.label_noise == 0
    logits = raw.decision_function(X)
    assert_allclose(raw.predict_proba(X), softmax(logits, axis=1))


@pytest.mark.parametrize("penalty", ["kernel", "identity"])
@pytest.mark.parametrize("solver", ["auto", "eigen", "nystroem"])
def test_fitted_values_reproduce_the_fit(solver, penalty, monkeypatch):
    monkeypatch.setattr(discriminant, "_MAX_HELD_OUT", 400)
    X, y = load_digits(return_X_y=True)
    X, y, X_test = X[:500] / 16, y[:500], X[500:1100] / 16
    weights = np.arange(500) % 3 + 1
    kda = KDA(solver=solver, penalty=penalty, random_state=0, n_landmarks=150)
    kda.fit(X, y, weights)
    values = {
        "gamma": kda.gamma_,
        "regularization": kda.regularization_,
        "solver": kda.solver_,
        "calibration": kda.calibration_,
        "priors": kda.priors_,
    }
    again = clone(kda).set_params(**values).fit(X, y, weights)
    assert_allclose(again.predict_proba(X_test), kda.predict_proba(X_test), atol=1e-7)
    assert again.selection_ is None and again.calibration_.temperature != 1
    # The temperature changes nothing but the temperature.
    one = replace(kda.calibration_, temperature=1.0)
    values["calibration"] = replace(kda.calibration_, temperature=2.0)
    cooler, warmer = (
        clone(again).set_params(**values).fit(X, y, weights)
        for values in ({"calibration": one}, values)
    )
    logits = cooler.decision_function(X_test), warmer.decision_function(X_test)
    assert_allclose(
        softmax(logits[0] / 2, axis=1), softmax(logits[1], axis=1), atol=1e-6
    )


def test_bad_calibration(wine):
    for name, value in (
        ("temperature", 0.0),
        ("temperature", "2"),
        ("label_noise", None),
        ("prior_weight", np.nan),
        ("label_noise", 1.0),
    ):
        with pytest.raises(ValueError, match=f"^{name} must be .* {value!r}\\.$"):
            Calibration(**{name: value})
    with pytest.raises(ValueError, match=r"mean_factors must be .* got \[1.0, -1.0\]"):
        Calibration([1.0, -1.0])
    with pytest.raises(ValueError, match=r"mean_factors: could not convert .* 'a'"):
        Calibration("a")
    with pytest.raises(ValueError, match="2 mean_factors, but there are 3 classes"):
        KDA(calibration=Calibration([1.0, 0.9])).fit(*wine)


@pytest.mark.filterwarnings("error:The selected regularization")
def test_few_samples_that_are_separated_are_not_overconfident():
    """The log-loss was 0.65, and that of logistic regression is 0.40."""
    losses = []
    for seed in range(10):
        X, y = make_moons(2030, noise=0.3, random_state=seed)
        kda = KDA().fit(X[:30], y[:30])
        losses.append(log_loss(y[30:], kda.predict_proba(X[30:])))
    assert np.mean(losses) < 0.4
    KDA().fit(*make_moons(1000, noise=0.1, random_state=5))  # without a warning


@pytest.mark.parametrize("counts", [[2, 2], [2, 2, 2], [30, 30, 1], [30, 1], [1, 1, 1]])
def test_few_samples(counts):
    X, y = make_blobs(counts, centers=20 * np.eye(len(counts)), random_state=0)
    kda = KDA(regularization=1e-2, gamma="scale").fit(X, y)
    assert (
        np.isfinite(kda.calibration_.temperature) and kda.calibration_.temperature > 0
    )
    assert np.isfinite(kda.predict_proba(X)).all()
    if min(counts) > 1:
        assert kda.score(X, y) == 1
        assert (kda.predict_proba(X).max(axis=1) > 1.2 / len(counts)).all()


def test_rare_classes():
    """They are classified better with the class means of held-out samples."""
    X, y = load_digits(return_X_y=True)
    test = np.arange(len(y)) % 3 == 0
    rare = [np.flatnonzero(~test & (y == c))[:15] for c in range(5, 10)]
    train = np.concatenate([np.flatnonzero(~test & (y < 5)), *rare])
    raw, auto = (KDA(calibration=c).fit(X[train], y[train]) for c in (None, "auto"))
    assert raw.score(X[test], y[test]) + 0.02 < auto.score(X[test], y[test])
    # A rare class that is separated is not outvoted by the priors.
    rng = np.random.default_rng(0)
    common, rare = rng.normal(size=(900, 3)), 4 + 0.1 * rng.normal(size=(3, 3))
    kda = KDA().fit(np.concatenate([common, rare]), np.repeat([0, 1], [900, 3]))
    assert kda.predict(4 + 0.1 * rng.normal(size=(20, 3))).all()
    assert not kda.predict(common).any()


def test_weak_signals_of_unequal_classes():
    """The priors are not more important than in LDA, although the penalty is large."""
    losses = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = rng.random(4300) < 0.3
        X = rng.standard_normal((4300, 10)) + np.outer(y, np.eye(10)[0])
        train, lda = slice(300), LinearDiscriminantAnalysis("lsqr", shrinkage="auto")
        fits = [model.fit(X[train], y[train]) for model in (KDA(), lda)]
        losses.append([log_loss(y[300:], fit.predict_proba(X[300:])) for fit in fits])
    of_kda, of_lda = np.mean(losses, axis=0)
    assert of_kda < of_lda + 0.002


@pytest.mark.parametrize("n, p, shift, limit", [(800, 4, 2, 0.02), (2500, 6, 1, 0.046)])
def test_probabilities_of_a_rare_class(n, p, shift, limit):
    """Relative lengths of means yield .040, the variance as weight of priors .075."""
    losses = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        y = rng.random(n + 10_000) < 0.01
        X = rng.standard_normal((n + 10_000, p)) + shift * y[:, None]
        proba = KDA().fit(X[:n], y[:n]).predict_proba(X[n:])
        losses.append(log_loss(y[n:], proba))
    assert np.mean(losses) < limit


@pytest.mark.filterwarnings("ignore:The predictions of held-out samples are not")
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_few_distinct_rows(noise):
    """The calibration does not assign them all to the largest class."""
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(3000, 4)).astype(float)
    y = (rng.random(3000) < noise) ^ (X.sum(axis=1) > 2)
    raw, auto = (KDA(calibration=c).fit(X, y) for c in (None, "auto"))
    assert_array_equal(auto.predict(X), raw.predict(X))
    assert auto.score(X, y) > 0.99 - noise
    if noise:  # otherwise, held-out rows are harder than the rows of X
        assert log_loss(y, auto.predict_proba(X)) < log_loss(y, raw.predict_proba(X))


def test_probabilities_if_a_class_consists_of_copies():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2300)
    X = rng.poisson(y[:, None], size=(2300, 3)).astype(float)
    proba = KDA().fit(X[:300], y[:300]).predict_proba(X[300:])
    assert log_loss(y[300:], proba) < 0.2


def test_class_of_one_sample():
    """Its mean is uncertain, although no sample of the class can be held out."""
    X, y = load_digits(return_X_y=True)
    counts = np.where(np.arange(10) == 8, 1, 30)
    rows = np.concatenate([np.flatnonzero(y == k)[:n] for k, n in enumerate(counts)])
    weights = np.ones(len(rows))
    weights[0] = 1e-6  # does not make copies of the other samples
    kda = KDA().fit(X[rows], y[rows], weights)
    assert kda.calibration_.mean_factors.argmin() == 8
    X, y = np.delete(X, rows, axis=0), np.delete(y, rows)
    assert kda.score(X, y) > 0.84  # LDA with shrinkage: 0.77
    assert log_loss(y, kda.predict_proba(X)) < 0.8


def test_more_classes_than_held_out_samples(monkeypatch):
    monkeypatch.setattr(discriminant, "_MAX_HELD_OUT", 20)
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 4)
    centers = rng.normal(size=(40, 10))
    X, X_test = (centers[y] + 0.7 * rng.normal(size=(160, 10)) for _ in range(2))
    losses = [
        log_loss(y, KDA(calibration=calibration).fit(X, y).predict_proba(X_test))
        for calibration in ("auto", None)
    ]
    assert losses[0] < 0.7 * losses[1]


def test_float32_and_precomputed(wine):
    X, y = wine
    kda = KDA(gamma=0.05).fit(X, y)
    single = KDA(gamma=0.05).fit(X.astype(np.float32), y)
    assert_allclose(
        single.calibration_.temperature, kda.calibration_.temperature, rtol=1e-6
    )
    K = rbf_kernel(X, gamma=0.05)
    given = KDA(kernel="precomputed").fit(K, y)
    assert_allclose(given.predict_proba(K), kda.predict_proba(X), rtol=1e-6)
    # Equal samples have equal rows.
    rows = np.r_[np.arange(len(y)), np.arange(40)]
    copies = KDA(kernel="precomputed").fit(K[np.ix_(rows, rows)], y[rows])
    weights = 1 + (np.arange(len(y)) < 40)
    weighted = KDA(gamma=0.05).fit(X, y, weights)
    found = copies.predict_proba(K[:, rows])
    assert_allclose(found, weighted.predict_proba(X), rtol=0, atol=1e-6)


# Priors.


@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_priors_are_weights_of_the_samples_of_each_class(wine, solver):
    X, y = wine
    counts = np.bincount(y)
    kda = KDA(gamma=0.05, regularization=1e-3, calibration=None, solver=solver)
    for priors, shares in ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]), ("uniform", np.ones(3)):
        by_class = clone(kda).set_params(priors=priors).fit(X, y)
        by_sample = clone(kda).fit(X, y, sample_weight=(shares / counts)[y])
        assert_allclose(
            by_class.predict_proba(X), by_sample.predict_proba(X), rtol=1e-6
        )


# Rank.


@pytest.mark.parametrize("criterion", ["between", "total"])
@pytest.mark.parametrize("penalty", ["kernel", "identity"])
@pytest.mark.parametrize("regularization", [1e-6, 1e-9, 1e-11])
def test_no_spurious_components(regularization, penalty, criterion):
    """Of one feature, there is one linear component, with every solver."""
    rng = np.random.default_rng(0)
    for n, p in ((12, 1), (30, 2)):
        y = np.arange(n) % (p + 2)
        X = rng.standard_normal((n, p)) + 0.5 * y[:, None]
        kda = KDA(
            kernel="linear",
            penalty=penalty,
            criterion=criterion,
            regularization=regularization,
        )
        for solver in ("eigen", "cholesky", "nystroem"):
            assert len(kda.set_params(solver=solver).fit(X, y).eigenvalues_) == p
            with pytest.raises(ValueError, match=f"exceeds .* of the kernel, {p}"):
                clone(kda).set_params(n_components=p + 1).fit(X, y)
