"""The exact Fisher-Rao distance as the objective of filters, and its lower bound.

    python -m benchmarks.bench_fisher_rao [--repeats 3]

For each data set and number of filters, the table contains the mean of the bound and of
the exact distance for the filters of each objective, the largest angle between the
spans of both sets of filters, the accuracy of a Gaussian classifier on test samples,
and median processor times of interleaved fits with their ratio. Both objectives use the
regularization that is selected for the bound.
"""

import argparse
import statistics
import time
import warnings

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.suite import bci, log_vectors
from skgeom import SQFA, GaussianClassifier
from skgeom.objectives._class_distances import DISTANCES, find_distance

NAMES = "fisher-rao", "fisher-rao-exact"


def samples(name):
    """Training and test samples and labels."""
    if name.startswith("BCI"):
        problem = bci(3)
        ((train, test),) = problem.splits
        X = log_vectors(problem.X)
        return X[train], X[test], problem.y[train], problem.y[test]
    X, y = {"iris": load_iris, "wine": load_wine, "digits": load_digits}[name](
        return_X_y=True
    )
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=0
    )
    if name != "digits":
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    return X_train, X_test, y_train, y_test


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "data            m   by bound        by exact       angle  accuracy      "
        "seconds        ratio"
    )
    print(
        "                    bound  exact    bound  exact     deg  bound  exact  "
        "bound  exact"
    )
    for name, m in [
        ("iris", 2),
        ("wine", 2),
        ("digits", 2),
        ("digits", 5),
        ("digits", 9),
        ("BCI, logarithms", 3),
    ]:
        X, X_test, y, y_test = samples(name)
        noise = SQFA(m, random_state=0).fit(X, y).regularization_
        seconds, fitted = {n: [] for n in NAMES}, {}
        for _ in range(options.repeats):
            for distance in NAMES:
                start = time.process_time()
                fitted[distance] = SQFA(
                    m, distance=distance, regularization=noise, random_state=0
                ).fit(X, y)
                seconds[distance].append(time.process_time() - start)
        row, scores = [], []
        for sqfa in fitted.values():
            row += [mean_distance(sqfa, distance) for distance in NAMES]
            classifier = GaussianClassifier().fit(sqfa.transform(X), y)
            scores.append(classifier.score(sqfa.transform(X_test), y_test))
        spans = [sqfa.components_.T for sqfa in fitted.values()]
        angle = np.degrees(subspace_angles(*spans).max())
        times = [statistics.median(seconds[distance]) for distance in NAMES]
        print(
            f"{name:15} {m:>2}  {row[0]:6.3f} {row[1]:6.3f}   {row[2]:6.3f} "
            f"{row[3]:6.3f}  {angle:6.1f}  {scores[0]:.3f}  {scores[1]:.3f}  "
            f"{times[0]:5.2f}  {times[1]:5.2f}  {times[1] / times[0]:5.1f}",
            flush=True,
        )


def mean_distance(sqfa, distance):
    """Mean distance of the features of a fitted estimator, regularized."""
    statistics, noise = sqfa.statistics_, sqfa.regularization_
    noise = noise * np.eye(statistics.n_features)
    kind = find_distance(distance, DISTANCES)
    classes = kind(statistics.means, statistics.covariances + noise)
    squares, _ = classes.pairs(*np.triu_indices(len(statistics.means), 1))
    return np.sqrt(squares).mean()


if __name__ == "__main__":
    main()
