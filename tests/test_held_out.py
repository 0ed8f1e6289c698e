"""Folds of held-out samples, and the statistics of the remaining samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from skgeom import GMLVQ, RSLVQ, SQFA, AMAGauss, ClassStatistics, GaussianClassifier
from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom._held_out import (
    HeldOut,
    folds_of_distinct,
    held_out_folds,
    in_distinct_samples,
    sample_rows,
    training_statistics,
)
from skgeom.utils.linalg import fold_order


def samples(rng, counts=(40, 17, 8)):
    y = np.repeat(np.arange(len(counts)), counts)
    return rng.normal(size=(len(y), 4)).round(1) + y[:, None], y


def test_folds_depend_on_the_data_only(rng):
    X, y = samples(rng)
    folds, order = held_out_folds(X, y), rng.permutation(len(y))
    assert_array_equal(held_out_folds(X[order], y[order]), folds[order])
    assert_array_equal(held_out_folds(7 * X, y), folds)
    units = np.array([1e-3, 1, 2, 50])
    assert_array_equal(held_out_folds((units * X)[:, ::-1], y), folds)
    copies = rng.integers(1, 4, len(y))
    repeated = held_out_folds(X.repeat(copies, axis=0), y.repeat(copies))
    assert_array_equal(repeated, folds.repeat(copies))


@pytest.mark.parametrize("model", [KDA(), SQFA(2), GMLVQ(), GaussianClassifier()])
def test_equal_samples_of_several_classes(model):
    """They are held out together, and are one observation of the accuracy."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=1200)
    X = 1.0 * (rng.random((1200, 6)) < rng.uniform(0.01, 0.3, size=(3, 6))[y])
    folds, rows = held_out_folds(X, y), np.unique(X, axis=0)
    assert len(np.unique(np.column_stack([X, folds]), axis=0)) == len(rows)
    if not hasattr(model, "predict"):
        model = make_pipeline(model, LinearDiscriminantAnalysis())
    model.fit(X[:600], y[:600])  # without a warning
    assert model.score(X[600:], y[600:]) > 0.4


