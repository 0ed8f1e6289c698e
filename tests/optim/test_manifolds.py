"""Manifolds of our own against those of pymanopt."""

import numpy as np
import pymanopt.manifolds
import pytest
from numpy.testing import assert_allclose

from skgeom.optim import _manifolds

# At random points, to rounding.
close = {"rtol": 1e-12, "atol": 1e-13}

SUBMANIFOLDS = [
    ("Euclidean", (3,)),
    ("Euclidean", (4, 2)),
    ("Euclidean", (2, 3, 3)),
    ("Sphere", (5,)),
    ("Sphere", (4, 3)),
    ("Oblique", (5, 3)),
    ("Oblique", (5, 1)),
    ("Stiefel", (6, 2)),
    ("Stiefel", (4, 4)),
    ("Stiefel", (4, 1)),
]
submanifolds = pytest.mark.parametrize(("name", "shape"), SUBMANIFOLDS)


def pair(name, shape):
    """The manifold of skgeom, and the manifold of pymanopt."""
    return (getattr(m, name)(*shape) for m in (_manifolds, pymanopt.manifolds))


def matrices(shape):
    k, n, _ = shape
    return (
        _manifolds.AffineInvariant(*shape),
        pymanopt.manifolds.SymmetricPositiveDefinite(n, k=k),
    )


def products():
    pairs = [matrices((2, 3, 3)), pair("Euclidean", (1,)), pair("Stiefel", (4, 2))]
    ours, theirs = zip(*pairs, strict=True)
    return _manifolds.Product(ours), pymanopt.manifolds.Product(theirs)


@pytest.fixture(autouse=True)
def global_random_state():
    """pymanopt draws from it."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    yield
    np.random.set_state(state)  # noqa: NPY002


def equal_to_pymanopt(ours, theirs, shape, rng, *more):
    """Random points and tangent vectors, for which methods return the same."""
    a, b = theirs.random_point(), theirs.random_point()
    u, v = (0.3 * theirs.random_tangent_vector(a) for _ in range(2))
    gradient = "euclidean_to_riemannian_gradient"
    arguments = {"inner_product": (a, u, v), "retraction": (a, u), "norm": (a, u)}
    arguments["projection"] = arguments[gradient] = a, rng.standard_normal(shape)
    arguments["transport"] = a, b, u
    for method in ("inner_product", "norm", gradient, *more):
        found, expected = (
            getattr(m, method)(*arguments[method]) for m in (ours, theirs)
        )
        assert_allclose(found, expected, **close)
    assert_allclose(ours.typical_dist, theirs.typical_dist)
    return a, b, u, v


@submanifolds
def test_submanifold(name, shape, rng):
    pairs = pair(name, shape)
    equal_to_pymanopt(*pairs, shape, rng, "projection", "retraction", "transport")


def test_retraction_onto_orthonormal_matrices_is_continuous(rng):
    stiefel = _manifolds.Stiefel(5, 3)
    point = np.linalg.qr(rng.standard_normal((5, 3)))[0] * [1, -1, 1]
    assert_allclose(stiefel.retraction(point, np.zeros((5, 3))), point, **close)


@pytest.mark.parametrize("shape", [(2, 3, 3), (3, 1, 1)])
def test_positive_definite_matrices(shape, rng):
    ours, theirs = matrices(shape)
    a, b, u, v = equal_to_pymanopt(ours, theirs, shape, rng)
    # The steps are along geodesics, and so is the transport.
    assert_allclose(ours.retraction(a, u), theirs.exp(a, u), **close)
    onwards = ours.transport(a, b, theirs.log(a, b))
    assert_allclose(onwards, -theirs.log(b, a), **close)
    carried = [ours.transport(a, b, vector) for vector in (u, v)]
    assert_allclose(
        ours.inner_product(b, *carried), ours.inner_product(a, u, v), **close
    )


def joined(parts):
    return np.concatenate([np.ravel(part) for part in parts])


def assert_parts_close(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, **close)


def test_product(rng):
    ours, theirs = products()
    a, b = theirs.random_point(), theirs.random_point()
    u, v = (list(theirs.random_tangent_vector(a)) for _ in range(2))
    gradient = [rng.standard_normal(np.shape(part)) for part in a]
    expected = theirs.inner_product(a, u, v)
    assert_allclose(ours.inner_product(a, joined(u), joined(v)), expected, **close)
    assert_allclose(ours.norm(a, joined(u)), theirs.norm(a, u), **close)
    assert_allclose(ours.typical_dist, theirs.typical_dist)
    riemannian = ours.euclidean_to_riemannian_gradient(a, gradient)
    expected = theirs.euclidean_to_riemannian_gradient(a, gradient)
    assert_allclose(riemannian, joined(expected), **close)
    # Those of the matrices differ, and are tested above.
    parts = [matrices((2, 3, 3))[0], *theirs.manifolds[1:]]
    expected = [m.retraction(*part) for m, *part in zip(parts, a, u, strict=True)]
    assert_parts_close(ours.retraction(a, joined(u)), expected)
    expected = [m.transport(*part) for m, *part in zip(parts, a, b, u, strict=True)]
    assert_allclose(ours.transport(a, b, joined(u)), joined(expected), **close)
