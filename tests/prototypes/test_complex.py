"""Complex Hermitian matrices in the estimators of SPD matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pyriemann.classification import MDM
from pyriemann.geometry.distance import distance_riemann
from pyriemann.geometry.geodesic import geodesic
from pyriemann.geometry.mean import gmean, mean_riemann
from pyriemann.geometry.tangentspace import exp_map_riemann, log_map_riemann
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.base import clone
from sklearn.covariance import oas
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from skgeom import GLRSQ, GMLVQ, PLRSQ, RSLVQ, Recentering, TransferDiscriminantAnalysis
from skgeom._prototypes._metrics import SPD_METRICS
from skgeom.baselines import mdrm, tslda
from skgeom.geometry import invsqrtm, logm, real_embedding
from skgeom.utils.linalg import from_embedded


@pytest.fixture
def phases(rng):
    """Cross-spectra of three channels, to which a source comes early or late."""
    y = np.repeat([0, 1], 30)
    lag = np.where(y == 0, 1, -1)[:, None, None] * np.array([[0.0], [0.5], [1.0]])
    real, imaginary = rng.normal(size=(2, 60, 4, 40))
    values = real + 1j * imaginary
    signals = values[:, :3] + np.exp(1j * lag) * values[:, 3:]
    return signals @ signals.conj().mT / 40, y


# The shrinkage of "mahalanobis" depends on the number of dimensions, n^2 instead of
# n (2n + 1) of the embedding.
@pytest.mark.parametrize("metric", sorted(set(SPD_METRICS) - {"mahalanobis"}))
@pytest.mark.parametrize("kind", [PLRSQ, GLRSQ])
def test_complex_matrices_equal_their_real_embedding(phases, kind, metric):
    X, y = phases
    model = kind(metric=metric, max_iter=5, tol=0.1, random_state=0)
    E = real_embedding(X)
    embedding = clone(model).fit(E, y)
    model.fit(X, y)
    expected = from_embedded(embedding.prototypes_)
    size = np.abs(expected).max()
    assert_allclose(real_embedding(expected), embedding.prototypes_, atol=1e-8 * size)
    assert_allclose(model.prototypes_, expected, atol=1e-8 * size)
    assert_allclose(2 * model.transform(X) ** 2, embedding.transform(E) ** 2)
    assert_allclose(model.predict_proba(X), embedding.predict_proba(E), atol=1e-8)


def test_temperature_of_complex_matrices_with_a_given_variance(phases):
    X, y = phases
    model = PLRSQ(metric="riemann", sigma2=0.5).fit(X, y)
    embedding = PLRSQ(metric="riemann", sigma2=1.0).fit(real_embedding(X), y)
    assert model.temperature_ == pytest.approx(embedding.temperature_)


def test_sgd_takes_the_steps_of_complex_matrices(phases):
    """Algorithm 1 of PLRSQ, in complex arithmetic."""
    X, y = phases[0][::3], phases[1][::3]
    start = np.stack([X[y == c].mean(axis=0) for c in (0, 1)])
    W = start.copy()
    options = {"metric": "riemann", "solver": "sgd", "max_iter": 1}
    model = PLRSQ(sigma2=1.5, init=start, random_state=0, **options).fit(X, y)
    order = np.random.RandomState(0).permutation(len(y))
    for x, label in zip(X[order], y[order], strict=True):
        p = softmax(-(distance_riemann(x, W) ** 2) / 3)
        for k in (0, 1):
            step = 3 / 100 * 0.01 * ((k == label) - p[k]) / 1.5
            W[k] = exp_map_riemann(step * log_map_riemann(x[None], W[k]), W[k])[0]
    assert_allclose(model.prototypes_, W, rtol=1e-7)


def test_filters_are_complex(phases):
    X, y = phases
    model = PLRSQ(n_components=1).fit(X, y)
    F = model.filters_
    assert F.shape == (1, 3) and model.prototypes_.shape == (2, 1, 1)
    assert_allclose(F @ F.conj().T, np.eye(1), atol=1e-12)
    means = np.stack([mean_riemann(X[y == c], tol=1e-12, maxiter=500) for c in (0, 1)])
    ratios, filters = eigh(means[0], means[1])
    w = filters[:, np.abs(np.log(ratios)).argmax()]
    assert abs(F[0] @ w) == pytest.approx(np.linalg.norm(w), rel=1e-6)
    assert model.score(X, y) > 0.8
    assert model.set_params(n_components=3).fit(X, y).filters_.shape == (3, 3)


@pytest.mark.parametrize("metric", ["riemann", "logeuclid", "euclid"])
def test_recentered_complex_matrices(phases, metric):
    X, domain = phases[0], np.arange(60) % 2
    X[domain == 1] *= 4
    model = Recentering(metric=metric)
    Z = model.fit_transform(X, domain=domain)
    for d in (0, 1):
        mean = gmean(X[domain == d], metric=metric)
        assert_allclose(model.means_[d], mean, rtol=1e-6, atol=1e-6)
        root = invsqrtm(model.means_[d])
        assert_allclose(Z[domain == d], root @ X[domain == d] @ root, atol=1e-10)
    assert np.iscomplexobj(model.partial_fit(X[:3], domain="new").means_["new"])
    online = Recentering(metric=metric).partial_fit(X[:1]).partial_fit(X[1:2])
    mean = geodesic(X[0], X[1], 0.5, metric=metric)
    assert_allclose(online.means_[None], mean, atol=1e-12)


def coordinates(X):
    """Coordinates of Hermitian matrices in an orthonormal basis, n^2 real numbers."""
    n = X.shape[-1]
    units = np.eye(n * n).reshape(n, n, n, n)
    basis = [units[i, i] for i in range(n)]
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        basis.append((units[i, j] + units[j, i]) / np.sqrt(2))
        basis.append(1j * (units[i, j] - units[j, i]) / np.sqrt(2))
    return np.einsum("bij,kji->kb", basis, X).real


def tangent_coordinates(X, *others):
    """Coordinates of X and other matrices in the tangent space at the mean of X."""
    root = invsqrtm(mean_riemann(X, tol=1e-12, maxiter=500))
    whitened = (root @ matrices @ root for matrices in (X, *others))
    return [coordinates(logm(Z / 2 + Z.conj().mT / 2)) for Z in whitened]


@pytest.mark.parametrize("shrinkage", [0, 0.3, 1])
def test_shrinkage_of_transfer_with_complex_matrices(phases, shrinkage):
    X, y = phases
    model = TransferDiscriminantAnalysis(shrinkage=shrinkage, relevance=0)
    model.fit(X[::2], y[::2])
    train, held_out = tangent_coordinates(X[::2], X[1::2])
    lda = LinearDiscriminantAnalysis("lsqr", shrinkage=shrinkage).fit(train, y[::2])
    found, expected = model.decision_function(X[1::2]), lda.decision_function(held_out)
    assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    found = coordinates(logm(model.means_))
    assert_allclose(found, lda.means_, atol=1e-8)


def test_transfer_of_complex_matrices(phases):
    X, y = phases
    model = TransferDiscriminantAnalysis(shrinkage=0.5).fit(X[::2], y[::2])
    A = np.random.default_rng(1).normal(size=(2, 3, 3))
    A = A[0] + 1j * A[1] + 2 * np.eye(3)
    moved = clone(model).fit(A @ X[::2] @ A.conj().T, y[::2])
    found = moved.decision_function(A @ X @ A.conj().T)
    assert_allclose(found, model.decision_function(X), rtol=1e-5, atol=1e-6)
    assert model.adapt(X[1::2]).score(X[1::2], y[1::2]) > 0.9


def test_mahalanobis_distances_of_complex_matrices(phases):
    """The OAS intensity, and the metric, of the coordinates by scikit-learn."""
    X, y = phases[0][::6], phases[1][::6]  # fewer matrices than dimensions
    model = PLRSQ(metric="mahalanobis", representability=0.1).fit(X, y)
    vectors, prototypes = tangent_coordinates(X, model.prototypes_)
    means = np.stack([vectors[y == c].mean(axis=0) for c in (0, 1)])
    residuals = vectors - means[y]
    shrunk, intensity = oas(residuals, assume_centered=True)
    assert model.metric_shrinkage_ == pytest.approx(intensity, rel=1e-6)
    inverse = np.linalg.inv(shrunk)
    inverse *= (residuals**2).sum() / np.einsum(
        "ij,jk,ik", residuals, inverse, residuals
    )
    expected = cdist(vectors, prototypes, "mahalanobis", VI=inverse)
    assert_allclose(model.transform(X), expected, rtol=1e-5)


def test_baselines_of_complex_matrices(phases):
    X, y = phases
    expected = MDM().fit(X, y).transform(X)
    assert_allclose(mdrm().fit(X, y).transform(X), expected, rtol=1e-10)
    train, held_out = tangent_coordinates(X[::2], X[1::2])
    lda = LinearDiscriminantAnalysis("eigen", shrinkage="auto").fit(train, y[::2])
    found = tslda().fit(X[::2], y[::2]).decision_function(X[1::2])
    assert_allclose(found, lda.decision_function(held_out), rtol=1e-4)


@pytest.mark.parametrize(
    "model",
    [PLRSQ(), GLRSQ(), Recentering(), TransferDiscriminantAnalysis(), mdrm(), tslda()],
)
def test_the_remedy_of_rounding_errors_works(phases, model):
    """Of matrices that are Hermitian only in single precision."""
    X, y = phases
    X[:, 0, 1] *= 1 + 5e-6
    with pytest.raises(ValueError, match=r"X\[0\] is not Hermitian.*\+ A\.conj\(\)\.T"):
        model.fit(X, y)
    model.fit((X + X.conj().mT) / 2, y)


def test_initial_prototypes_must_be_hermitian(phases):
    X, y = phases
    init = X[[0, -1]] * (1 + 1e-4 * np.eye(3, k=1))
    with pytest.raises(ValueError, match=r"init\[0\] is not Hermitian"):
        PLRSQ(init=init).fit(X, y)


@pytest.mark.filterwarnings("ignore:The predictions of held-out")
@pytest.mark.parametrize(
    "model", [PLRSQ(), Recentering(), TransferDiscriminantAnalysis(), mdrm(), tslda()]
)
def test_real_and_complex_matrices(phases, model):
    X, y = phases
    method = "transform" if isinstance(model, Recentering) else "predict"
    model.fit(X.tolist(), y)
    found = getattr(model, method)(X.real)  # real matrices are Hermitian
    assert_allclose(found, getattr(model, method)(X.real + 0j))
    model.fit(X.real, y)
    with pytest.raises(ValueError, match=r"X is complex, but .* was fitted on real"):
        getattr(model, method)(X)
    for estimator in (RSLVQ(), GMLVQ()):
        with pytest.raises(ValueError, match=r"supported by .*real_embedding"):
            estimator.fit(X, y)
