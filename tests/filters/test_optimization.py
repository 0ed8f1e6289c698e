"""The coordinates in which filters are sought."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom._filters._optimization import principal_coordinates


def pooled(variances, rng):
    """Data with these variances along random axes."""
    axes = np.linalg.qr(rng.standard_normal((len(variances),) * 2))[0]
    total = (axes * variances) @ axes.T
    return total, axes


@pytest.mark.parametrize(
    ("n_features", "n_risen", "size"),
    [
        (400, 30, 100),
        (400, 120, 120),
        (400, 390, 160),  # two fifths
        (1200, 1190, 400),  # four times as many
        (290, 250, 100),
    ],
)
def test_axes_that_rise_from_the_noise(n_features, n_risen, size, rng):
    decay = np.arange(1.0, n_features + 1) ** -2
    covariances, _ = pooled(decay, rng)
    noise = (n_risen + 0.5) ** -2 / 6
    found = principal_coordinates(covariances, noise, 3, down_to_noise=True)
    n_found = found.basis.shape[1]
    assert 0.9 * size < n_found <= size  # some of the last ones may be missed
    assert not found.complete
    assert_allclose(found.basis.T @ found.basis, np.eye(n_found), atol=1e-10)
    kept = np.trace(found.basis.T @ covariances @ found.basis)
    assert kept > 0.999 * decay[:n_found].sum()
    without = principal_coordinates(covariances, noise, 3)
    assert without.basis.shape[1] == 100


def test_more_components_have_more_axes(rng):
    covariances, _ = pooled(1 / np.arange(1.0, 701), rng)
    for n_components, size in [(3, 100), (15, 150), (20, 200)]:
        found = principal_coordinates(covariances, 1.0, n_components)
        assert found.basis.shape[1] == size
        low = principal_coordinates(covariances, 0, n_components, down_to_noise=True)
        assert low.basis.shape[1] == 280


def test_all_axes_where_there_are_few_more(rng):
    variances = np.where(np.arange(400) < 130, 1.0, 0.0)
    covariances, axes = pooled(variances, rng)
    found = principal_coordinates(covariances, 1e-3, 3, down_to_noise=True)
    assert found.complete and found.basis.shape[1] == 130
    span = axes[:, :130] @ axes[:, :130].T
    assert_allclose(found.basis @ found.basis.T, span, atol=1e-10)
    whole = principal_coordinates(covariances, 1e-3, 3, allow_coarse=False)
    assert whole.complete and whole.basis.shape[1] == 130
