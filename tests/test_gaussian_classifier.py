"""GaussianClassifier against scipy's densities, scikit-learn, and its own promises."""

import numpy as np
import pytest
from comparisons import peak_memory
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from scipy.stats import multivariate_normal
from sklearn.datasets import (
    load_breast_cancer,
    load_wine,
    make_circles,
)
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import SQFA, ClassStatistics, GaussianClassifier
from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom._regularized_gaussians import RIDGES, log_densities_of, training_of

both_covariances = pytest.mark.parametrize("covariance", ["full", "shared"])


@pytest.fixture
def drawn(rng):
    """Three classes of four features, of 30 to 50 samples."""
    y = np.repeat([0, 1, 2], [30, 40, 50])
    return rng.normal(size=(120, 4)) @ rng.normal(size=(4, 4)) + y[:, None], y


def log_joint(X, y, shared, regularization):
    """Logarithms of prior times density by scipy, one class after another."""
    labels, counts = np.unique(y, return_counts=True)
    own = [np.cov(X[y == k].T, bias=True) for k in labels]
    if shared:
        own = [np.average(own, axis=0, weights=counts)] * len(labels)
    noise = regularization * np.eye(X.shape[1])
    densities = [
        multivariate_normal(X[y == k].mean(axis=0), c + noise).logpdf(X)
        for k, c in zip(labels, own, strict=True)
    ]
    return np.transpose(densities) + np.log(counts / len(y))


# Against others


@pytest.mark.parametrize(
    ("regularization", "n_features"), [(0, 4), (0.3, 4), (1e-3, 21), (0.3, 60)]
)
@both_covariances
def test_densities_are_those_of_scipy(covariance, regularization, n_features, rng):
    """Also of fewer samples than features, and of a fit to the statistics alone."""
    y = np.repeat([0, 1, 2], [5, 7, 8])
    X = rng.normal(size=(20, n_features)) * np.exp(rng.normal(size=n_features))
    model = GaussianClassifier(covariance, regularization=regularization)
    expected = log_joint(X, y, covariance == "shared", regularization)
    total = np.logaddexp.reduce(expected, axis=1)
    expected -= total[:, None]
    moments = ClassStatistics.from_data(X, y)
    for fit, data in ((model.fit, (X, y)), (model.fit_statistics, (moments,))):
        fit(*data)
        assert_allclose(model.score_samples(X), total, rtol=1e-9)
        assert_allclose(model.predict_log_proba(X), expected, atol=1e-9)
        assert_array_equal(model.predict(X), expected.argmax(axis=1))


def test_decision_function_is_log_odds(drawn):
    X, y = drawn
    two = GaussianClassifier().fit(X, y == 1)
    decisions, noise = two.decision_function(X), two.label_noise_
    expected = (1 - noise) * expit(decisions) + noise / 2
    assert_allclose(two.predict_proba(X)[:, 1], expected)


# Statistics, weights, pieces


@pytest.mark.parametrize("regularization", ["auto", 0])
@both_covariances
def test_partial_fit_in_any_order(covariance, regularization, drawn, rng):
    """Without samples, the shrinkage is the closed form."""
    X, y = drawn
    model = GaussianClassifier(covariance, regularization=regularization)
    expected = GaussianClassifier(covariance, regularization=regularization)
    for rows in np.array_split(rng.permutation(len(y)), 7):
        model.partial_fit(X[rows], y[rows])
    expected.fit_statistics(ClassStatistics.from_data(X, y))
    assert model.selection_ is None and model.label_noise_ == 0
    assert_allclose(model.class_shrinkages_, expected.class_shrinkages_, rtol=1e-9)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("cls", [GaussianClassifier, SQFA])
def test_weights_of_later_calls_may_be_small(cls, drawn):
    X, y = drawn
    first, last = slice(None, None, 2), slice(1, None, 2)
    weights = np.ones(len(y))
    weights[last] = 0.01
    model = cls()
    model.partial_fit(X[first], y[first], sample_weight=weights[first])
    model.partial_fit(X[last], y[last], sample_weight=weights[last])
    expected = cls().partial_fit(X, y, sample_weight=weights)
    assert_allclose(model.statistics_.counts, expected.statistics_.counts)
    if cls is GaussianClassifier:
        assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_partial_fit_of_small_weights_only_warns(covariance, drawn):
    X, y = drawn
    model = GaussianClassifier(covariance)
    with pytest.warns(UserWarning, match="The weights of .* add up to at most"):
        model.partial_fit(X, y, sample_weight=np.full(len(y), 1e-3))
    assert np.isfinite(model.predict_proba(X)).all()


