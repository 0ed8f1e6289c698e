"""Baselines, each against the same written out by hand."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from pyriemann.classification import MDM
from pyriemann.classification import SVC as RiemannianSVC
from pyriemann.estimation import Covariances
from pyriemann.geometry.mean import mean_riemann
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)

from skgeom import baselines
from skgeom.baselines import ClusterClassifier
from skgeom.geometry import distance_affine_invariant, whiten
from skgeom.geometry import logm as logms

DATA = Path(os.environ.get("SKGEOM_DATA", ""))
NAMES = ["left", "none", "right"]
MODELS = {
    "mdrm": baselines.mdrm(),
    "tslda": baselines.tslda(),
    "tangent_space_svm": baselines.tangent_space_svm(),
    "log_euclidean_svm": baselines.log_euclidean_svm(),
    "tssm_lda": baselines.tssm_lda(3),
    "riemannian_kmeans": baselines.riemannian_kmeans(6, n_init=2, random_state=0),
    "log_euclidean_kmeans": baselines.log_euclidean_kmeans(6, random_state=0),
    "kernel_kmeans": baselines.kernel_kmeans(6, random_state=0),
}


@pytest.fixture
def data(rng):
    """Covariances 4 x 4 of signals of three classes, whose order is mixed."""
    mixing = rng.normal(size=(3, 4, 4)) + 2 * np.eye(4)
    codes = rng.permutation(np.repeat(np.arange(3), 60))
    signals = mixing[codes] @ rng.normal(size=(180, 4, 30))
    return Covariances("cov").transform(signals), np.array(NAMES)[codes]


def accuracy(model, X, y):
    return model.fit(X[:120], y[:120]).score(X[120:], y[120:])


@pytest.mark.parametrize("name", MODELS)
def test_every_baseline(data, name):
    X, y = data
    before = X.copy()
    model = clone(MODELS[name])
    assert accuracy(model, X, y) > 0.75
    np.testing.assert_array_equal(X, before)
    predicted = model.predict(X[120:])
    assert set(predicted) <= set(NAMES)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X[120:]), predicted)
    np.testing.assert_array_equal(model.classes_, NAMES)
    functions = [name for name in baselines.__all__ if name.islower()]
    assert set(MODELS) == set(functions)


def test_mdrm(data):
    X, y = data
    means = np.array([mean_riemann(X[:120][y[:120] == name]) for name in NAMES])
    distances = distance_affine_invariant(X[120:, None], means)
    model = baselines.mdrm().fit(X[:120], y[:120])
    nearest = np.array(NAMES)[distances.argmin(axis=1)]
    np.testing.assert_array_equal(model.predict(X[120:]), nearest)
    theirs = MDM().fit(X[:120], y[:120])
    np.testing.assert_array_equal(model.transform(X), theirs.transform(X))


def tangent_vectors(X, mean):
    """Logarithms of whitened matrices as vectors of the same length."""
    logarithms = logms(whiten(X, mean))
    rows, columns = np.triu_indices(X.shape[-1])
    return logarithms[:, rows, columns] * np.where(rows == columns, 1, np.sqrt(2))


@pytest.mark.parametrize("shrinkage", ["auto", 0.3, None])
def test_tslda(data, shrinkage):
    X, y = data
    vectors = tangent_vectors(X, mean_riemann(X[:120]))
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
    expected = lda.fit(vectors[:120], y[:120]).predict_proba(vectors)
    model = baselines.tslda(shrinkage=shrinkage).fit(X[:120], y[:120])
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-4, atol=1e-6)


# pyriemann's SVC hands scikit-learn's the parameter.
@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_tangent_space_svm_has_the_riemannian_kernel(data, C):
    X, y = data
    model = baselines.tangent_space_svm(C=C).fit(X[:120], y[:120])
    theirs = RiemannianSVC(metric="riemann", C=C, tol=1e-6).fit(X[:120], y[:120])
    model.set_params(svc__tol=1e-6).fit(X[:120], y[:120])
    np.testing.assert_allclose(
        model.decision_function(X), theirs.decision_function(X), atol=1e-4
    )


def logm(matrix):
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return (vectors * np.log(eigenvalues)) @ vectors.T


def gaussian_kernel(X, Y, gamma):
    X, Y = (np.array([logm(matrix) for matrix in matrices]) for matrices in (X, Y))
    return np.exp(-gamma * ((X[:, None] - Y) ** 2).sum(axis=(2, 3)))


def test_log_euclidean_svm(data):
    X, y = data
    gamma = 0.3
    svc = SVC(kernel="precomputed", C=2, tol=1e-6)
    svc.fit(gaussian_kernel(X[:120], X[:120], gamma), y[:120])
    expected = svc.decision_function(gaussian_kernel(X[120:], X[:120], gamma))
    model = baselines.log_euclidean_svm(C=2, gamma=gamma).set_params(svc__tol=1e-6)
    decisions = model.fit(X[:120], y[:120]).decision_function(X[120:])
    np.testing.assert_allclose(decisions, expected, atol=1e-4)


def test_tssm_lda_diagonalises_the_class_means(data):
    X, y = data
    X, y = X[y != "none"], y[y != "none"]
    model = baselines.tssm_lda(2).fit(X, y)
    (pipeline,) = model.estimators_
    filters = pipeline["csp"].filters_
    assert filters.shape == (2, 4)
    np.testing.assert_allclose(
        pipeline["csp"].transform(X), filters @ X @ filters.T, rtol=1e-8
    )
    for name in ("left", "right"):
        reduced = filters @ mean_riemann(X[y == name]) @ filters.T
        assert abs(reduced[0, 1]) < 1e-5 * np.sqrt(np.prod(np.diag(reduced)))


def test_tssm_lda_without_reduction_is_tslda(data):
    """The tangent space at the mean is invariant under linear maps, up to rotation."""
    X, y = data
    X, y = X[y != "none"], y[y != "none"]
    model = baselines.tssm_lda(4, shrinkage=None).fit(X, y)
    same = baselines.tslda(shrinkage=None).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), same.decision_function(X), rtol=1e-3, atol=1e-3
    )


def test_log_euclidean_kmeans(data):
    X, y = data
    vectors = np.array([logm(matrix).ravel() for matrix in X])
    kmeans = KMeans(5, n_init=10, random_state=0).fit(vectors[:120])
    model = baselines.log_euclidean_kmeans(5, random_state=0).fit(X[:120], y[:120])
    centres = model.clusterer_[-1]
    assert centres.inertia_ == pytest.approx(kmeans.inertia_)
    clusters = model.clusterer_.predict(X)
    nearest = kmeans.predict(vectors)
    pairs = set(zip(clusters, nearest, strict=True))
    assert len(pairs) == 5  # the same clusters, perhaps by other numbers


def test_kernel_kmeans_assigns_to_the_nearest_mean_of_the_kernel(data):
    """The distance to a mean, written out with the kernel, is least: also of new X."""
    X, y = data
    gamma = 0.1
    model = baselines.kernel_kmeans(4, gamma=gamma, random_state=0)
    clusters = model.fit(X[:120], y[:120]).clusterer_.predict(X)
    kernel = gaussian_kernel(X, X[:120], gamma)
    members = np.eye(4)[clusters[:120]] / np.bincount(clusters[:120])
    to_means = kernel @ members
    norms = np.einsum("ic,ij,jc->c", members, kernel[:120], members)
    np.testing.assert_array_equal((norms - 2 * to_means).argmin(axis=1), clusters)


def test_riemannian_kmeans(data):
    X, y = data
    model = baselines.riemannian_kmeans(4, n_init=2, random_state=0).fit(X, y)
    clusters = model.clusterer_.predict(X)
    means = np.array([mean_riemann(X[clusters == number]) for number in range(4)])
    distances = distance_affine_invariant(X[:, None], means)
    np.testing.assert_array_equal(distances.argmin(axis=1), clusters)


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


def test_cluster_classifier_of_blobs():
    X, y = make_blobs(200, centers=4, cluster_std=0.5, random_state=3)
    model = ClusterClassifier(KMeans(4, n_init=5, random_state=0))
    assert model.fit(X, y % 2).score(X, y % 2) == 1.0
    with pytest.raises(ValueError, match="'clusterer' parameter"):
        ClusterClassifier("kmeans").fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[1:])


@parametrize_with_checks([ClusterClassifier(KMeans(4, n_init=3, random_state=0))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_scikit_learn_checks_are_not_silenced():
    model = ClusterClassifier(KMeans(4, n_init=3, random_state=0))
    names = [
        getattr(check, "func", check).__name__
        for _, check in estimator_checks_generator(model)
    ]
    assert len(names) > 45
    assert {"check_classifiers_train", "check_fit2d_1sample"} <= set(names)
    assert not model.__sklearn_tags__().no_validation


def test_names_of_features_are_kept():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = ClusterClassifier(KMeans(5, n_init=5, random_state=0)).fit(X, y)
    np.testing.assert_array_equal(model.feature_names_in_, X.columns)
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("name", MODELS)
def test_a_bad_matrix_is_named(data, name):
    X, y = data
    bad = {
        "is not positive definite": -np.eye(4),
        "is not symmetric": np.eye(4) + np.eye(4, k=1),
        "contains NaN": np.diag([np.nan, 1, 1, 1]),
    }
    for message, matrix in bad.items():
        X[7] = matrix
        # Clusters are of any samples, whose finiteness is checked before.
        with pytest.raises(ValueError, match=rf"X\[7\] {message}|contains NaN"):
            clone(MODELS[name]).fit(X, y)


@pytest.mark.parametrize("n_clusters", [0, -1, 1.5, "a"])
def test_bad_numbers_of_clusters(n_clusters):
    with pytest.raises(ValueError, match="n_clusters must be an integer from 1 on"):
        baselines.riemannian_kmeans(n_clusters)


@pytest.mark.parametrize("name", ["mdrm", "tslda", "tangent_space_svm"])
def test_bad_labels_are_named(data, name):
    X, y = data
    model = clone(MODELS[name])
    with pytest.raises(ValueError, match=f"{name} needs samples of at least 2 classes"):
        model.fit(X[y == y[0]], y[y == y[0]])
    with pytest.raises(ValueError, match="X has 180 samples, but y has 179 labels"):
        model.fit(X, y[1:])
    with pytest.raises(ValueError, match="y should be a 1d array"):
        model.fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        model.fit(X, np.linspace(0, 1, len(y)))
    with pytest.raises(ValueError, match=rf"X has 3 features, but {name} is expecting"):
        model.fit(X, y).predict(X[:, :3, :3])


@pytest.mark.parametrize("name", MODELS)
def test_data_of_another_shape(data, name):
    X, y = data
    model = clone(MODELS[name])
    for flat in (X[:, 0], X[:, 0].tolist()):
        with pytest.raises(
            ValueError,
            match=rf"{name} takes SPD matrices.*\(n_samples, n, n\).* of 2 d",
        ):
            model.fit(flat, y)
    with pytest.raises(ValueError, match=r"shape \(180, 3, 4\)\. If these are signals"):
        model.fit(X[:, :3], y)
    model.fit(X, y)
    with pytest.raises(ValueError, match=f"{name} takes SPD matrices"):
        model.predict(X[0])
    np.testing.assert_array_equal(model.predict(X[:9].tolist()), model.predict(X[:9]))


def test_parameters_can_be_searched(data):
    X, y = data
    for model, grid in [
        (baselines.log_euclidean_svm(), {"svc__C": [0.1, 10], "svc__gamma": [0.1, 1]}),
        (baselines.tssm_lda(), {"estimator__csp__nfilter": [2, 4]}),
        (baselines.tslda(), {"tangentspace__metric": ["riemann", "logeuclid"]}),
    ]:
        search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
        assert search.best_score_ > 0.75


def test_signals_to_matrices(rng):
    """Equations 26 and 27 of the PLRSQ paper, for signals whose mean is zero."""
    signals = rng.normal(size=(60, 5, 200))
    signals[:30, 0] *= 2
    signals -= signals.mean(axis=2, keepdims=True)
    expected = [trial @ trial.T / 199 for trial in signals]
    covariances = Covariances(estimator="cov").fit_transform(signals)
    np.testing.assert_allclose(covariances, expected, rtol=1e-10, atol=1e-13)
    y = np.repeat([1, 0], 30)
    model = make_pipeline(Covariances(estimator="cov"), baselines.tslda())
    assert model.fit(signals[::2], y[::2]).score(signals[1::2], y[1::2]) > 0.9


@pytest.mark.skipif(
    not (DATA / "bci_iv_2a_s1_to_s4.npz").is_file(),
    reason="bci_iv_2a_s1_to_s4.npz is not in SKGEOM_DATA",
)
def test_kappas_of_motor_imagery():
    """BCI competition IV, data set 2a: trained on the first day, tested on the next."""
    data = np.load(DATA / "bci_iv_2a_s1_to_s4.npz")

    def kappas(model):
        for subject in range(1, 5):
            X, y = data[f"cov_{subject}"], data[f"y_{subject}"]
            test = data[f"test_{subject}"].astype(bool)
            model.fit(X[~test], y[~test])
            yield cohen_kappa_score(y[test], model.predict(X[test]))

    # By pyriemann's MDM, and its tangent space with scikit-learn's shrunk LDA.
    mdrm, tslda = [0.745, 0.315, 0.625, 0.528], [0.750, 0.292, 0.759, 0.514]
    assert list(kappas(baselines.mdrm())) == pytest.approx(mdrm, abs=6e-4)
    assert list(kappas(baselines.tslda())) == pytest.approx(tslda, abs=6e-4)
    # The mean of .77 .33 .77 .51, table 6 of the PLRSQ paper; the size is not given.
    tssm_lda = np.mean(list(kappas(baselines.tssm_lda())))
    assert tssm_lda == pytest.approx(0.595, abs=0.05)


@pytest.mark.skipif(
    not (DATA / "eth80_covariances.npz").is_file(),
    reason="eth80_covariances.npz is not in SKGEOM_DATA",
)
def test_accuracy_of_mdrm_on_eth80():
    """Table 5 of the PLRSQ paper: 63.16 % of 8 categories, 89.09 % by PLRSQ."""
    data = np.load(DATA / "eth80_covariances.npz")
    X, y = data["cov5"], data["y"]
    scores = []
    for seed in range(3):
        train = np.zeros(len(y), bool)
        rng = np.random.default_rng(seed)
        for group in range(80):
            (members,) = np.nonzero((y == group // 10) & (data["object"] == group % 10))
            train[rng.permutation(members)[:21]] = True
        model = baselines.mdrm().fit(X[train], y[train])
        scores.append(model.score(X[~train], y[~train]))
    assert np.mean(scores) == pytest.approx(0.6316, abs=0.01)


@pytest.mark.filterwarnings("ignore:When `set_output` is configured")
def test_pipelines_take_containers_for_their_features(data):
    model = baselines.log_euclidean_svm().set_output(transform="pandas")
    assert model.fit(*data).score(*data) > 0.5
