"""Distances against pyriemann, against closed forms, and as what defines them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pyriemann.geometry.distance import distance_riemann

from skgeom.geometry import (
    calvo_oller_embedding,
    distance_affine_invariant,
    distance_calvo_oller,
    invsqrtm,
    sqrtm,
)

SIZES = [(1, 10.0), (2, 10.0), (5, 1e3), (9, 1e6)]


@pytest.fixture(params=SIZES, ids=str)
def matrices(request, make_spd):
    """Six SPD matrices of several sizes and conditions."""
    n, condition = request.param
    return make_spd((6,), n, condition)


@pytest.fixture(params=SIZES, ids=str)
def gaussians(request, make_gaussians):
    """Six Gaussians of several sizes and conditions: means, covariances."""
    n, condition = request.param
    return make_gaussians((6,), n, condition)


def all_pairs(distance, *parameters, **options):
    """Table of the distances from each element to each."""
    first = [array[:, None] for array in parameters]
    second = [array[None] for array in parameters]
    return distance(*first, *second, **options)


def univariate_fisher_rao(mean_a, sigma_a, mean_b, sigma_b):
    """Fisher-Rao distance of normal distributions with standard deviations sigma.

    The half plane of (mean, sigma) has the metric (dmean^2 + 2 dsigma^2) / sigma^2,
    which is twice the hyperbolic one once the mean is divided by sqrt(2).
    """
    offset = (mean_a - mean_b) ** 2 / 2 + (sigma_a - sigma_b) ** 2
    # arccosh(1 + 2 s^2) = 2 arsinh(s), which is accurate for small s too.
    return 2 * np.sqrt(2) * np.arcsinh(np.sqrt(offset / (4 * sigma_a * sigma_b)))


def test_affine_invariant_agrees_with_pyriemann(matrices):
    a, b = matrices[:3], matrices[3:]
    # pyriemann solves the generalised eigenproblem, which loses digits at condition
    # 1e6; the comparison can be no closer than that.
    rtol = 1e-15 * np.linalg.cond(matrices).max() ** 1.5
    expected = distance_riemann(a, b)
    assert_allclose(distance_affine_invariant(a, b), expected, rtol=max(rtol, 1e-13))


def test_affine_invariant_of_commuting_matrices_is_that_of_logarithms(rng):
    rotation, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    logs_a, logs_b = rng.uniform(-2, 2, size=(2, 4, 6))
    a, b = (rotation @ (np.exp(v)[..., None] * rotation.T) for v in (logs_a, logs_b))
    expected = np.linalg.norm(logs_a - logs_b, axis=-1)
    assert_allclose(distance_affine_invariant(a, b), expected, rtol=1e-13)


def test_midpoint_of_the_geodesic_halves_the_distance(make_spd):
    a, b = make_spd((2, 5), 4)
    root, inverse_root = sqrtm(a), invsqrtm(a)
    midpoint = root @ sqrtm(inverse_root @ b @ inverse_root) @ root
    half = distance_affine_invariant(a, b) / 2
    assert_allclose(distance_affine_invariant(a, midpoint), half, rtol=1e-12)
    assert_allclose(distance_affine_invariant(midpoint, b), half, rtol=1e-12)


def test_embedding_is_the_second_moment_of_the_extended_variable(rng):
    samples = rng.normal([1.0, -2.0, 0.5], size=(50, 3))
    extended = np.column_stack([samples, np.ones(50)])
    embedded = calvo_oller_embedding(samples.mean(axis=0), np.cov(samples.T, bias=True))
    assert_allclose(embedded, extended.T @ extended / 50, atol=1e-14)


def test_calvo_oller_is_affine_invariant_distance_of_embeddings(gaussians):
    embedded = calvo_oller_embedding(*gaussians)
    expected = all_pairs(distance_affine_invariant, embedded) / np.sqrt(2)
    calculated = all_pairs(distance_calvo_oller, *gaussians)
    assert_allclose(calculated, expected, rtol=1e-8, atol=1e-11)


def test_calvo_oller_bounds_univariate_fisher_rao_from_below(rng):
    means = rng.normal(size=(2, 200)) * 3
    sigmas = np.exp(rng.normal(size=(2, 200)))
    exact = univariate_fisher_rao(means[0], sigmas[0], means[1], sigmas[1])
    bound = distance_calvo_oller(
        means[0, :, None],
        sigmas[0, :, None, None] ** 2,
        means[1, :, None],
        sigmas[1, :, None, None] ** 2,
    )
    assert (bound <= exact + 1e-12).all()


def test_calvo_oller_equals_fisher_rao_for_equal_means(rng, make_spd):
    sigmas = np.exp(rng.normal(size=(2, 50)))
    mean = np.full((50, 1), 0.7)
    variances = sigmas[..., None, None] ** 2
    bound = distance_calvo_oller(mean, variances[0], mean, variances[1])
    expected = univariate_fisher_rao(0, sigmas[0], 0, sigmas[1])
    assert_allclose(bound, expected, rtol=1e-12, atol=1e-14)

    a, b = make_spd((2, 8), 4)
    mean = rng.normal(size=4)
    expected = distance_affine_invariant(a, b) / np.sqrt(2)
    assert_allclose(distance_calvo_oller(mean, a, mean, b), expected, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e6, 1e9])
def test_calvo_oller_of_equal_covariances(size, rng, make_spd):
    """With equal covariances everything depends on the Mahalanobis distance M.

    Whitened, two eigenvalues of the embedding differ from 1. Their product is 1 and
    their sum 2 + M^2, so that their logarithms are plus and minus
    arccosh(1 + M^2 / 2) = 2 arsinh(M / 2), which is then the distance. The Fisher-Rao
    distance is sqrt(2) arccosh(1 + M^2 / 4).
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
    assert bound < np.sqrt(2) * np.arccosh(1 + mahalanobis**2 / 4)


