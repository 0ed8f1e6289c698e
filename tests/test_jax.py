"""Functions of JAX that call fitted estimators: ``jit``, ``vmap`` and ``grad``."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris

from skgeom import SQFA, AMAGauss, GaussianClassifier, SecondMomentSQFA
from skgeom.utils._sklearn import ARRAY_API

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not ARRAY_API, reason="scikit-learn dispatches less"),
]


@pytest.fixture(autouse=True)
def jax(monkeypatch):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    jax.config.update("jax_enable_x64", True)
    with config_context(array_api_dispatch=True):
        yield jax


@pytest.mark.parametrize("by_jax", [False, True])
@pytest.mark.parametrize(
    ("model", "method"),
    [
        (SQFA(2, random_state=0), "transform"),
        (SecondMomentSQFA(2, random_state=0), "transform"),
        (AMAGauss(2, random_state=0), "transform"),
        (GaussianClassifier(), "predict_proba"),
        (GaussianClassifier("shared"), "predict_proba"),
    ],
)
def test_results_and_gradients_inside_functions_of_jax(model, method, by_jax, jax):
    X, y = load_iris(return_X_y=True)
    samples = jax.numpy.asarray(X)
    model = clone(model).fit(samples if by_jax else X, y)
    function = getattr(model, method)
    expected = np.asarray(function(samples if by_jax else X))
    single = jax.vmap(lambda x: function(x[None])[0])
    for found in (jax.jit(function)(samples), single(samples)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    gradient = jax.grad(lambda x: function(x[None])[0, 1])
    x, step = X[70], 1e-5 * np.eye(4)
    ahead, behind = (
        np.asarray(function(points if not by_jax else jax.numpy.asarray(points)))[:, 1]
        for points in (x + step, x - step)
    )
    np.testing.assert_allclose(gradient(x), (ahead - behind) / 2e-5, atol=1e-7)