@pytest.mark.parametrize("model", [KDA(), GMLVQ(), RSLVQ(), GaussianClassifier()])
def test_a_class_of_equal_samples(model):
    """They are not held out, nor are equal samples of other classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2300)
    X = rng.gamma(2, size=(2300, 4)) * (rng.random((2300, 1)) > 0.4) * y[:, None]
    model.fit(X[:300], y[:300])  # without a warning
    assert model.score(X[300:], y[300:]) > 0.78


def test_training_statistics_are_those_of_the_remaining_samples(rng):
    X, y = samples(rng)
    X += 1e3
    for weights in (np.ones(len(y)), rng.uniform(0.5, 3, len(y))):
        total = ClassStatistics.from_data(X, y, sample_weight=weights)
        total, weights = in_distinct_samples(total, y, weights)
        folds = held_out_folds(X, y)
        for fold in range(5):
            out, rest = folds == fold, folds != fold
            found = training_statistics(total, X[out], y[out], weights[out])
            for k in range(3):
                own = rest & (y == k)
                options = {"aweights": weights[own], "bias": True}
                expected = np.cov(X[own].T, **options)
                expected *= own.sum() / (own.sum() - 1)
                assert found.counts[k] == own.sum()
                mean = np.average(X[own], axis=0, weights=weights[own])
                assert_allclose(found.means[k], mean)
                assert_allclose(found.covariances[k], expected, atol=1e-10)


@pytest.mark.parametrize("model", [SQFA(2, random_state=0), GaussianClassifier()])
def test_part_of_the_samples_does_not_depend_on_their_order(model, monkeypatch, rng):
    monkeypatch.setattr("skgeom._held_out.MOST_SAMPLES", 100)
    X, y = rng.integers(-9, 9, size=(300, 5)) / 4, np.arange(300) % 3
    X[y == 1] *= 2
    assert len(sample_rows(X, y)[0]) == 100
    expected = clone(model).fit(X, y)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(300)
        again = clone(model).fit(X[order], y[order])
        found, wanted = again.selection_, expected.selection_
        assert found.selected == wanted.selected
        np.testing.assert_allclose(found.scores, wanted.scores, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_part_of_the_samples_does_not_depend_on_rounding(kind, monkeypatch, rng):
    monkeypatch.setattr("skgeom._held_out.MOST_SAMPLES", 1000)
    X, y = rng.normal(size=(5000, 4)), np.arange(5000) % 2
    X[:, 3] = rng.integers(-3, 3, size=5000)
    expected, _ = sample_rows(kind(X), y)
    assert len(expected) == 1000
    near = X * (1 + 1e-13 * rng.normal(size=X.shape))
    assert_array_equal(sample_rows(kind(near), y)[0], expected)
    # Rows that differ by rounding errors only are different samples nevertheless.
    rows, weights = sample_rows(kind(np.concatenate([X[:600], near[:600]])), y[:1200])
    assert len(rows) == 1000
    assert_array_equal(weights, 1)


@pytest.mark.parametrize("n_features, n_folds", [(100, 5), (101, 1)])
def test_all_folds_of_few_features_are_held_out(n_features, n_folds, monkeypatch, rng):
    monkeypatch.setattr("skgeom._held_out.MOST_SAMPLES", 3000)
    X, y = rng.normal(size=(4000, n_features)), np.arange(4000) % 2
    rows, weights = sample_rows(X, y)
    assert len(list(HeldOut(X[rows], y[rows], weights).folds())) == n_folds


def test_part_of_the_samples_is_random(monkeypatch, rng):
    """Also of rows that are multiples of each other, and of rows far from zero."""
    monkeypatch.setattr("skgeom._held_out.MOST_SAMPLES", 1000)
    t, column = rng.normal(size=(9000, 1)), np.arange(9000) % 4
    one = np.where(np.arange(4) == column[:, None], np.abs(t), 0)
    far = 1e5 + rng.normal(size=(9000, 2))
    cases = (t * [1, 2], t[:, 0] > 0), (one, column), (far, far[:, 0] > 1e5)
    for X, y in cases:
        rows, _ = sample_rows(X, y)
        shares, of_rows = (np.bincount(part) / len(part) for part in (y, y[rows]))
        assert_allclose(of_rows, shares, atol=0.05)  # 3 standard errors


def test_a_class_of_equal_samples_is_never_held_out(rng):
    X, y = samples(rng)
    X[y == 2] = 1
    folds = held_out_folds(X, y)
    assert (folds[y == 2] == -1).all()
    assert (folds[y != 2] >= 0).all()


def test_statistics_of_distinct_samples_do_not_depend_on_a_common_weight(rng):
    X, y = samples(rng)
    X = X + 1e-3 * rng.normal(size=X.shape)  # distinct
    expected = ClassStatistics.from_data(X, y)
    weights = np.full(len(y), 0.2)
    total = ClassStatistics.from_data(X, y, sample_weight=weights)
    found, restated = in_distinct_samples(total, y, weights)
    assert_allclose(restated, 1)
    assert_allclose(found.counts, expected.counts)
    assert_allclose(found.covariances, expected.covariances)
    out = held_out_folds(X, y) == 0
    found = training_statistics(found, X[out], y[out], restated[out])
    rest = ClassStatistics.from_data(X[~out], y[~out])
    assert_allclose(found.counts, rest.counts)
    assert_allclose(found.covariances, rest.covariances)


def test_classes_without_remaining_samples_are_absent(rng):
    X, y = samples(rng, (10, 4, 2))
    total = ClassStatistics.from_data(X, y)
    out = (y == 1) | (np.arange(len(y)) == len(y) - 1)
    found = training_statistics(total, X[out], y[out], np.ones(out.sum()))
    assert_array_equal(found.classes, [0, 2])
    assert_array_equal(found.counts, [10, 1])
    assert_array_equal(found.covariances[1], 0)


@pytest.mark.parametrize("seed", [5, 8, 9])
def test_a_single_remaining_distinct_sample_has_no_covariance(seed):
    # For these weights, rounding makes three distinct samples slightly more than three.
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(9, 3)) + 5, np.repeat([0, 1, 2], 3)
    weights = rng.uniform(0.5, 3, 9)
    total = ClassStatistics.from_data(X, y, sample_weight=weights)
    total, weights = in_distinct_samples(total, y, weights)
    assert_array_equal(total.counts, 3)
    found = training_statistics(total, X[:2], y[:2], weights[:2])
    assert_array_equal(found.covariances[0], 0)


def test_part_of_discrete_samples_has_all_their_values(monkeypatch, rng):
    """Equal samples of a class are one, with a weight."""
    monkeypatch.setattr("skgeom._held_out.MOST_SAMPLES", 60)
    X, y = rng.integers(0, 2, size=(500, 4)).astype(float), np.arange(500) % 3
    rows, weights = sample_rows(X, y)
    assert len(rows) == 48  # 16 values in three classes
    assert weights.sum() == 500
    for row, weight in zip(rows, weights, strict=True):
        assert weight == ((X[row] == X).all(axis=1) & (y == y[row])).sum()


@pytest.mark.parametrize("model", [GaussianClassifier(), SQFA(2), AMAGauss(2), RSLVQ()])
def test_groups_are_held_out_together(model):
    """The recordings of a subject are no evidence for each other."""
    rng = np.random.default_rng(0)
    means, subjects = 0.45 * rng.normal(size=(3, 20)), np.repeat(np.arange(60), 8)
    y, y_test = subjects % 3, np.arange(900) % 3
    X = (means[subjects[::8] % 3] + rng.normal(size=(60, 20)))[subjects]
    X += 0.15 * rng.normal(size=X.shape)
    X_test = means[y_test] + rng.normal(size=(900, 20))
    if hasattr(model, "random_state"):
        model.set_params(random_state=0)
    probabilities, order, same = [], rng.permutation(len(y)), np.arange(len(y))
    for rows, groups in ((order, None), (order, -subjects[order]), (same, subjects)):
        found = clone(model).fit(X[rows], y[rows], groups=groups)
        if not hasattr(found, "predict"):
            head = LinearDiscriminantAnalysis().fit(found.transform(X), y)
            found = make_pipeline(found, head)
        probabilities.append(found.predict_proba(X_test))
    assert log_loss(y_test, probabilities[1]) < log_loss(y_test, probabilities[0]) - 0.3
    assert_allclose(probabilities[1], probabilities[2], rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="each group contains all samples of a class"):
        model.fit(X, y, groups=y)
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="needs all of X in memory"):
        model.fit(da.from_array(X), da.from_array(y), groups=subjects)


def test_groups_of_a_rare_class_are_in_different_folds():
    groups = np.arange(41).repeat(3)
    folds = folds_of_distinct(groups > 38, groups)
    assert len(np.unique(folds[groups > 38])) == 2


@pytest.mark.parametrize("size", [50, 3000])
def test_few_groups_of_many_samples(size, rng):
    """All groups are held out, and samples of weight zero belong to no group."""
    subjects = np.repeat(np.arange(6), size)
    y = np.arange(6 * size) % 2
    X = rng.normal(size=(6, 2, 10))[subjects, y] + rng.normal(size=(6 * size, 10))
    with pytest.warns(UserWarning, match="not significantly better than chance"):
        GaussianClassifier().fit(X, y, 1.0 * (subjects < 5), subjects)


def test_turns_count_the_samples_before_in_the_class():
    y = np.array([1, 0, 1, 1, 0, 1])
    own = np.array([3.0, 9.0, 1.0, 2.0, 4.0, 2.0])
    assert_array_equal(fold_order(y, own[:, None], 1.0), [2, 1, 0, 1, 0, 1])


def test_copies_have_one_turn_though_rounding_differs(rng):
    distances = 1e-8 * rng.uniform(1, 2, size=(50, 2))
    y = rng.integers(3, size=50)
    expected = fold_order(y, distances, distances.max())
    copies = np.concatenate([distances, distances * (1 + 1e-14)])
    order = rng.permutation(100)
    found = fold_order(np.tile(y, 2)[order], copies[order], distances.max())
    assert_array_equal(found, np.tile(expected, 2)[order])
