"""Coordinates in the span of few samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom.utils.linalg import SampleSpan, WholeSpace, space_of


@pytest.fixture
def few(rng):
    """Seven samples of 40 features in unlike units, far from the origin."""
    return 100 + rng.normal(size=(7, 40)) * 10.0 ** rng.uniform(-2, 2, size=40)


@pytest.mark.parametrize("centred", [False, True])
def test_coordinates_are_those_in_an_orthonormal_basis(few, centred):
    before = few.copy()
    span = SampleSpan(few, centred=centred)
    assert_array_equal(few, before)
    n_coordinates = 6 if centred else 7
    assert span.samples.shape == (7, n_coordinates)
    basis = span.lift(np.eye(n_coordinates))
    assert_allclose(basis.T @ basis, np.eye(n_coordinates), atol=1e-13)
    centre = few.mean(axis=0) if centred else 0
    size = np.abs(few).max()
    assert_allclose(span.samples @ basis.T, few - centre, atol=1e-13 * size)
    # The axes are the principal ones, by falling variance.
    gram = span.samples.T @ span.samples
    assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12 * gram[0, 0])
    assert (np.diff(np.diag(gram)) < 0).all()


@pytest.mark.parametrize("centred", [False, True])
def test_features_are_those_of_lifted_filters(few, centred, rng):
    span = SampleSpan(few, centred=centred, n_least=9)
    filters = rng.normal(size=(9, 3))
    assert_allclose(span.features(filters), few @ span.lift(filters), rtol=1e-10)
    assert_allclose(span.restrict(span.lift(filters)), filters, atol=1e-12)
    some = span.rows([4, 2])
    assert_array_equal(some.samples, span.samples[[4, 2]])
    # Products of fewer rows may be rounded otherwise.
    assert_allclose(some.features(filters), span.features(filters)[[4, 2]], rtol=1e-13)


@pytest.mark.parametrize("n_least", [1, 4, 12])
def test_dependent_samples(n_least, rng):
    X = rng.normal(size=(8, 3)) @ rng.normal(size=(3, 20))
    span = SampleSpan(X, centred=False, n_least=n_least)
    order = max(n_least, 3)
    assert span.samples.shape == (8, order)
    assert not span.samples[:, 3:].any()
    basis = span.lift(np.eye(order))
    assert_allclose(basis.T @ basis, np.eye(order), atol=1e-13)
    assert_allclose(X @ basis[:, 3:], 0, atol=1e-13)
    assert_allclose(span.samples @ basis.T, X, atol=1e-13)


def test_small_variances_keep_their_digits(rng):
    """The products of these samples would have none left."""
    axes, _ = np.linalg.qr(rng.normal(size=(50, 5)))
    sizes = 10.0 ** np.arange(0, -10, -2)
    left, _ = np.linalg.qr(rng.normal(size=(9, 5)))
    span = SampleSpan((left * sizes) @ axes.T, centred=False)
    assert_allclose(np.linalg.norm(span.samples, axis=0), sizes, rtol=1e-6)


def test_small_features_of_float32_are_directions(rng):
    X = rng.normal(size=(8, 20))
    X[:, 0] *= 1e6
    assert SampleSpan(X.astype(np.float32), centred=True).samples.shape == (8, 7)


def test_filters_across_the_span_are_zero(rng):
    X = np.zeros((5, 30))
    X[:, 10:] = rng.normal(size=(5, 20))
    outside = np.zeros((30, 2))
    outside[3, 0], outside[15, 1] = 1, 1
    parts = SampleSpan(X, centred=True).restrict(outside)
    assert not parts[:, 0].any()
    assert parts[:, 1].any()


def test_samples_that_are_all_the_same():
    span = SampleSpan(np.ones((3, 5)), centred=True, n_least=2)
    assert_array_equal(span.samples, np.zeros((3, 2)))
    basis = span.lift(np.eye(2))
    assert_allclose(basis.T @ basis, np.eye(2), atol=1e-15)
    assert_allclose(span.features(np.eye(2)), np.ones((3, 5)) @ basis)


@pytest.mark.parametrize(
    ("shape", "factor", "kind"),
    [
        ((5, 6), 1, SampleSpan),
        ((6, 6), 1, WholeSpace),
        ((7, 6), 1, WholeSpace),
        ((5, 6), 1e150, WholeSpace),
        ((5, 6), -1e150, WholeSpace),
    ],
)
def test_choice_of_space(shape, factor, kind):
    space = space_of(factor * np.ones(shape), centred=True)
    assert type(space) is kind
