"""Prototypes in the tangent space at the mean, and the Mahalanobis distance there."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pyriemann.geometry.base import sqrtm
from pyriemann.geometry.tangentspace import upper
from pyriemann.tangentspace import TangentSpace
from scipy.spatial.distance import cdist
from sklearn.covariance import OAS, empirical_covariance

from skgeom import GLRSQ, PLRSQ, RSLVQ
from skgeom._prototypes import _metrics
from skgeom.datasets import make_spd_classes
from skgeom.geometry import expm, logm, mean_affine_invariant
from skgeom.utils.validation import check_positive

METRICS = ["tangent", "mahalanobis"]


def pyriemann_vectors(X, *others):
    """Tangent vectors of X, and of other matrices, at the mean of X."""
    metric = TangentSpace(tsupdate=False).fit(X)
    # Its mean stops at 1e-9 or so of the distances.
    return [metric.transform(matrices) for matrices in (X, *others)]


def residuals(vectors, y):
    return np.concatenate(
        [vectors[y == c] - vectors[y == c].mean(axis=0) for c in np.unique(y)]
    )


def mahalanobis_matrix(vectors, y):
    """The metric, from scikit-learn's covariance estimators."""
    within = residuals(vectors, y)
    precision = OAS(assume_centered=True).fit(within).precision_
    covariance = empirical_covariance(within, assume_centered=True)
    return precision * np.trace(covariance) / np.trace(precision @ covariance)


@pytest.fixture(params=METRICS)
def metric(request):
    return request.param


@pytest.mark.parametrize("per_class", [2, 5, 40])  # fewer than dimensions, and more
def test_mahalanobis_distances_are_those_of_scikit_learn(make_signals, per_class):
    X, y = make_signals(per_class=per_class)
    model = GLRSQ(metric="mahalanobis").fit(X, y)
    samples, prototypes = pyriemann_vectors(X, model.prototypes_)
    matrix = mahalanobis_matrix(samples, y)
    expected = cdist(samples, prototypes, "mahalanobis", VI=matrix)
    assert_allclose(model.transform(X), expected, rtol=1e-5)


def test_the_mahalanobis_model_is_that_of_whitened_vectors(spd):
    X, y = spd
    options = {"n_prototypes": 2, "representability": 0.1, "random_state": 0}
    options["temperature"] = 1.0  # by samples that the whitening has not seen
    train, test = X[::2], X[1::2]
    vectors, others = pyriemann_vectors(train, test)
    root = sqrtm(mahalanobis_matrix(vectors, y[::2]))
    model = PLRSQ(metric="mahalanobis", **options).fit(train, y[::2])
    reference = RSLVQ(**options).fit(vectors @ root, y[::2])
    assert_allclose(model.loss_curve_, reference.loss_curve_, rtol=1e-5)
    expected = reference.predict_proba(others @ root)
    assert_allclose(model.predict_proba(test), expected, atol=1e-4)


def test_vector_metrics_are_rslvq_of_their_vectors():
    X, y = make_spd_classes(3, 20, 5, separation=0.5, random_state=0)
    tangent = TangentSpace(tsupdate=False).fit(X)
    tangent.reference_ = mean_affine_invariant(X)  # pyriemann's has errors of 1e-9
    for metric, vectors in (
        ("tangent", tangent.transform(X)),
        ("logeuclid", upper(logm(X))),
    ):
        expected = RSLVQ().fit(vectors, y).predict_proba(vectors)
        found = PLRSQ(metric=metric).fit(X, y).predict_proba(X)
        assert_allclose(found, expected, atol=1e-10)


def test_going_on_keeps_the_space_of_the_first_call(spd, metric):
    X, y = spd
    first, later = X[::2], 1.5 * X[1::2]
    model = PLRSQ(metric=metric, random_state=0).partial_fit(first, y[::2])
    model.partial_fit(later, y[1::2])
    samples, prototypes, others = pyriemann_vectors(first, model.prototypes_, later)
    matrix = np.eye(10)
    if metric == "mahalanobis":
        matrix = mahalanobis_matrix(samples, y[::2])
    expected = cdist(others, prototypes, "mahalanobis", VI=matrix)
    assert_allclose(model.transform(later), expected, rtol=1e-5)
    model.fit(later, y[1::2])  # a new one
    fresh = PLRSQ(metric=metric).fit(later, y[1::2])
    assert_allclose(model.transform(later), fresh.transform(later))


def test_a_subspace_is_taken_first(spd, metric):
    X, y = spd
    options = {"metric": metric, "representability": 0.1}
    model = PLRSQ(n_components=2, **options).fit(X, y)
    F = model.filters_
    assert_allclose(F @ F.T, np.eye(2), atol=1e-12)
    reduced = PLRSQ(**options).fit(F @ X @ F.T, y)
    assert_allclose(model.transform(X), reduced.transform(F @ X @ F.T), rtol=1e-6)


def test_prototypes_of_many_channels_are_matrices(metric):
    X, y = make_spd_classes(3, 20, 24, separation=0.5, random_state=0)
    model = PLRSQ(metric=metric).fit(X, y)
    check_positive(np.linalg.eigvalsh(model.prototypes_), "prototypes_")
    assert model.score(X, y) == 1


def test_equal_variances_leave_the_distances_of_the_tangent_space(spd):
    """Of classes of equal samples there are none, of 1 x 1 matrices one only."""
    X, y = spd
    for Z, labels in (
        (X[::20].repeat(3, axis=0), np.arange(9) // 3),
        (X[:, :1, :1], y),
    ):
        tangent = PLRSQ(representability=0.1).fit(Z, labels)
        model = PLRSQ(metric="mahalanobis", representability=0.1).fit(Z, labels)
        assert model.metric_shrinkage_ == 1
        assert_allclose(model.transform(Z), tangent.transform(Z), atol=1e-9)


@pytest.mark.parametrize("scale", [1, 1e-3, 1e-6])
def test_the_mahalanobis_metric_counts_distinct_samples(scale):
    """Whatever their scale, and though two of them have equal norms."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 3)) * [1, 1, 3]
    vectors = scale * np.concatenate([vectors, -vectors])  # their mean is zero
    X, y = expm(vectors[:, None] * np.eye(3)), np.tile([0, 1], 30)
    metric = _metrics.MahalanobisMetric()
    metric.fit(X, y, np.ones(60))
    covariance = OAS(assume_centered=True).fit(residuals(*pyriemann_vectors(X), y))
    expected = np.sqrt(np.linalg.cond(covariance.covariance_))
    assert_allclose(metric._along.max() / metric._along.min(), expected, rtol=1e-3)
