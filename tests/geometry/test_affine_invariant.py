"""Means of SPD matrices."""

import warnings
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pyriemann.geometry.mean import mean_riemann
from sklearn.exceptions import ConvergenceWarning

from skgeom.geometry import _affine_invariant, logm, mean_affine_invariant, whiten
from skgeom.geometry._affine_invariant import (
    from_spectrum,
    inverse_factors,
    log_spectra,
)


@pytest.fixture
def matrices():
    roots = np.random.default_rng(0).normal(size=(12, 4, 8))
    return roots @ roots.mT / 4


def test_mean_is_that_of_pyriemann(matrices):
    weights = np.arange(1.0, 13)
    expected = mean_riemann(matrices, tol=1e-12, sample_weight=weights)
    for scale in (1, 1e-308, 1e307):  # their sum overflows
        mean = mean_affine_invariant(matrices, scale * weights)
        assert_allclose(mean, expected, rtol=1e-8)
    assert_allclose(
        mean_affine_invariant(matrices), mean_riemann(matrices, tol=1e-12), rtol=1e-8
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(12), "nonnegative"),
        (np.zeros(12), "one weight must be positive"),
        (np.full(12, np.nan), "finite"),
        (np.ones(11), r"each of the 12 matrices, got shape \(11,\)"),
    ],
)
def test_bad_weights(matrices, weights, message):
    with pytest.raises(ValueError, match=message):
        mean_affine_invariant(matrices, weights)


@pytest.mark.parametrize("shape", [(0, 3, 3), (3, 3), (2, 2, 3, 3)])
def test_bad_shapes(shape):
    with pytest.raises(ValueError, match=r"stack of shape \(n_matrices, n, n\)"):
        mean_affine_invariant(np.broadcast_to(np.eye(3), shape))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: -X, r"matrices\[0\] is not positive definite"),
        (lambda X: X * np.nan, "NaN"),
        (lambda X: X[:, :3], "square"),
        (lambda X: X + np.tri(4, k=-1), "not symmetric"),
    ],
)
def test_bad_matrices(matrices, spoil, message):
    with pytest.raises(ValueError, match=message):
        mean_affine_invariant(spoil(matrices))


@pytest.mark.parametrize(("n_matrices", "condition"), [(2, 1e6), (30, 1e3)])
def test_mean_of_distant_matrices_is_found(
    n_matrices, condition, make_spd, rng, monkeypatch
):
    """Steps of one length stop far from the mean, or more than a hundred are needed."""
    spy = mock.Mock(wraps=_affine_invariant.threaded_log_spectra)  # once in each step
    monkeypatch.setattr(_affine_invariant, "threaded_log_spectra", spy)
    for _ in range(3):
        matrices = make_spd((n_matrices,), 3, condition)
        weights = rng.uniform(0.1, 1, size=n_matrices)
        mean = mean_affine_invariant(matrices, weights)
        white = whiten(matrices, mean)
        logs = logm((white + white.mT) / 2)
        residual = np.einsum("i,ijk->jk", weights / weights.sum(), logs)
        assert np.linalg.norm(residual) < 1e-9 + 1e-15 * condition
    assert spy.call_count < 3 * 18


@pytest.mark.parametrize(
    "imaginary, size, n_matrices, condition", [(0, 5, 5, 1e10), (1, 2, 10, 1e12)]
)
def test_mean_of_nearly_singular_matrices(size, n_matrices, imaginary, condition, rng):
    """It is as near as the numbers allow: no step goes so far that all is lost."""
    spread = np.sort(rng.uniform(0, np.log(condition), size=(5, n_matrices, size)))
    spread[..., 0], spread[..., -1] = 0, np.log(condition)
    shape = (5, n_matrices, size, size)
    numbers = rng.normal(size=shape)
    if imaginary:
        numbers = numbers + 1j * rng.normal(size=shape)
    Q, _ = np.linalg.qr(numbers)
    matrices = Q * np.exp(spread)[..., None, :] @ Q.conj().mT
    for several in (matrices + matrices.conj().mT) / 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mean = mean_affine_invariant(several)
        logarithms, vectors = log_spectra(several, inverse_factors(mean))
        residual = from_spectrum(vectors, logarithms).mean(axis=0)
        # The last bit of a matrix moves its smallest logarithm by eps times condition,
        # and so do some tens of roundings, in the search and here. A search that goes
        # astray, or gives up, leaves hundreds of times as much.
        assert np.linalg.norm(residual) < 100 * np.finfo(float).eps * condition


def test_says_when_rounding_makes_it_wrong(make_spd, rng):
    mixing = np.linalg.qr(rng.normal(size=(6, 6)))[0] * np.logspace(0, 7.7, 6)
    hard = mixing @ make_spd((10,), 6) @ mixing.T
    with pytest.warns(ConvergenceWarning, match=r"mean logarithm there is .* instead"):
        mean_affine_invariant((hard + hard.mT) / 2)
    with pytest.warns(ConvergenceWarning, match=r"which rounding hides.*shrinkage"):
        mean_affine_invariant(np.stack([np.diag([1, 1e18]), np.diag([1e18, 1])]))
