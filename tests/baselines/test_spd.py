"""Baselines for SPD matrices, compared with independent computations."""

import tracemalloc

import numpy as np
import pytest
from comparisons import needs, trials_of
from numpy.testing import assert_allclose
from pyriemann.classification import MDM
from pyriemann.estimation import Covariances
from pyriemann.geometry.mean import mean_riemann
from pyriemann.geometry.tangentspace import upper
from scipy.special import softmax
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import cohen_kappa_score

from skgeom.baselines import ClusterClassifier, mdrm, tslda
from skgeom.geometry import distance_affine_invariant, logm, whiten

NAMES = ["left", "none", "right"]
MODELS = {"mdrm": mdrm(), "tslda": tslda()}


@pytest.fixture
def data(rng):
    """Covariances 4 x 4 of signals of three classes in random order."""
    mixing = rng.normal(size=(3, 4, 4)) + 2 * np.eye(4)
    codes = rng.permutation(np.repeat(np.arange(3), 60))
    signals = mixing[codes] @ rng.normal(size=(180, 4, 30))
    return Covariances("cov").transform(signals), np.array(NAMES)[codes]


def test_mdrm_predicts_the_nearest_mean(data):
    X, y = data
    means = np.array([mean_riemann(X[:120][y[:120] == name]) for name in NAMES])
    distances = distance_affine_invariant(X[120:, None], means)
    model = mdrm().fit(X[:120], list(y[:120]))  # labels of every type
    nearest = np.array(NAMES)[distances.argmin(axis=1)]
    np.testing.assert_array_equal(model.predict(X[120:]), nearest)
    theirs = MDM().fit(X[:120], y[:120])
    np.testing.assert_array_equal(model.transform(X), theirs.transform(X))


def test_tslda_is_lda_of_tangent_vectors(data):
    X, y = data
    vectors = upper(logm(whiten(X, mean_riemann(X[:120]))))
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3)
    expected = lda.fit(vectors[:120], y[:120]).predict_proba(vectors)
    model = tslda(shrinkage=0.3).fit(X[:120], y[:120])
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shrinkage", ["auto", 0.1, 1])
@pytest.mark.parametrize("n_channels", [3, 12])  # fewer dimensions than matrices, more
def test_tslda_of_few_matrices_is_lda_of_scikit_learn(rng, shrinkage, n_channels):
    y = np.repeat([0, 1, 2], [8, 12, 20])
    signals = rng.normal(size=(40, n_channels, 30))
    signals[:, 0] *= 1 + y[:, None] / 2
    X = Covariances("cov").transform(signals)
    train = np.arange(40) % 2 == 0
    vectors = upper(logm(whiten(X, mean_riemann(X[train], tol=1e-12))))
    lda = LinearDiscriminantAnalysis("eigen", shrinkage=shrinkage)
    lda.fit(vectors[train], y[train])
    model = tslda(shrinkage=shrinkage).fit(X[train], y[train])
    if shrinkage != "auto":  # which depends on the axes of the tangent space
        expected = lda.predict_log_proba(vectors)
        assert_allclose(model.predict_log_proba(X), expected, rtol=1e-5, atol=1e-5)
    vectors = model[:-1].transform(X)
    lda.fit(vectors[train], y[train])
    expected = lda.predict_log_proba(vectors)
    assert_allclose(model.predict_log_proba(X), expected, rtol=1e-6, atol=1e-8)
    # Two discriminants, which are uncorrelated between the classes.
    Z, priors = model.transform(X), np.bincount(y[train]) / 20
    assert Z.shape == (40, 2)
    means = np.stack([Z[train][y[train] == c].mean(axis=0) for c in range(3)])
    between = np.einsum("c,ci,cj->ij", priors, means, means)
    assert_allclose(between, np.diag(np.diagonal(between)), atol=1e-10)
    scores = Z @ means.T - (means**2).sum(axis=1) / 2 + np.log(priors)
    assert_allclose(model.predict_proba(X), softmax(scores, axis=1), atol=1e-12)


def test_memory_of_tslda_with_many_channels(rng):
    """Less than a tenth of the covariance matrix of the tangent vectors."""
    signals = rng.normal(size=(12, 60, 90))
    signals[::2, :10] *= 3
    X, y = signals @ signals.mT / 90, np.arange(12) % 2
    model = tslda().fit(X, y)  # imports modules
    assert model.score(X, y) == 1
    vectors = model[:-1].transform(X)
    tracemalloc.start()
    clone(model[-1]).fit(vectors, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * vectors.shape[1] ** 2 / 10


def test_equal_matrices_have_no_discriminants(data):
    X, y = data[0][:6].repeat(2, axis=0), np.repeat([0, 1], 6)
    X[:6], X[6:] = X[0], X[6]
    for shrinkage in ("auto", 0.5):
        with pytest.raises(ValueError, match="within the classes is singular"):
            tslda(shrinkage=shrinkage).fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_errors_about_labels(data, name):
    X, y = data
    model = clone(MODELS[name])
    for labels, message in (
        (np.eye(3)[np.unique(y, return_inverse=True)[1]], "^y should be a 1d array"),
        (np.zeros(len(X)), f"^{name} requires samples of at least 2 classes"),
        (np.linspace(0, 1, len(X)), "^y: Unknown label type"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, labels)
    with pytest.raises(ValueError, match=f"^X: Found array with 0 .* by {name}"):
        model.fit(X, y).predict(X[:0])


@pytest.mark.parametrize("name", MODELS)
def test_matrices_of_another_size(data, name):
    model = clone(MODELS[name]).fit(*data)
    with pytest.raises(ValueError, match=rf"X has 3 features, but {name} is expecting"):
        model.predict(data[0][:, :3, :3])


class Remainder(KMeans):
    """Clusters by the first feature, modulo 10."""

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int) % 10


def test_labels_of_clusters():
    X = np.array([[1], [11], [21], [4], [14], [6], [6]])
    y = np.array(["b", "a", "b", "c", "b", "c", "c"])
    model = ClusterClassifier(Remainder()).fit(X, y)
    np.testing.assert_array_equal(model.clusters_, [1, 4, 6])
    np.testing.assert_array_equal(model.cluster_labels_, ["b", "b", "c"])
    # Cluster 3 and 9 have no training samples: "b" comes first of the most frequent.
    predicted = model.predict([[31], [24], [16], [3], [9]])
    np.testing.assert_array_equal(predicted, ["b", "b", "c", "b", "b"])


@pytest.mark.exhaustive
@needs("bci_iv_2a_s1_to_s4.npz")
def test_kappas_of_motor_imagery():
    """BCI competition IV, data set 2a: trained on the first day, tested on the next."""

    def kappas(model):
        for subject in range(1, 5):
            X, y, test = trials_of(subject)
            model.fit(X[~test], y[~test])
            yield cohen_kappa_score(y[test], model.predict(X[test]))

    # By pyriemann's MDM, and its tangent space with scikit-learn's shrunk LDA.
    expected = {"mdrm": [0.745, 0.315, 0.625, 0.528]}
    expected["tslda"] = [0.750, 0.292, 0.759, 0.514]
    for name, model in MODELS.items():
        assert list(kappas(model)) == pytest.approx(expected[name], abs=6e-4)
