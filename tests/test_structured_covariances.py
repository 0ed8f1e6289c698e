"""Block-diagonal and low-rank class covariances against the same ones as arrays."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag
from sklearn.base import clone

from skgeom import (
    SQFA,
    ClassStatistics,
    GaussianClassifier,
    SecondMomentSQFA,
    bayes_error,
)
from skgeom.plotting import ClassEllipsesDisplay


def structured(n_blocks, size, rank, scale, rng):
    """Structured covariances of three classes, and the same ones as an array."""
    roots = rng.normal(size=(3, n_blocks, size, 2 * size))
    blocks, n_features = scale * roots @ roots.mT / size, n_blocks * size
    factors = rng.normal(size=(3, rank, n_features))
    dense = np.stack([block_diag(*own) for own in blocks]) + factors.mT @ factors
    return (blocks, factors) if rank else blocks, dense


def statistics_of(covariances, means):
    return ClassStatistics(range(len(means)), [90] * len(means), means, covariances)


# Number and size of blocks, rank of the factors, scale of the blocks.
SIZES = [(6, 4, 0, 1), (65, 8, 0, 1), (65, 8, 4, 1), (1040, 1, 4, 1), (520, 1, 4, 0)]
MODELS = [
    SQFA(3, init="pca", max_iter=6, group_size=2, regularization=0.5),
    SQFA(3, init="pca", max_iter=6, distance="wasserstein"),
    SQFA(3, init="lda", max_iter=6, constraint="orthonormal"),
    SecondMomentSQFA(3, init="pca", max_iter=6, group_size=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("model", MODELS)
def test_filters_and_features_agree_with_arrays(sizes, model, rng):
    covariances = structured(*sizes, rng)
    means = rng.normal(size=(3, covariances[1].shape[1])) / 3
    both = [statistics_of(c, means) for c in covariances]
    found, expected = (clone(model).fit_statistics(s) for s in both)
    assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-8)
    assert_allclose(found.objective_, expected.objective_, rtol=1e-9)
    features = [s.project(found.components_).second_moments for s in both]
    assert_allclose(*features, rtol=1e-10, atol=1e-10)


def test_no_regularization(rng):
    both = [statistics_of(c, np.eye(3, 24)) for c in structured(6, 4, 4, 1, rng)]
    model = SQFA(2, regularization=0, tol=1e-10, random_state=0)
    found, expected = (clone(model).fit_statistics(s) for s in both)
    assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-6)


def test_structured_covariances_never_become_an_array(rng):
    means = np.zeros((3, 1040))
    statistics = statistics_of((means + 1, rng.normal(size=(3, 4, 1040))), means)
    with pytest.warns(UserWarning, match="All class distances are zero"):
        SQFA(2).fit_statistics(statistics_of(np.ones((3, 520, 2, 2)), means))
    for change in (lambda s: s + s, lambda s: s.decay(0.5), ClassStatistics.shrunk):
        with pytest.raises(ValueError, match=r"structured .* cannot be .*project"):
            change(statistics)
    add_noise = partial(ClassStatistics.with_noise, covariance=np.eye(1040))
    for use in (GaussianClassifier().fit_statistics, bayes_error, add_noise):
        with pytest.raises(ValueError, match=r"needs arrays of cov.*project\(filters"):
            use(statistics)
    for refused in (
        ClassEllipsesDisplay.from_statistics,
        SQFA(2, regularization=0).fit_statistics,
        SQFA(2, init=np.ones((2, 1040))).fit_statistics,
        SQFA(2, constraint="orthonormal", group_size=1).fit_statistics,
    ):
        with pytest.raises(ValueError, match=r"cannot become an array.* group_size"):
            refused(statistics)


def test_malformed_structured_covariances():
    ones = np.ones((2, 6))
    for covariances, message in (
        (np.ones((2, 3, 1, 1)), r"must have shape \(2, 6, 6\)"),
        (np.full((2, 3, 2, 2), [[1.0, 2.0], [2.0, 1.0]]), "negative eigenvalue -1"),
        (np.full((2, 3, 2, 2), np.nan), "Input covariances contains NaN"),
        ((ones, np.ones((3, 1, 6))), r"\(2, 6\) and \(3, 1, 6\)"),
        ((np.ones((2, 6, 6)), np.ones((2, 1, 6))), r"\(2, 6, 6\) and \(2, 1, 6\)"),
    ):
        with pytest.raises(ValueError, match=message):
            statistics_of(covariances, np.zeros((2, 6)))


def test_only_single_matrices_multiply_filters():
    covariances = statistics_of(np.ones((2, 3, 2, 2)), np.zeros((2, 6))).covariances
    assert_allclose(covariances[0] @ np.eye(6), block_diag(*np.ones((3, 2, 2))))
    assert_allclose(np.eye(6) @ covariances[0], block_diag(*np.ones((3, 2, 2))))
    with pytest.raises(TypeError, match="StructuredCovariances"):
        covariances @ np.eye(6)
    with pytest.raises(ValueError, match="cannot become an array"):
        np.asarray(covariances)
