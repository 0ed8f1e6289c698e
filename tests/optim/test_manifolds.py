"""Manifolds of our own against those of pymanopt."""

import numpy as np
import pymanopt.manifolds
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pymanopt.optimizers import TrustRegions
from pymanopt.optimizers.optimizer import Optimizer, OptimizerResult

from skgeom.optim import OPTIMIZERS, _manifolds, minimize

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
    """The manifold here, and that of pymanopt."""
    return (
        getattr(module, name)(*shape) for module in (_manifolds, pymanopt.manifolds)
    )


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


@submanifolds
def test_submanifold(name, shape, rng):
    ours, theirs = pair(name, shape)
    a, b = theirs.random_point(), theirs.random_point()
    u, v = (0.3 * theirs.random_tangent_vector(a) for _ in range(2))
    gradient = rng.standard_normal(shape)
    for method, arguments in [
        ("inner_product", (a, u, v)),
        ("norm", (a, u)),
        ("projection", (a, gradient)),
        ("euclidean_to_riemannian_gradient", (a, gradient)),
        ("retraction", (a, u)),
        ("transport", (a, b, u)),
    ]:
        found = getattr(ours, method)(*arguments)
        assert_allclose(found, getattr(theirs, method)(*arguments), **close)
    assert_allclose(ours.typical_dist, theirs.typical_dist)


@submanifolds
def test_tangent_vectors_are_left_alone(name, shape, rng):
    ours, theirs = pair(name, shape)
    point = theirs.random_point()
    tangent = ours.projection(point, rng.standard_normal(shape))
    assert_allclose(ours.projection(point, tangent), tangent, **close)
    # A step along it stays within the manifold to first order.
    moved = ours.retraction(point, 1e-6 * tangent)
    assert_allclose(moved, point + 1e-6 * tangent, rtol=0, atol=1e-10)


def test_retraction_onto_orthonormal_matrices_is_continuous(rng):
    stiefel = _manifolds.Stiefel(5, 3)
    point = np.linalg.qr(rng.standard_normal((5, 3)))[0] * [1, -1, 1]
    assert_allclose(stiefel.retraction(point, np.zeros((5, 3))), point, **close)


@pytest.mark.parametrize("shape", [(2, 3, 3), (3, 1, 1)])
def test_positive_definite_matrices(shape, rng):
    ours, theirs = matrices(shape)
    a, b = theirs.random_point(), theirs.random_point()
    u, v = (0.3 * theirs.random_tangent_vector(a) for _ in range(2))
    gradient = rng.standard_normal(shape)
    for method, arguments in [
        ("inner_product", (a, u, v)),
        ("norm", (a, u)),
        ("euclidean_to_riemannian_gradient", (a, gradient)),
    ]:
        found = getattr(ours, method)(*arguments)
        assert_allclose(found, getattr(theirs, method)(*arguments), **close)
    assert_allclose(ours.typical_dist, theirs.typical_dist)
    # The steps are along geodesics, and so is the transport.
    assert_allclose(ours.retraction(a, u), theirs.exp(a, u), **close)
    onwards = ours.transport(a, b, theirs.log(a, b))
    assert_allclose(onwards, -theirs.log(b, a), **close)
    carried = [ours.transport(a, b, vector) for vector in (u, v)]
    assert_allclose(
        ours.inner_product(b, *carried), ours.inner_product(a, u, v), **close
    )


def assert_parts_close(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, **close)


def test_product(rng):
    ours, theirs = products()
    a, b = theirs.random_point(), theirs.random_point()
    u, v = (list(theirs.random_tangent_vector(a)) for _ in range(2))
    gradient = [rng.standard_normal(np.shape(part)) for part in a]
    assert_allclose(ours.inner_product(a, u, v), theirs.inner_product(a, u, v), **close)
    assert_allclose(ours.norm(a, u), theirs.norm(a, u), **close)
    assert_allclose(ours.typical_dist, theirs.typical_dist)
    riemannian = ours.euclidean_to_riemannian_gradient(a, gradient)
    assert_parts_close(riemannian, theirs.euclidean_to_riemannian_gradient(a, gradient))
    # Those of the matrices differ, and are tested above.
    parts = [matrices((2, 3, 3))[0], *theirs.manifolds[1:]]
    for method, arguments in [("retraction", (a, u)), ("transport", (a, b, u))]:
        expected = [
            getattr(manifold, method)(*part)
            for manifold, *part in zip(parts, *arguments, strict=True)
        ]
        assert_parts_close(getattr(ours, method)(*arguments), expected)


@pytest.mark.parametrize("number", [3.0, np.float64(3.0), np.array(3.0)])
def test_arithmetic_of_tangent_vectors_of_products(number, rng):
    arrays = [rng.standard_normal(shape) for shape in [(2, 3), (1,)]]
    others = [rng.standard_normal(shape) for shape in [(2, 3), (1,)]]
    u, v = _manifolds.TangentVector(arrays), _manifolds.TangentVector(others)
    for found, expected in [
        (u + v, [a + b for a, b in zip(arrays, others, strict=True)]),
        (u - v, [a - b for a, b in zip(arrays, others, strict=True)]),
        (number * u, [number * a for a in arrays]),
        (u * number, [number * a for a in arrays]),
        (u / number, [a / number for a in arrays]),
        (-u, [-a for a in arrays]),
    ]:
        assert isinstance(found, _manifolds.TangentVector)
        for one, other in zip(found, expected, strict=True):
            assert_array_equal(one, other)
    with pytest.raises(ValueError):
        u + v[:1]


class Look(Optimizer):
    """Keeps the manifold that it is given."""

    def run(self, problem, *, initial_point):
        self.manifold = problem.manifold
        problem.riemannian_gradient(initial_point)
        return OptimizerResult(initial_point, 0.0, 0, "looked", 0.0)


def distance_to(target):
    return lambda point: (((point - target) ** 2).sum() / 2, point - target)


@submanifolds
def test_an_optimizer_of_pymanopt_is_given_its_manifold(name, shape, rng):
    ours, theirs = pair(name, shape)
    look, start = Look(), theirs.random_point()
    minimize(distance_to(rng.standard_normal(shape)), ours, start, optimizer=look)
    assert type(look.manifold) is type(theirs)
    assert str(look.manifold) == str(theirs)


def test_manifolds_of_pymanopt_are_left_to_it():
    look, theirs = Look(), pymanopt.manifolds.Sphere(3)
    minimize(distance_to(np.ones(3)), theirs, np.eye(3)[0], optimizer=look)
    assert look.manifold is theirs


@submanifolds
@pytest.mark.parametrize(
    "optimizer", [*OPTIMIZERS[1:], TrustRegions(verbosity=0)], ids=str
)
def test_searches_are_those_on_manifolds_of_pymanopt(name, shape, optimizer, rng):
    found, expected = searches(name, shape, rng, optimizer=optimizer, max_iter=8)
    assert (found.n_iter, found.n_evaluations) == (
        expected.n_iter,
        expected.n_evaluations,
    )
    assert_allclose(found.point, expected.point, rtol=1e-8, atol=1e-8)


def searches(name, shape, rng, **options):
    """What searches for the nearest point find, here and on the other manifold."""
    ours, theirs = pair(name, shape)
    cost, start = distance_to(rng.standard_normal(shape)), theirs.random_point()
    return [minimize(cost, manifold, start, **options) for manifold in (ours, theirs)]
