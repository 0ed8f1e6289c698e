"""Distances against closed forms, and as what defines them.

``test_complex.py`` compares them with pyriemann, and tests/objectives/test_distances.py
the distance of Calvo and Oller with the objective of filters.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom.geometry import distance_affine_invariant, distance_calvo_oller


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e9])
def test_calvo_oller_of_equal_covariances(size, rng, make_spd):
    """With equal covariances everything depends on the Mahalanobis distance M.

    Whitened, two eigenvalues of the embedding differ from 1. Their product is 1 and
    their sum 2 + M^2, so that their logarithms are plus and minus
    arccosh(1 + M^2 / 2) = 2 arsinh(M / 2), which is then the distance.
    """
    covariance = make_spd((), 4)
    mean, offset = rng.normal(size=(2, 4))
    other = mean + size * offset
    mahalanobis = np.sqrt((other - mean) @ np.linalg.solve(covariance, other - mean))
    bound = distance_calvo_oller(mean, covariance, other, covariance)
    # The condition of the factor of the embedding is M^2, its digits go with M.
    rtol = max(1e-12, 1e-16 * size)
    expected = 2 * np.arcsinh(mahalanobis / 2)
    assert_allclose(bound, expected, rtol=rtol, atol=1e-14)


def test_ill_conditioned_matrices_keep_their_digits(make_spd):
    """Positive definite matrices of condition 1e12 are not taken for indefinite."""
    a, b = make_spd((2, 20), 6, condition=1e12)
    assert_allclose(distance_affine_invariant(a, a), 0, atol=1e-8)
    there, back = distance_affine_invariant(a, b), distance_affine_invariant(b, a)
    assert_allclose(there, back, rtol=1e-8)

    # The true distance is known where the factors are: a = l l', b = l diag(d) l'.
    factor = np.linalg.cholesky(a)
    eigenvalues = 10.0 ** np.arange(-3, 3)
    b = (factor * eigenvalues) @ factor.mT
    expected = np.linalg.norm(np.log(eigenvalues))
    assert_allclose(distance_affine_invariant(a, b), expected, rtol=1e-5)
