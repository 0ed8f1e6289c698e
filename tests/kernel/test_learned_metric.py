"""KernelDiscriminantAnalysis(metric="learned")."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel

from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom import input_hessian
from skgeom._kernel._metric import gradient_rows, next_map

# Values that need no selection, for tests of other parts of the fit.
GIVEN = {"gamma": "scale", "regularization": 1e-3}


def drawn(n_samples, seed):
    """Three classes that differ in the variances of two of nine features."""
    rng, y = np.random.default_rng(seed), np.arange(n_samples) % 3
    X = rng.standard_normal((n_samples, 9))
    X[:, [2, 7]] *= np.array([[0.2, 3], [3, 0.2], [1, 1]])[y]
    return X, y


@pytest.fixture(scope="module")
def planted():
    return drawn(240, seed=0)


@pytest.fixture(scope="module")
def learned(planted):
    return KDA(metric="learned").fit(*planted)


@pytest.fixture(scope="module")
def rotation():
    return np.linalg.qr(np.random.default_rng(1).standard_normal((9, 9)))[0]


def gauss_newton_by_differences(kda, X, weights):
    """The matrix G of the scores without random labels, by central differences."""
    kda = deepcopy(kda)
    kda.calibration_ = replace(kda.calibration_, label_noise=0.0)
    step = 1e-5
    jacobian = np.stack(
        [
            (kda.predict_log_proba(X + e) - kda.predict_log_proba(X - e)) / (2 * step)
            for e in step * np.eye(X.shape[1])
        ],
        axis=2,
    )
    return sum(
        weight * J.T @ (np.diag(p) - np.outer(p, p)) @ J
        for weight, p, J in zip(weights, kda.predict_proba(X), jacobian, strict=True)
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradients_are_those_of_scores_without_random_labels(planted, n_classes):
    X, y = planted
    X, y = X[y < n_classes] + 5, y[y < n_classes]
    kda = KDA(gamma=0.05, regularization=1e-3).fit(X, y)
    # The estimated noise is too small for a visible difference.
    kda.calibration_ = replace(kda.calibration_, label_noise=0.3)
    weights = np.random.default_rng(0).uniform(size=len(X))
    weights /= weights.sum()
    product = sum(rows.T @ rows for rows in gradient_rows(kda, X, weights))
    expected = gauss_newton_by_differences(kda, X, weights)
    np.testing.assert_allclose(product, expected, atol=1e-7 * np.abs(expected).max())
    kda.calibration_ = replace(kda.calibration_, label_noise=0.0)
    options = {"sample_weight": weights, "curvature": "gauss-newton"}
    expected = input_hessian(kda, X, y, **options)
    np.testing.assert_allclose(product, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("n_samples", [30, 240])
def test_map_is_a_root_of_the_product(n_samples):
    """With fewer gradients than features, and with more."""
    X, y = drawn(n_samples, seed=0)
    X = np.hstack([X, np.random.default_rng(1).standard_normal((n_samples, 100))])
    kda = KDA(gamma="scale", regularization=1e-3).fit(X, y)
    weights = np.full(n_samples, 1 / n_samples)
    ones = np.ones(X.shape[1])
    kda.calibration_ = replace(kda.calibration_, label_noise=0.0)
    product = input_hessian(kda, X, y, curvature="gauss-newton")
    M = next_map(kda, X, weights, ones, diagonal=False)
    # Gradients are combinations of differences of samples.
    assert np.linalg.matrix_rank(M) == min(n_samples - 1, X.shape[1])
    factor = np.trace(M.T @ M) / np.trace(product)
    np.testing.assert_allclose(M.T @ M, factor * product, atol=1e-12 * factor)
    scales = next_map(kda, X, weights, ones, diagonal=True)
    factor = np.square(scales).sum() / np.trace(product)
    np.testing.assert_allclose(np.square(scales), factor * np.diag(product))
    for mapped in (X @ M.T, X * scales):
        assert mapped.var(axis=0).sum() == pytest.approx(X.var(axis=0).sum())


@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_relevant_features_are_found(planted, solver, one_partition):
    X_test, y_test = drawn(2000, seed=1)
    options = {"solver": solver, "n_landmarks": 100, "random_state": 0}
    kda = KDA(metric="learned", **options).fit(*planted)
    largest = np.abs(kda.omega_[:2]).argmax(axis=1)
    assert set(largest.tolist()) == {2, 7}
    assert kda.metric_selection_.selected["diagonal"]
    # The metric recovers most of the accuracy that the other features cost.
    default = KDA(**options).fit(*planted).score(X_test, y_test)
    X, y = planted
    alone = KDA(**options).fit(X[:, [2, 7]], y).score(X_test[:, [2, 7]], y_test)
    assert alone - kda.score(X_test, y_test) < 0.4 * (alone - default)


def test_relevant_directions_are_found(rotation):
    X, y = drawn(450, seed=0)
    kda = KDA(metric="learned").fit(X @ rotation, y)
    assert not kda.metric_selection_.selected["diagonal"]
    rows = kda.omega_[:2]
    axes = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    # Cosines of the angles between the spans of the directions.
    cosines = np.linalg.svd(axes @ rotation.T[:, [2, 7]], compute_uv=False)
    assert cosines.min() > 0.9
    np.testing.assert_allclose(
        kda.omega_ @ kda.omega_.T,
        np.diag(np.square(kda.omega_).sum(axis=1)),
        atol=1e-12,
    )


def test_is_the_fit_to_mapped_samples(planted, learned):
    (X, y), kda = planted, learned
    mapped = X @ kda.omega_.T
    # The factor of the map keeps the sum of the variances.
    assert mapped.var(axis=0).sum() == pytest.approx(X.var(axis=0).sum())
    expected = KDA().fit(mapped, y)
    np.testing.assert_allclose(kda.transform(X), expected.transform(mapped), rtol=1e-8)
    assert kda.gamma_ == pytest.approx(expected.gamma_)
    kernel = rbf_kernel(mapped, kda.X_fit_, kda.gamma_)
    components = kernel @ kda.dual_coef_ - kda.offset_
    np.testing.assert_allclose(kda.transform(X), components, atol=1e-9)


def test_refit_without_a_metric(planted, learned):
    kda = deepcopy(learned).set_params(metric=None).fit(*planted)
    assert not hasattr(kda, "omega_")
    assert kda.metric_selection_ is None


def test_no_round_without_evidence():
    """A full rank map would only fit the noise of isotropic classes."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.standard_normal((120, 4)) * np.where(y, 2, 0.5)[:, None]
    kda = KDA(metric="learned").fit(X, y)
    assert kda.metric_selection_.selected == {"diagonal": True, "n_rounds": 0}
    np.testing.assert_array_equal(kda.omega_, np.eye(4))
    proba = KDA().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(kda.predict_proba(X), proba, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The predictions of", "ignore:The selected")
def test_scores_are_of_metrics_without_the_held_out_labels():
    """For labels at random, no candidate is better than the guess."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((90, 30)), np.arange(90) % 2
    kda = KDA(metric="learned").fit(X, y)
    assert kda.metric_selection_.scores.max() < np.log(0.5) + 0.02


def test_scaling_and_translation(one_partition):
    X, y = drawn(90, seed=0)
    first = KDA(metric="learned", **GIVEN).fit(X, y)
    assert first.metric_selection_.selected["n_rounds"] > 0
    for scale in (1e-8, 1e8, 1e120):
        other = KDA(metric="learned", **GIVEN).fit(scale * (X + 3), y)
        np.testing.assert_allclose(other.omega_, first.omega_, atol=1e-6)
        proba = other.predict_proba(scale * (X + 3))
        np.testing.assert_allclose(proba, first.predict_proba(X), atol=1e-6)


def test_single_precision_far_from_zero(one_partition):
    X, y = drawn(90, seed=0)
    X = (X + 1e4).astype(np.float32)
    single = KDA(metric="learned", **GIVEN).fit(X, y)
    double = KDA(metric="learned", **GIVEN).fit(X.astype(np.float64), y)
    assert single.transform(X).dtype == np.float32
    proba = double.predict_proba(X.astype(np.float64))
    np.testing.assert_allclose(single.predict_proba(X), proba, atol=1e-6)


def test_weights_stand_for_repeated_samples(planted, one_partition):
    X, y = planted[0][:60], planted[1][:60]
    weights = np.random.default_rng(0).integers(4, size=len(y))
    weighted = KDA(metric="learned", **GIVEN).fit(X, y, weights)
    repeated = KDA(metric="learned", **GIVEN).fit(
        X.repeat(weights, 0), y.repeat(weights)
    )
    difference = weighted.predict_proba(X) - repeated.predict_proba(X)
    assert np.abs(difference).max() < 1e-6


def test_input_hessian(planted, rotation, one_partition):
    X, y = planted
    kda = KDA(metric="learned", **GIVEN).fit(X @ rotation, y)
    assert kda.metric_selection_.selected["n_rounds"] > 0
    analytic = input_hessian(kda, X @ rotation, y, derivatives="analytic")
    differences = input_hessian(kda, X @ rotation, y, derivatives="differences")
    atol = 1e-4 * np.abs(analytic).max()
    np.testing.assert_allclose(analytic, differences, atol=atol)


@pytest.mark.filterwarnings("ignore:The predictions of", "ignore:The selected")
def test_groups_are_held_out_together(planted, one_partition):
    """Features that identify the group of a sample do not predict other groups."""
    X, y = planted
    rng = np.random.default_rng(0)
    groups = np.arange(24).repeat(10)
    own = rng.permutation(24)[groups]
    y = rng.integers(2, size=24)[groups]
    X = np.column_stack([X[:, :2], 5 * np.cos(own), 5 * np.sin(own)])
    given = {"gamma": 0.5, "regularization": 1e-4}
    kda = KDA(metric="learned", **given).fit(X, y, groups=groups)
    assert kda.metric_selection_.scores.max() < np.log(0.5) + 0.05
    alone = KDA(metric="learned", **given).fit(X, y)
    assert alone.metric_selection_.scores.max() > np.log(0.5) + 0.2
    with pytest.raises(ValueError, match="each group contains all samples"):
        KDA(metric="learned").fit(X, y, groups=y)


def test_what_cannot_be_mapped_is_refused(planted):
    X, y = planted
    with pytest.raises(ValueError, match="requires kernel='rbf', got 'poly'"):
        KDA(kernel="poly", metric="learned").fit(X, y)
    with pytest.raises(TypeError, match="dense"):
        KDA(metric="learned").fit(csr_array(X), y)
    array = pytest.importorskip("dask.array").from_array(X, chunks=(100, 9))
    with pytest.raises(TypeError, match="metric=None"):
        KDA(metric="learned").fit(array, y)
