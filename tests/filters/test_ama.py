"""AMA-Gauss as an estimator: what it finds, its use, and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

from skgeom import AMAGauss

GIVEN = {"covariance_estimator": None, "random_state": 0}


@pytest.fixture
def gaussians():
    """Two classes that differ in axis 1 by the mean and in axis 2 by the variance."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 2000)
    X = rng.normal(size=(4000, 5)) * [1, 1, 3, 2, 1]
    X[:, 0] += 2 * y
    X[:, 1] *= 1 + 2 * y
    return X, y


def log_posterior(ama, X, y, noise):
    """The objective by scipy."""
    features = ama.transform(X)
    columns = []
    for label, prior in zip(ama.classes_, ama.priors_, strict=True):
        Z = features[y == label]
        covariance = np.cov(Z.T) + noise * np.eye(Z.shape[1])
        gaussian = multivariate_normal(Z.mean(axis=0), covariance)
        columns.append(gaussian.logpdf(features) + np.log(prior))
    posteriors = log_softmax(np.stack(columns, axis=1), axis=1)
    return posteriors[np.arange(len(y)), np.searchsorted(ama.classes_, y)].mean()


# What it finds.


def test_axes_that_differ(gaussians):
    X, y = gaussians
    ama = AMAGauss(2, regularization=0, **GIVEN).fit(X, y)
    assert subspace_angles(ama.components_.T, np.eye(5, 2)).max() < 0.1
    assert ama.objective_ == pytest.approx(log_posterior(ama, X, y, 0))


@pytest.mark.parametrize("priors", ["uniform", None, [0.2, 0.3, 0.5]])
def test_objective_is_the_mean_log_posterior(priors, wine):
    X, y = wine
    ama = AMAGauss(2, regularization=0.3, priors=priors, **GIVEN).fit(X, y)
    expected = np.bincount(y) / len(y) if priors is None else priors
    expected = [1 / 3] * 3 if isinstance(priors, str) else expected
    assert_allclose(ama.priors_, expected)
    assert ama.objective_ == pytest.approx(log_posterior(ama, X, y, 0.3), rel=1e-9)


@pytest.mark.parametrize("constraint", ["unit-norm", "orthonormal"])
def test_groups(constraint, gaussians):
    X, y = gaussians
    # With much more noise, to repeat a filter would be worth more than a third one.
    options = {"constraint": constraint, **GIVEN}
    options["regularization"] = 1.0
    first = AMAGauss(2, **options).fit(X, y)
    ama = AMAGauss(3, group_size=2, **options).fit(X, y)
    assert ama.components_.shape == (3, 5)
    assert_allclose(np.linalg.norm(ama.components_, axis=1), 1)
    if constraint == "orthonormal":
        assert_allclose(ama.components_ @ ama.components_.T, np.eye(3), atol=1e-10)
    # The third filter has next to nothing to add.
    assert ama.objective_ >= first.objective_ - 2e-3


# Bad input.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("priors", "flat"),
        ("distance", "hellinger"),
        ("priors must hold 3 positive probabilities", [0.5, 0.5]),
        ("priors must hold 3 positive probabilities", [0.5, 0.6, 0.1]),
        ("priors must hold 3 positive probabilities", [1.0, 0.0, 0.0]),
        ("priors must hold 3 positive probabilities", [0.5, np.nan, 0.5]),
    ],
)
def test_invalid_parameter(name, value, wine):
    with pytest.raises((ValueError, TypeError), match=name):
        AMAGauss(**{name.split()[0]: value}).fit(*wine)


def test_parts_of_the_samples_have_weight():
    rng = np.random.default_rng(0)
    y = rng.integers(1, 3, size=70_000)
    # Samples that are in no first part of all.
    rows = np.setdiff1d(np.arange(70_000), rng.choice(70_000, 60_000, replace=False))
    y[rows[:10]] = 0
    X = rng.normal(size=(70_000, 5)) + y[:, None]
    weights = {0: 1.0, 1: 0.0, 2: 0.0}
    ama = AMAGauss(2, class_weight=weights, regularization=0.1, random_state=0)
    assert np.isfinite(ama.fit(X, y).objective_)
