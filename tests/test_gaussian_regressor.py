"""Regression with Gaussians that follow a continuous target."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
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
    expected = softmax(log_posterior, axis=1)
    found = fitted.predict_density(X)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    assert_allclose(fitted.predict(X), expected @ fitted.grid_)


def interpolated(model):
    """Gaussians on the grid, interpolated number by number."""
    n_levels, n_features = model.level_means_.shape
    numbers = np.hstack([model.level_means_, model.covariances_.reshape(n_levels, -1)])
    on_grid = [np.interp(model.grid_, model.levels_, v) for v in numbers.T]
    for values in np.transpose(on_grid):
        yield values[:n_features], values[n_features:].reshape(n_features, -1)


@pytest.mark.parametrize("weights", [None, np.repeat([1e-4, 1, 1], 30)])
def test_levels_of_a_discrete_target_have_their_moments(weights):
    X, _ = scales(90)
    levels = [0.5, 2.0, 3.0]
    y = np.repeat(levels, 30)
    model = GaussianRegressor(prior_samples=1e-9).fit(X, y, sample_weight=weights)
    assert_allclose(model.levels_, levels)
    for k, level in enumerate(levels):
        assert_allclose(model.level_means_[k], X[y == level].mean(axis=0))
        expected = np.cov(X[y == level].T, bias=True)
        assert_allclose(model.covariances_[k], expected, rtol=1e-6)


def test_variance_predicts_the_target_within_its_intervals(fitted):
    X, y = scales(2000, seed=2)
    assert fitted.score(X, y) > 0.5  # the means predict nothing
    # Targets beyond the means of the outer bins are predicted, too.
    assert fitted.grid_[0] < fitted.levels_[0] < fitted.levels_[-1] < fitted.grid_[-1]
    for coverage in (0.5, 0.95):
        low, high = fitted.predict_interval(X, coverage)
        assert abs(((low <= y) & (y <= high)).mean() - coverage) < 0.06


@pytest.mark.parametrize("is_weighted", [False, True])
def test_intervals_of_few_samples(is_weighted, rng):
    X, weights = rng.normal(size=(6, 1060, 5)), rng.integers(1, 4, size=60)
    Y, found = X[..., 0] + 0.5 * rng.normal(size=(6, 1060)), []
    for x, y in zip(X, Y, strict=True):
        model = GaussianRegressor()
        model.fit(x[:60], y[:60], weights if is_weighted else None)
        low, high = model.predict_interval(x[60:], coverage=0.9)
        found.append(np.mean((low <= y[60:]) & (y[60:] <= high)))
    assert 0.86 < np.mean(found) < 0.95


def test_weights_and_units_do_not_matter(fitted):
    X, y = scales(1000)
    new = scales(50, seed=3)[0]
    units = np.geomspace(1e-3, 1e3, 6)
    changes = [
        (X, y, np.full(len(y), 0.01), 1),
        (X * units, y, None, units),
    ]
    for X_changed, y_changed, weights, unit in changes:
        model = GaussianRegressor(n_points=101)
        model.fit(X_changed, y_changed, sample_weight=weights)
        assert model.prior_samples_ == fitted.prior_samples_
        assert_allclose(model.predict(new * unit), fitted.predict(new), rtol=1e-6)


def test_a_feature_that_is_constant_up_to_rounding_changes_nothing():
    X, y = scales(300)
    new, _ = scales(100, seed=1)
    expected = GaussianRegressor().fit(X, y)
    model = GaussianRegressor().fit(np.insert(X, 2, 0.1, axis=1), y)
    assert model.prior_samples_ == expected.prior_samples_
    assert_allclose(model.level_shrinkage_, expected.level_shrinkage_)
    assert_allclose(model.level_means_[:, 2], 0.1)
    assert not model.covariances_[:, 2].any()
    for value in (0.1, 0.1 + 1e-9, 7.0):
        changed = np.insert(new, 2, value, axis=1)
        assert_allclose(model.predict(changed), expected.predict(new))


def test_constant_features_and_constant_target():
    X, y = scales(50)
    with pytest.warns(UserWarning, match="not .* better than the mean of the targets"):
        model = GaussianRegressor().fit(np.full_like(X, 0.1), y)
    assert_allclose(model.predict_density(X[:3]), [model.prior_] * 3, rtol=1e-9)
    assert_allclose(GaussianRegressor().fit(X, np.full(50, 7.0)).predict(X), 7)


def test_skewed_targets_are_predicted_without_a_warning(rng):
    """Some have squared errors that exceed those of all others together."""
    X = rng.normal(size=(500, 6))
    y = np.exp(2 * X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=500))
    model = GaussianRegressor().fit(X[:300], y[:300])
    errors = np.abs(model.predict(X[300:]) - y[300:])
    assert np.median(errors) < 0.2 * np.median(np.abs(y[:300].mean() - y[300:]))


def test_categories(rng):
    """Each is one distinct row of X, but has many targets."""
    X = np.eye(8)[rng.integers(8, size=800)]
    y = X @ rng.permutation(8) + 0.5 * rng.normal(size=800)
    assert GaussianRegressor().fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.9


def test_levels_of_unequal_spacing():
    levels = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    rng, number = np.random.default_rng(0), np.repeat(np.arange(6), 50)
    X = rng.normal(size=(300, 3)) * 0.1 + 5 * number[:, None]
    model = GaussianRegressor().fit(X, levels[number])
    # Half of the prior of an inner level is below it, half of it is above it.
    below = [model.prior_[model.grid_ < level].sum() for level in levels[2:4]]
    assert_allclose(below, [5 / 12, 7 / 12], atol=5e-3)
    assert_allclose(model.predict(5.0 * np.array([range(6)] * 3).T), levels, rtol=0.1)


def test_fewer_levels_if_the_covariance_rotates(rng):
    y = rng.uniform(0, np.pi, 1300)
    axes = np.column_stack([np.cos(y), np.sin(y), np.cos(2 * y)])
    X = rng.normal(size=(1300, 1)) * axes + 0.2 * rng.normal(size=(1300, 3))
    X = np.hstack([X, rng.normal(size=(1300, 7))])
    of_20, model = (
        m.fit(X[:300], y[:300]) for m in (GaussianRegressor(20), GaussianRegressor())
    )
    assert len(model.levels_) < 20
    assert model.score(X[300:], y[300:]) > of_20.score(X[300:], y[300:]) + 0.1


@pytest.mark.parametrize("target", ["outlier", "lognormal", "counts"])
def test_targets_of_skewed_distributions(target):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = X.sum(axis=1) / 5**0.5 + 0.5 * rng.normal(size=1500)
    y = {"outlier": y, "lognormal": np.exp(y), "counts": rng.poisson(np.exp(y))}[target]
    train = np.where((np.arange(500) == 0) & (target == "outlier"), 30, y[:500])
    model = GaussianRegressor().fit(X[:500], train)
    assert model.score(X[500:], y[500:]) > 0.4
    low, high = model.predict_interval(X[500:], coverage=0.9)
    assert 0.85 < np.mean((low <= y[500:]) & (y[500:] <= high))
    scaled = GaussianRegressor().fit(X[:500], train, np.full(500, 0.37))
    assert_allclose(scaled.predict(X), model.predict(X), rtol=1e-6)


def test_values_that_overflow_are_errors_without_names_of_classes(fitted):
    X, y = scales(40)
    with pytest.raises(ValueError, match=r"^The values of X are too large .*e\+16"):
        GaussianRegressor().fit(X * 1e160, y)
    with pytest.raises(ValueError, match=r"^The values of X are too large .*1e\+200"):
        fitted.predict(np.full((2, 6), 1e200))
    with pytest.raises(ValueError, match=r"at least one non-zero number"):
        GaussianRegressor().fit(X, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="y contains masked values"):
        GaussianRegressor().fit(X, np.ma.masked_array(y, np.arange(40) == 3))


def test_a_number_of_prior_samples_that_leaves_a_level_singular_is_an_error():
    X, _ = scales(8)
    y = np.repeat([1.0, 2.0], 4)
    with pytest.raises(ValueError, match=r"covariance at level .*prior_samples"):
        GaussianRegressor(prior_samples=1e-30).fit(X, y)


def test_coverage_outside_its_range_is_an_error(fitted):
    with pytest.raises(ValueError, match=r"coverage .* 1\.5"):
        fitted.predict_interval(scales(3)[0], coverage=1.5)


def test_groups_are_held_out_together():
    """Eight recordings of each subject: those of other subjects are predicted."""
    rng, covered = np.random.default_rng(0), []
    groups = np.repeat(np.arange(360), 8)
    known = groups < 60
    for _ in range(2):
        subjects = rng.normal(size=(360, 10))
        y = (subjects.sum(axis=1) + rng.normal(size=360))[groups]
        X = subjects[groups] + 0.3 * rng.normal(size=(2880, 10))
        model = GaussianRegressor().fit(X[known], y[known], groups=groups[known])
        low, high = model.predict_interval(X[~known], 0.9)
        covered.append(np.mean((low <= y[~known]) & (y[~known] <= high)))
    assert 0.85 < np.mean(covered) < 0.95  # without groups: 0.75
    scaled = GaussianRegressor().fit(X[known], 1e-9 * y[known], groups=groups[known])
    assert_allclose(1e9 * scaled.predict(X), model.predict(X), rtol=1e-6, atol=1e-6)


def test_verbose_prints_the_selected_values(capsys):
    X, y = scales(200)
    silent = GaussianRegressor(n_points=50).fit(X, y)
    assert capsys.readouterr().out == ""
    model = GaussianRegressor(n_points=50, verbose=1).fit(X, y)
    *_, tried, line = capsys.readouterr().out.splitlines()
    assert tried.endswith("selection: 28 candidates after 5 folds")
    assert line == (
        f"[GaussianRegressor] n_levels={len(model.levels_)}, "
        f"prior_samples={model.prior_samples_:.6g}, "
        f"interval_temperature={model.interval_temperature_:.6g}"
    )
    assert_allclose(model.predict(X), silent.predict(X))
    model.set_params(verbose=2).fit(X, y)
    assert len(capsys.readouterr().out.splitlines()) == 7
