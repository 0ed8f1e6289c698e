"""Probabilities of kernel discriminant analysis, and the weights of classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom import KernelDiscriminantAnalysisCV as PATH
from skgeom._kernel import discriminant
from skgeom._kernel.calibration import calibrate

pytestmark = pytest.mark.filterwarnings("ignore:The best value")

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
BOTH = pytest.mark.parametrize(
    "estimator", [KDA(), PATH(regularizations=[1e-6, 1e-4, 1e-2], cv=FOLDS)]
)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def digits():
    """Training and test parts of all digits."""
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(y)) % 3 > 0
    return X[train], y[train], X[~train], y[~train]


def calibration_error(probabilities, codes):
    """Expected calibration error, of ten bins."""
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    bins = np.minimum((10 * sure).astype(int), 9)
    gaps = [abs((sure - right)[bins == k].sum()) for k in range(10)]
    return sum(gaps) / len(codes)


def spied(monkeypatch, name):
    """The calls of a function of the module, (arguments, result)."""
    calls, function = [], getattr(discriminant, name)

    def spy(*arguments):
        calls.append((arguments, function(*arguments)))
        return calls[-1][1]

    monkeypatch.setattr(discriminant, name, spy)
    return calls


# Samples that are left out.


@pytest.mark.parametrize("criterion", ["between", "total"])
@pytest.mark.parametrize("penalty", ["kernel", "identity"])
@pytest.mark.parametrize("solver", ["cholesky", "eigen", "nystroem"])
def test_components_are_those_of_fits_without_each_sample(
    wine, monkeypatch, solver, penalty, criterion
):
    """Kernel ridge regression onto the same targets, again without each sample."""
    X, y = wine[0][::3], wine[1][::3]
    n = len(y)
    calls = spied(monkeypatch, "left_out_components")
    kda = KDA(
        gamma=0.1,
        regularization=1e-2,
        solver=solver,
        penalty=penalty,
        criterion=criterion,
    )
    kda.fit(X, y)
    ((_, found),) = calls
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


def test_uncentred_components_are_left_out_as_well(wine):
    """Without centring they are moved, for a penalty that does not see that."""
    X, y = wine
    settings = {"gamma": 0.1, "regularization": 1e-2}
    centred = KDA(**settings).fit(X, y)
    moved = KDA(center=False, **settings).fit(X, y)
    assert_allclose(moved.temperature_, centred.temperature_, rtol=1e-6)
    assert_allclose(moved.predict_proba(X), centred.predict_proba(X), rtol=1e-5)


def test_more_of_the_small_classes_are_left_out(monkeypatch):
    monkeypatch.setattr(discriminant, "_MAX_LEFT_OUT", 40)
    calls = spied(monkeypatch, "left_out_components")
    X, y = make_blobs([400, 100, 5, 1], random_state=0)
    KDA(temperature="auto").fit(X, y)
    codes = calls[0][0][1]
    assert_array_equal(np.bincount(codes), [32, 8, 5, 1])


@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_more_classes_than_samples_to_leave_out(monkeypatch, solver):
    """Two samples of each are left out, as one would leave nothing of its class."""
    monkeypatch.setattr(discriminant, "_MAX_LEFT_OUT", 20)
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 4)
    centers = rng.normal(size=(40, 10))
    X, X_test = (centers[y] + 0.7 * rng.normal(size=(160, 10)) for _ in range(2))
    kda = KDA(solver=solver, random_state=0).fit(X, y)
    raw = KDA(solver=solver, temperature=1.0, random_state=0).fit(X, y)
    assert kda.temperature_ > 2
    loss, raw_loss = (log_loss(y, k.predict_proba(X_test)) for k in (kda, raw))
    assert loss < 0.7 * raw_loss


# The calibration itself.


def independent_calibration(products, squares, codes, priors, sizes):
    """By a general minimiser, in the logarithm of the inverse temperature."""
    rows, counts = np.arange(len(codes)), np.bincount(codes)
    weights = (priors / counts)[codes]
    shrinkage = (weights @ products[rows, codes]) / (weights @ squares[rows, codes])
    scores = shrinkage * products - shrinkage**2 * squares / 2
    log_sizes = np.log(sizes) - np.log(sizes).mean()

    def loss(parameters):
        logits = np.exp(parameters[0]) * scores + parameters[1] * log_sizes
        fits = log_softmax(logits + np.log(priors), axis=1)[rows, codes]
        return parameters[1] ** 2 / 8 / len(codes) - weights @ fits

    start = [-np.log(np.abs(scores).mean()), 0]
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-7}).x
    return shrinkage, np.exp(-found[0]), found[1] * log_sizes


@pytest.mark.parametrize("sizes", [[60, 60, 60], [100, 60, 20]])
@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
def test_calibration_minimises_the_log_loss(sizes, priors):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], sizes)
    means = 2 * np.array([[3.0, 0], [0, 3], [-3, -3]])
    components = 0.8 * means[codes] + 4 * rng.standard_normal((len(codes), 2))
    products = components @ means.T
    squares = np.broadcast_to((means**2).sum(axis=1), products.shape)
    priors = np.divide(sizes, sum(sizes)) if priors is None else np.array(priors)
    ones = np.ones(len(codes))
    found = calibrate(products, squares, codes, ones, ones, priors, np.array(sizes))
    expected = independent_calibration(products, squares, codes, priors, sizes)
    for array, reference in zip(found, expected, strict=True):
        assert_allclose(array, reference, rtol=1e-3, atol=1e-3)


def test_classes_that_are_separated_perfectly():
    """The temperature is finite: half an error is expected in the samples."""
    X, y = make_blobs(60, centers=[[-50, 0], [0, 0], [50, 0]], random_state=0)
    kda = KDA(regularization=1e-3).fit(X, y)
    assert 0 < kda.temperature_ < np.inf
    errors = (1 - kda.predict_proba(X).max(axis=1)).sum()
    assert 0.05 < errors < 1
    assert kda.score(X, y) == 1


def test_useless_features():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5)), rng.integers(3, size=200)
    kda = KDA().fit(X[:100], y[:100])
    loss = log_loss(y[100:], kda.predict_proba(X[100:]))
    assert loss < np.log(3) + 0.05


@pytest.mark.parametrize("counts", [[2, 2], [2, 2, 2], [30, 30, 1], [30, 1], [1, 1, 1]])
def test_few_samples(counts):
    centers = 20 * np.eye(len(counts))
    X, y = make_blobs(counts, centers=centers, random_state=0)
    kda = KDA(regularization=1e-2).fit(X, y)
    probabilities = kda.predict_proba(X)
    assert np.isfinite(kda.temperature_) and kda.temperature_ > 0
    assert np.isfinite(probabilities).all()
    if min(counts) > 1:
        assert kda.score(X, y) == 1


# The estimators.


@BOTH
def test_probabilities_of_digits(digits, estimator):
    X, y, X_test, y_test = digits
    kda = clone(estimator).fit(X, y)
    raw = clone(estimator).set_params(temperature=1.0).fit(X, y)
    probabilities = kda.predict_proba(X_test)
    assert log_loss(y_test, probabilities) < 0.06
    assert log_loss(y_test, raw.predict_proba(X_test)) > 0.1
    assert calibration_error(probabilities, y_test) < 0.015
    assert kda.score(X_test, y_test) > 0.98


@pytest.mark.parametrize("n_landmarks", [200, 2000])
@pytest.mark.parametrize("penalty", ["kernel", "identity"])
def test_probabilities_of_landmarks(digits, n_landmarks, penalty):
    X, y, X_test, y_test = digits
    kda = KDA(
        solver="nystroem", penalty=penalty, n_landmarks=n_landmarks, random_state=0
    )
    probabilities = kda.fit(X, y).predict_proba(X_test)
    assert log_loss(y_test, probabilities) < 0.08
    assert calibration_error(probabilities, y_test) < 0.015


def test_landmarks_choose_as_the_exact_solution_does(digits):
    X, y = (array[:600] for array in digits[:2])
    exact = KDA(solver="cholesky").fit(X, y)
    kda = KDA(solver="nystroem").fit(X, y)  # all samples are landmarks
    assert kda.regularization_ == exact.regularization_
    assert_allclose(kda.temperature_, exact.temperature_, rtol=1e-5)
    assert_allclose(kda.offsets_, exact.offsets_, rtol=1e-5)
    assert_allclose(kda.predict_proba(X), exact.predict_proba(X), atol=1e-6)


def test_rare_classes():
    """They are recognised as well as with the class means of training, and better."""
    X, y = load_digits(return_X_y=True)
    test = np.arange(len(y)) % 3 == 0
    rare = [np.flatnonzero(~test & (y == c))[:15] for c in range(5, 10)]
    train = np.concatenate([np.flatnonzero(~test & (y < 5)), *rare])
    scores = {
        (temperature, weight): KDA(temperature=temperature, class_weight=weight)
        .fit(X[train], y[train])
        .score(X[test], y[test])
        for temperature, weight in ((1.0, None), ("auto", None), ("auto", "balanced"))
    }
    raw, auto, balanced = scores.values()
    assert raw + 0.02 < auto < balanced


@pytest.mark.parametrize("n_rare", [2, 3])
def test_a_rare_class_that_is_separated(n_rare):
    """The error that must be expected is not found where the priors outvote it."""
    rng = np.random.default_rng(0)
    common, rare = rng.normal(size=(900, 3)), 4 + 0.1 * rng.normal(size=(n_rare, 3))
    y = np.repeat([0, 1], [900, n_rare])
    kda = KDA().fit(np.concatenate([common, rare]), y)
    assert kda.predict(4 + 0.1 * rng.normal(size=(20, 3))).all()
    assert not kda.predict(common).any()


@BOTH
@pytest.mark.parametrize("priors", [None, "uniform"])
def test_decisions_and_probabilities_agree(wine, estimator, priors):
    X, y = wine
    kept = np.r_[0:100, 130:150]
    kda = clone(estimator).set_params(priors=priors).fit(X[kept], y[kept])
    Z, m = kda.transform(X), kda.decision_means_
    scores = (Z @ m.T - (m**2).sum(axis=1) / 2) / kda.temperature_
    scores += np.log(kda.priors_) + kda.offsets_
    assert_allclose(kda.decision_function(X), scores)
    assert_allclose(kda.predict_log_proba(X), log_softmax(scores, axis=1))
    assert_array_equal(kda.predict(X), kda.predict_proba(X).argmax(axis=1))
    ratios = (m - kda.means_.mean(axis=0))[:, 0]
    assert (np.abs(m) <= np.abs(kda.means_) * (1 + 1e-9)).all() and ratios.any()


@BOTH
def test_a_given_temperature_is_taken_as_it_is(wine, estimator):
    X, y = wine
    kda = clone(estimator).set_params(temperature=2.5).fit(X, y)
    assert kda.temperature_ == 2.5
    assert_array_equal(kda.decision_means_, kda.means_)
    assert_array_equal(kda.offsets_, 0)
    with pytest.raises(ValueError, match="temperature"):
        clone(estimator).set_params(temperature=0).fit(X, y)
    with pytest.raises(ValueError, match="temperature"):
        clone(estimator).set_params(temperature="warm").fit(X, y)


def test_float32_and_precomputed(wine):
    X, y = wine
    kda = KDA(gamma=0.05).fit(X, y)
    single = KDA(gamma=0.05).fit(X.astype(np.float32), y)
    assert_allclose(single.temperature_, kda.temperature_, rtol=1e-3)
    K = rbf_kernel(X, gamma=0.05)
    given = KDA(kernel="precomputed").fit(K, y)
    assert_allclose(given.predict_proba(K), kda.predict_proba(X), rtol=1e-6)
    for solver in ("nystroem", "cholesky"):
        kda = KDA(kernel="precomputed", solver=solver, n_landmarks=50, random_state=0)
        loss = log_loss(y, kda.fit(K.astype(np.float32), y).predict_proba(K))
        assert loss < 0.2


@pytest.mark.parametrize(
    ("class_weight", "factors"), [(None, [1, 1, 1]), ({1: 4}, [1, 4, 1])]
)
def test_temperature_of_the_path_is_that_of_its_test_parts(class_weight, factors):
    X, y = load_iris(return_X_y=True)
    X, y = X[40:], y[40:]
    cv = list(StratifiedKFold(3).split(X, y))
    settings = {"gamma": 0.2, "class_weight": class_weight}
    path = PATH(regularizations=[1e-2], cv=cv, **settings).fit(X, y)
    products, squares, codes = [], [], []
    for train, test in cv:
        kda = KDA(regularization=1e-2, temperature=1, **settings)
        kda.fit(X[train], y[train])
        products.append(kda.transform(X[test]) @ kda.means_.T)
        squares.append(np.tile((kda.means_**2).sum(axis=1), (len(test), 1)))
        codes.append(y[test])
    arrays = (np.concatenate(parts) for parts in (products, squares, codes))
    sizes = np.bincount(y)
    priors = sizes * factors / (sizes @ factors)
    assert_allclose(path.priors_, priors)
    expected = independent_calibration(*arrays, priors, sizes)
    assert_allclose(path.decision_means_, expected[0] * path.means_, rtol=1e-6)
    assert_allclose(path.temperature_, expected[1], rtol=1e-3)
    assert_allclose(path.offsets_, expected[2], atol=1e-3)


# Weights of classes.


@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_weights_of_classes_are_weights_of_their_samples(wine, solver):
    X, y = wine
    factors = {0: 3, 1: 1, 2: 2}
    weights = np.array([factors[label] for label in y.tolist()])
    kda = KDA(gamma=0.05, regularization=1e-3, temperature=1, solver=solver)
    by_class = clone(kda).set_params(class_weight=factors).fit(X, y)
    by_sample = clone(kda).fit(X, y, sample_weight=weights)
    assert_allclose(by_class.predict_proba(X), by_sample.predict_proba(X), rtol=1e-6)
    partial = clone(kda).set_params(class_weight={0: 3, 2: 2}).fit(X, y)
    assert_allclose(partial.transform(X), by_class.transform(X))
    balanced = clone(kda).set_params(class_weight="balanced").fit(X, y)
    uniform = clone(kda).set_params(priors="uniform").fit(X, y)
    assert_allclose(balanced.predict_proba(X), uniform.predict_proba(X))
    names = np.array(["a", "b", "c"])[y]
    named = clone(kda).set_params(class_weight={"a": 3, "b": 1, "c": 2}).fit(X, names)
    assert_allclose(named.transform(X), by_class.transform(X))


@pytest.mark.parametrize("estimator", [KDA(), PATH(regularizations=[1e-3], cv=FOLDS)])
def test_given_priors_do_not_see_the_weights_of_classes(wine, estimator):
    X, y = wine
    share = np.bincount(y) / len(y)
    given = clone(estimator).set_params(class_weight="balanced", priors="empirical")
    assert_allclose(given.fit(X, y).priors_, share)
    balanced = clone(estimator).set_params(class_weight="balanced").fit(X, y)
    assert_allclose(balanced.priors_, 1 / 3)
    uniform = clone(estimator).set_params(priors="uniform").fit(X, y)
    assert_allclose(uniform.transform(X), balanced.transform(X))
    assert_allclose(given.transform(X), balanced.transform(X))


@BOTH
@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({0: 0, 1: 1, 2: 1}, r"must be positive and finite, got 0 for the class 0"),
        ({0: 1, 1: -2, 2: 1}, r"must be positive and finite, got -2 for the class 1"),
        ({0: 1, 1: 1, 2: np.inf}, r"finite, got inf for the class 2"),
        ({0: 1, 7: 2}, r"not in class_weight"),
        ("uniform", "class_weight"),
    ],
)
def test_bad_weights_of_classes(wine, estimator, class_weight, message):
    with pytest.raises(ValueError, match=message):
        clone(estimator).set_params(class_weight=class_weight).fit(*wine)
