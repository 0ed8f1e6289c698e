"""Block-diagonal and low-rank class covariances against the same ones as arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag
from sklearn.base import clone

from skgeom import SQFA, ClassStatistics, GaussianClassifier, SecondMomentSQFA

LABELS, COUNTS = range(3), [90] * 3


def structured(kind, rng):
    """The means and structured covariances of three classes, and these as arrays."""
    n_blocks, size = (6, 4) if kind == "few blocks" else (130, 8)
    n_features = n_blocks * size
    roots = rng.normal(size=(3, n_blocks, size, 2 * size)) / np.sqrt(size)
    diagonal, factors = roots @ roots.mT, rng.normal(size=(3, 4, n_features))
    dense = np.stack([block_diag(*blocks) for blocks in diagonal])
    if kind in ("diagonal, factors", "factors"):
        diagonal = (kind != "factors") * dense.diagonal(axis1=1, axis2=2)
        dense = diagonal[:, :, None] * np.eye(n_features)
    means = rng.normal(size=(3, n_features)) / 3
    if "factors" not in kind:
        return means, diagonal, dense
    return means, (diagonal, factors), dense + factors.mT @ factors


KINDS = ["few blocks", "blocks", "blocks, factors", "diagonal, factors", "factors"]
MODELS = [
    SQFA(3, init="pca", max_iter=6, group_size=2, regularization=0.5),
    SQFA(3, init="pca", max_iter=6, distance="wasserstein"),
    SQFA(3, init="lda", max_iter=6, constraint="orthonormal"),
    SecondMomentSQFA(3, init="pca", max_iter=6, group_size=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_filters_and_features_agree_with_arrays(kind, model, rng):
    means, *covariances = structured(kind, rng)
    both = [ClassStatistics(LABELS, COUNTS, means, c) for c in covariances]
    found, expected = (clone(model).fit_statistics(s) for s in both)
    assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-8)
    assert_allclose(found.objective_, expected.objective_, rtol=1e-9)
    assert_allclose(found.regularization_, expected.regularization_, rtol=1e-12)
    features = [s.project(found.components_).second_moments for s in both]
    assert_allclose(*features, rtol=1e-10, atol=1e-10)


def test_structured_covariances_never_become_an_array(rng):
    means, covariances, _ = structured("blocks, factors", rng)
    statistics = ClassStatistics(LABELS, COUNTS, means, covariances)
    orthonormal = SQFA(2, constraint="orthonormal", group_size=1)
    for refused in (
        lambda: statistics + statistics,
        lambda: statistics.decay(0.5),
        statistics.to_dict,
        lambda: GaussianClassifier().fit_statistics(statistics),
        lambda: SQFA(2, regularization=0).fit_statistics(statistics),
        lambda: SQFA(2, init=np.ones((2, 1040))).fit_statistics(statistics),
        lambda: SQFA(2, regularization=np.eye(1040)).fit_statistics(statistics),
        lambda: orthonormal.fit_statistics(statistics),
    ):
        with pytest.raises(ValueError, match="cannot become an array"):
            refused()
    equal = ClassStatistics(LABELS, COUNTS, 0 * means, np.ones((3, 520, 2, 2)))
    with pytest.warns(UserWarning, match="All class distances are zero"):
        SQFA(2).fit_statistics(equal)


@pytest.mark.parametrize(
    ("covariances", "message"),
    [
        (np.ones((2, 3, 4, 5)), "stack of square matrices"),
        (np.ones((2, 3, 1, 1)), r"must have shape \(2, 6, 6\)"),
        (np.array([[[[1.0, 2.0], [2.0, 1.0]]] * 3] * 2), "negative eigenvalue -1"),
        ((-np.ones((2, 6)), np.ones((2, 1, 6))), "negative eigenvalue -1"),
        ((np.ones((2, 6)), np.ones((3, 1, 6))), r"\(2, 6\) and \(3, 1, 6\)"),
        ((np.ones((2, 6, 6)), np.ones((2, 1, 6))), r"\(2, 6, 6\) and \(2, 1, 6\)"),
        ((np.ones((2, 6)), np.full((2, 1, 6), np.nan)), "factors contains NaN"),
    ],
)
def test_malformed_structured_covariances(covariances, message):
    with pytest.raises(ValueError, match=message):
        ClassStatistics([0, 1], [9, 9], np.zeros((2, 6)), covariances)