def test_partial_fit_sample_by_sample_predicts_once_it_can(drawn):
    X, y = drawn
    model = GaussianClassifier(regularization=0)
    model.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="has samples of one class only"):
        model.predict(X)
    model.partial_fit(X[1:33], y[1:33])
    with pytest.raises(ValueError, match="class 1 is singular: its rank is 2"):
        model.predict(X)
    model.partial_fit(X[33:70], y[33:70])
    assert set(model.predict(X)) == {0, 1}
    assert_array_equal(model.predict_proba(X)[:, 2], 0)
    model.partial_fit(X[70:], y[70:])
    expected = GaussianClassifier(regularization=0).fit(X, y)
    assert_array_equal(model.predict(X), expected.predict(X))


def test_announced_classes_must_be_labels_of_the_kind_of_y(drawn):
    X, y = drawn
    for classes, message in (
        (["a", "b"], "y contains 0, which is a number, but the class 'a' is text"),
        ([0, np.nan], "classes contains 1 missing label"),
        ([[0, 1], [2, 3]], r"at least 2 different labels, got \[\[0, 1\], \[2, 3\]\]"),
    ):
        with pytest.raises(ValueError, match=message):
            GaussianClassifier().partial_fit(X, y, classes=classes)
    model = GaussianClassifier().partial_fit(X, y, classes=[2, 1, 0, 7, 7])
    assert_array_equal(model.classes_, [0, 1, 2, 7])


# Scale and rank


@both_covariances
def test_repeated_and_constant_features_change_nothing(covariance, drawn):
    X, y = drawn
    more = np.column_stack([X, X[:, 0] + 2 * X[:, 1], np.full(len(X), 0.1)])
    expected = GaussianClassifier(covariance, regularization=0).fit(X, y)
    model = GaussianClassifier(covariance, regularization=0).fit(more, y)
    assert_allclose(model.predict_proba(more), expected.predict_proba(X), atol=1e-9)
    with_noise = GaussianClassifier(covariance, regularization=0.1).fit(more, y)
    assert np.isfinite(with_noise.score_samples(more)).all()


@both_covariances
def test_far_samples_have_probabilities(covariance, drawn):
    X, y = drawn
    model = GaussianClassifier(covariance).fit(X, y)
    probabilities = model.predict_proba(X * 1e200)
    assert_allclose(probabilities.sum(axis=1), 1)


# Shrinkage


def gaussian_problem(seed, factors=None, counts=(500, 500, 8), n_features=10):
    """Training and test samples of three Gaussians, the last one with few samples."""
    rng = np.random.default_rng(seed)
    own = [rng.standard_normal((n_features, n_features)) for _ in counts]
    means = rng.standard_normal((3, n_features))
    factors = own if factors is None else factors

    def draw(counts):
        y = np.repeat(range(3), counts)
        z = rng.standard_normal((len(y), n_features))
        return means[y] + np.einsum("ij,ikj->ik", z, np.array(factors)[y]), y

    return *draw(counts), *draw([1000] * 3)


def test_a_small_class_does_not_spoil_the_others():
    X, y, X_test, y_test = gaussian_problem(0)
    model = GaussianClassifier(priors="uniform").fit(X, y)
    assert model.score(X_test, y_test) > 0.98
    assert model.class_shrinkages_[:2].max() < 0.05 < model.class_shrinkages_[2]


def test_equal_covariances_are_pooled():
    X, y, X_test, y_test = gaussian_problem(2, [np.eye(10)] * 3)
    model = GaussianClassifier(priors="uniform").fit(X, y)
    assert model.score(X_test, y_test) > 0.95
    assert model.class_shrinkages_.min() > 0.5


def test_classes_that_vary_in_different_directions(rng):
    """Oscillations of three frequencies and random phases."""
    y = rng.integers(3, size=1400)
    phases = np.array([0.05, 0.08, 0.12])[y, None] * np.arange(100)
    X = np.sin(2 * np.pi * (phases + rng.random((1400, 1))))
    X += 0.7 * rng.normal(size=X.shape)
    model = GaussianClassifier().fit(X[:400], y[:400])
    ridge = model.ridge_
    assert ridge > 0.05 and model.score(X[800:], y[800:]) > 0.95
    assert model.partial_fit(X[400:800], y[400:800]).ridge_ == ridge


