"""What all SQFA estimators offer beside fit: distances, bases, moments, limits."""

import pickle

import numpy as np
import pytest
from comparisons import all_pairs
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

from skgeom import SQFA, AMAGauss, ClassStatistics, SecondMomentSQFA
from skgeom.geometry import distance_affine_invariant, distance_calvo_oller
from skgeom.objectives import StudentT
from skgeom.objectives._class_distances import DISTANCES, SECOND_MOMENT_DISTANCES

rare = pytest.mark.exhaustive


def second_moments_of(statistics):
    return ClassStatistics.from_second_moments(
        statistics.classes, statistics.counts, statistics.second_moments
    )


# Limits and elliptical classes.


@pytest.mark.parametrize("n_components", [1, 2])
def test_squared_mahalanobis_distance_of_equal_covariances_is_lda(n_components, rng):
    """Fisher's discriminants, for classes of equal counts."""
    X = rng.normal(size=(600, 6)) @ rng.normal(size=(6, 6))
    y = np.repeat([0, 1, 2], 200)
    X += 0.5 * rng.normal(size=(3, 6))[y]
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    statistics = ClassStatistics.from_data(X, y)
    within = np.tile(statistics.covariances.mean(axis=0), (3, 1, 1))
    statistics = ClassStatistics(
        statistics.classes, statistics.counts, statistics.means, within
    )
    options = {"regularization": 0, "init": "random", "tol": 1e-14, "random_state": 0}
    sqfa = SQFA(n_components, distance="mahalanobis", squared=True, **options)
    sqfa.fit_statistics(statistics)
    expected = lda.scalings_[:, :n_components]
    assert subspace_angles(sqfa.components_.T, expected).max() < 1e-6


def test_classes_of_heavy_tails(iris):
    """The bound for t distributions as the objective of a fit."""
    X, y = iris
    fits = {
        df: SQFA(2, distance=StudentT(df), random_state=0).fit(X, y) for df in (1, 1e9)
    }
    gaussian = SQFA(2, random_state=0).fit(X, y)
    assert fits[1e9].objective_ == pytest.approx(gaussian.objective_, rel=1e-6)
    assert fits[1].objective_ < 0.9 * gaussian.objective_
    assert clone(fits[1]).distance == StudentT(1)
    assert pickle.loads(pickle.dumps(fits[1])).distance == StudentT(1)


# Distances of a fitted model.


@pytest.mark.parametrize("regularized", [True, False])
def test_class_distances(regularized, wine):
    X, y = wine
    sqfa = SQFA(3, covariance_estimator=None, regularization=0.2, random_state=0)
    matrix = sqfa.fit(X, y).class_distances(regularized=regularized)
    features = ClassStatistics.from_data(sqfa.transform(X), y)
    covariances = features.covariances + 0.2 * regularized * np.eye(3)
    expected = all_pairs(distance_calvo_oller, features.means, covariances)
    assert_allclose(matrix, expected, rtol=1e-7, atol=1e-7)
    pairs = matrix[np.triu_indices(3, 1)]
    assert (pairs.mean() > sqfa.objective_ + 0.01) == (not regularized)
    if regularized:
        assert pairs.mean() == pytest.approx(sqfa.objective_, rel=1e-12)


# Another basis.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("cls", [SQFA, SecondMomentSQFA, AMAGauss])
def test_orthonormal_filters_leave_the_decisions(cls, dtype, wine):
    X, y = wine
    X = X.astype(dtype)
    sqfa = cls(3, covariance_estimator=None, random_state=0).fit(X, y)
    before = sqfa.components_.copy()
    decisions = QuadraticDiscriminantAnalysis().fit(sqfa.transform(X), y)
    expected = decisions.predict_proba(sqfa.transform(X))
    assert sqfa.orthonormalize() is sqfa
    assert sqfa.components_.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    assert_allclose(sqfa.components_ @ sqfa.components_.T, np.eye(3), atol=tolerance)
    assert subspace_angles(sqfa.components_.T, before.T).max() < 10 * tolerance
    decisions = QuadraticDiscriminantAnalysis().fit(sqfa.transform(X), y)
    found = decisions.predict_proba(sqfa.transform(X))
    assert_allclose(found, expected, atol=1e3 * tolerance)
    # What else depends on the filters is that of the new ones.
    features = ClassStatistics.from_data(sqfa.transform(X), y)
    assert_allclose(
        sqfa.statistics_.covariances, features.covariances, atol=10 * tolerance
    )
    if cls is not AMAGauss:
        pairs = sqfa.class_distances()[np.triu_indices(3, 1)]
        assert pairs.mean() == pytest.approx(sqfa.objective_, rel=1e-10)
    again = sqfa.components_.copy()
    assert_allclose(sqfa.orthonormalize().components_, again, atol=tolerance)


def test_dependent_filters_have_no_orthonormal_basis(wine):
    sqfa = SQFA(2, random_state=0).fit(*wine)
    sqfa.components_ = np.repeat(sqfa.components_[:1], 2, axis=0)
    with pytest.raises(ValueError, match="2 filters are linearly dependent"):
        sqfa.orthonormalize()


