"""Herrera-Esposito and Burge: the digits of MNIST and SVHN, nine filters.

The paper shows accuracies and times as bars, without numbers. In its protocol,
initializations are random, and 15 % of the training images select sigma2 by the
accuracy of QDA.

Times are processor times of one thread, relative to SQFA with the same settings and
the same data, measured in turn.
"""

import time
from functools import cache

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA, FactorAnalysis, FastICA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline

from benchmarks.papers._data import digits
from benchmarks.papers._runner import HERE, Missing, Row, reproduces
from skgeom import SQFA, AMAGauss, ClassStatistics, SecondMomentSQFA
from skgeom.baselines import (
    LOL,
    GeneralizedEigenvectors,
    LocalFisherDiscriminantAnalysis,
    SupervisedPCA,
)
from skgeom.geometry import distance_calvo_oller, distance_fisher_rao

PAPER = "Herrera-Esposito and Burge 2025"
# Small regularization, as in the authors' code. Without it, QDA depends on the
# rounding of filters that are parallel because of a large sigma2.
QDA = QuadraticDiscriminantAnalysis(tol=0, reg_param=1e-5)
# As in the authors' code: values of sigma2, and the shrinkage of LDA.
GRID = {
    "mnist": (0.5, 1, 2, 5, 10, 20, 50),
    "svhn": (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
}
SHRINKAGE = {"mnist": 0.5, "svhn": 0.8}
N_FILTERS = 9
VARIANTS = {
    "smSQFA": SecondMomentSQFA(N_FILTERS),
    "SQFA": SQFA(N_FILTERS),
    "SQFA-B": SQFA(N_FILTERS, distance="bhattacharyya"),
    "SQFA-H": SQFA(N_FILTERS, distance="hellinger"),
}
OTHER_DISTANCES = {
    f"smSQFA, {distance}": SecondMomentSQFA(N_FILTERS, distance=distance)
    for distance in ("log-euclidean", "wasserstein", "euclidean", "jeffreys")
} | {
    f"smSQFA, {distance}, orthonormal": SecondMomentSQFA(
        N_FILTERS, distance=distance, constraint="orthonormal"
    )
    for distance in ("wasserstein", "euclidean")
}
ESTIMATORS = VARIANTS | OTHER_DISTANCES
# The best number of neighbors among 3, 7 and 17 for QDA on the validation images.
LFDA = LocalFisherDiscriminantAnalysis(N_FILTERS, n_neighbors=17)
BASELINES = {
    "PCA": PCA(N_FILTERS),
    # PCA is the first step of FastICA as well, but its signs fail for constant pixels.
    "ICA": make_pipeline(PCA(N_FILTERS), FastICA(N_FILTERS, max_iter=1000)),
    "FA": FactorAnalysis(N_FILTERS),
    "LDA": LinearDiscriminantAnalysis(solver="eigen"),
    "SPCA": SupervisedPCA(N_FILTERS),
    "LOL": LOL(N_FILTERS),
    "GEM": GeneralizedEigenvectors(N_FILTERS),
    "LFDA, 500 a class": make_pipeline(PCA(200), LFDA),
    "NCA, 200 a class": NeighborhoodComponentsAnalysis(
        N_FILTERS, init="pca", max_iter=50
    ),
    "AMA-Gauss": AMAGauss(N_FILTERS, regularization=1, covariance_estimator=None),
}
LMNN = "LMNN, one image of ten"  # filters of lmnn.py
SUBSETS = {name: int(name.split()[1]) for name in BASELINES if "a class" in name}


@cache
def training_statistics(data, part):
    """Statistics of all training images, or of the 85 % that are not held out."""
    X, y, _, _ = digits(data)
    index = validation_split(data)[0] if part == "fit" else slice(None)
    return ClassStatistics.from_data(X[index], y[index])


@cache
def validation_split(data):
    X, y, _, _ = digits(data)
    splitter = StratifiedShuffleSplit(1, test_size=0.15, random_state=0)
    return next(splitter.split(X, y))


@cache
def chosen_sigma2(data, method):
    """The sigma2 with the best QDA on the validation images."""
    X, y, _, _ = digits(data)
    fit, validation = validation_split(data)
    scores = []
    for sigma2 in GRID[data]:
        model = variant(method, sigma2, seed=0)
        F = model.fit_statistics(training_statistics(data, "fit")).components_.T
        qda = clone(QDA).fit(X[fit] @ F, y[fit])
        scores.append(qda.score(X[validation] @ F, y[validation]))
    return GRID[data][int(np.argmax(scores))]


def variant(method, sigma2, seed):
    """As in the paper: one random start, and sample covariances."""
    model = clone(ESTIMATORS[method]).set_params(regularization=sigma2, init="random")
    model.set_params(n_init=1, random_state=seed, covariance_estimator=None)
    return model


def baseline(data, method, seed):
    model = clone(BASELINES[method])
    if method == "LDA":
        model.set_params(shrinkage=SHRINKAGE[data])
    names = [name for name in model.get_params() if name.endswith("random_state")]
    return model.set_params(**dict.fromkeys(names, seed))


def subset(data, n_per_class, seed):
    """Indices of so many random training images of each digit."""
    rng = np.random.default_rng(seed)
    _, y, _, _ = digits(data)
    return np.concatenate(
        [rng.choice(np.flatnonzero(y == k), n_per_class, False) for k in range(10)]
    )


def filters(data, method, seed, n_per_class=None, sigma2=None):
    """The filters of a method, of shape (n_features, 9), and seconds of its fit."""
    X, y, _, _ = digits(data)
    if method == LMNN:
        return filters_of_lmnn(data)
    if method in ESTIMATORS:
        sigma2 = chosen_sigma2(data, method) if sigma2 is None else sigma2
        model = variant(method, sigma2, seed)
    else:
        model = baseline(data, method, seed)
    if n_per_class is not None:
        index = subset(data, n_per_class, seed)
        X, y = X[index], y[index]
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    return linear_map(model, X.shape[1]), seconds


def filters_of_lmnn(data):
    path = HERE / "cache" / f"lmnn-{data}.npz"
    if not path.exists():
        raise Missing("LMNN: filters of MNIST and videos by benchmarks/papers/lmnn.py")
    with np.load(path) as stored:
        return stored["filters"], float(stored["seconds"])


def linear_map(model, n_features):
    """The matrix by which a fitted model multiplies samples, except for an offset."""
    samples = np.vstack([np.eye(n_features), np.zeros(n_features)])
    Z = model.transform(samples)
    return Z[:-1] - Z[-1]


def gaussian_accuracy(data, F, rng):
    """QDA of samples drawn from Gaussians with the statistics of the test images."""
    _, _, X, y = digits(data)
    stats = ClassStatistics.from_data(X @ F, y)
    draw = rng.multivariate_normal
    sets = []
    for _ in range(2):
        moments = zip(stats.means, stats.covariances, strict=True)
        sets.append(np.concatenate([draw(m, c, 20_000) for m, c in moments]))
    labels = np.repeat(np.arange(10), 20_000)
    return clone(QDA).fit(sets[0], labels).score(sets[1], labels)


def scores(data, method, seed, n_per_class=None):
    """QDA, kNN and simulated Gaussians for one start."""
    X, y, X_test, y_test = digits(data)
    F = filters(data, method, seed, n_per_class)[0].astype(np.float32)
    Z, Z_test = X @ F, X_test @ F
    knn = KNeighborsClassifier(3, algorithm="brute").fit(Z, y)
    rng = np.random.default_rng(seed)
    table = {
        "QDA": clone(QDA).fit(Z, y).score(Z_test, y_test),
        "QDA of Gaussians": gaussian_accuracy(data, F, rng),
        "kNN": knn.score(Z_test, y_test),
    }
    if method in ESTIMATORS:
        table["sigma2"] = chosen_sigma2(data, method)
    return table


@reproduces(
    f"{PAPER}, figures 5, 14, 15; preprint, figure 5",
    "MNIST: accuracy, medians",
    version=4,
    median=True,
)
def sqfa_mnist(quick):
    yield from rows_of("mnist", quick)


@reproduces(f"{PAPER}, figures 4, 14, 15", "SVHN: accuracy, medians", median=True)
def sqfa_figure_4(quick):
    yield from rows_of("svhn", quick)


def rows_of(data, quick):
    for method in ["PCA", "SQFA"] if quick else [*BASELINES, LMNN, *VARIANTS]:
        n_seeds = 20 if method in VARIANTS else 3 if method in SUBSETS else 1
        arguments = {"method": method, "data": data}
        if method in SUBSETS:
            arguments["n_per_class"] = SUBSETS[method]
        seeds = 1 if quick else n_seeds
        yield Row({"method": method}, scores, arguments, seeds=seeds)


@reproduces(
    "Herrera-Esposito and Burge, preprint, figure 8",
    "MNIST: distances of second moments, medians",
    version=3,
    median=True,
)
def sqfa_preprint_figure_8(quick):
    for method in ["PCA"] if quick else ["smSQFA", *OTHER_DISTANCES]:
        arguments = {"method": method, "data": "mnist"}
        yield Row({"method": method}, scores, arguments, seeds=1 if quick else 3)


def bound_and_distance(means, covariances, n_pairs):
    """The Calvo-Oller bound and the Fisher-Rao distance, for the first class pairs."""
    i, j = (index[:n_pairs] for index in np.triu_indices(len(means), 1))
    pairs = (means[i], covariances[i], means[j], covariances[j])
    bound = distance_calvo_oller(*pairs)
    distance, lower, upper = distance_fisher_rao(*pairs, tol=1e-6, return_bounds=True)
    ratio = bound / distance
    return {
        "median bound / distance": np.median(ratio),
        "least bound / distance": ratio.min(),
        "bound": bound,
        "distance": distance,
        "largest width of the bracket": (upper - lower).max(),
    }


def tightness(method, class_pairs):
    """The Calvo-Oller bound and the Fisher-Rao distance, for pairs of digits."""
    F = filters("mnist", method, 0)[0]
    projected = training_statistics("mnist", "all").project(F.T)
    covariances = projected.covariances
    if method in VARIANTS:
        covariances = covariances + chosen_sigma2("mnist", method) * np.eye(N_FILTERS)
    return bound_and_distance(projected.means, covariances, class_pairs)


def plot_tightness(figure, lines):
    axes = figure.subplots()
    for measure in ("median bound / distance", "least bound / distance"):
        own = [line for line in lines if line["measure"] == measure]
        names = [line["features"] for line in own]
        axes.plot(names, [float(line["reproduced"]) for line in own], "o")
        axes.set_ylabel("Calvo-Oller bound / Fisher-Rao distance")


@reproduces(
    f"{PAPER}, figure 10",
    "MNIST: tightness of the Calvo-Oller bound, 45 pairs of digits",
    version=2,
    plot=plot_tightness,
)
def sqfa_figure_10(quick):
    for method in ["PCA"] if quick else ["PCA", "LDA", *VARIANTS]:
        arguments = {"method": method, "class_pairs": 10 if quick else 45}
        yield Row({"features": method}, tightness, arguments)
