"""SQFA compared with the package sqfa, LDA and PCA: time, memory, objective, accuracy.

All methods run in one process, in turn and several times. The tables contain medians
and ratios. Run the script on an otherwise idle machine::

    python benchmarks/bench_sqfa.py                            # scikit-learn's digits
    python benchmarks/bench_sqfa.py --data mnist.npz           # X, y, n_train
    OMP_NUM_THREADS=2 python benchmarks/bench_sqfa.py --data mnist.npz

``OMP_NUM_THREADS`` sets the number of cores for all methods. For each regularization,
lines that begin with "|" divide the time of a fit of skgeom into optimizations, by
number of features and with their evaluations, and the remaining time.

The installed version of sqfa is measured: the version of the extra ``bench`` (install a
CPU build of torch first) or the newest source. Without sqfa, its rows are skipped.
``--data`` names a file with the arrays ``X``, whose first axis contains the samples,
``y``, and ``n_train``, the number of leading samples for training. A file name without
a folder is also looked up in ``SKGEOM_DATA``.
"""

import argparse
import time
import tracemalloc
import warnings
from unittest import mock

import numpy as np
from common import PEER, has_peer, interleaved, load, peer_fit
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import ConvergenceWarning

from skgeom import SQFA, ClassStatistics
from skgeom._filters import _problem
from skgeom.objectives._class_distances import DISTANCES
from skgeom.objectives._pairwise import MeanPairwiseDistance

_minimize = _problem.minimize


def extra_memory(job):
    """Largest memory, in MB, that Python and NumPy allocated during a job."""
    tracemalloc.start()
    job()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def profile(job):
    """One line with the parts of the time of a fit."""
    searches = {}  # number of features: number of optimizations, evaluations, seconds

    def minimize(cost, manifold, start, **options):
        begin = time.perf_counter()
        result = _minimize(cost, manifold, start, **options)
        seen = searches.setdefault(len(start), [0, 0, 0.0])
        seen[0] += 1
        seen[1] += result.n_evaluations
        seen[2] += time.perf_counter() - begin
        return result

    with mock.patch.object(_problem, "minimize", minimize):
        begin = time.perf_counter()
        job()
        rest = time.perf_counter() - begin
    parts = []
    for n_features, (n_searches, n_evaluations, seconds) in searches.items():
        rest -= seconds
        parts.append(
            f"{n_searches} searches of {n_features} features: {n_evaluations} "
            f"evaluations, {seconds:.3f} s"
        )
    return "         | " + "; ".join([*parts, f"all else: {rest:.3f} s"])


def compare_from_statistics(stats, n_components, regularizations, repeats):
    """Seconds from given class statistics, and the objective in double precision."""
    print(f"\nFrom class statistics, {n_components} filters (medians of {repeats}):")
    print("sigma^2  method           seconds   objective   peer's time / ours")
    for regularization in regularizations:
        objective = MeanPairwiseDistance(
            stats.means, stats.covariances, regularization, DISTANCES["fisher-rao"]
        )

        def ours(regularization=regularization, **settings):
            sqfa = SQFA(n_components, regularization=regularization, **settings)
            return sqfa.fit_statistics(stats).components_

        jobs = {}
        if has_peer():
            jobs[PEER] = lambda s=regularization: peer_fit(stats, n_components, s)
        jobs["skgeom, PCA"] = lambda ours=ours: ours(init="pca")
        jobs["skgeom, auto"] = lambda ours=ours: ours(random_state=0)
        seconds, filters = interleaved(jobs, repeats)
        peer = seconds.get(PEER, np.nan)
        for name in jobs:
            value, _ = objective(filters[name].T)
            ratio = f"{peer / seconds[name]:18.1f}" if name != PEER else ""
            row = f"{regularization:7g}  {name:14s} {seconds[name]:9.3f} {value:11.5f}"
            print(row, ratio, flush=True)
            if name != PEER:
                print(profile(jobs[name]), flush=True)


def compare_from_data(data, n_components, regularization, repeats):
    """Seconds, memory and accuracy of whole fits."""
    X_train, y_train, X_test, y_test = data
    lda = {"n_components": min(n_components, len(np.unique(y_train)) - 1)}
    estimators = {
        "PCA": PCA(n_components),
        "LDA eigen, shrinkage 0.5": LinearDiscriminantAnalysis(
            solver="eigen", shrinkage=0.5, **lda
        ),
        "LDA svd": LinearDiscriminantAnalysis(solver="svd", **lda),
        "SQFA, auto": SQFA(n_components, random_state=0),
        f"SQFA, sigma^2 = {regularization:g}": SQFA(
            n_components, regularization=regularization, random_state=0
        ),
    }
    jobs = {
        name: lambda estimator=estimator: estimator.fit(X_train, y_train)
        for name, estimator in estimators.items()
    }
    covariances = "class covariances alone"
    jobs[covariances] = lambda: ClassStatistics.from_data(X_train, y_train)
    seconds, fitted = interleaved(jobs, repeats)
    print(
        f"\nFrom data, {X_train.shape[0]} x {X_train.shape[1]}, "
        f"{X_train.nbytes / 1e6:.0f} MB (medians of {repeats}):"
    )
    print(
        "method                      seconds   / covariances   extra MB   QDA accuracy"
    )
    for name, job in jobs.items():
        ratio = seconds[name] / seconds[covariances]
        row = f"{name:26s} {seconds[name]:8.3f} {ratio:15.2f} {extra_memory(job):10.0f}"
        if name != covariances:
            classifier = QuadraticDiscriminantAnalysis(reg_param=1e-5, tol=0)
            classifier.fit(fitted[name].transform(X_train)[:, :n_components], y_train)
            test = fitted[name].transform(X_test)[:, :n_components]
            row += f" {classifier.score(test, y_test):14.4f}"
        print(row, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file with X, y, n_train")
    parser.add_argument("--n-components", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--regularizations",
        type=float,
        nargs="+",
        help="default: 10 1 0.5 0.1 0.01 for --data, else 1 0.5 0.1 0.01",
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", ConvergenceWarning)
    regularizations = arguments.regularizations
    if regularizations is None:
        regularizations = [10, 1, 0.5, 0.1, 0.01][arguments.data is None :]
    data = load(arguments.data)
    compare_from_data(
        data, arguments.n_components, regularizations[0], arguments.repeats
    )
    stats = ClassStatistics.from_data(*data[:2])
    compare_from_statistics(
        stats, arguments.n_components, regularizations, arguments.repeats
    )


if __name__ == "__main__":
    main()
