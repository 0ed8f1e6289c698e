"""Distances against closed forms, and as what defines them.

``test_complex.py`` compares them with pyriemann.
"""

import numpy as np
import pytest
from comparisons import all_pairs
from numpy.testing import assert_allclose

from skgeom.geometry import (
    calvo_oller_embedding,
    distance_affine_invariant,
    distance_calvo_oller,
)

SIZES = [(1, 10.0), (5, 1e3), (9, 1e6)]


@pytest.fixture(params=SIZES, ids=str)
def gaussians(request, make_gaussians):
    """Six Gaussians of several sizes and conditions: means, covariances."""
    n, condition = request.param
    return make_gaussians((6,), n, condition)


def test_calvo_oller_is_affine_invariant_distance_of_embeddings(gaussians):
    embedded = calvo_oller_embedding(*gaussians)
    expected = all_pairs(distance_affine_invariant, embedded) / np.sqrt(2)
    calculated = all_pairs(distance_calvo_oller, *gaussians)
    assert_allclose(calculated, expected, rtol=1e-8, atol=1e-11)


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