@pytest.mark.parametrize("cls", [SQFA, SecondMomentSQFA, AMAGauss])
def test_regularization_above_the_rounding_of_the_data_is_an_error(cls, iris):
    X, y = iris
    with pytest.raises(ValueError, match=r"Decrease\s+regularization"):
        cls(2, regularization=1e308).fit(X, y)
    model = cls(2, regularization=1e3, random_state=0).fit(X, y)
    assert model.regularization_ == 1e3


# Statistics of second moments only.


def test_second_moments_alone_are_enough(wine):
    X, y = wine
    statistics = ClassStatistics.from_data(X, y)
    whole = SecondMomentSQFA(2, regularization=0.1, random_state=0)
    alone = clone(whole).fit_statistics(second_moments_of(statistics))
    whole.fit_statistics(statistics)
    assert alone.objective_ == pytest.approx(whole.objective_, rel=1e-6)
    assert subspace_angles(alone.components_.T, whole.components_.T).max() < 1e-2
    projected = alone.components_ @ statistics.second_moments @ alone.components_.T
    projected = projected + 0.1 * np.eye(2)
    expected = all_pairs(distance_affine_invariant, projected)
    assert_allclose(alone.class_distances(), expected, atol=1e-7)
    automatic = SecondMomentSQFA(2).fit_statistics(second_moments_of(statistics))
    assert automatic.regularization_ > 0


def test_second_moments_alone_are_not_enough_for_means(wine):
    statistics = second_moments_of(ClassStatistics.from_data(*wine))
    with pytest.raises(ValueError, match=r"second moments only. Use SecondMomentSQFA"):
        SQFA(2).fit_statistics(statistics)


def test_second_moments_do_not_mix_with_means(wine):
    statistics = ClassStatistics.from_data(*wine)
    moments = second_moments_of(statistics)
    for pair in ((statistics, moments), (moments, statistics)):
        with pytest.raises(ValueError, match="second moments only cannot be added"):
            pair[0] + pair[1]
    with pytest.raises(TypeError):
        moments + 1


@pytest.mark.parametrize(
    ("second_moments", "message"),
    [
        (np.eye(2), r"must have shape \(n_classes, n_features, n_features\)"),
        (np.stack([np.eye(2), -np.eye(2)]), r"second_moments\[1\] is not a covariance"),
        (np.stack([np.eye(2)] * 3), "counts must hold .* each of the 3 classes"),
    ],
)
def test_malformed_second_moments(second_moments, message):
    with pytest.raises(ValueError, match=message):
        ClassStatistics.from_second_moments([0, 1], [5, 5], second_moments)


# Classes that do not differ


@pytest.mark.parametrize(
    ("estimator", "distance"),
    [
        (SQFA, "fisher-rao"),
        (SQFA, StudentT(3)),
        (SecondMomentSQFA, "affine-invariant"),
        *(pytest.param(SQFA, name, marks=rare) for name in DISTANCES),
        *(
            pytest.param(SecondMomentSQFA, name, marks=rare)
            for name in SECOND_MOMENT_DISTANCES
        ),
    ],
    ids=str,
)
def test_classes_that_coincide_are_one_warning(estimator, distance, wine):
    X = np.tile(wine[0][:60, :5], (2, 1)) + 1e3
    y = np.repeat([0, 1], 60)
    with pytest.warns(UserWarning) as caught:
        estimator(2, distance=distance, random_state=0).fit(X, y)
    assert [str(w.message)[:26] for w in caught] == ["All class distances are ze"]


def test_classes_that_differ_in_a_small_feature_only(wine):
    """No warning, which would be an error here."""
    X, y = np.tile(wine[0][:60, :5], (2, 1)), np.repeat([0, 1], 60)
    X[:, 0] *= 1e-9
    X[y == 1, 0] += 2e-9
    SQFA(1, regularization=0, random_state=0).fit(X, y)


# The number of filters, where it is left to the number of classes.


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", [SQFA, SecondMomentSQFA, AMAGauss])
def test_none_is_one_less_than_there_are_classes(estimator, wine):
    X, y = wine
    model = estimator(None, random_state=0).fit(X, y)
    assert model.n_components is None
    expected = estimator(2, random_state=0).fit(X, y)
    assert_array_equal(model.components_, expected.components_)
    assert len(model.get_feature_names_out()) == 2


def test_none_is_no_more_than_there_are_features(digits):
    X, y = digits
    X = X[:, [20, 28, 36]] + np.random.default_rng(0).normal(size=(len(y), 3))
    model = SQFA(None, random_state=0).fit(X, y)
    assert model.components_.shape == (3, 3)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_filters_become_more_as_classes_come(wine):
    X, y = wine
    model = SQFA(None, random_state=0).partial_fit(X[y < 2], y[y < 2])
    assert model.components_.shape == (1, 13)
    model.partial_fit(X[y == 2], y[y == 2])
    assert model.components_.shape == (2, 13)
    fewer = model.set_params(n_components=1).partial_fit(X, y)
    assert fewer.components_.shape == (1, 13)
