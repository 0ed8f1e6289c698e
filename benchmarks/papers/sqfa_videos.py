"""Herrera-Esposito and Burge: the speed of naturalistic videos, eight filters in pairs.

The paper shows accuracies as bars, without numbers, and its videos are not public. The
videos here are generated in the same way from different photographs, and training and
test use different photographs. Filters have unit norm. The variance sigma2 of the paper
is the variance of the response noise, which is added to the covariances of the
classifier.
"""

import time
from functools import cache

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import clone
from sklearn.decomposition import PCA, FactorAnalysis, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from benchmarks.papers import sqfa_digits
from benchmarks.papers._data import photographs, speed_videos
from benchmarks.papers._runner import Row, reproduces
from benchmarks.papers.sqfa_digits import (
    PAPER,
    bound_and_distance,
    filters_of_lmnn,
    linear_map,
    plot_tightness,
)
from skgeom import SQFA, AMAGauss, ClassStatistics, SecondMomentSQFA
from skgeom.baselines import SupervisedPCA

N_FILTERS = 8
SIGMA2 = 0.001
SETTINGS = {
    "regularization": SIGMA2,
    "group_size": 2,
    "init": "random",  # one random start, as in the paper
    "n_init": 1,
}
VARIANTS = {
    "AMA-Gauss": AMAGauss(N_FILTERS, covariance_estimator=None, **SETTINGS),
    "SQFA-H": SQFA(N_FILTERS, distance="hellinger", **SETTINGS),
    "SQFA": SQFA(N_FILTERS, **SETTINGS),
    "smSQFA": SecondMomentSQFA(N_FILTERS, **SETTINGS),
}
OTHER_DISTANCES = {
    f"smSQFA, {distance}": SecondMomentSQFA(N_FILTERS, distance=distance, **SETTINGS)
    for distance in ("log-euclidean", "wasserstein", "euclidean", "jeffreys")
}
ESTIMATORS = VARIANTS | OTHER_DISTANCES
LMNN = "LMNN, one video of ten"  # filters of lmnn.py
BASELINES = {
    "PCA": PCA(N_FILTERS, svd_solver="covariance_eigh"),
    "ICA": FastICA(N_FILTERS, max_iter=1000, random_state=0),
    "FA": FactorAnalysis(N_FILTERS, random_state=0),
    "SPCA": SupervisedPCA(N_FILTERS),
    "LDA": LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.7),
}


@cache
def training_statistics(source):
    X, y, _, _ = speed_videos(source)
    return ClassStatistics.from_data(X, y)


def filters(method, source, seed):
    """The filters of a method, of unit norm, with shape (450, 8)."""
    X, y, _, _ = speed_videos(source)
    if method == LMNN:
        F, _ = filters_of_lmnn("videos")
        return F / np.linalg.norm(F, axis=0)
    model = estimator(method, seed)
    if method in ESTIMATORS and method != "AMA-Gauss":
        model.fit_statistics(training_statistics(source))
    else:
        model.fit(X, y)
    F = linear_map(model, X.shape[1])[:, :N_FILTERS]
    return F / np.linalg.norm(F, axis=0)


def estimator(method, seed):
    model = clone((ESTIMATORS | BASELINES)[method])
    return model.set_params(random_state=seed) if method in ESTIMATORS else model


def write_videos(path):
    """The training videos, for lmnn.py."""
    X, y, _, _ = speed_videos(photographs())
    np.savez(path, X=X, y=y)


def predict(statistics, Z, noise):
    """Quadratic discriminant analysis by statistics, with noise in the responses Z."""
    scores = []
    covariances = statistics.covariances + noise * np.eye(Z.shape[1])
    for mean, covariance in zip(statistics.means, covariances, strict=True):
        L = np.linalg.cholesky(covariance)
        squares = solve_triangular(L, (Z - mean).T, lower=True) ** 2
        scores.append(-squares.sum(axis=0) / 2 - np.log(np.diag(L)).sum())
    return np.argmax(scores, axis=0)


def gaussian_accuracy(statistics, rng):
    """QDA of samples drawn from Gaussians with given statistics."""
    moments = zip(statistics.means, statistics.covariances, strict=True)
    Z = np.concatenate([rng.multivariate_normal(m, C, 2000) for m, C in moments])
    labels = np.repeat(np.arange(len(statistics.means)), 2000)
    return np.mean(predict(statistics, Z, SIGMA2) == labels)


def accuracies(method, source, n_starts):
    """Accuracies on the test videos, for each start."""
    table = [accuracies_of_start(method, source, seed) for seed in range(n_starts)]
    return {name: [row[name] for row in table] for name in table[0]}


