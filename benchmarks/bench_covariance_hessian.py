"""Covariance and Hessian projections beside other ones: scores, and seconds.

Three parts, each a table::

    python benchmarks/bench_covariance_hessian.py authors
    python benchmarks/bench_covariance_hessian.py honest --dataset wbcd
    python benchmarks/bench_covariance_hessian.py speed

``authors`` repeats what the paper's authors do with the breast cancer data of
Wisconsin (WBCD): the whole data set is capped at 1.5 interquartile ranges and
standardised before it is split, the folds are not stratified, the network trains for
100 epochs on oversampled data, and the "AUC" is that of hard labels. ``honest``
stratifies the folds, learns everything from training samples only, chooses every
hyper-parameter by an inner cross-validation, and takes the AUC from scores. ``heart``
and ``pima`` are read from the folder ``SKGEOM_DATA``. ``speed`` times the input
Hessian of a network beside autograd, sample by sample.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import autograd.numpy as anp
import numpy as np
from autograd import hessian
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.metrics import cohen_kappa_score, f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from skgeom import (
    CovarianceHessianProjection,
    KernelDiscriminantAnalysis,
    input_hessian,
)
from skgeom.baselines import LOL

try:
    from umap import UMAP
except ImportError:
    UMAP = None

SEEDS = range(5)


# The authors' protocol.


def authors_data():
    """WBCD with malignant as the positive class, capped and standardised as a whole."""
    X, y = load_breast_cancer(return_X_y=True)
    low, high = np.percentile(X, [25, 75], axis=0)
    reach = 1.5 * (high - low)
    X = np.clip(X, low - reach, high + reach)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), 1 - y


def authors_network(X, y, seed):
    """Adam for 100 epochs, batches of 32, oversampled, without weight decay."""
    rng = np.random.default_rng(42)
    counts = np.bincount(y)
    minority = np.flatnonzero(y == counts.argmin())
    extra = rng.choice(minority, counts.max() - counts.min())
    index = np.concatenate([np.arange(len(y)), extra])
    network = MLPClassifier(
        (32, 16, 8), alpha=0, batch_size=32, max_iter=100, tol=0, random_state=seed
    )
    network.set_params(n_iter_no_change=1000)
    return network.fit(X[index], y[index])


def hard_scores(classifier, X, y):
    predicted = classifier.predict(X)
    return (
        f1_score(y, predicted),
        roc_auc_score(y, predicted),
        cohen_kappa_score(y, predicted),
    )


def authors_fold(X, y, train, test, seed):
    """Scores of all methods in one fold, by name."""
    scores = {}

    def judge(name, transformer, svm):
        Z, Z_test = transformer.transform(X[train]), transformer.transform(X[test])
        scores[name] = hard_scores(svm.fit(Z, y[train]), Z_test, y[test])

    if seed == SEEDS[0]:
        judge("PCA", PCA(2).fit(X[train]), LinearSVC(random_state=1))
        lda = LinearDiscriminantAnalysis().fit(X[train], y[train])
        judge("LDA", lda, SVC(kernel="linear"))
    network = FrozenEstimator(authors_network(X[train], y[train], seed))
    for name, counts in [("proposed", (1, 1)), ("Hessian only", (0, 2))]:
        projection = CovarianceHessianProjection(
            network, n_covariance=counts[0], n_hessian=counts[1]
        )
        projection.fit(X[train], y[train])
        judge(name, projection, LinearSVC(random_state=1))
    default = CovarianceHessianProjection(random_state=seed).fit(X[train], y[train])
    judge("proposed, default network", default, LinearSVC(random_state=1))
    return scores


def authors():
    X, y = authors_data()
    folds = list(KFold(10, shuffle=True, random_state=42).split(X))
    means = {}
    for seed in SEEDS:
        results = [authors_fold(X, y, train, test, seed) for train, test in folds]
        for name in results[0]:
            mean = np.mean([result[name] for result in results], axis=0)
            means.setdefault(name, []).append(mean)
    print("WBCD, the authors' protocol: means of 10 folds, +- deviation of 5 seeds")
    for name, rows in means.items():
        mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0)
        cells = [f"{m:.4f} +- {s:.4f}" for m, s in zip(mean, spread, strict=True)]
        print(f"{name:28s}", *cells)


# The honest protocol.


def honest_data(name):
    """X, y, and a preparation that is to be fitted with the training samples."""
    if name == "wbcd":
        X, y = load_breast_cancer(return_X_y=True)
        return X, 1 - y, StandardScaler()
    file = {"heart": "heart_cleveland.csv", "pima": "pima_diabetes.csv"}[name]
    path = Path(os.environ.get("SKGEOM_DATA", "."), file)
    names = path.read_text().splitlines()[0].split(",")
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    y = table[:, names.index("target")].astype(int)
    kept = [i for i, column in enumerate(names) if column not in ("num", "target")]
    X, names = table[:, kept], [names[i] for i in kept]
    if name == "pima":  # a zero stands for a missing value
        hidden = "glucose blood_pressure skin_thickness insulin bmi".split()
        for column in hidden:
            X[X[:, names.index(column)] == 0, names.index(column)] = np.nan
        return X, y, make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = [names.index(c) for c in "cp restecg slope thal".split()]
    others = [i for i in range(len(names)) if i not in categories]
    preparation = make_column_transformer(
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"),
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            ),
            categories,
        ),
        (SimpleImputer(strategy="median"), others),
    )
    return X, y, make_pipeline(preparation, StandardScaler())


def honest_methods(seed):
    """Transformer and grid of each method; the grid of the classifier is common."""
    network = MLPClassifier((32, 16, 8), max_iter=1000, tol=1e-3, random_state=seed)
    decay = {"estimator__alpha": [0.3, 3, 10]}
    gammas = {"kernel": ["rbf"], "gamma": [0.001, 0.01, 0.1]}
    kernels = [gammas, {"kernel": ["cosine"]}, {"kernel": ["poly"], "degree": [2, 3]}]
    methods = {
        "PCA": (PCA(2), {}),
        "KPCA": (KernelPCA(2, random_state=0), kernels),
        "Hessian only": (
            CovarianceHessianProjection(network, n_covariance=0, n_hessian=2),
            decay,
        ),
        "LLE": (
            LocallyLinearEmbedding(
                n_components=2, eigen_solver="dense", random_state=0
            ),
            {"n_neighbors": [5, 10, 20, 40]},
        ),
        "LOL": (LOL(2), {}),
        "LDA": (
            LinearDiscriminantAnalysis(solver="eigen"),
            {"shrinkage": [1e-3, 0.03, 0.1, 0.3]},
        ),
        "KDA": (
            KernelDiscriminantAnalysis(),
            [{**grid, "regularization": [1e-4, 1e-3, 1e-2]} for grid in kernels],
        ),
        "proposed": (CovarianceHessianProjection(network), decay),
    }
    if UMAP is not None:
        methods["UMAP"] = UMAP(n_components=2), {"n_neighbors": [5, 10, 20, 40]}
    return methods


def honest_fold(method, grid, preparation, X, y, train, test):
    """F1, AUC from scores and kappa, after a choice within the training samples."""
    grids = grid if isinstance(grid, list) else [grid]
    grids = [
        {f"method__{key}": values for key, values in one.items()}
        | {"svm__C": [0.1, 1, 10]}
        for one in grids
    ]
    pipeline = Pipeline(
        [
            ("preparation", preparation),
            ("method", method),
            ("scale", StandardScaler()),  # one range of C serves all methods
            ("svm", SVC(kernel="linear")),
        ]
    )
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(pipeline, grids, cv=inner, scoring="roc_auc")
    search.fit(X[train], y[train])
    predicted = search.predict(X[test])
    return (
        f1_score(y[test], predicted),
        roc_auc_score(y[test], search.decision_function(X[test])),
        cohen_kappa_score(y[test], predicted),
    )


def honest(name):
    X, y, preparation = honest_data(name)
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    print(f"{name}, nested and stratified: means of 10 folds +- standard errors")
    for method_name in honest_methods(0):
        rows = []
        for fold, (train, test) in enumerate(folds):
            method, grid = honest_methods(fold)[method_name]
            rows.append(honest_fold(method, grid, preparation, X, y, train, test))
        mean = np.mean(rows, axis=0)
        error = np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
        cells = [f"{m:.3f} +- {s:.3f}" for m, s in zip(mean, error, strict=True)]
        print(f"{method_name:15s}", *cells, flush=True)


# Speed.


def speed(n_samples=512, n_features=30, repeats=7):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_samples, n_features)), np.arange(n_samples) % 2
    for activation in ("relu", "tanh"):
        network = MLPClassifier((32, 16, 8), activation=activation, random_state=0)
        network.partial_fit(X, y, classes=[0, 1])
        function = {"relu": lambda a: anp.maximum(a, 0), "tanh": anp.tanh}[activation]

        def loss(x, label, network=network, function=function):
            layers = list(zip(network.coefs_, network.intercepts_, strict=True))
            for coef, bias in layers[:-1]:
                x = function(anp.dot(x, coef) + bias)
            z = (anp.dot(x, layers[-1][0]) + layers[-1][1])[0]
            return anp.logaddexp(0, -z if label else z)

        start = time.perf_counter()
        reference = np.mean(
            [hessian(loss)(x, label) for x, label in zip(X, y, strict=True)], axis=0
        )
        by_autograd = time.perf_counter() - start
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            H = input_hessian(network, X, y)
            seconds.append(time.perf_counter() - start)
        gap = np.abs(H - reference).max() / np.abs(reference).max()
        ours = np.median(seconds)
        print(
            f"{activation}: {1e3 * ours:.1f} ms, autograd {by_autograd:.2f} s, "
            f"{by_autograd / ours:.0f} times; relative difference {gap:.1e}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["authors", "honest", "speed"])
    parser.add_argument("--dataset", choices=["wbcd", "heart", "pima"], default="wbcd")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if arguments.part == "honest":
        honest(arguments.dataset)
    else:
        {"authors": authors, "speed": speed}[arguments.part]()
