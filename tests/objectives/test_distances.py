"""Each registered distance against independent computations, and its invariances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pyriemann.geometry.distance import (
    distance_euclid,
    distance_logeuclid,
    distance_riemann,
    distance_wasserstein,
)
from scipy.integrate import quad
from scipy.spatial.distance import mahalanobis
from scipy.stats import norm

from skgeom.geometry import (
    distance_affine_invariant,
    distance_calvo_oller,
    distance_fisher_rao,
)
from skgeom.objectives._class_distances import DISTANCES, SECOND_MOMENT_DISTANCES


def values(distance, means, covariances):
    """The distances of the pairs (0, 1), (0, 2), (1, 2)."""
    i, j = np.triu_indices(len(means), 1)
    computed, _ = distance(means, covariances).pairs(i, j)
    return np.sqrt(computed) if distance.returns_square else computed


@pytest.fixture
def gaussians(make_gaussians):
    return make_gaussians((3,), 4, condition=30.0)


def on_the_line(integrand):
    """Integrals for all pairs of three Gaussians on the line."""
    means, deviations = [0.0, 0.7, -1.5], [1.0, 0.6, 1.7]
    densities = [norm(m, s).pdf for m, s in zip(means, deviations, strict=True)]
    i, j = np.triu_indices(3, 1)
    pairs = [(densities[a], densities[b]) for a, b in zip(i, j, strict=True)]
    integrals = [
        quad(lambda x, p, q: integrand(p(x), q(x)), -20, 20, args=pair)[0]
        for pair in pairs
    ]
    covariances = np.square(deviations)[:, None, None]
    return np.array(means)[:, None], covariances, np.array(integrals)


def test_bhattacharyya_and_hellinger_by_quadrature():
    means, covariances, overlap = on_the_line(lambda p, q: np.sqrt(p * q))
    bhattacharyya = values(DISTANCES["bhattacharyya"], means, covariances)
    assert_allclose(bhattacharyya, -np.log(overlap), rtol=1e-8)
    hellinger = values(DISTANCES["hellinger"], means, covariances)
    assert_allclose(hellinger, np.sqrt(1 - overlap), rtol=1e-8)


def test_jeffreys_by_quadrature():
    tiny = np.finfo(float).tiny
    means, covariances, divergence = on_the_line(
        lambda p, q: (p - q) * np.log((p + tiny) / (q + tiny))
    )
    jeffreys = values(DISTANCES["jeffreys"], means, covariances)
    assert_allclose(jeffreys, divergence, rtol=1e-6)


def test_distances_of_means(gaussians):
    means, covariances = gaussians
    i, j = np.triu_indices(3, 1)
    expected = [
        mahalanobis(
            means[a], means[b], np.linalg.inv((covariances[a] + covariances[b]) / 2)
        )
        for a, b in zip(i, j, strict=True)
    ]
    found = values(DISTANCES["mahalanobis"], means, covariances)
    assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("affine-invariant", distance_riemann),
        ("log-euclidean", distance_logeuclid),
        ("wasserstein", distance_wasserstein),
        ("euclidean", distance_euclid),
    ],
)
def test_distances_of_matrices_are_those_of_pyriemann(name, reference, gaussians):
    _, covariances = gaussians
    i, j = np.triu_indices(3, 1)
    found = values(SECOND_MOMENT_DISTANCES[name], np.zeros((3, 4)), covariances)
    assert_allclose(found, reference(covariances[i], covariances[j]), rtol=1e-8)


def test_wasserstein_of_gaussians_adds_the_distance_of_the_means(gaussians):
    means, covariances = gaussians
    i, j = np.triu_indices(3, 1)
    bures = values(DISTANCES["wasserstein"], np.zeros((3, 4)), covariances)
    found = values(DISTANCES["wasserstein"], means, covariances)
    offsets = np.linalg.norm(means[i] - means[j], axis=1)
    assert_allclose(found, np.hypot(bures, offsets), rtol=1e-10)


def test_exact_fisher_rao(gaussians):
    """The function of the geometry is tested against closed forms."""
    means, covariances = gaussians
    i, j = np.triu_indices(3, 1)
    found = values(DISTANCES["fisher-rao-exact"], means, covariances)
    expected = distance_fisher_rao(means[i], covariances[i], means[j], covariances[j])
    assert_allclose(found, expected, rtol=1e-8)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):  # cubes overflow
        far = np.array([0.0, 1.0])[:, None], np.array([1, 1e206])[:, None, None]
        values(DISTANCES["fisher-rao-exact"], *far)


@pytest.mark.parametrize("offset", [1e10, 1e30, 1e45])
def test_exact_fisher_rao_of_means_far_apart(offset):
    """Of equal covariances, by its closed form; squares of the offset are in range."""
    means = np.array([[0.0, 0.0], [offset, 0.0]])
    found = values(DISTANCES["fisher-rao-exact"], means, np.stack([np.eye(2)] * 2))
    assert_allclose(found, np.sqrt(2) * np.arccosh(1 + offset**2 / 4), rtol=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1.0, 30.0])
def test_gradient_of_exact_fisher_rao_near_and_far(size, make_gaussians, rng):
    """Far, beyond the injectivity radius, the search begins at either end."""
    means, covariances = make_gaussians((2,), 3, condition=1e3)
    means = size * means
    if size < 1:
        covariances = covariances[:1] * np.array([1, 1 + size])[:, None, None]
    i, j = np.array([0]), np.array([1])

    def squared(step):
        moved = covariances + step * shape, means + step * offset
        return DISTANCES["fisher-rao-exact"](*moved[::-1]).pairs(i, j)

    shape = rng.normal(size=(2, 3, 3))
    shape = 1e-3 * min(size, 1) * covariances @ (shape + shape.mT) @ covariances
    offset = size * rng.normal(size=(2, 3)) * 1e-3
    (value,), gradient = squared(0)
    assert (np.sqrt(value) > 11.7) == (size > 1)
    distance = DISTANCES["fisher-rao-exact"](means, covariances)
    of_means, of_covariances = distance.pull_back(gradient(np.ones(1)))
    slope = (of_means * offset).sum() + (of_covariances * shape).sum()
    (ahead,), (behind,) = (squared(step)[0] for step in (0.1, -0.1))
    assert_allclose(slope, (ahead - behind) / 0.2, rtol=1e-3, atol=1e-9 * value)


@pytest.mark.parametrize("gap", [2.0**-30, 2.0**-17])
def test_logarithm_of_equal_eigenvalues_has_its_derivative(gap):
    """The divided differences of the logarithm where they are 0 / 0, or nearly."""
    covariances = np.array([np.diag([1, 1, 1 + gap]), np.eye(3) + 1])
    distance = SECOND_MOMENT_DISTANCES["log-euclidean"](np.zeros((2, 3)), covariances)
    _, gradient = distance.pairs(np.array([0]), np.array([1]))
    _, found = distance.pull_back(gradient(np.ones(1)))
    quotients = np.full((3, 3), np.log1p(gap) / gap)
    quotients[:2, :2], quotients[2, 2] = 1, 1 / (1 + gap)
    offset = np.diag([0, 0, np.log1p(gap)]) - np.log(4) / 3
    assert_allclose(found[0], 2 * quotients * offset, rtol=1e-12)


@pytest.mark.parametrize("condition", [1e4, 1e8, 1e11])
def test_ill_conditioned_classes_keep_their_distances(condition, make_gaussians):
    """The eigenvalues of products would have lost all digits."""
    means, covariances = make_gaussians((3,), 4, condition)
    i, j = np.triu_indices(3, 1)
    expected = distance_affine_invariant(covariances[i], covariances[j])
    found = values(SECOND_MOMENT_DISTANCES["affine-invariant"], means, covariances)
    assert_allclose(found, expected, rtol=1e-14 * condition)
    expected = distance_calvo_oller(means[i], covariances[i], means[j], covariances[j])
    found = values(DISTANCES["fisher-rao"], means, covariances)
    assert_allclose(found, expected, rtol=1e-14 * condition)