def test_directions_of_small_variance_separate_the_classes():
    """The features are rotated, so a shrunk covariance would hide these directions."""
    losses = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y, rotation = rng.integers(3, size=3600), rng.normal(size=(40, 40))
        X = rng.normal(size=(3600, 40)) * np.where(np.arange(40) < 5, 0.1, 2)
        X[np.arange(3600), y] += 0.15
        X = X @ np.linalg.qr(rotation)[0]
        models = GaussianClassifier(), LinearDiscriminantAnalysis()
        found = [m.fit(X[:600], y[:600]).score(X[600:], y[600:]) for m in models]
        losses.append(found[1] - found[0])
    assert np.mean(losses) < 0.02


def test_pixels_have_a_common_unit(digits):
    """Many pixels rarely vary, so the mean of their variances is added to them."""
    X, y = digits
    model = GaussianClassifier().fit(X[::2], y[::2])
    assert model.target_ == "identity"
    assert model.score(X[1::2], y[1::2]) > 0.98
    assert log_loss(y[1::2], model.predict_proba(X[1::2])) < 0.08


def test_one_hot_features(rng):
    y = np.arange(2000) % 3
    shares = rng.dirichlet(np.full(6, 0.7), 3)
    flags = np.eye(6)[[rng.choice(6, p=shares[label]) for label in y]]
    X = np.c_[flags, rng.normal(0.7 * rng.normal(size=(3, 4))[y])]
    model = GaussianClassifier().fit(X[:400], y[:400])
    peer = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > peer.score(X[400:], y[400:]) - 0.02
    losses = [log_loss(y[400:], m.predict_proba(X[400:])) for m in (model, peer)]
    assert losses[0] < 1.1 * losses[1]


