"""Prototypes of sparse samples: those of the same samples as a dense array."""

import numpy as np
import pandas as pd
import pytest
from comparisons import peak_memory
from scipy import sparse
from sklearn.base import clone

from skgeom import GMLVQ, RSLVQ
from skgeom._prototypes._metrics import VectorMetric

ESTIMATORS = [
    RSLVQ(random_state=0),
    RSLVQ([1, 2, 3], sigma2="learn", max_iter=5, random_state=0),
    RSLVQ(solver="sgd", max_iter=5, random_state=0),
    GMLVQ(random_state=0, tol=1e-2),
    GMLVQ(2, n_components=2, tol=1e-2, random_state=0),
]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def counts(n_samples, n_features=8):
    """Counts of words, of three classes with words of their own; no distances tie."""
    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % 3
    rates = 0.2 + rng.exponential(size=(3, n_features)) / 2
    return rng.poisson(rates[y]) * rng.uniform(0.5, 1, size=rates[y].shape), y


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("n_samples, n_features", [(48, 8), (12, 20)])
def test_results_are_those_of_dense_samples(estimator, n_samples, n_features):
    X, y = counts(n_samples, n_features)
    S = sparse.csr_array(X)
    weights = np.random.default_rng(1).integers(0, 3, size=n_samples)
    weights[:9] = 1
    dense = clone(estimator).fit(X, y, sample_weight=weights)
    model = clone(estimator).fit(S, y, sample_weight=weights)
    np.testing.assert_array_equal(S.toarray(), X)
    np.testing.assert_allclose(model.prototypes_, dense.prototypes_, atol=1e-6)
    for method in ("transform", "decision_function"):
        found = getattr(model, method)(S)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, getattr(dense, method)(X), atol=1e-5)
    np.testing.assert_array_equal(model.predict(S), model.predict(X))


def test_given_prototypes_single_precision_and_streams():
    X, y = counts(48)
    S = sparse.csr_array(X)
    init = X[:3] + 0.1
    for estimator in (RSLVQ(init=init), GMLVQ(init=init, tol=0.1)):
        dense, model = clone(estimator).fit(X, y), clone(estimator).fit(S, y)
        np.testing.assert_allclose(model.prototypes_, dense.prototypes_, atol=1e-6)
        assert model.transform(S.astype(np.float32)).dtype == np.float32
    streamed = RSLVQ(random_state=0).partial_fit(S[:24], y[:24])
    streamed.partial_fit(S[24:], y[24:])
    expected = RSLVQ(random_state=0).partial_fit(X[:24], y[:24])
    expected.partial_fit(X[24:], y[24:])
    np.testing.assert_allclose(streamed.prototypes_, expected.prototypes_, rtol=1e-8)


def sparse_frame(X):
    return pd.DataFrame(X).astype(pd.SparseDtype(float, 0))


@pytest.mark.parametrize("kind", [sparse.csc_matrix, sparse.coo_array, sparse_frame])
def test_sparse_formats_are_equal(kind):
    X, y = counts(48)
    model = RSLVQ(representability=0.1).fit(sparse.csr_array(X), y)
    other = clone(model).fit(kind(X), y)
    found = other.transform(kind(X))
    np.testing.assert_allclose(found, model.transform(X), rtol=1e-12)


def test_near_samples_keep_their_digits():
    """Differences of large squares would leave none."""
    prototypes = 1e6 + np.random.default_rng(0).normal(size=(3, 4))
    X = np.concatenate([prototypes + 1e-3, prototypes, prototypes + 100, np.eye(4)])
    found = VectorMetric().squared_distances(sparse.csr_array(X), prototypes)
    differences = X[:, None] - prototypes
    expected = (differences**2).sum(axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert (found[3:6].diagonal() == 0).all()


@pytest.mark.parametrize("estimator", [RSLVQ(max_iter=3), GMLVQ(n_components=2)])
def test_memory_is_far_below_that_of_dense_samples(estimator):
    X = sparse.random(8_000, 500, density=0.005, random_state=0, format="csr")
    y = np.arange(8_000) % 2
    model = clone(estimator).set_params(max_iter=3, tol=0.1)
    assert peak_memory(lambda: model.fit(X, y)) < 8 * X.shape[0] * X.shape[1] / 2


def test_what_is_refused():
    X, y = counts(60)
    bad = sparse.csr_array(X)
    bad[3, 4] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        RSLVQ().fit(bad, y)
    with pytest.raises(ValueError, match="too large"):
        RSLVQ().fit(sparse.csr_array(X * 1e200), y)
    with pytest.raises(ValueError, match="too small"):
        GMLVQ().fit(sparse.csr_array(X * 1e-200), y)
    with pytest.raises(ValueError, match="dimensions"):
        RSLVQ().fit(np.tile(np.eye(3), (6, 1, 1)), np.arange(6) % 2).predict(bad)


def test_no_numbers_but_zeros():
    S = sparse.csr_array((6, 3))
    with pytest.warns(UserWarning, match="initial prototypes of all classes are equal"):
        model = RSLVQ().fit(S, [0, 1] * 3)
    assert np.isfinite(model.decision_function(S)).all()
