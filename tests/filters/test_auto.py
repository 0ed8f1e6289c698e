"""The automatic shrinkage and regularization."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from benchmarks.suite import factors, irrelevant_features, small_class
from skgeom import (
    RSLVQ,
    SQFA,
    AMAGauss,
    ClassStatistics,
    LandmarkKernelPCA,
    SecondMomentSQFA,
    _held_out,
)
from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom._filters import _auto
from skgeom._filters._auto import class_intensities


def first_ones(values, n_fast):
    """Values of which only the first ones are in the fast tier."""
    rare = [pytest.param(k, marks=pytest.mark.exhaustive) for k in values[n_fast:]]
    return [*values[:n_fast], *rare]


def gaussians(rng, n_samples, n_features=20, n_classes=5):
    """Classes with random means and random, nearly singular covariances."""
    y = rng.integers(n_classes, size=n_samples)
    means, noise = (rng.normal(size=(n, n_features)) for n in (n_classes, n_samples))
    spreads = rng.normal(size=(n_classes, n_features, n_features))
    return means[y] + np.einsum("ij,ikj->ik", noise, spreads[y]), y


def accuracy(filters, X, y, X_test, y_test):
    features = filters.fit(X, y).transform(X)
    priors = [1 / (max(y) + 1)] * (max(y) + 1)
    classifier = QuadraticDiscriminantAnalysis(priors=priors, tol=0).fit(features, y)
    return classifier.score(filters.transform(X_test), y_test)


# Accuracy


@pytest.mark.parametrize("deviation", first_ones([6, 3, 1], 1))
def test_irrelevant_features_of_large_variance(deviation):
    """Classes differ in the variance of a small feature each; chance is .33."""
    parts = next(irrelevant_features(deviation, seed=0).parts())
    assert accuracy(SQFA(3, random_state=0), *parts) > 0.55


@pytest.mark.parametrize(
    "sigma2, n, n_features, deviation, least",
    [
        ("auto", 2000, 120, 30, 0.9),
        ("auto", 2000, 300, 20, 0.9),
        ("auto", 300, 100, 10, 0.8),
        (0, 600, 300, 20, 0.8),  # without a warning: log posteriors are overconfident
    ],
)
def test_many_irrelevant_features(sigma2, n, n_features, deviation, least, rng):
    """Classes differ in the mean of a small feature each."""
    y = np.arange(n + 2000) % 3
    X = rng.normal(size=(n + 2000, n_features))
    X[:, 20:] *= deviation
    X[np.arange(n + 2000), y] += 3
    sqfa = SQFA(2, regularization=sigma2, random_state=0)
    assert accuracy(sqfa, X[:n], y[:n], X[n:], y[n:]) > least


def few_samples_of_many_irrelevant_features(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(1200, 150)), np.arange(1200) % 4
    X[:, 4:] *= 5
    X[np.arange(1200), y] += 4
    return X[:200], y[:200], X[200:], y[200:]


def test_few_samples_of_many_irrelevant_features():
    parts = few_samples_of_many_irrelevant_features(2025)
    assert accuracy(SQFA(3, random_state=0), *parts) > 0.5  # chance is .25
    with pytest.warns(UserWarning, match="regularization, .*, is the largest of"):
        SQFA(3).fit(*few_samples_of_many_irrelevant_features(0)[:2])


@pytest.mark.filterwarnings("ignore:The predictions of held-out")
@pytest.mark.parametrize("seed", first_ones(range(5), 1))
def test_one_small_class(seed):
    """Its eight samples neither decide the regularization nor remain singular."""
    parts = next(small_class(seed).parts())
    assert accuracy(SQFA(2, random_state=0), *parts) > 0.7
    with pytest.warns(UserWarning, match=r"number: 8\) vary in 7 of 10"):
        SQFA(2, covariance_estimator=None, random_state=0).fit(*parts[:2])


def test_a_small_class_does_not_hide_the_errors_of_the_others():
    """They are worse with a large sigma^2, for which the accuracy is 65 %."""
    parts = next(small_class(16).parts())
    assert accuracy(SQFA(2, random_state=0), *parts) > 0.8


def test_a_small_class_with_the_covariance_of_the_others():
    """Filters with which its variance is close to zero have an accuracy of 80 %."""
    parts = small_class(14, equal=True).parts()
    assert accuracy(SQFA(2, random_state=0), *next(parts)) > 0.95
    large, _, small = class_intensities(0.01, np.array([100, 100, 3]), n_dimensions=10)
    assert large < 0.01 and small > 0.9


def test_a_rare_class_of_two(rng):
    """The many samples of the other class do not hide the errors of the rare class."""
    y = np.repeat([0, 1, 0, 1], [2000, 20, 1000, 1000])
    X = rng.normal(size=(4020, 30)) * np.linspace(1, 3, 30)
    X += np.outer(y, np.arange(30) < 3)
    sqfa = SQFA(2, distance="hellinger", random_state=0)
    assert accuracy(sqfa, X[:2020], y[:2020], X[2020:], y[2020:]) > 0.6


def test_unscaled_features_are_a_warning():
    """With few samples of wine, scaling increases the accuracy (doc/faq.rst)."""
    X, y = (values[::15] for values in load_wine(return_X_y=True, as_frame=True))
    for model in (SQFA(random_state=0), AMAGauss(random_state=0), RSLVQ(), KDA()):
        with pytest.warns(UserWarning, match="1 of 13 features: 'proline'.*Standard"):
            model.fit(X, y)
        model.fit(X / X.std(axis=0), y)  # without a warning
    X, y = load_breast_cancer(return_X_y=True)
    few = np.hstack([scale(X[:, :20]), np.full((len(X), 180), 0.1)])
    RSLVQ().fit(few, y)  # without a warning: the variance of constants is rounding
    for model in (KDA(), LandmarkKernelPCA(2)):
        with pytest.warns(UserWarning, match=r"in 2 of 30 features: 23, 3 \(counted"):
            model.fit(X, y)


@pytest.mark.parametrize("seed", first_ones(range(10), 1))
def test_strong_factors_of_fewer_samples_than_features(seed):
    """At least the accuracy of shrunken LDA minus 2 points."""
    dimensions, noise = (2, 5, 10)[seed % 3], (0.1, 1.0, 5.0)[seed // 3 % 3]
    problem = factors(dimensions, noise, seed=seed, n_features=500)
    X, y, X_test, y_test = next(problem.parts())
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)
    found = accuracy(SQFA(2, random_state=0), X, y, X_test, y_test)
    assert found > lda.score(X_test, y_test) - 0.02


def test_sigma2_is_selected_for_other_estimators(wine):
    """The estimator "cov" computes sample covariances."""
    sqfa = SQFA(2, covariance_estimator=None, random_state=0).fit(*wine)
    other = clone(sqfa).set_params(covariance_estimator="cov").fit(*wine)
    assert other.shrinkage_ is None
    assert other.regularization_ == pytest.approx(sqfa.regularization_, rel=1e-6)
    assert_allclose(other.selection_.scores, sqfa.selection_.scores, rtol=1e-4)


def test_gaussians_have_little_regularization(rng):
    """And so filters that find directions of small variance of a class."""
    X, y = gaussians(rng, 4000)
    sqfa = SQFA(4, random_state=0)
    assert accuracy(sqfa, X, y, X, y) > 0.8 and sqfa.shrinkage_ < 0.01


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("sizes, n_features", [([20, 20], 300), ([500, 8], 10)])
def test_features_without_structure_are_a_warning(sizes, n_features, rng):
    X, y = rng.normal(size=(sum(sizes), n_features)), np.repeat([0, 1], sizes)
    with pytest.warns(UserWarning, match="not significantly better than chance"):
        SQFA(2, random_state=0).fit(X, y)


# What is selected


def test_fitted_attributes(iris):
    sqfa = SQFA(2, random_state=0).fit(*iris)
    selection = sqfa.selection_
    assert len(selection.scores) >= 5
    selected = {"shrinkage": sqfa.shrinkage_, "regularization": sqfa.regularization_}
    assert selection.selected == selected
    best, index = np.argmax(selection.scores), selection.index
    loss = selection.scores[best] - selection.scores[index]
    assert index <= best and loss <= max(selection.standard_errors[index], 1 / 100)
    assert len(sqfa.restart_objectives_) == 8
    assert sqfa.restart_objectives_.max() <= sqfa.objective_ * (1 + 1e-9)


def test_given_values(iris):
    X, y = iris
    given = SQFA(2, regularization=0.1, covariance_estimator=None).fit(X, y)
    assert given.regularization_ == 0.1
    assert given.shrinkage_ is given.selection_ is None
    shrunk = SQFA(2, regularization=0.1, random_state=0).fit(X, y)
    assert shrunk.regularization_ == 0.1
    tried = shrunk.selection_.candidates["shrinkage"]
    assert set(tried) == {0, 0.3, 0.6}
    plain = SQFA(2, covariance_estimator=None, random_state=0).fit(X, y)
    assert plain.shrinkage_ is None
    assert len(set(plain.selection_.candidates["regularization"])) > 3


@pytest.mark.parametrize("number", first_ones([1, 20], 1))
def test_restarts_are_honoured_on_random_problems(number):
    """With the chosen values given, the objective is within .1 % on 19 of 20."""
    close = 0
    for seed in range(number):
        rng = np.random.default_rng(seed)
        X, y = gaussians(rng, 300, 8, 3)
        automatic = SQFA(3, n_init=12, random_state=0).fit(X, y)
        given = clone(automatic).set_params(regularization=automatic.regularization_)
        statistics = ClassStatistics.from_data(X, y)
        given.fit_statistics(statistics.shrunk(automatic.class_shrinkages_))
        close += automatic.objective_ == pytest.approx(given.objective_, rel=1e-3)
    assert close >= 0.95 * number


def selected(sqfa):
    return sqfa.shrinkage_, sqfa.regularization_


def test_a_class_of_one_sample_has_the_covariance_within_the_classes(rng):
    X, y = gaussians(rng, 401, 3, 2)
    y[0] = 2
    sqfa = SQFA(2, regularization=1e-6, random_state=0).fit(X, y)
    assert np.linalg.eigvalsh(sqfa.statistics_.covariances[2])[0] > 0.01


@pytest.mark.parametrize("n_orders", first_ones([1, 20], 1))
def test_order_of_samples(n_orders, digits):
    X, y = (values[::3] for values in digits)
    rng = np.random.default_rng(0)
    model = SQFA(4, tol=1e-2, n_init=1, random_state=0)
    expected = selected(clone(model).fit(X, y))
    for _ in range(n_orders):
        order = rng.permutation(len(y))
        assert selected(model.fit(X[order], y[order])) == expected


def test_without_regularization_linear_maps_change_nothing(rng, monkeypatch):
    """A triangular map with a positive diagonal keeps the folds of sorted features."""
    monkeypatch.setattr(_held_out, "_positions", lambda X: np.zeros(len(X)))
    X, y = gaussians(rng, 150, 6, 3)
    linear = np.triu(rng.normal(size=(6, 6)), 1) + np.diag(10 ** rng.uniform(-2, 2, 6))
    model = SQFA(3, regularization=0, n_init=1, random_state=0)
    plain, mapped = clone(model).fit(X, y), clone(model).fit(X @ linear, y)
    assert plain.shrinkage_ == mapped.shrinkage_
    scores = [m.selection_.scores for m in (mapped, plain)]
    assert_allclose(*scores, rtol=1e-5)
    # Of the filters with the same span, those with uncorrelated outputs are chosen.
    _, total = plain.statistics_.pooled_covariances()
    assert_allclose(total, np.diag(np.diag(total)), atol=1e-8 * total.trace())


def test_common_factor_of_weights(wine):
    X, y = wine[0][:, :6], wine[1]
    model = SQFA(2, tol=1e-2, n_init=1, random_state=0)
    shrinkage, sigma2 = selected(clone(model).fit(X, y))
    for factor in (0.1, 1000):
        weighted = clone(model).fit(X, y, sample_weight=np.full(len(y), factor))
        assert selected(weighted) == (shrinkage, pytest.approx(sigma2, rel=1e-6))
    copies = clone(model).fit(X.repeat(10, axis=0), y.repeat(10))
    assert selected(copies) == (shrinkage, pytest.approx(sigma2, rel=1e-6))
    assert_allclose(copies.class_shrinkages_, weighted.class_shrinkages_)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_sample_with_nearly_all_of_the_weight(rng):
    """Folds without nearly all of the weight of a class are none."""
    X, y, weights = rng.normal(size=(90, 5)), np.arange(90) % 3, np.ones(90)
    weights[0] = 1e12
    sqfa = SQFA(2, n_init=1, random_state=0).fit(X, y, sample_weight=weights)
    assert np.isfinite(sqfa.selection_.scores).all()


# Statistics alone


@pytest.mark.parametrize("kind", [SQFA, SecondMomentSQFA])
def test_statistics_have_the_sampling_noise(kind, rng):
    X, y = gaussians(rng, 500, 6, 3)
    statistics = ClassStatistics.from_data(X, y)
    estimator = kind(2, random_state=0).fit_statistics(statistics)
    within, _ = statistics.pooled_covariances()
    expected = np.trace(within) / (2 * statistics.counts.mean())
    assert estimator.regularization_ == pytest.approx(expected, rel=1e-12)
    assert estimator.selection_ is None


def test_summaries_of_folds(rng):
    """The scores are near those of the samples, if the classes are Gaussian."""
    X, y = gaussians(rng, 3000, 6, 3)
    parts = [ClassStatistics.from_data(X[k::5], y[k::5]) for k in range(5)]
    model = SQFA(2, n_init=2, random_state=0)
    sqfa = clone(model).fit_statistics(parts)
    expected = clone(model).fit(X, y)
    both = sqfa.selection_.scores, expected.selection_.scores
    assert_allclose(*(scores.max() for scores in both), atol=0.1)
    assert sqfa.objective_ == pytest.approx(expected.objective_, rel=0.05)
    small = ClassStatistics.from_data(X[:3], [0, 1, 2], sample_weight=[0.1] * 3)
    parts += small, small.of_classes([])
    again = clone(model).fit_statistics(parts)
    assert again.objective_ == pytest.approx(expected.objective_, rel=0.05)


def test_the_order_of_summaries_does_not_matter(rng):
    X, y = gaussians(rng, 60, 10, 3)
    parts = [ClassStatistics.from_data(X[k::5], y[k::5]) for k in range(5)]
    models = [SQFA(2).fit_statistics(some) for some in (parts, parts[::-1])]
    assert selected(models[0]) == selected(models[1])


def test_a_class_in_one_summary_only(rng):
    X, y = gaussians(rng, 300, 4, 3)
    parts = [ClassStatistics.from_data(X[y < k], y[y < k]) for k in (2, 3)]
    with pytest.raises(ValueError, match="Class 2 has samples in one fold only"):
        SQFA(2).fit_statistics(parts)
    with pytest.raises(ValueError, match="with 1 elements"):
        SQFA(2).fit_statistics(parts[:1])
    moments = [(p.classes, p.counts, p.second_moments) for p in parts]
    parts = [ClassStatistics.from_second_moments(*moment) for moment in moments]
    with pytest.raises(ValueError, match="second moments only"):
        SecondMomentSQFA(2).fit_statistics(parts)


# Data without variance


def test_small_weights_of_statistics_have_bounded_noise(rng):
    """A class has at least one sample, so sigma^2 does not diverge."""
    X, y = rng.normal(size=(40, 3)), np.repeat([0, 1], 20)
    X += 3 * y[:, None]
    found = []
    for weight in (0.04, 0.001):
        weights = np.full(40, weight)
        statistics = ClassStatistics.from_data(X, y, sample_weight=weights)
        with pytest.warns(UserWarning, match="add up to at most .* larger number"):
            found.append(SQFA(1).fit_statistics(statistics))
        parts = [
            ClassStatistics.from_data(X[k::2], y[k::2], sample_weight=weights[k::2])
            for k in (0, 1)
        ]
        with pytest.warns(UserWarning, match="add up to at most"):
            SQFA(1).fit_statistics(parts)
    variance = np.mean([np.var(X[y == k], axis=0).sum() for k in (0, 1)])
    sigmas = [model.regularization_ for model in found]
    assert_allclose(sigmas, variance)  # half of the trace with divisor 1/2
    assert_allclose(*(model.components_ for model in found), atol=1e-9)


@pytest.mark.parametrize("offset", [0, 1e3])
def test_equal_samples_of_each_class_have_the_total_noise(offset, rng):
    """Rounding of the class means is no variance within the classes."""
    means = rng.normal(size=(3, 80))
    X, y = np.repeat(means, 5, axis=0) + offset, np.repeat([0, 1, 2], 5)
    sqfa = SQFA(2, random_state=0).fit(X, y)
    expected = np.trace(np.cov(means.T, bias=True)) / 10
    assert sqfa.regularization_ == pytest.approx(expected, rel=1e-6)
    assert sqfa.selection_ is None and 0 < sqfa.class_shrinkages_.min()


def test_data_without_variance():
    with pytest.warns(UserWarning, match="All class distances are zero"):
        sqfa = SQFA(1).fit(np.zeros((20, 3)), np.repeat([0, 1], 10))
    assert (sqfa.regularization_, sqfa.objective_) == (1, 0)


def small_variances(n, p, differ, seed):
    """Classes that differ along five rotated directions of small variance."""
    rng = np.random.default_rng(seed)
    y, X = rng.integers(3, size=n), rng.normal(size=(n, p)) * 2
    X[:, :5] *= 0.05 if differ == "means" else 0.15
    for k in range(3):
        if differ == "means":
            X[y == k, k] += 0.15
        else:
            X[y == k, k] *= 0.25
    return X @ np.linalg.qr(np.random.default_rng(99).normal(size=(p, p)))[0], y


@pytest.mark.filterwarnings("ignore:The predictions of held-out")
@pytest.mark.parametrize(
    "differ, n, p",
    [
        ("covariances", 1200, 120),  # the best held-out scores are those without rho
        ("covariances", 900, 160),  # log posteriors are worse than those of guesses
        ("means", 1200, 220),  # a subspace of principal axes has none of the directions
    ],
)
def test_classes_that_differ_along_directions_of_small_variance(differ, n, p):
    parts = small_variances(n, p, differ, 0) + small_variances(2000, p, differ, 1)
    assert accuracy(SQFA(3, random_state=0), *parts) > 0.5  # chance is .33


def test_more_features_than_samples_of_a_class(rng):
    """Each class has a large variance along one direction: principal axes find it."""
    y = np.arange(2300) % 3
    X = rng.normal(size=(2300, 150))
    X[np.arange(2300), y] *= 4
    X = X @ np.linalg.qr(rng.normal(size=(150, 150)))[0]
    parts = X[:300], y[:300], X[300:], y[300:]
    axes = PCA(3).fit(parts[0])
    expected = accuracy(make_pipeline(axes), *parts)
    assert accuracy(SQFA(3, random_state=0), *parts) > expected - 0.03


def test_random_samples_of_folds_of_statistics(rng):
    """They are independent, and do not depend on the order or units of the folds."""
    X, y = rng.normal(size=(900, 4)), np.arange(900) % 3
    y = rng.integers(3, size=900)
    parts = [ClassStatistics.from_data(X[k::3], y[k::3]) for k in range(3)]

    def folds_of(parts):
        whole = sum(parts[1:], parts[0])
        return _auto.folds_of_summaries(parts, whole, 2, False).folds

    folds = folds_of(parts)
    noise = [
        (fold.held_out - fold.held_out.mean(axis=0))[:80].ravel() for fold in folds
    ]
    assert np.abs(np.corrcoef(noise) - np.eye(3)).max() < 0.2
    for fold, same in zip(folds, folds_of(parts[::-1]), strict=True):
        assert_allclose(fold.held_out, same.held_out, atol=1e-9)


@pytest.mark.parametrize("estimator", [SQFA(2), SQFA(2, distance="hellinger")])
def test_repeated_filters_are_optimized_again_orthonormal(estimator, iris):
    """One direction separates these blobs; repeating it increases the objective."""
    centers = [[0, 0, 0], [1, 1, 1]]
    blobs = make_blobs([15, 15], centers=centers, cluster_std=0.1, random_state=0)
    for X, y in (blobs, iris):
        filters = estimator.set_params(random_state=0).fit(X, y).components_
        assert np.linalg.svd(filters, compute_uv=False)[-1] > 0.01
        assert_allclose(np.linalg.norm(filters, axis=1), 1)


def test_rotation_of_filters_does_not_depend_on_the_order_of_samples(iris):
    """All orthonormal bases have the same objective."""
    X, y = (values[::10] for values in iris)
    expected = SQFA(4).fit(X, y).components_
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        found = SQFA(4).fit(X[order], y[order]).components_
        assert_allclose(np.abs(found), np.abs(expected), atol=1e-6)