def accuracies_of_start(method, source, seed):
    X, y, X_test, y_test = speed_videos(source)
    F = filters(method, source, seed)
    Z, Z_test = X @ F, X_test @ F
    rng = np.random.default_rng(seed)
    noisy = Z_test + rng.normal(scale=np.sqrt(SIGMA2), size=Z_test.shape)
    stats = ClassStatistics.from_data(Z, y)
    test_stats = ClassStatistics.from_data(Z_test, y_test)
    knn = KNeighborsClassifier(3).fit(Z, y)
    scores = {
        "QDA": np.mean(predict(stats, Z_test, SIGMA2) == y_test),
        "QDA, noisy responses": np.mean(predict(stats, noisy, SIGMA2) == y_test),
    }
    if method not in OTHER_DISTANCES:  # whose filters may be parallel
        scores["QDA, no noise"] = np.mean(predict(stats, Z_test, 0) == y_test)
    return scores | {
        "QDA of Gaussians": gaussian_accuracy(test_stats, rng),
        "kNN": knn.score(Z_test, y_test),
    }


def draw(figure, lines):
    """Medians and interquartile ranges of QDA."""
    own = [line for line in lines if line["measure"] == "QDA"]
    axes = figure.subplots()
    axes.errorbar(
        [line["method"] for line in own],
        [float(line["reproduced"]) for line in own],
        [float(line["spread"] or 0) / 2 for line in own],
        fmt="o",
    )
    axes.set_ylabel("QDA accuracy")


@reproduces(
    f"{PAPER}, figures 6, 14, 15; preprint, figure 6",
    "Speed of naturalistic videos: accuracy, medians",
    median=True,
    plot=draw,
)
def sqfa_figure_6(quick):
    source = photographs()
    quick_methods = ["SQFA-H", "SQFA", *BASELINES]
    for method in quick_methods if quick else [*VARIANTS, *BASELINES, LMNN]:
        n_starts = 20 if method in VARIANTS and not quick else 1
        arguments = {"method": method, "source": source, "n_starts": n_starts}
        yield Row({"method": method, "photographs": source}, accuracies, arguments)


@reproduces(
    "Herrera-Esposito and Burge, preprint, figure 8",
    "Speed of naturalistic videos: distances of second moments, medians",
    median=True,
    plot=draw,
)
def sqfa_preprint_figure_8_videos(quick):
    source = photographs()
    for method in ["smSQFA"] if quick else ["smSQFA", *OTHER_DISTANCES]:
        arguments = {"method": method, "source": source}
        seeds = 1 if quick else 3
        yield Row({"method": method}, accuracies_of_start, arguments, seeds=seeds)


# The sigma2 that sqfa-mnist selects.
SELECTED = {"smSQFA": 10, "SQFA": 10, "SQFA-B": 0.5, "SQFA-H": 1}


def seconds(method, source, seed):
    """Processor time of a fit, to MNIST or to videos."""
    if source == "mnist":
        n_per_class = sqfa_digits.SUBSETS.get(method)
        options = {"n_per_class": n_per_class, "sigma2": SELECTED.get(method)}
        return sqfa_digits.filters("mnist", method, seed, **options)[1]
    if method == LMNN:
        return filters_of_lmnn("videos")[1]
    X, y, _, _ = speed_videos(source)
    model, start = estimator(method, seed), time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def fit_time(method, source, seed):
    with threadpool_limits(1):
        ours, reference = (seconds(name, source, seed) for name in (method, "SQFA"))
    return {"fit time / SQFA": ours / reference, "seconds": ours}


@reproduces(
    f"{PAPER}, figure 13; preprint, figure 9",
    "MNIST and videos: processor times of fits, medians",
    median=True,
)
def sqfa_figure_13(quick):
    methods = {
        "mnist": [*sqfa_digits.BASELINES, sqfa_digits.LMNN, *SELECTED],
        photographs(): [*BASELINES, LMNN, *VARIANTS],
    }
    for source, names in methods.items():
        for method in ["PCA"] if quick else names:
            labels = {"data": "MNIST" if source == "mnist" else "videos"}
            arguments = {"method": method, "source": source}
            seeds = 1 if quick or method not in [*SELECTED, *VARIANTS] else 3
            yield Row(labels | {"method": method}, fit_time, arguments, seeds=seeds)


def tightness(method, source, class_pairs):
    """The Calvo-Oller bound and the Fisher-Rao distance, for pairs of speeds."""
    F = filters(method, source, 0)
    stats = training_statistics(source).project(F.T)
    noise = SIGMA2 * np.eye(N_FILTERS)
    return bound_and_distance(stats.means, stats.covariances + noise, class_pairs)


@reproduces(
    f"{PAPER}, figure 10",
    "Speed of naturalistic videos: tightness of the Calvo-Oller bound, 820 pairs",
    plot=plot_tightness,
)
def sqfa_figure_10_videos(quick):
    source = photographs()
    for method in ["PCA"] if quick else ["PCA", "SQFA-H", "SQFA", "smSQFA"]:
        labels = {"features": method, "photographs": source}
        arguments = {"class_pairs": 40 if quick else 820, "source": source}
        yield Row(labels, tightness, {"method": method} | arguments)
