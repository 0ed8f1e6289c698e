"""Regression with Gaussians that follow a continuous target."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from skgeom import GaussianRegressor


def scales(n, seed=0):
    """Samples whose variance is the square of the target."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(1, 5, size=n)
    return rng.normal(size=(n, 6)) * y[:, None], y


@pytest.fixture(scope="module")
def fitted():
    return GaussianRegressor(n_points=101).fit(*scales(1000))


def test_posterior_is_that_of_bayes_rule(fitted):
    X, _ = scales(5, seed=1)
    log_posterior = np.log(fitted.prior_) + np.transpose(
        [
            multivariate_normal(mean, covariance).logpdf(X)
            for mean, covariance in interpolated(fitted)
        ]
    )
    expected = np.exp(log_posterior)
    expected /= expected.sum(axis=1, keepdims=True)
    found = fitted.predict_density(X)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    assert_allclose(fitted.predict(X), expected @ fitted.grid_)


def interpolated(model):
    """Gaussians on the grid, interpolated number by number."""
    n_levels, n_features = model.means_.shape
    numbers = np.hstack([model.means_, model.covariances_.reshape(n_levels, -1)])
    on_grid = [np.interp(model.grid_, model.levels_, v) for v in numbers.T]
    for values in np.transpose(on_grid):
        yield values[:n_features], values[n_features:].reshape(n_features, -1)


def test_levels_of_a_discrete_target_have_their_moments():
    X, _ = scales(90)
    y = np.repeat([0.5, 2.0, 3.0], 30)
    model = GaussianRegressor(prior_samples=1e-9).fit(X, y)
    assert_allclose(model.levels_, [0.5, 2, 3])
    for k in range(3):
        assert_allclose(model.means_[k], X[y == model.levels_[k]].mean(axis=0))
        expected = np.cov(X[y == model.levels_[k]].T, bias=True)
        assert_allclose(model.covariances_[k], expected, rtol=1e-6)


def test_variance_predicts_the_target_within_its_intervals(fitted):
    X, y = scales(2000, seed=2)
    assert fitted.score(X, y) > 0.5  # the means predict nothing
    for coverage in (0.5, 0.95):
        low, high = fitted.predict_interval(X, coverage)
        assert abs(((low <= y) & (y <= high)).mean() - coverage) < 0.06


def test_rows_weights_and_units_do_not_matter(fitted):
    X, y = scales(1000)
    new = scales(50, seed=3)[0]
    order = np.random.default_rng(0).permutation(len(y))
    units = np.geomspace(1e-3, 1e3, 6)
    changes = [
        (X[order], y[order], None, 1),
        (X, y, np.full(len(y), 10.0), 1),
        (X * units, y, None, units),
    ]
    for X_changed, y_changed, weights, unit in changes:
        model = GaussianRegressor(n_points=101)
        model.fit(X_changed, y_changed, sample_weight=weights)
        assert model.prior_samples_ == fitted.prior_samples_
        assert_allclose(model.predict(new * unit), fitted.predict(new), rtol=1e-6)


def test_constant_feature_and_constant_target():
    X, y = scales(50)
    X[:, 0] = 0.1
    assert np.isfinite(GaussianRegressor().fit(X, y).predict(X)).all()
    assert_allclose(GaussianRegressor().fit(X, np.full(50, 7.0)).predict(X), 7)


def test_coverage_outside_its_range_is_an_error(fitted):
    with pytest.raises(ValueError, match=r"coverage .* 1\.5"):
        fitted.predict_interval(scales(3)[0], coverage=1.5)
