"""Herrera-Esposito and Burge: the speed of naturalistic videos, eight filters in pairs.

The paper shows accuracies as bars, without numbers, and its videos are not public. The
videos here are generated in the same way from different photographs, and training and
test use different photographs. Filters have unit norm. The variance sigma2 of the paper
is the variance of the response noise, which is added to the covariances of the
classifier.
"""

from functools import cache

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import clone
from sklearn.decomposition import PCA, FactorAnalysis, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers._data import photographs, speed_videos
from benchmarks.papers._runner import Row, reproduces
from benchmarks.papers.sqfa_digits import (
    PAPER,
    bound_and_distance,
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
COMPARATORS = {
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
    model = clone((VARIANTS | COMPARATORS)[method])
    if method in VARIANTS:
        model.set_params(random_state=seed)
    if method in VARIANTS and method != "AMA-Gauss":
        model.fit_statistics(training_statistics(source))
    else:
        model.fit(X, y)
    F = linear_map(model, X.shape[1])[:, :N_FILTERS]
    return F / np.linalg.norm(F, axis=0)


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
    X, y, X_test, y_test = speed_videos(source)
    table = []
    for seed in range(n_starts):
        F = filters(method, source, seed)
        Z, Z_test = X @ F, X_test @ F
        rng = np.random.default_rng(seed)
        noisy = Z_test + rng.normal(scale=np.sqrt(SIGMA2), size=Z_test.shape)
        stats = ClassStatistics.from_data(Z, y)
        test_stats = ClassStatistics.from_data(Z_test, y_test)
        knn = KNeighborsClassifier(3).fit(Z, y)
        table.append(
            {
                "QDA": np.mean(predict(stats, Z_test, SIGMA2) == y_test),
                "QDA, noisy responses": np.mean(
                    predict(stats, noisy, SIGMA2) == y_test
                ),
                "QDA, no noise": np.mean(predict(stats, Z_test, 0) == y_test),
                "QDA of Gaussians": gaussian_accuracy(test_stats, rng),
                "kNN": knn.score(Z_test, y_test),
            }
        )
    return {name: [row[name] for row in table] for name in table[0]}


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
    quick_methods = ["SQFA-H", "SQFA", *COMPARATORS]
    for method in quick_methods if quick else [*VARIANTS, *COMPARATORS]:
        n_starts = 20 if method in VARIANTS and not quick else 1
        arguments = {"method": method, "source": source, "n_starts": n_starts}
        yield Row({"method": method, "photographs": source}, accuracies, arguments)


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
