"""Wasserstein discriminant analysis beside that of POT: seconds, and the ratio reached.

Both begin with the principal axes and search with their defaults, for two components of
scikit-learn's digits, in turn. The ratio is computed by plain Sinkhorn iterations: with
the ten of which POT's objective is made, and with so many that nothing changes. More
tables have the accuracies of neighbours on a test half, beside other projections::

    python benchmarks/bench_wda.py [repeats]
"""

import contextlib
import io
import sys
import warnings

import numpy as np
from common import interleaved, load
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from skgeom.baselines import (
    LocalFisherDiscriminantAnalysis,
    WassersteinDiscriminantAnalysis,
)


def plan(costs, gamma, n_iter):
    kernel = np.exp(-costs / gamma)
    u, v = np.ones(len(costs)), np.ones(costs.shape[1])
    for _ in range(n_iter):
        v = 1 / costs.shape[1] / (kernel.T @ u)
        u = 1 / len(costs) / (kernel @ v)
    return u[:, None] * kernel * v


def ratio(components, start, X, y, regularization, n_iter):
    """The objective, regularised in units of the mean costs at the start."""
    sums = np.zeros(2)
    for i in np.unique(y):
        for j in np.unique(y)[np.unique(y) >= i]:
            costs, units = (
                cdist(X[y == i] @ P.T, X[y == j] @ P.T, "sqeuclidean")
                for P in (components, start)
            )
            moved = plan(costs, regularization * units.mean(), n_iter)
            sums[int(i != j)] += (moved * costs).sum()
    return sums[0] / sums[1]


def ours(X, y, regularization):
    model = WassersteinDiscriminantAnalysis(2, regularization=regularization)
    return model.fit(X, y).components_


def theirs(X, y, regularization, start):
    from ot.dr import wda

    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        components, _ = wda(
            X.copy(), y, p=2, reg=regularization, P0=start.T.copy(), normalize=True
        )
    return components.T


def compare_with_pot(repeats):
    X, y = load_digits(return_X_y=True)
    X = X - X.mean(axis=0)
    start = PCA(2).fit(X).components_
    print(f"{'regularization':16s}{'':8s}{'seconds':>9s}{'ratio of':>10s}", end="")
    print(f"{'objective,':>14s}{'objective,':>14s}")
    print(f"{'':33s}{'seconds':>10s}{'10 Sinkhorn':>14s}{'converged':>14s}")
    for regularization in (0.1, 1.0):
        jobs = {
            "skgeom": lambda r=regularization: ours(X, y, r),
            "POT": lambda r=regularization: theirs(X, y, r, start),
        }
        seconds, found = interleaved(jobs, repeats)
        for name, components in found.items():
            values = [
                ratio(components, start, X, y, regularization, n) for n in (10, 1000)
            ]
            print(
                f"{regularization:<16g}{name:8s}{seconds[name]:9.2f}"
                f"{seconds[name] / seconds['skgeom']:10.1f}"
                f"{values[0]:14.6f}{values[1]:14.6f}",
                flush=True,
            )


def compare_projections(repeats):
    X_train, y_train, X_test, y_test = load(None)
    methods = {
        "PCA": PCA(2),
        "LDA, shrinkage 0.1": LinearDiscriminantAnalysis(
            solver="eigen", shrinkage=0.1, n_components=2
        ),
        "LFDA, k = 5": LocalFisherDiscriminantAnalysis(2, n_neighbors=5),
        "NCA": NeighborhoodComponentsAnalysis(2, init="pca"),
        "WDA, 0.1": WassersteinDiscriminantAnalysis(2),
        "WDA, 0.3": WassersteinDiscriminantAnalysis(2, regularization=0.3),
    }
    for whiten in (False, True):
        axes = PCA(10 if whiten else None, whiten=whiten).fit(X_train)
        A, B = axes.transform(X_train), axes.transform(X_test)
        jobs = {n: lambda m=m, A=A: m.fit(A, y_train) for n, m in methods.items()}
        seconds, fitted = interleaved(jobs, repeats)
        print(f"\n3-NN, two components{' of ten whitened axes' * whiten}")
        for name, model in fitted.items():
            neighbours = KNeighborsClassifier(3).fit(model.transform(A), y_train)
            score = neighbours.score(model.transform(B), y_test)
            print(f"{name:24s}{score:7.3f}{seconds[name]:9.2f} s", flush=True)


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    compare_with_pot(repeats)
    compare_projections(repeats)


if __name__ == "__main__":
    main()