def test_calvo_oller_of_close_gaussians_is_the_fisher_metric(make_gaussians, rng):
    mean, covariance = make_gaussians((), 4)
    mean_slope = rng.normal(size=4)
    slope = rng.normal(size=(4, 4))
    slope = slope + slope.T
    whitened_slope = np.linalg.solve(covariance, slope)
    expected = mean_slope @ np.linalg.solve(covariance, mean_slope)
    expected += np.trace(whitened_slope @ whitened_slope) / 2
    step = 1e-4
    squared = distance_calvo_oller(
        mean - step / 2 * mean_slope,
        covariance - step / 2 * slope,
        mean + step / 2 * mean_slope,
        covariance + step / 2 * slope,
        squared=True,
    )
    # A central difference: its error is of the order of step^2.
    assert_allclose(squared / step**2, expected, rtol=1e-5)


def test_distance_to_itself_is_zero(matrices, gaussians):
    assert_allclose(distance_affine_invariant(matrices, matrices), 0, atol=1e-12)
    assert_allclose(distance_calvo_oller(*gaussians, *gaussians), 0, atol=1e-12)


def test_distance_is_symmetric_and_positive(matrices, gaussians):
    for table in (
        all_pairs(distance_affine_invariant, matrices),
        all_pairs(distance_calvo_oller, *gaussians),
    ):
        assert_allclose(table, table.T, rtol=1e-11, atol=1e-12)
        assert (table[~np.eye(6, dtype=bool)] > 1e-3).all()


def test_triangle_inequality(matrices, gaussians):
    for table in (
        all_pairs(distance_affine_invariant, matrices),
        all_pairs(distance_calvo_oller, *gaussians),
    ):
        detours = table[:, :, None] + table[None]
        assert (table[:, None] <= detours + 1e-12).all()


def test_affine_invariant_is_invariant_under_congruence(matrices, rng):
    g = rng.normal(size=matrices.shape[1:]) + 2 * np.eye(matrices.shape[-1])
    moved = g @ matrices @ g.T
    expected = all_pairs(distance_affine_invariant, matrices)
    # The congruence is rounded, and the conditions of matrices and of g amplify that.
    rounding = 1e-15 * np.linalg.cond(g) ** 2 * np.linalg.cond(matrices).max()
    calculated = all_pairs(distance_affine_invariant, moved)
    assert_allclose(calculated, expected, rtol=0, atol=max(rounding, 1e-12))


def test_affine_invariant_is_invariant_under_inversion(matrices):
    inverse = np.linalg.inv(matrices)
    inverse = (inverse + inverse.mT) / 2
    rounding = 1e-15 * np.linalg.cond(matrices).max()
    assert_allclose(
        all_pairs(distance_affine_invariant, inverse),
        all_pairs(distance_affine_invariant, matrices),
        rtol=0,
        atol=max(10 * rounding, 1e-12),
    )


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("translation", [0.0, 1e6])
def test_calvo_oller_is_invariant_under_affine_maps(
    scale, translation, make_gaussians, make_spd, rng
):
    means, covariances = make_gaussians((6,), 4)
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    g = scale * make_spd((), 4) @ rotation
    shift = scale * translation * rng.normal(size=4)
    moved = all_pairs(distance_calvo_oller, means @ g.T + shift, g @ covariances @ g.T)
    # A translation rounds the means themselves, to eps times its size.
    atol = 1e-14 * max(translation, 1e3)
    expected = all_pairs(distance_calvo_oller, means, covariances)
    assert_allclose(moved, expected, rtol=0, atol=atol)


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


@pytest.mark.parametrize("squared", [False, True])
def test_table_of_pairs_equals_single_pairs(squared, make_gaussians):
    means, covariances = make_gaussians((5,), 3)
    table = all_pairs(distance_calvo_oller, means, covariances, squared=squared)
    spd_table = all_pairs(distance_affine_invariant, covariances, squared=squared)
    assert table.shape == spd_table.shape == (5, 5)
    power = 2 if squared else 1
    for i, j in np.ndindex(5, 5):
        pair = means[i], covariances[i], means[j], covariances[j]
        single = distance_calvo_oller(*pair)
        assert np.ndim(single) == 0
        assert_allclose(table[i, j], single**power, rtol=1e-12, atol=1e-14)
        single = distance_affine_invariant(covariances[i], covariances[j])
        assert_allclose(spd_table[i, j], single**power, rtol=1e-12, atol=1e-14)


def test_one_covariance_is_shared_by_many_means(make_gaussians):
    means, covariances = make_gaussians((5,), 3)
    shared = distance_calvo_oller(means, covariances[0], means[0], covariances[0])
    copies = np.repeat(covariances[:1], 5, axis=0)
    expected = distance_calvo_oller(means, copies, means[[0] * 5], copies)
    assert_allclose(shared, expected, rtol=1e-13, atol=1e-14)
    assert calvo_oller_embedding(means, covariances[0]).shape == (5, 4, 4)
