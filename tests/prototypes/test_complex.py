"""Complex matrices in estimators of real ones, by their real embedding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pyriemann.geometry.distance import distance_riemann
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skgeom import PLRSQ, Recentering, TransferDiscriminantAnalysis
from skgeom._prototypes._metrics import SPD_METRICS, AffineInvariantPairs
from skgeom.geometry import logm, real_embedding


@pytest.fixture
def phases(rng):
    """Cross-spectra of three channels, to which a source comes early or late."""
    y = np.repeat([0, 1], 30)
    lag = np.where(y == 0, 1, -1)[:, None, None] * np.array([[0.0], [0.5], [1.0]])
    real, imaginary = rng.normal(size=(2, 60, 4, 40))
    values = real + 1j * imaginary
    signals = values[:, :3] + np.exp(1j * lag) * values[:, 3:]
    return signals @ signals.conj().mT / 40, y


def complex_of(embedded):
    n = embedded.shape[-1] // 2
    return embedded[..., :n, :n] + 1j * embedded[..., n:, :n]


@pytest.mark.parametrize("metric", SPD_METRICS)
def test_prototypes_are_complex_matrices(phases, metric):
    X, y = phases
    solver = "sgd" if metric == "euclid" else "auto"
    model = PLRSQ(metric=metric, solver=solver, max_iter=20, tol=0.1, random_state=0)
    prototypes = model.fit(real_embedding(X), y).prototypes_
    expected = real_embedding(complex_of(prototypes))
    assert_allclose(prototypes, expected, atol=1e-8 * np.abs(prototypes).max())


def test_imaginary_parts_are_learnt_from(phases):
    X, y = phases
    model = make_pipeline(FunctionTransformer(real_embedding), PLRSQ())
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    assert PLRSQ().fit(X[::2].real, y[::2]).score(X[1::2].real, y[1::2]) < 0.8
    nearest = distance_riemann(X[:, None], complex_of(model[-1].prototypes_)[None])
    np.testing.assert_array_equal(model.predict(X), nearest.argmin(axis=1))


def test_gradient_is_that_of_complex_matrices(phases, rng):
    """The derivative of the squared distance is -2 W^-1 log(X W^-1), embedded."""
    X, _ = phases
    X, W = X[:5], X[5]
    weights = rng.uniform(size=(5, 1))
    pairs = AffineInvariantPairs(real_embedding(X), real_embedding(W)[None])
    factor = np.linalg.cholesky(W)
    inverse = np.linalg.inv(factor)
    logarithms = logm(inverse @ X @ inverse.conj().T)
    gradients = -2 * inverse.conj().T @ logarithms @ inverse
    expected = (weights[..., None] * gradients).sum(axis=0)
    assert_allclose(pairs.gradient(weights)[0], real_embedding(expected), atol=1e-10)
    squares = distance_riemann(X, W) ** 2
    assert_allclose(pairs.squared_distances[:, 0], 2 * squares, rtol=1e-10)


@pytest.mark.parametrize(
    "estimator", [PLRSQ(), Recentering(), TransferDiscriminantAnalysis()]
)
@pytest.mark.parametrize("kind", [np.asarray, list])
def test_complex_matrices_are_referred_to_the_embedding(phases, estimator, kind):
    X, y = phases
    with pytest.raises(ValueError, match=r"supported by .*real_embedding") as found:
        estimator.fit(kind(X), y)
    assert len(str(found.value)) < 150  # without the matrices
