"""Filters of sparse samples: those of the same samples as a dense array."""

import numpy as np
import pytest
from comparisons import peak_memory
from scipy import sparse
from sklearn.base import clone

from skgeom import SQFA, AMAGauss, SecondMomentSQFA

ESTIMATORS = [
    SQFA(n_init=1, random_state=0),
    SQFA(regularization=0.1, covariance_estimator="oas", n_init=1, random_state=0),
    SecondMomentSQFA(n_init=1, random_state=0),
    AMAGauss(random_state=0),
    AMAGauss(class_weight={0: 0, 1: 1, 2: 1}, random_state=0),
]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def counts(n_samples, n_features=8):
    """Counts of words, of three classes with words of their own."""
    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % 3
    rates = 0.2 + rng.exponential(size=(3, n_features)) / 2
    return rng.poisson(rates[y]).astype(np.float64), y


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    ("kind", "n_samples"),
    [(sparse.csr_array, 300), (sparse.coo_array, 7), (sparse.csc_matrix, 60)],
)
def test_results_are_those_of_dense_samples(estimator, kind, n_samples):
    X, y = counts(n_samples)
    dense, model = clone(estimator).fit(X, y), clone(estimator).fit(kind(X), y)
    np.testing.assert_allclose(model.components_, dense.components_, atol=1e-10)
    assert model.shrinkage_ == dense.shrinkage_
    assert model.regularization_ == pytest.approx(dense.regularization_, rel=1e-12)
    Z = model.transform(kind(X))
    assert isinstance(Z, np.ndarray)
    np.testing.assert_allclose(Z, dense.transform(X), atol=1e-10)


def test_weights_single_precision_and_streams():
    X, y = counts(200)
    weights = np.random.default_rng(1).integers(0, 4, size=200)
    S = sparse.csr_array(X)
    dense = SQFA(random_state=0).fit(X, y, sample_weight=weights)
    model = SQFA(random_state=0).fit(S, y, sample_weight=weights)
    np.testing.assert_allclose(model.components_, dense.components_, rtol=1e-10)
    model.fit(S.astype(np.float32), y)
    assert model.transform(S.astype(np.float32)).dtype == np.float32
    streamed = SQFA(random_state=0).partial_fit(S[:100], y[:100])
    streamed.partial_fit(S[100:], y[100:])
    expected = SQFA(random_state=0).partial_fit(X[:100], y[:100])
    expected.partial_fit(X[100:], y[100:])
    np.testing.assert_allclose(streamed.components_, expected.components_, rtol=1e-8)


def test_memory_is_that_of_the_covariances():
    X = sparse.random(60_000, 60, density=0.01, random_state=0, format="csr")
    y = np.arange(60_000) % 2
    model = SQFA(2, max_iter=3, random_state=0, tol=0.1)
    assert peak_memory(lambda: model.fit(X, y)) < 8 * X.shape[0] * X.shape[1] * 0.8
