"""SQFA with many classes: time, objective and memory against the number of classes.

Run both parts on an otherwise idle machine::

    python benchmarks/bench_many_classes.py growth          # 10 to 1,000 classes
    python benchmarks/bench_many_classes.py embeddings      # 1,000 x 2,048

``growth`` fits 8 filters to exact statistics of 64 features, for two kinds of classes,
and prints the exponent of the time in the number of classes, fitted to the medians. The
objective is the mean over all pairs. For up to ``--all-pairs`` classes, the table also
contains the objective of an optimization on all pairs, and the time of LDA on 50
samples of each class.

``embeddings`` draws samples of classes of 2,048 features in blocks, computes the
statistics along the leading principal axes, and fits 16 filters. ``--all-pairs`` also
prints the objective of an optimization on all pairs, which takes long with 1,000
classes.
"""

import argparse
import resource
import time
from functools import partial
from unittest import mock

import numpy as np
from bench_sqfa_family import many_classes
from common import interleaved
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from skgeom import SQFA, ClassStatistics
from skgeom.objectives import _pairs


def on_all_pairs(job):
    """The result of a job that uses all pairs instead of samples of pairs."""
    with mock.patch.object(_pairs, "FEW_PAIRS", np.inf):
        return job()


def common_factors(n_classes, n_features=64):
    """Classes whose means, and variances, differ along a few common axes.

    Optimizations from different initializations end in different optima.
    """
    rng = np.random.default_rng(0)
    deviations, shifts, scales = factors(rng, n_classes, n_features)
    axes = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    means = (shifts * deviations) @ axes.T
    covariances = (axes * (scales * deviations)[:, None] ** 2) @ axes.T
    return ClassStatistics(range(n_classes), [200] * n_classes, means, covariances)


def factors(rng, n_classes, n_features):
    """Deviations (n,), and the class means (c, n) and deviations in units of them."""
    axis = np.arange(n_features)
    deviations = (axis + 1) ** -0.7
    shifts = rng.normal(size=(n_classes, n_features)) * np.where(axis < 24, 1, 0.15)
    scatter = np.where((axis >= 10) & (axis < 40), 0.8, 0.2)
    logs = rng.normal(size=(n_classes, n_features)) * scatter
    return deviations, shifts, np.sqrt(np.exp(logs) / 2)


def compare_growth(numbers, repeats, most_all_pairs):
    problems = {"own directions": many_classes, "common factors": common_factors}
    for name, make in problems.items():
        print(f"{name}: classes   seconds   objective   loss by all pairs      LDA")
        medians = []
        for n_classes in numbers:
            stats = make(n_classes, 64)
            sqfa = SQFA(8, random_state=0)
            lda = LinearDiscriminantAnalysis(solver="eigen")
            jobs = {
                "SQFA": partial(sqfa.fit_statistics, stats),
                "LDA": partial(lda.fit, *samples(stats, 50)),
            }
            seconds, _ = interleaved(jobs, repeats)
            medians.append(seconds["SQFA"])
            value, reached = sqfa.objective_, "-"
            if n_classes <= most_all_pairs:
                start = time.perf_counter()
                best = on_all_pairs(jobs["SQFA"]).objective_
                taken = time.perf_counter() - start
                reached = f"{1 - value / best:+.5f} ({taken:.1f} s)"
            print(
                f"{n_classes:{len(name) + 9}d} {medians[-1]:9.2f} {value:11.5f} "
                f"{reached:>19s} {seconds['LDA']:8.3f}",
                flush=True,
            )
        slope = np.polyfit(np.log(numbers), np.log(medians), 1)[0]
        print(f"  time grows with the number of classes to the power {slope:.2f}\n")


def samples(stats, per_class):
    """Gaussian samples of exact statistics."""
    rng = np.random.default_rng(0)
    roots = np.linalg.cholesky(stats.covariances)
    noise = rng.normal(size=(len(roots), per_class, stats.n_features))
    X = stats.means[:, None] + noise @ roots.mT
    return X.reshape(-1, stats.n_features), np.repeat(stats.classes, per_class)


def compare_embeddings(n_classes, n_features, n_axes, all_pairs):
    def blocks(per_class=100, at_once=10):
        """Samples of ten classes at a time, in single precision."""
        rng = np.random.default_rng(1)
        parts = factors(np.random.default_rng(0), n_classes, n_features)
        deviations, shifts, scales = (part.astype(np.float32) for part in parts)
        for first in range(0, n_classes, at_once):
            rows = slice(first, min(first + at_once, n_classes))
            shape = len(shifts[rows]), per_class, n_features
            X = rng.standard_normal(shape, dtype=np.float32) * scales[rows, None]
            X = (X + shifts[rows, None]) * deviations
            labels = np.repeat(np.arange(rows.start, rows.stop), per_class)
            yield X.reshape(-1, n_features), labels

    clock = Clock()
    count, total, moment = 0, np.zeros(n_features), np.zeros((n_features, n_features))
    for X, _ in blocks():
        count += len(X)
        total += X.sum(axis=0)
        moment += X.T @ X
    mean = total / count
    _, axes = np.linalg.eigh(moment / count - np.outer(mean, mean))
    basis = axes[:, : -n_axes - 1 : -1].astype(np.float32)
    clock.report("principal axes")
    stats = ClassStatistics.from_blocks((X @ basis, y) for X, y in blocks()).shrunk()
    clock.report(f"statistics along {n_axes} of them")
    estimator = SQFA(16, random_state=0)
    value = estimator.fit_statistics(stats).objective_
    clock.report(f"SQFA, objective {value:.5f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"in all {clock.total:.0f} s, peak memory {peak:.2f} GiB", flush=True)
    if all_pairs:
        best = on_all_pairs(lambda: estimator.fit_statistics(stats).objective_)
        clock.report(f"on all pairs, objective {best:.5f}, {1 - value / best:+.5f}")


class Clock:
    """Prints the seconds since its last call."""

    def __init__(self):
        self.total, self._last = 0.0, time.perf_counter()

    def report(self, what):
        now = time.perf_counter()
        print(f"{now - self._last:8.1f} s  {what}", flush=True)
        self.total, self._last = self.total + now - self._last, now


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["growth", "embeddings"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--classes", type=int, nargs="+", help="numbers of classes, or the number"
    )
    parser.add_argument("--features", type=int, default=2048, help="of the embeddings")
    parser.add_argument("--axes", type=int, default=256, help="that are kept of them")
    parser.add_argument(
        "--all-pairs",
        type=int,
        nargs="?",
        const=10**6,
        help="largest number of classes to search on all pairs with",
    )
    arguments = parser.parse_args()
    if arguments.part == "growth":
        most = 300 if arguments.all_pairs is None else arguments.all_pairs
        numbers = arguments.classes or [10, 30, 100, 300, 1000]
        compare_growth(numbers, arguments.repeats, most)
    else:
        n_classes = (arguments.classes or [1000])[0]
        all_pairs = n_classes <= (arguments.all_pairs or 0)
        compare_embeddings(n_classes, arguments.features, arguments.axes, all_pairs)


if __name__ == "__main__":
    main()