@pytest.mark.parametrize(
    "model", [GaussianClassifier(), KDA()], ids=["Gaussian", "KDA"]
)
def test_equal_samples_with_different_labels_are_observations(model, rng):
    """New samples equal the training samples as well."""
    cells = rng.integers(6, size=2400)
    X, rates = np.eye(6)[cells], np.array([0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
    y = (rng.random(2400) < rates[cells]).astype(int)
    model.fit(X[:400], y[:400])
    least = log_loss(y[400:], rates[cells[400:]])
    assert log_loss(y[400:], model.predict_proba(X[400:])) < least + 0.04


def test_the_selection_is_stored():
    X, y, *_ = gaussian_problem(2, [np.eye(10)] * 3)
    model = GaussianClassifier().fit(X, y)
    selection, counts = model.selection_, np.bincount(y)
    selected = selection.selected
    q = selected["pooling"] * 10
    expected = 1.0 if np.isinf(q) else q / (counts - 1 + q)
    assert_allclose(model.class_shrinkages_, expected)
    assert (model.ridge_, model.target_) == (selected["ridge"], selected["target"])
    best = np.nanargmax(selection.scores)
    assert selection.standard_errors[best] == 0
    assert (selection.standard_errors[np.isfinite(selection.scores)] >= 0).all()
    for other in (
        model.fit_statistics(ClassStatistics.from_data(X, y)),
        GaussianClassifier().partial_fit(X, y),
    ):
        assert other.selection_ is None
        assert other.temperature_ == 1
    model = GaussianClassifier("shared").fit(X, y)
    assert (model.selection_.candidates["pooling"] == np.inf).all()
    assert (model.class_shrinkages_ == 1).all()


def test_a_class_of_one_training_sample_has_the_pooled_covariance(rng):
    """Without a covariance of its own, whatever class precedes it."""
    X, labels = rng.normal(size=(9, 2)), np.repeat([0, 1, 2], [4, 1, 4])
    training, shares = training_of(X, labels, np.ones(9)), np.array([0.3, 0.3, 0.4])
    found = log_densities_of(training, shares, [0.0], X)[0]
    own = [np.cov(X[labels == k].T, bias=True) for k in (0, 2)]
    pooled = shares[0] * own[0] + shares[2] * own[1]
    for ridge, densities in zip(RIDGES, found, strict=True):
        for k, covariance in enumerate([own[0], pooled, own[1]]):
            mixed = (1 - ridge) * covariance + ridge * np.eye(2)
            expected = multivariate_normal(training.means[k], mixed).logpdf(X)
            expected += np.log(2 * np.pi)
            assert_allclose(densities[:, k], expected, rtol=1e-9, atol=1e-9)


def test_gaussians_of_few_samples_are_overconfident(digits):
    losses = []
    for seed in range(3):
        options = {"train_size": 60, "test_size": 600, "stratify": digits[1]}
        parts = train_test_split(*digits, **options, random_state=seed)
        X, X_test, y, y_test = parts
        model = GaussianClassifier().fit(X, y)
        calibrated = log_loss(y_test, model.predict_proba(X_test))
        model.temperature_ = 1.0
        losses.append([calibrated, log_loss(y_test, model.predict_proba(X_test))])
    calibrated, uncalibrated = np.mean(losses, axis=0)
    assert calibrated < min(0.8, 0.8 * uncalibrated)


@both_covariances
def test_posteriors_are_tempered_with_random_labels(covariance, drawn):
    X, y = drawn
    model = GaussianClassifier(covariance).fit(X, y)
    own = model.statistics_
    W = np.tensordot(own.counts - 1, own.covariances, axes=1) / len(y)
    variances = np.diag(W) if model.target_ == "diagonal" else np.full(4, W.trace() / 4)
    joint = []
    for k, rho in enumerate(model.class_shrinkages_):
        S = own.covariances[k] * (own.counts[k] - 1) / own.counts[k]
        S = (1 - model.ridge_) * ((1 - rho) * S + rho * W)
        S = S + model.ridge_ * np.diag(variances)
        log_density = multivariate_normal(own.means[k], S).logpdf(X)
        joint.append((log_density + np.log(model.priors_[k])) / model.temperature_)
    expected = softmax(np.transpose(joint), axis=1)
    noise = 1 / (2 * len(y))
    assert model.label_noise_ == noise
    expected = (1 - noise) * expected + noise / len(model.priors_)
    assert_allclose(model.predict_proba(X), expected, atol=1e-9)


def test_temperature_does_not_change_predictions():
    """Overconfident densities hide no rare class behind its small prior."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [300, 15])
    X = rng.standard_t(3, size=(315, 30))
    X[:, :3] += 1.2 * y[:, None]
    model = GaussianClassifier().fit(X, y)
    assert model.temperature_ > 1.4
    predicted, probabilities = model.predict(X), model.predict_proba(X)
    assert 0 < predicted.sum() < 30
    model.temperature_ = 1.0
    assert_array_equal(model.predict(X), predicted)
    assert (model.predict_proba(X).max(axis=1) >= probabilities.max(axis=1)).all()


@pytest.mark.parametrize("model", [GaussianClassifier(), KDA()], ids=repr)
def test_predictions_are_the_most_probable_classes(model):
    """Random labels of few samples do not favor the large class."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [16, 4])
    X = rng.normal(size=(20, 2)) + y[:, None]
    model.fit(X, y)
    new = rng.normal(0.5, 2, size=(20_000, 2))
    assert model.label_noise_ > 0
    found = model.predict_proba(new).argmax(axis=1)
    assert_array_equal(model.predict(new), found)


at_chance = pytest.mark.filterwarnings("ignore:The predictions of held-out samples")


def test_densities_that_are_not_gaussian_are_calibrated():
    """Gaussians of two rings overlap, although the rings are separated."""
    X, y = make_circles(800, noise=0.1, factor=0.5, random_state=0)
    model = GaussianClassifier().fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.97
    assert log_loss(y[400:], model.predict_proba(X[400:])) < 0.1
    assert model.temperature_ < 1
    # With outliers, sharper posteriors would have a larger log-loss.
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    X = rng.normal(size=(2000, 6))
    X *= ((1 + y) / np.linalg.norm(X, axis=1))[:, None]
    X += 0.1 * rng.normal(size=X.shape)
    is_outlier = rng.random(2000) < 0.05
    X[is_outlier] = 1.5 * rng.normal(size=(is_outlier.sum(), 6))
    model.fit(X[:400], y[:400])
    calibrated = log_loss(y[400:], model.predict_proba(X[400:]))
    model.temperature_ = 1.0
    assert calibrated <= log_loss(y[400:], model.predict_proba(X[400:]))


def test_groups_of_similar_samples_do_not_sharpen_posteriors():
    """As frames of 12 videos: their number does not make the posteriors certain."""
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(12), 100)
    X, y = rng.normal(size=(12, 4))[groups], groups % 2
    X += 0.5 * rng.normal(size=(1200, 4)) + 0.5 * y[:, None]
    model = GaussianClassifier().fit(X, y, groups=groups)
    assert model.temperature_ >= 1


@at_chance
@both_covariances
def test_few_samples_are_not_classified_with_certainty(covariance, rng):
    """Nor labels without information, nor samples that are all classified correctly."""
    model = GaussianClassifier(covariance)
    y = rng.integers(2, size=1030)
    X = rng.normal(size=(1030, 20))
    model.fit(X[:30], y[:30])
    assert log_loss(y[30:], model.predict_proba(X[30:])) < 0.8  # of guesses: 0.69
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == k)[:5] for k in (0, 1)])
    X = StandardScaler().fit(X[rows]).transform(X)
    model.fit(X[rows], y[rows])
    assert log_loss(y, model.predict_proba(X)) < 0.5


