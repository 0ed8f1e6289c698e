"""Matrix functions and congruences against scipy, which takes one matrix at a time."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from skgeom.geometry import expm, generalized_eigenvalues, invsqrtm, logm, sqrtm, whiten

EPS = np.finfo(float).eps


@pytest.fixture(params=[(1, 10), (5, 1e4), (9, 1e6)], ids=str)
def stack(request, make_spd):
    """SPD matrices of several sizes, (2, 3, n, n), and a bound of their condition."""
    n, condition = request.param
    return make_spd((2, 3), n, condition), condition


@pytest.mark.parametrize(
    ("function", "of_number"),
    [
        (sqrtm, np.sqrt),
        (invsqrtm, lambda x: 1 / np.sqrt(x)),
        (logm, np.log),
        (expm, np.exp),
    ],
)
@pytest.mark.parametrize("condition", [10, 1e6])
def test_function_of_known_spectrum(function, of_number, condition, rng):
    vectors, _ = np.linalg.qr(rng.normal(size=(4, 6, 6)))
    spectra = condition ** -rng.uniform(size=(4, 1, 6))
    expected = (vectors * of_number(spectra)) @ vectors.mT
    result = function((vectors * spectra) @ vectors.mT)
    # Rounding moves the smallest eigenvalue, relatively, by the condition times eps.
    tolerance = 5 * condition * EPS * np.abs(expected).max()
    assert_allclose(result, expected, rtol=0, atol=tolerance)
    assert_allclose(result, result.mT, rtol=0, atol=tolerance)


def test_whiten_agrees_with_inverse_cholesky_factor(stack, make_symmetric):
    reference, condition = stack
    matrices = make_symmetric((2, 3), reference.shape[-1])

    def single(matrix, reference):
        inverse = scipy.linalg.inv(scipy.linalg.cholesky(reference, lower=True))
        return inverse @ matrix @ inverse.T

    of_stacks = np.vectorize(single, signature="(n,n),(n,n)->(n,n)")
    expected = of_stacks(matrices, reference)
    whitened = whiten(matrices, reference)
    tolerance = 50 * condition * EPS * np.abs(expected).max()
    assert_allclose(whitened, expected, rtol=0, atol=tolerance)
    assert np.array_equal(whitened, whitened.mT)


def test_generalized_eigenvalues_agree_with_scipy(stack, make_symmetric):
    b, condition = stack
    a = make_symmetric((2, 3), b.shape[-1])
    of_stacks = np.vectorize(scipy.linalg.eigvalsh, signature="(n,n),(n,n)->(n)")
    expected = of_stacks(a, b)
    eigenvalues = generalized_eigenvalues(a, b)
    tolerance = 50 * condition * EPS * np.abs(expected).max()
    assert_allclose(eigenvalues, expected, rtol=0, atol=tolerance)
    assert (np.diff(eigenvalues) >= 0).all()
