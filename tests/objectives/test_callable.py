"""Distances written by the user: as the built-in ones, and what can be wrong."""

from functools import partial

import autograd.numpy as anp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom import SQFA, ClassStatistics, SecondMomentSQFA
from skgeom.geometry import distance_calvo_oller
from skgeom.objectives import StudentT
from skgeom.objectives._class_distances import DISTANCES, find_distance
from skgeom.objectives._pairwise import MeanPairwiseDistance


def bhattacharyya_by(library, means_a, covariances_a, means_b, covariances_b):
    average = (covariances_a + covariances_b) / 2
    offsets = means_a - means_b
    u = library.linalg.solve(average, offsets[:, :, None])[:, :, 0]
    log_dets = [
        library.linalg.slogdet(matrices)[1]
        for matrices in (average, covariances_a, covariances_b)
    ]
    ends = (log_dets[1] + log_dets[2]) / 2
    return library.sum(offsets * u, axis=1) / 8 + (log_dets[0] - ends) / 2


bhattacharyya = partial(bhattacharyya_by, anp)


@pytest.fixture
def problem(make_gaussians, rng):
    means, covariances = make_gaussians((5,), 6)
    return means, covariances, rng.normal(size=(6, 3))


@pytest.fixture
def statistics(make_gaussians):
    means, covariances = make_gaussians((4,), 6)
    return ClassStatistics(list("abcd"), [50] * 4, means, covariances)


@pytest.mark.parametrize("library", ["autograd.numpy", "torch", "jax.numpy"])
@pytest.mark.parametrize("squared", [False, True])
def test_callable_is_as_the_analytic_distance(library, squared, problem):
    means, covariances, filters = problem
    function = partial(bhattacharyya_by, pytest.importorskip(library))
    expected, found = (
        MeanPairwiseDistance(means, covariances, 0.1, distance, squared)(filters)
        for distance in (DISTANCES["bhattacharyya"], find_distance(function, DISTANCES))
    )
    assert_allclose(found[0], expected[0], rtol=1e-10)
    assert_allclose(found[1], expected[1], atol=1e-9 * np.abs(expected[1]).max())


@pytest.mark.parametrize("estimator", [SQFA, SecondMomentSQFA])
def test_fit_with_a_callable(estimator, statistics):
    by_name = estimator(2, distance="bhattacharyya", random_state=0)
    by_function = estimator(2, distance=bhattacharyya, random_state=0)
    expected = by_name.fit_statistics(statistics).objective_
    found = by_function.fit_statistics(statistics).objective_
    assert found == pytest.approx(expected, rel=1e-5)


def wrong_shape(means_a, covariances_a, means_b, covariances_b):
    return anp.sum((means_a - means_b) ** 2)


def wrong_type(means_a, covariances_a, means_b, covariances_b):
    return ["far"] * len(means_a)


def not_a_number(means_a, covariances_a, means_b, covariances_b):
    return anp.sum((means_a - means_b) ** 2, axis=1) * np.nan


def negative(means_a, covariances_a, means_b, covariances_b):
    signs = np.where(np.arange(6) == 4, -1, 1)
    return signs * anp.sum((means_a - means_b) ** 2, axis=1)


def with_numpy(means_a, covariances_a, means_b, covariances_b):
    return np.linalg.det(covariances_a + covariances_b)


def wrong_shape_of_numpy(means_a, covariances_a, means_b, covariances_b):
    return np.zeros(1)


def one_way(means_a, covariances_a, means_b, covariances_b):
    """The Kullback-Leibler divergence of centred Gaussians, in one direction."""
    quotients = anp.linalg.solve(covariances_b, covariances_a)
    log_dets = anp.linalg.slogdet(quotients)[1]
    traces = anp.sum(quotients * np.eye(2), axis=(1, 2))
    return (traces - 2 - log_dets) / 2


def without_derivative(means_a, covariances_a, means_b, covariances_b):
    """autograd fails on its way back through this function."""
    return anp.einsum("pii->p", covariances_a + covariances_b)


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (wrong_shape, r"wrong_shape must return .* shape \(6,\), got shape \(\)"),
        pytest.param(
            wrong_shape_of_numpy,
            r"wrong_shape_of_numpy must return .* of shape \(6,\), got shape \(1,\)",
            marks=pytest.mark.filterwarnings("ignore:Output seems independent"),
        ),
        (wrong_type, "wrong_type must return a real number .* dtype <U3"),
        (not_a_number, "not_a_number must return nonnegative numbers, got nan for"),
        (negative, "negative must return nonneg.* got -.* with indices 1 and 3"),
        (with_numpy, "with_numpy cannot be differentiated.*autograd.numpy"),
        (one_way, "one_way must be symmetric"),
        (without_derivative, "without_derivative cannot be diff.*first error is"),
    ],
)
def test_what_is_wrong_with_a_callable(distance, message, statistics):
    sqfa = SQFA(2, distance=distance, random_state=0)
    # The start excludes the notes of the error, which quote torch and JAX.
    with pytest.raises(ValueError, match=f"^The distance {message}"):
        sqfa.fit_statistics(statistics)


