"""The mean information about the class: value by scipy, gradient by autograd."""

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from autograd.scipy.special import logsumexp
from autograd.scipy.stats import multivariate_normal
from numpy.testing import assert_allclose

from skgeom.objectives._posterior import MeanInformation


@pytest.fixture
def problem(rng, make_gaussians):
    """Arguments of the objective, of which the samples fit the classes, and filters."""
    means, covariances = make_gaussians((4,), 6)
    labels = rng.integers(4, size=300)
    X = means[labels] + rng.normal(size=(300, 6))
    log_priors = np.log([0.1, 0.2, 0.3, 0.4])
    arguments = X, labels, means, covariances, 0.3, log_priors
    return arguments, rng.normal(size=(6, 3))


def reference(filters, X, labels, means, covariances, noise, log_priors, weights):
    """As the formula is written, class by class, for autograd."""
    features, columns = anp.dot(X, filters), []
    for mean, covariance, log_prior in zip(means, covariances, log_priors, strict=True):
        sigma = anp.dot(anp.dot(filters.T, covariance), filters)
        moments = anp.dot(mean, filters), sigma + noise * np.eye(len(sigma))
        columns.append(log_prior + multivariate_normal.logpdf(features, *moments))
    joint = anp.stack(columns, axis=1)
    correct = anp.sum((joint - log_priors) * np.eye(len(means))[labels], axis=1)
    gains = correct - logsumexp(joint, axis=1)
    return anp.sum(weights * gains) / weights.sum()


@pytest.mark.parametrize("n_filters", [1, 2, 5])
def test_gradient_by_autograd(n_filters, problem, rng):
    arguments = *problem[0], rng.uniform(0.5, 2, size=300)
    filters = rng.normal(size=(6, n_filters))
    value, gradient = MeanInformation(*arguments)(filters)
    assert_allclose(value, reference(filters, *arguments), rtol=1e-12)
    expected = autograd.grad(reference)(filters, *arguments)
    assert_allclose(gradient, expected, atol=1e-11 * np.abs(expected).max())


def test_objective_of_some_samples(problem, rng):
    (X, labels, *classes), filters = problem
    weights, rows = rng.uniform(1, 2, size=300), rng.permutation(300)[:100]
    whole = MeanInformation(X, labels, *classes, weights)
    before, batch = whole(filters)[0], whole.subset(rows)
    alone = MeanInformation(X[rows], labels[rows], *classes, weights[rows])
    for found, expected in zip(batch(filters), alone(filters), strict=True):
        assert_allclose(found, expected, rtol=1e-12)
    assert whole(filters)[0] == before


def test_samples_far_from_all_classes_are_finite(problem):
    arguments, filters = problem
    X = arguments[0].copy()
    X[0] = 1e6
    value, gradient = MeanInformation(X, *arguments[1:])(filters)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_samples_on_a_device(device_library, problem, rng):
    library, (arguments, filters) = device_library, problem
    X, labels, means, covariances, noise, log_priors = arguments
    weights = rng.uniform(1, 2, size=300)
    expected = MeanInformation(*arguments, weights)
    moved = map(library.array, (X, labels, means, covariances))
    found = MeanInformation(*moved, noise, log_priors, library.array(weights))
    assert library.is_mine(found.X)
    for objective, wanted, point in (
        (found, expected, filters),
        (found.project(np.eye(6, 4)), expected.project(np.eye(6, 4)), filters[:4]),
    ):
        value, gradient = objective(point)
        wanted_value, wanted_gradient = wanted(point)
        assert_allclose(value, wanted_value, rtol=library.tolerance)
        scale = np.abs(wanted_gradient).max()
        assert_allclose(gradient, wanted_gradient, atol=library.tolerance * scale)
    prior = np.average(log_priors[labels], weights=weights)
    assert found.mean_log_prior == pytest.approx(prior, rel=library.tolerance)
