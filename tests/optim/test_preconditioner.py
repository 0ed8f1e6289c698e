"""A search that starts from an approximation of the inverse Hessian."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pymanopt.manifolds import Euclidean

from skgeom.optim import minimize

SCALES = np.logspace(-4, 4, 30)


def quadratic(x):
    return (SCALES * (x - 1) ** 2).sum() / 2, SCALES * (x - 1)


def test_the_exact_inverse_takes_one_step():
    result = minimize(
        quadratic,
        Euclidean(30),
        np.zeros(30),
        preconditioner=lambda point, vector: vector / SCALES,
        tol=0,
    )
    assert result.n_evaluations <= 4
    assert_allclose(result.point, 1, rtol=1e-12)


@pytest.mark.parametrize("factor", [0.3, 100.0])
@pytest.mark.parametrize("optimizer", ["lbfgs", "conjugate-gradient"])
def test_a_wrong_scale_is_survived(optimizer, factor):
    """Not only the direction, but also the unit of the cost is taken care of."""
    result = minimize(
        lambda x: tuple(1e6 * part for part in quadratic(x)),
        Euclidean(30),
        np.zeros(30),
        optimizer=optimizer,
        preconditioner=lambda point, vector: factor * vector / (1e6 * SCALES),
        tol=1e-12,
    )
    assert_allclose(result.point, 1, rtol=1e-4)