def three_arguments(means_a, covariances_a, means_b):
    return anp.sum(means_a**2, axis=1)


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (three_arguments, r"must accept four arguments, .* it accepts \("),
        (StudentT, "the class StudentT. Pass an object"),
        (distance_calvo_oller, "functions of skgeom.geometry, such as distance_calvo_"),
    ],
)
def test_functions_that_cannot_be_called(distance, message, statistics):
    with pytest.raises(TypeError, match=message):
        SQFA(2, distance=distance).fit_statistics(statistics)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_negative_by_rounding_is_zero(scale, problem):
    """Near-equal classes, and values of another one that are large beside them."""

    def rounded(means_a, covariances_a, means_b, covariances_b):
        far = scale * anp.sum((means_a - means_b) ** 2, axis=1)
        return far - 1e-13 * scale - 5.55e-17

    means, covariances, filters = problem
    means[1:3] = means[0]
    distance = find_distance(rounded, DISTANCES)
    objective = MeanPairwiseDistance(means, covariances, 0.1, distance)
    value, gradient = objective(filters)
    assert value > 0
    assert np.isfinite(gradient).all()
    assert (objective.matrix() >= 0).all()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_symmetry_is_judged_at_any_scale(scale, problem):
    least = 0.1 if scale < 1 else 1.9e-6

    def skewed(means_a, covariances_a, means_b, covariances_b, by=least):
        factors = scale * (1 + by * (means_a[:, 0] > means_b[:, 0]))
        return factors * anp.sum((means_a - means_b) ** 2, axis=1)

    means, covariances, filters = problem
    objectives = [
        MeanPairwiseDistance(means, covariances, 0.1, find_distance(f, DISTANCES))
        for f in (skewed, partial(skewed, by=0.9e-6))
    ]
    with pytest.raises(ValueError, match="skewed must be symmetric"):
        objectives[0](filters)
    assert objectives[1](filters)[0] > 0


def test_callable_is_given_the_means_as_they_are():
    """The squared Frobenius distance of second moments depends on the origin."""

    def of_second_moments(means_a, covariances_a, means_b, covariances_b):
        a, b = (
            covariances + means[:, :, None] * means[:, None, :]
            for means, covariances in (
                (means_a, covariances_a),
                (means_b, covariances_b),
            )
        )
        return anp.sum((a - b) ** 2, axis=(1, 2))

    means = np.array([[1.0, 0, 0], [3.0, 0, 0]])
    statistics = ClassStatistics([0, 1], [9, 9], means, np.tile(np.eye(3), (2, 1, 1)))
    sqfa = SQFA(1, distance=of_second_moments, init=[[1, 0, 0]], random_state=0)
    assert sqfa.fit_statistics(statistics).objective_ == pytest.approx(64)


def test_errors_of_the_function_itself_are_kept(statistics):
    def broken(means_a, covariances_a, means_b, covariances_b):
        return means_a.no_such_attribute

    pytest.importorskip("torch")  # is tried as well
    with pytest.raises(AttributeError, match="no_such_attribute") as caught:
        SQFA(2, distance=broken, random_state=0).fit_statistics(statistics)
    assert "With arrays of torch, the error is" in caught.value.__notes__[0]


def test_derivative_that_is_not_finite_names_the_classes(problem):
    def euclidean(means_a, covariances_a, means_b, covariances_b):
        return anp.sqrt(anp.sum((means_a - means_b) ** 2, axis=1))

    means, covariances, filters = problem
    means[3] = means[1]
    distance = find_distance(euclidean, DISTANCES)
    objective = MeanPairwiseDistance(means, covariances, 0.1, distance)
    with np.errstate(all="ignore"):
        with pytest.raises(ValueError, match="finite for the classes with indices 1 a"):
            objective(filters)


def test_singular_matrices_and_infinite_distances_are_avoided(problem):
    def infinite(means_a, covariances_a, means_b, covariances_b):
        return anp.inf * anp.sum((means_a - means_b) ** 2, axis=1)

    def singular(means_a, covariances_a, means_b, covariances_b):
        raise np.linalg.LinAlgError

    means, covariances, filters = problem
    for function in (infinite, singular):
        distance = find_distance(function, DISTANCES)
        with pytest.raises(np.linalg.LinAlgError):
            MeanPairwiseDistance(means, covariances, 0.1, distance)(filters)


def test_what_a_torch_function_does_wrong(statistics):
    torch = pytest.importorskip("torch")

    def singular(means_a, covariances_a, means_b, covariances_b):
        return torch.linalg.cholesky(covariances_a - covariances_b).sum((1, 2))

    def asymmetric(means_a, covariances_a, means_b, covariances_b):
        return torch.linalg.norm(means_a, dim=1)

    def constant(means_a, covariances_a, means_b, covariances_b):
        return torch.ones(len(means_a), dtype=torch.float64)

    def of_means(means_a, covariances_a, means_b, covariances_b):
        return torch.square(means_a - means_b).sum(dim=1)

    assert SQFA(2, distance=of_means).fit_statistics(statistics).objective_ > 0

    def of_all_pairs(means_a, covariances_a, means_b, covariances_b):
        return torch.square(means_a - means_b).sum()

    with pytest.raises(TypeError) as caught:
        SQFA(2, distance=of_all_pairs).fit_statistics(statistics)
    assert "of shape (6,), got shape ()" in caught.value.__notes__[0]
    for function, match in (
        (singular, "not finite at any start"),
        (asymmetric, "must be symmetric"),
        (constant, "cannot be differentiated"),
    ):
        with pytest.raises(ValueError, match=match):
            SQFA(2, distance=function).fit_statistics(statistics)
