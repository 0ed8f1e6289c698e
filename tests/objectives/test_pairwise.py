"""The pairwise objective: values by plain loops, gradients by autograd and Taylor."""

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom.objectives._class_distances import DISTANCES, SECOND_MOMENT_DISTANCES
from skgeom.objectives._pairwise import MeanPairwiseDistance

FISHER_RAO = DISTANCES["fisher-rao"]
# Those of second moments alone do not use the means.
ALL = {**SECOND_MOMENT_DISTANCES, **DISTANCES}
N_FEATURES = 12


@pytest.fixture
def make_problem(rng, make_gaussians):
    """Class means, class covariances, and filters of no particular norm."""

    def make(n_classes=4, n_filters=3):
        means, covariances = make_gaussians((n_classes,), N_FEATURES, condition=100.0)
        return means, covariances, rng.normal(size=(N_FEATURES, n_filters))

    return make


def all_pairs(n_classes):
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def reference_value(filters, means, covariances, regularization, squared, pairs=None):
    """The objective as it is written in the paper, one pair at a time, for autograd.

    Only ``pairs`` are evaluated, if given; the mean is over all pairs in any case.
    """
    embedded = []
    for mean, covariance in zip(means, covariances, strict=True):
        mu = anp.dot(filters.T, mean)[:, None]
        sigma = anp.dot(anp.dot(filters.T, covariance), filters)
        sigma = sigma + regularization * np.eye(filters.shape[1])
        top = anp.concatenate([sigma + anp.dot(mu, mu.T), mu], axis=1)
        bottom = anp.concatenate([mu.T, np.ones((1, 1))], axis=1)
        embedded.append(anp.concatenate([top, bottom]))
    total = 0.0
    for i, j in all_pairs(len(means)) if pairs is None else pairs:
        factor = anp.linalg.cholesky(embedded[i])
        half = anp.linalg.solve(factor, embedded[j])
        eigenvalues, _ = anp.linalg.eigh(anp.linalg.solve(factor, half.T))
        distance = anp.sum(anp.log(eigenvalues) ** 2) / 2
        total = total + (distance if squared else anp.sqrt(distance))
    return total / len(all_pairs(len(means)))


def taylor_slope(objective, point, direction):
    """Slope of log |f(x + t v) - f(x) - t <g, v>| against log t: 2 if g is right."""
    value, gradient = objective(point)
    steps = 1e-3 * 2.0 ** -np.arange(6)
    linear = value + steps * np.vdot(gradient, direction)
    values = [objective(point + step * direction)[0] for step in steps]
    return np.polyfit(np.log(steps), np.log(np.abs(values - linear)), 1)[0]


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_remainder_of_taylor_expansion(name, squared, make_problem, rng):
    means, covariances, filters = make_problem(5, 3)
    objective = MeanPairwiseDistance(means, covariances, 0.3, ALL[name], squared)
    direction = rng.normal(size=filters.shape)
    assert taylor_slope(objective, filters, direction) == pytest.approx(2, abs=0.1)


def test_labels_are_the_names_with_capitals():
    for names in (DISTANCES, SECOND_MOMENT_DISTANCES):
        assert [distance.label.lower() for distance in names.values()] == [*names]


def assert_close_gradients(gradient, expected, rtol=1e-9):
    """Compare gradients relative to their largest entry."""
    tolerance = rtol * np.abs(expected).max()
    assert_allclose(gradient, expected, rtol=0, atol=tolerance)


# Value and gradient


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("n_filters", [1, 4])
@pytest.mark.parametrize("regularization", [0.0, 0.5])
def test_value_and_gradient(
    n_filters, n_classes, squared, regularization, make_problem
):
    means, covariances, filters = make_problem(n_classes, n_filters)
    objective = MeanPairwiseDistance(
        means, covariances, regularization, FISHER_RAO, squared
    )
    value, gradient = objective(filters)
    arguments = filters, means, covariances, regularization, squared
    assert_allclose(value, reference_value(*arguments), rtol=1e-9)
    assert_close_gradients(gradient, autograd.grad(reference_value)(*arguments))


