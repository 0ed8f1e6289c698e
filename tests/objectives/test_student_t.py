"""The bound for t distributions: closed forms, bad degrees of freedom."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom.geometry import distance_affine_invariant
from skgeom.objectives import StudentT
from skgeom.objectives._pairwise import MeanPairwiseDistance


def distances(df, means, covariances):
    return MeanPairwiseDistance(means, covariances, 0.0, StudentT(df)).matrix()


def exact_on_the_line(df, location_a, scale_a, location_b, scale_b):
    """Of t distributions on the line, which are a hyperbolic plane.

    The metric is (df + 1) / (df + 3) dm^2 / s^2 + 2 df / (df + 3) ds^2 / s^2.
    """
    stretch = (df + 1) / (2 * df)
    squared = stretch * (location_a - location_b) ** 2 + (scale_a - scale_b) ** 2
    angle = np.arccosh(1 + squared / (2 * scale_a * scale_b))
    return np.sqrt(2 * df / (df + 3)) * angle


@pytest.mark.parametrize("df", [1, 1.5, 4, 100])
def test_bound_on_the_line(df, rng):
    means = rng.normal(size=(20, 1))
    deviations = np.exp(rng.normal(size=20))
    bound = distances(df, means, (deviations**2)[:, None, None])
    exact = exact_on_the_line(df, means, deviations[:, None], means[:, 0], deviations)
    assert (bound <= exact + 1e-12).all()
    assert (bound >= 0.5 * exact).all()


def test_equal_means_by_the_eigenvalues(make_gaussians):
    """The distance of elliptical distributions of one location."""
    _, covariances = make_gaussians((2,), 3)
    df, m = 5, 3
    logs = np.log(np.linalg.eigvals(np.linalg.solve(*covariances)).real)
    squared = (df + m) * (logs**2).sum() - logs.sum() ** 2
    expected = np.sqrt(squared / (2 * (df + m + 2)))
    found = distances(df, np.zeros((2, 3)), covariances)[0, 1]
    assert_allclose(found, expected, rtol=1e-12)
    # The dilation counts for less than in the affine-invariant distance.
    assert found < distance_affine_invariant(*covariances) / np.sqrt(2)


@pytest.mark.parametrize("df", [0.99, 0, -1, np.nan, np.inf, "3", None])
def test_degrees_of_freedom_below_their_limit(df):
    with pytest.raises(ValueError, match="df, the degrees of freedom, must be"):
        StudentT(df)
