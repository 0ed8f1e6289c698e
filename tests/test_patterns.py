"""Activation patterns, and filters that tell matrices apart."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from sklearn.linear_model import LinearRegression

from skgeom import activation_patterns, spatial_filters
from skgeom.geometry import distance_affine_invariant
from skgeom.utils.array_api import to_numpy


@pytest.fixture
def recording(rng):
    """Sources, (n, 3), what they project to, (3, 6), and the channels, (n, 6)."""
    sources = rng.normal(size=(4000, 3)) * [1, 2, 3]
    mixing = rng.normal(size=(3, 6))
    return sources, mixing, sources @ mixing + 0.3 * rng.normal(size=(4000, 6))


def test_patterns_are_the_regression_on_components(recording):
    _, _, X = recording
    filters = np.random.default_rng(1).normal(size=(3, 6))
    patterns = activation_patterns(filters, np.cov(X.T))
    regression = LinearRegression().fit(X @ filters.T, X)
    assert_allclose(patterns, regression.coef_.T, rtol=1e-9)


@pytest.mark.parametrize("of_covariance", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("of_filters", [1e-150, 1e150])
def test_patterns_at_any_scale(of_filters, of_covariance, make_spd, rng):
    filters, covariance = rng.normal(size=(2, 4)), make_spd((), 4)
    expected = activation_patterns(filters, covariance)
    found = activation_patterns(of_filters * filters, of_covariance * covariance)
    assert_allclose(found * of_filters, expected, rtol=1e-9)


def test_complex_filters_and_patterns(rng):
    """Outputs are ``filters @ x``; patterns are the regression of x on the outputs."""
    factors = rng.normal(size=(2, 4, 9)) + 1j * rng.normal(size=(2, 4, 9))
    X, R = factors @ factors.conj().swapaxes(1, 2)
    filters, ratios = spatial_filters(X, R)
    values = eigh(X, R, eigvals_only=True)
    assert_allclose(np.sort(ratios), values, rtol=1e-10)
    assert_allclose(filters @ R @ filters.conj().T, np.eye(4), atol=1e-10)
    assert_allclose(filters @ X @ filters.conj().T, np.diag(ratios), atol=1e-9)
    patterns = activation_patterns(filters, X)
    assert_allclose(patterns.T @ filters, np.eye(4), atol=1e-9)
    chosen = filters[:2] + 1j * rng.normal(size=(2, 4))
    signals = factors[0]  # their covariance is X
    outputs = chosen @ signals
    expected = np.linalg.lstsq(outputs.T, signals.T)[0]
    assert_allclose(activation_patterns(chosen, X), expected, atol=1e-9)


def test_mne_draws_filters_and_patterns(make_spd):
    mne = pytest.importorskip("mne", minversion="1.11")
    mean, class_mean = make_spd((2,), 4)
    filters, ratios = spatial_filters(class_mean, mean)
    patterns = activation_patterns(filters[:2], mean)
    info = mne.create_info(["C3", "Cz", "C4", "Pz"], sfreq=250, ch_types="eeg")
    info.set_montage("biosemi64")
    container = mne.decoding.SpatialFilter(
        info, filters[:2], evals=ratios[:2], patterns=patterns
    )
    figure = container.plot_patterns(show=False)
    assert [axis.get_title() for axis in figure.axes[:2]] == ["Pattern0", "Pattern1"]


def test_errors_of_patterns(make_spd):
    covariance = make_spd((), 3)
    with pytest.raises(ValueError, match="has the negative eigenvalue -1"):
        activation_patterns(np.eye(3)[:1], np.diag([1.0, 2, -1]))
    for filters in (np.ones(3), np.ones((2, 4)), np.ones((0, 3))):
        with pytest.raises(ValueError, match="each of the 3 features of covariance"):
            activation_patterns(filters, covariance)
    with pytest.raises(ValueError, match=r"filters\[1\] contains NaN"):
        activation_patterns([[1, 0, 0], [np.nan, 0, 0]], covariance)
    with pytest.raises(ValueError, match="covariance is not symmetric"):
        activation_patterns(np.ones((1, 3)), np.tri(3))
    with pytest.raises(ValueError, match="2 filters are linearly dependent"):
        activation_patterns(np.ones((2, 3)), covariance)
    with pytest.raises(ValueError, match=r"filters\[1\] computes a component with"):
        activation_patterns(np.eye(3), np.diag([1.0, 0, 1]))


def test_spatial_filters_are_generalized_eigenvectors(make_spd):
    X, R = make_spd((2,), 5)
    filters, ratios = spatial_filters(X, R)
    assert_allclose(filters @ R @ filters.T, np.eye(5), atol=1e-10)
    assert_allclose(filters @ X @ filters.T, np.diag(ratios), atol=1e-10)
    assert_allclose(np.sort(ratios), eigh(X, R, eigvals_only=True), rtol=1e-9)
    assert (np.diff(np.abs(np.log(ratios))) <= 1e-12).all()
    for first, second in (X, R), make_spd((2,), 5, condition=1e14):
        squared = (np.log(spatial_filters(first, second)[1]) ** 2).sum()
        expected = distance_affine_invariant(first, second, squared=True)
        assert squared == pytest.approx(expected, rel=1e-9)


def test_errors_of_spatial_filters(make_spd):
    X, R = make_spd((), 3), make_spd((), 4)
    with pytest.raises(ValueError, match="must have the same last dimension"):
        spatial_filters(X, R)
    with pytest.raises(ValueError, match="matrix must be one matrix"):
        spatial_filters(X[None], X)
    with pytest.raises(ValueError, match="reference is not positive definite"):
        spatial_filters(X, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="matrix is not positive definite"):
        spatial_filters(-X, X)
    centering = np.eye(3) - 1 / 3
    for singular in centering @ make_spd((20,), 3) @ centering:  # up to rounding
        with pytest.raises(ValueError, match="matrix is not positive definite"):
            spatial_filters(singular, X)


def test_arrays_of_other_libraries(recording, library):
    covariance = np.cov(recording[2].T)
    expected = spatial_filters(covariance, np.eye(6))
    there = library.array(covariance)
    found = spatial_filters(there, library.array(np.eye(6)))
    for ours, wanted in zip(found, expected, strict=True):
        assert library.is_mine(ours)
        assert_allclose(to_numpy(ours), wanted, atol=library.tolerance * 10)
    patterns = activation_patterns(found[0][:2, :], there)
    assert library.is_mine(patterns)
    wanted = activation_patterns(expected[0][:2], covariance)
    assert_allclose(to_numpy(patterns), wanted, atol=library.tolerance * 10)
