"""Kernel discriminants of sparse samples are those of the same dense ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score

from skgeom import KernelDiscriminantAnalysis as KDA

MODELS = [
    KDA(gamma="scale"),
    KDA(kernel="linear", penalty="identity"),
    KDA(kernel="poly", gamma=0.5, degree=2, solver="eigen", regularization=1e-3),
    KDA(kernel="sigmoid", gamma=1e-3, penalty="identity"),
    KDA(kernel="cosine", priors="uniform"),
    KDA(solver="nystroem", n_landmarks=100, regularization=1e-4, random_state=0),
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = np.where(X > 6, X, 0)[:400] / 16
    X[7] = 0  # a row without entries
    return X, y[:400]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[26:])
def test_sparse_is_dense(digits, model, dtype):
    X, y = digits[0].astype(dtype), digits[1]
    dense = model.fit(X, y)
    components, probabilities = dense.transform(X), dense.predict_proba(X)
    assert_allclose(dense.predict_proba(sparse.csr_matrix(X)), probabilities, atol=1e-4)
    samples = sparse.csr_array(X)
    before = samples.copy()
    fitted = model.fit(samples, y)
    # In single precision, the features are rounded.
    tolerance = 1e-8 if dtype == np.float64 else 0.02
    size = np.abs(components).max()
    for given in (samples, sparse.coo_array(X), X):
        found = fitted.transform(given)
        assert found.dtype == dtype
        assert_allclose(found, components, rtol=0, atol=tolerance * size)
        found = fitted.predict_proba(given)
        assert_allclose(found, probabilities, rtol=0, atol=tolerance)
    assert (samples != before).nnz == 0


@pytest.mark.exhaustive
def test_many_sparse_features():
    """They stay sparse: as many dense numbers would take 16 GB."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    rows = np.repeat(np.arange(200), 101)
    columns = rng.integers(1, 10_000_000, len(rows))
    columns[::101] = 0
    values = rng.random(len(rows))
    values[::101] = 30 * y
    X = sparse.coo_array((values, (rows, columns)), (200, 10_000_000)).tocsr()
    for model in (KDA(kernel="linear"), KDA(solver="nystroem", n_landmarks=50)):
        assert cross_val_score(model, X, y, cv=2).mean() > 0.9


@pytest.mark.parametrize("kernel", ["chi2", "laplacian", "precomputed", np.dot])
def test_other_kernels_refuse_sparse_samples(digits, kernel):
    X, y = digits
    with pytest.raises(TypeError, match="Sparse data was passed for X, but dense"):
        KDA(kernel=kernel).fit(sparse.csr_array(X), y)