def test_partial_fit_keeps_the_selected_prior():
    X, y, *_ = gaussian_problem(0)
    # Copies count once, also when samples are added.
    expected = GaussianClassifier().fit(X, y).partial_fit(X[:1], y[:1])
    assert expected.selection_ is not None
    fitted = GaussianClassifier().fit(X.repeat(3, axis=0), y.repeat(3))
    model = fitted.partial_fit(X[:1].repeat(3, axis=0), y[:1].repeat(3))
    assert_allclose(model.class_shrinkages_, expected.class_shrinkages_, rtol=1e-9)
    alone = GaussianClassifier().fit(X, y)
    assert_allclose(expected.class_shrinkages_, alone.class_shrinkages_, rtol=0.01)


def test_a_class_that_comes_after_fit_with_few_samples_is_predicted():
    X, y, *_ = gaussian_problem(0, counts=(500, 500, 3))
    model = GaussianClassifier().fit(X[y < 2], y[y < 2])
    model.partial_fit(X[y == 2], y[y == 2])
    assert_array_equal(model.predict(X[y == 2]), 2)
    assert np.mean(model.predict(X) == y) > 0.95


def test_a_number_and_an_estimator_are_not_shrunk(drawn):
    X, y = drawn
    for parameters in ({"regularization": 0.1}, {"covariance_estimator": "oas"}):
        model = GaussianClassifier(**parameters).fit(X, y)
        assert model.selection_ is None and model.target_ is None
        assert_array_equal(model.class_shrinkages_, 0)
        assert model.ridge_ == 0


@pytest.mark.parametrize("counts", [(30, 6, 4), (2, 1, 1)])
@both_covariances
def test_what_does_not_matter(covariance, counts, rng):
    """The order of samples, units, constant weights, and copies instead of weights."""
    y = np.repeat(np.arange(3), counts)
    X = rng.normal(size=(len(y), 6)) * (1 + y)[:, None] + y[:, None]
    others = rng.normal(size=(20, 6))
    model = GaussianClassifier(covariance).fit(X, y)
    expected = model.predict_log_proba(others)
    order, units = rng.permutation(len(y)), 10.0 ** rng.integers(-3, 4, size=6)
    copies = np.full(len(y), 3)
    more, labels_of_more = np.vstack([X, others]), np.append(y, [1] * 20)
    for Z, labels, weights, factor in (
        (X[order], y[order], None, 1),
        (X * units, y, None, units),
        (X, y, np.full(len(y), 7.5), 1),
        (X, y, np.full(len(y), 1.01 / min(counts)), 1),
        (X.repeat(copies, axis=0), y.repeat(copies), None, 1),
        (more, labels_of_more, np.arange(len(more)) < len(y), 1),
    ):
        same = GaussianClassifier(covariance).fit(Z, labels, sample_weight=weights)
        found = same.predict_log_proba(others * factor)
        assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore:The predictions of held-out samples are not")
