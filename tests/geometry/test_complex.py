"""Hermitian matrices, against pyriemann and the real matrices that stand for them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pyriemann.geometry import base as pyriemann_base
from pyriemann.geometry.distance import distance_riemann
from pyriemann.geometry.mean import mean_riemann

from skgeom import geometry
from skgeom.geometry import (
    distance_affine_invariant,
    logm,
    mean_affine_invariant,
    real_embedding,
)
from skgeom.geometry._spd import hermitian_from_upper_triangles, upper_triangles

FUNCTIONS = ["sqrtm", "invsqrtm", "logm", "expm"]


@pytest.fixture
def make_hermitian(rng):
    def make(lead=(6,), n=4):
        factors = rng.normal(size=(*lead, n, 2 * n)) + 1j * rng.normal(
            size=(*lead, n, 2 * n)
        )
        return factors @ factors.conj().mT / (2 * n)

    return make


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_pyriemann_and_of_the_embedding(name, make_hermitian):
    matrices = make_hermitian()
    found = getattr(geometry, name)(matrices)
    assert_allclose(found, getattr(pyriemann_base, name)(matrices), atol=1e-12)
    expected = getattr(geometry, name)(real_embedding(matrices))
    assert_allclose(real_embedding(found), expected, atol=1e-12)
    assert_allclose(found, found.conj().mT, atol=1e-12)


def test_distances_are_those_of_pyriemann_and_of_the_embedding(make_hermitian):
    a, b = make_hermitian(), make_hermitian()
    found = distance_affine_invariant(a, b)
    assert found.dtype == float
    assert_allclose(found, distance_riemann(a, b), rtol=1e-10)
    doubled = distance_affine_invariant(
        real_embedding(a), real_embedding(b), squared=True
    )
    assert_allclose(2 * found**2, doubled, rtol=1e-10)
    assert distance_affine_invariant(a, b[:, None]).shape == (6, 6)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.0, 0.5, 1.0, 3.0]])
def test_mean_is_that_of_pyriemann_and_of_the_embedding(make_hermitian, weights):
    matrices = make_hermitian()
    found = mean_affine_invariant(matrices, weights)
    theirs = mean_riemann(matrices, sample_weight=weights, tol=1e-12)
    assert_allclose(found, theirs, atol=1e-8)
    expected = mean_affine_invariant(real_embedding(matrices), weights)
    assert_allclose(real_embedding(found), expected, atol=1e-8)


def test_vectors_of_hermitian_matrices_are_isometric(make_hermitian):
    a = make_hermitian() - 2 * np.eye(4)
    vectors = upper_triangles(a)
    assert vectors.shape == (6, 16) and vectors.dtype == float
    products = np.einsum("kij,lji->kl", a, a)  # tr(A B)
    assert_allclose(vectors @ vectors.T, products.real, atol=1e-12)
    assert_allclose(hermitian_from_upper_triangles(vectors), a, atol=1e-14)


def test_errors_name_the_matrix(make_hermitian):
    matrices = make_hermitian()
    matrices[2, 0, 0] += 0.5j
    with pytest.raises(ValueError, match=r"matrices\[2\] is not Hermitian: .* conjug"):
        logm(matrices)
    matrices[2] = -np.eye(4)
    with pytest.raises(ValueError, match=r"matrices\[2\] is not positive definite"):
        mean_affine_invariant(matrices)
    with pytest.raises(TypeError, match="sample_weight must hold real numbers"):
        mean_affine_invariant(make_hermitian(), np.ones(6) * 1j)
