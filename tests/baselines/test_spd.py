"""Baselines for SPD matrices, compared with independent computations."""

import numpy as np
import pytest
from comparisons import needs
from pyriemann.classification import MDM
from pyriemann.estimation import Covariances
from pyriemann.geometry.mean import mean_riemann
from pyriemann.geometry.tangentspace import upper
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import cohen_kappa_score

from skgeom.baselines import ClusterClassifier, mdrm, tslda
from skgeom.datasets import fetch_bci_iv_2a
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
            trials = fetch_bci_iv_2a(subject)
            X, y, test = trials.data, trials.target, trials.test
            model.fit(X[~test], y[~test])
            yield cohen_kappa_score(y[test], model.predict(X[test]))

    # By pyriemann's MDM, and its tangent space with scikit-learn's shrunk LDA.
    expected = {"mdrm": [0.745, 0.315, 0.625, 0.528]}
    expected["tslda"] = [0.750, 0.292, 0.759, 0.514]
    for name, model in MODELS.items():
        assert list(kappas(model)) == pytest.approx(expected[name], abs=6e-4)