def test_one_flag_in_any_unit(seed):
    """A held-out value of the flag is always assigned to the wrong class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=150)
    X = 1.0 * (rng.random((150, 1)) < np.where(y, 0.85, 0.15)[:, None])
    model, same = (GaussianClassifier().fit(unit * X, y) for unit in (1, 0.1))
    assert_allclose(same.predict_proba(0.1 * X), model.predict_proba(X), atol=1e-6)
    assert model.score(X, y) > 0.75


def test_verbose_prints_one_line(rng, capsys):
    y = np.arange(120) % 40
    X = rng.normal(size=(120, 2)) + y[:, None]
    model = GaussianClassifier(verbose=1).fit(X, y)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("[GaussianClassifier] target ")
    assert line.endswith(f"temperature_ {model.temperature_:.3g}")


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_a_flag_that_is_constant_within_classes(load):
    """StandardScaler makes it a constant whose mean is rounded."""
    X, y = load(return_X_y=True)
    flag = np.zeros(len(y))
    flag[np.flatnonzero(y == 1)[:2]] = 1
    scores = []
    for Z in (X, np.column_stack([X, flag])):
        model = make_pipeline(StandardScaler(), GaussianClassifier())
        cv = StratifiedKFold(5, shuffle=True, random_state=0)
        scores.append(cross_val_score(model, Z, y, cv=cv).mean())
    assert scores[1] > scores[0] - 0.01


@pytest.mark.parametrize("constant", [7.0, 0.1])
def test_constants_within_a_class_are_singular(constant, drawn):
    X, y = drawn
    X[y == 1, 2] = constant
    for Z in (X, X - X.mean(axis=0)):
        with pytest.raises(ValueError, match="class 1 is singular"):
            GaussianClassifier(regularization=0).fit(Z, y)


def test_features_that_differ_between_classes_only(rng):
    y = np.arange(40) % 2
    X = np.column_stack([rng.normal(size=40), y])
    for model in (GaussianClassifier(), GaussianClassifier("shared")):
        assert model.fit(X, y).score(X, y) == 1


# What is refused


def test_bad_input(drawn):
    X, y = drawn
    with pytest.raises(TypeError, match=r"^statistics must be a ClassStatistics"):
        GaussianClassifier().fit_statistics((X, y))
    parts = [ClassStatistics.from_data(X[i::2], y[i::2]) for i in range(2)]
    with pytest.raises(TypeError, match=r"got list.*ClassStatistics\.merge\(parts\)"):
        GaussianClassifier().fit_statistics(parts)
    moments = ClassStatistics.from_second_moments([0, 1], [9, 9], [np.eye(2)] * 2)
    with pytest.raises(ValueError, match=r"^statistics contains second moments only"):
        GaussianClassifier().fit_statistics(moments)
    with pytest.raises(ValueError, match=r"^partial_fit needs sample covariances"):
        GaussianClassifier(covariance_estimator="oas").partial_fit(X, y)
    with pytest.raises(ValueError, match="their squares overflow"):
        GaussianClassifier().fit(X * 1e160, y)
    with pytest.raises(ValueError, match="their squares underflow"):
        GaussianClassifier(regularization=0).fit(X * 1e-160, y)
    with pytest.raises(ValueError, match=r"^All features are constant"):
        GaussianClassifier().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("weighted", [False, True])
def test_constant_that_floats_cannot_represent_changes_nothing(weighted):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(400, 3000))
        y = rng.integers(0, 3, size=n)
        X = np.c_[rng.normal(size=(n, 3)) + y[:, None], np.full(n, 0.1)]
        weights = rng.integers(1, 5, size=n) if weighted else None
        model = GaussianClassifier().fit(X, y, sample_weight=weights)
        expected = GaussianClassifier().fit(X[:, :3], y, sample_weight=weights)
        close = X + np.array([0, 0, 0, 1e-9])  # as float32 would
        assert_array_equal(model.predict(close), expected.predict(X[:, :3]))


def test_one_wrong_row_is_no_error(iris):
    """The weights of the classes by samples and by distinct samples differ."""
    X, y = iris
    with pytest.warns(match="Sample 150 .* is so far from the other samples"):
        model = GaussianClassifier().fit(np.r_[X, [[1e3] * 4]], np.r_[y, 0])
    assert model.score(X, y) > 0.95


@both_covariances
def test_more_features_than_samples(covariance, rng):
    scores, units = [], np.logspace(-3, 3, 300)
    for _ in range(3):
        y = rng.integers(3, size=560)
        X = rng.normal(size=(560, 300))
        X[:, :15] += 0.8 * rng.normal(size=(3, 15))[y]
        model = GaussianClassifier(covariance).fit(X[:60], y[:60])
        peer = LinearDiscriminantAnalysis("lsqr", "auto").fit(X[:60], y[:60])
        losses = [log_loss(y[60:], m.predict_proba(X[60:])) for m in (model, peer)]
        scores.append([model.score(X[60:], y[60:]), losses[0] / losses[1]])
    accuracy, ratio = np.mean(scores, axis=0)
    assert accuracy > 0.7 and ratio < 0.6
    scaled = GaussianClassifier(covariance).fit(X[:60] * units, y[:60])
    probabilities = scaled.predict_proba(X * units)
    assert_allclose(probabilities, model.predict_proba(X), atol=1e-9)
    # Scaling shifts the log-densities in the span of the 60 samples.
    larger = GaussianClassifier(covariance).fit(2 * X[:60], y[:60])
    shift = model.score_samples(X[60:]) - larger.score_samples(2 * X[60:])
    assert_allclose(shift, 59 * np.log(2), rtol=1e-6)


@pytest.mark.parametrize(
    ("n_classes", "n_samples", "n_features", "regularization"),
    [(50, 400, 10, "auto"), (20, 2000, 150, 1.0), (40, 160, 300, 1.0)],
)
def test_fit_without_enough_memory(
    n_classes, n_samples, n_features, regularization, monkeypatch, rng
):
    """The posteriors, the covariances, or the factors of few samples are too large."""
    X, y = rng.normal(size=(n_samples, n_features)), np.arange(n_samples) % n_classes
    X += rng.normal(size=(n_classes, n_features))[y]
    model = GaussianClassifier(regularization=regularization)
    peak = peak_memory(lambda: model.fit(X, y))
    monkeypatch.setattr("skgeom.utils.memory.memory", lambda: 4 * peak)
    model.fit(X, y)
    monkeypatch.setattr("skgeom.utils.memory.memory", lambda: 0.8 * peak)
    with pytest.raises(MemoryError, match=rf"{n_classes} classes .* free memory\. Use"):
        model.fit(X, y)


def test_many_classes_of_few_samples_need_little_memory(rng):
    """The array of all class covariances, of 168 MB, is never formed."""
    X, y = rng.normal(size=(240, 512)), np.repeat(np.arange(80), 3)
    X[:, :100] += rng.normal(size=(80, 100))[y]
    assert peak_memory(lambda: GaussianClassifier().fit(X, y)) < 7.5e7


def test_a_shared_covariance_needs_the_memory_of_one(monkeypatch, rng):
    """The remedy of other memory errors, with statistics of 48 MB."""
    X, y = rng.normal(size=(450, 200)), np.repeat(np.arange(150), 3)
    model = GaussianClassifier("shared", regularization=1.0)
    monkeypatch.setattr("skgeom.utils.memory.memory", lambda: 1e8)
    assert peak_memory(lambda: model.fit(X, y)) < 6e7
    means = np.array([X[y == k].mean(axis=0) for k in range(150)])
    pooled = np.cov((X - means[y]).T, bias=True) + np.eye(200)
    slopes = np.linalg.solve(pooled, means.T)
    joint = X @ slopes - np.sum(means.T * slopes, axis=0) / 2
    assert_allclose(model.predict_proba(X), softmax(joint, axis=1), atol=1e-12)
    model.set_params(covariance="full")
    with pytest.raises(MemoryError, match="covariances of 150 classes"):
        model.fit(X, y)


def test_probabilities_of_features_that_are_not_gaussian(rng):
    y = rng.integers(3, size=1400)
    X = np.exp(1.5 * rng.normal(0.8 * rng.normal(size=(3, 10))[y]))
    model = GaussianClassifier().fit(X[:400], y[:400])
    peer = LinearDiscriminantAnalysis().fit(X[:400], y[:400])
    losses = [log_loss(y[400:], m.predict_proba(X[400:])) for m in (model, peer)]
    assert losses[0] < losses[1]
    temperature = model.temperature_
    assert model.partial_fit(X[400:], y[400:]).temperature_ == temperature
