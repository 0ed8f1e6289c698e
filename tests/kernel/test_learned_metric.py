"""KernelDiscriminantAnalysis(metric="learned")."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel

from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom import input_hessian
from skgeom._kernel._metric import gradient_product


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


def log_scores(kda, X):
    """Logarithms of the probabilities without random labels, (n_samples, n_classes)."""
    scores = kda.decision_function(X)
    return scores if scores.ndim == 2 else np.column_stack([0 * scores, scores])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_product_by_finite_differences(planted, n_classes):
    X, y = planted
    X, y = X[y < n_classes] + 5, y[y < n_classes]
    kda = KDA(gamma=0.05, regularization=1e-3).fit(X, y)
    weights = np.random.default_rng(0).uniform(size=len(X))
    weights /= weights.sum()
    step = 1e-5
    jacobian = np.stack(
        [
            (log_scores(kda, X + e) - log_scores(kda, X - e)) / (2 * step)
            for e in step * np.eye(X.shape[1])
        ],
        axis=2,
    )
    expected = 0
    for weight, p, J in zip(weights, kda.predict_proba(X), jacobian, strict=True):
        expected = expected + weight * J.T @ (np.diag(p) - np.outer(p, p)) @ J
    product = gradient_product(kda, X, weights)
    np.testing.assert_allclose(product, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_relevant_features_are_found(planted, solver):
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


def test_scaling_and_translation(planted, learned):
    (X, y), first = planted, learned
    other = KDA(metric="learned").fit(8 * X + 3, y)
    np.testing.assert_allclose(other.omega_, first.omega_, atol=1e-6)
    proba = other.predict_proba(8 * X + 3)
    np.testing.assert_allclose(proba, first.predict_proba(X), atol=1e-6)


def test_weights_stand_for_repeated_samples(planted):
    X, y = planted
    weights = np.random.default_rng(0).integers(4, size=len(y))
    weighted = KDA(metric="learned").fit(X, y, weights)
    repeated = KDA(metric="learned").fit(X.repeat(weights, 0), y.repeat(weights))
    difference = weighted.predict_proba(X) - repeated.predict_proba(X)
    assert np.abs(difference).max() < 1e-6


def test_input_hessian(planted, rotation):
    X, y = planted
    kda = KDA(metric="learned").fit(X @ rotation, y)
    analytic = input_hessian(kda, X @ rotation, y, derivatives="analytic")
    differences = input_hessian(kda, X @ rotation, y, derivatives="differences")
    atol = 1e-4 * np.abs(analytic).max()
    np.testing.assert_allclose(analytic, differences, atol=atol)


@pytest.mark.filterwarnings("ignore:The predictions of", "ignore:The selected")
def test_groups_are_held_out_together(planted):
    """Features that identify the group of a sample do not predict other groups."""
    X, y = planted
    rng = np.random.default_rng(0)
    groups = np.arange(24).repeat(10)
    own = rng.permutation(24)[groups]
    y = rng.integers(2, size=24)[groups]
    X = np.column_stack([X[:, :2], 5 * np.cos(own), 5 * np.sin(own)])
    kda = KDA(metric="learned").fit(X, y, groups=groups)
    assert kda.metric_selection_.scores.max() < np.log(0.5) + 0.05
    alone = KDA(metric="learned").fit(X, y)
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