# Degenerate classes


@pytest.mark.parametrize("squared", [False, True])
def test_coinciding_classes_leave_the_gradient_to_the_others(squared, make_problem):
    means, covariances, filters = make_problem(n_classes=4)
    means[2], covariances[2] = means[0], covariances[0]
    objective = MeanPairwiseDistance(means, covariances, 0.5, FISHER_RAO, squared)
    value, gradient = objective(filters)
    arguments = filters, means, covariances, 0.5, squared
    others = [pair for pair in all_pairs(4) if pair != (0, 2)]
    assert_allclose(value, reference_value(*arguments, others), rtol=1e-10)
    expected = autograd.grad(reference_value)(*arguments, others)
    assert_close_gradients(gradient, expected)


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("classes", [[2], [0, 1, 2, 3]])
def test_indefinite_covariance_is_refused(classes, name, make_problem):
    means, covariances, filters = make_problem()
    covariances[classes] *= -1
    objective = MeanPairwiseDistance(means, covariances, 0.1, DISTANCES[name])
    with pytest.raises(np.linalg.LinAlgError):
        objective(filters)


# Projections and fixed filters, whatever the distance


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_projection_is_the_composition(name, squared, make_problem, rng):
    means, covariances, _ = make_problem()
    objective = MeanPairwiseDistance(means, covariances, 0.5, ALL[name], squared)
    basis = rng.normal(size=(N_FEATURES, 5))
    projected = objective.project(basis)
    assert projected.n_features == 5
    coordinates = rng.normal(size=(5, 3))
    value, gradient = objective(basis @ coordinates)
    projected_value, projected_gradient = projected(coordinates)
    assert_allclose(projected_value, value, rtol=1e-11)
    assert_close_gradients(projected_gradient, basis.T @ gradient)

    twice_basis, twice_coordinates = rng.normal(size=(5, 4)), rng.normal(size=(4, 3))
    twice_value, _ = projected.project(twice_basis)(twice_coordinates)
    expected, _ = objective(basis @ twice_basis @ twice_coordinates)
    assert_allclose(twice_value, expected, rtol=1e-11)


# Arguments


def test_threads_change_nothing(make_gaussians, monkeypatch):
    """Blocks of pairs are the same whatever the number of threads."""
    arguments = *make_gaussians((40,), 6), 0.1, DISTANCES["fisher-rao"]
    filters = np.random.default_rng(0).standard_normal((6, 3))
    basis = np.linalg.qr(filters)[0]
    results = []
    for n_threads in (1, 2):
        monkeypatch.setattr(
            "skgeom.utils.threads.effective_n_threads", lambda n=n_threads: n
        )
        objective = MeanPairwiseDistance(*arguments)
        projected = objective.project(basis)
        results.append([*objective(filters), *projected(np.eye(3))])
    for alone, shared in zip(*results, strict=True):
        assert np.array_equal(alone, shared)
    monkeypatch.undo()
    value, gradient = MeanPairwiseDistance(*arguments)(filters)
    assert_allclose(results[0][0], value, rtol=1e-13)
    assert_allclose(results[0][1], gradient, rtol=1e-11)


def test_classes_on_a_device(device_library, make_problem):
    library, (means, covariances, filters) = device_library, make_problem()
    expected = reference_value(filters, means, covariances, 0.5, False)
    expected_gradient = autograd.grad(reference_value)(
        filters, means, covariances, 0.5, False
    )
    there = library.array(means), library.array(covariances)
    objective = MeanPairwiseDistance(*there, 0.5, FISHER_RAO)
    value, gradient = objective(filters)
    assert_allclose(value, expected, rtol=library.tolerance)
    assert isinstance(gradient, np.ndarray)
    assert_close_gradients(gradient, expected_gradient, rtol=library.tolerance)
    basis, coordinates = np.linalg.qr(filters)
    value, _ = objective.project(basis)(coordinates)
    assert_allclose(value, expected, rtol=library.tolerance)
