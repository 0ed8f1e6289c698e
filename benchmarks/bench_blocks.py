"""Statistics and filters of data that do not fit in memory: time and peak memory.

    python -m benchmarks.bench_blocks [--samples 10000000] [--features 100] [--folder F]

Ten Gaussian classes are drawn in blocks and written to a folder of .npy files, float32.
Then, one after another: a pass that reads each block and multiplies it once by its
transpose, in double precision (what has to be done at least); the statistics by
``from_blocks``; and ``SQFA`` with a classifier on a Dask cluster of two processes.
Peaks are those of resident memory, of this process and of each worker.
"""

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from skgeom import SQFA, ClassStatistics, GaussianClassifier

N_CLASSES = 10
ROWS = 100_000


def write(folder, n_samples, n_features):
    """Blocks of samples and labels; the classes differ in mean and covariance."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(N_CLASSES, n_features))
    spreads = rng.normal(size=(N_CLASSES, n_features, n_features)) / n_features**0.5
    for number, start in enumerate(range(0, n_samples, ROWS)):
        y = rng.integers(N_CLASSES, size=min(ROWS, n_samples - start))
        X = rng.standard_normal((len(y), n_features), dtype=np.float32)
        for label in range(N_CLASSES):
            own = y == label
            X[own] = X[own] @ spreads[label].astype(np.float32) + means[label]
        np.save(folder / f"X{number:04}.npy", X)
        np.save(folder / f"y{number:04}.npy", y)
    return number + 1


def load(folder, number):
    return np.load(folder / f"X{number:04}.npy"), np.load(folder / f"y{number:04}.npy")


def peak():
    """Peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(title, job):
    start = time.perf_counter()
    result = job()
    seconds = time.perf_counter() - start
    print(f"{title:<44} {seconds:7.1f} s   peak {peak():6.0f} MB", flush=True)
    return seconds, result


def read_and_multiply(folder, n_blocks):
    total = 0
    for number in range(n_blocks):
        X = load(folder, number)[0].astype(np.float64)
        total = total + X.T @ X
    return total


def cluster_arrays(folder, n_blocks, n_samples, n_features):
    import dask
    import dask.array as da

    X, y = [], []
    for number in range(n_blocks):
        rows = min(ROWS, n_samples - number * ROWS)
        block = dask.delayed(load)(folder, number)
        X.append(da.from_delayed(block[0], (rows, n_features), np.float32))
        y.append(da.from_delayed(block[1], (rows,), np.int64))
    return da.concatenate(X), da.concatenate(y)


def on_a_cluster(folder, n_blocks, n_samples, n_features, statistics, base):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as own,
        Client(own) as client,
    ):
        X, y = cluster_arrays(folder, n_blocks, n_samples, n_features)
        model = SQFA(9, random_state=0)
        seconds, _ = timed(
            "SQFA on a cluster of two processes", lambda: model.fit(X, y)
        )
        print(f"    {seconds / base:.2f} times reading and multiplying")
        classifier = GaussianClassifier().fit_statistics(model.statistics_)
        _, accuracy = timed(
            "    accuracy of its quadratic classifier",
            lambda: (classifier.predict(model.transform(X)) == y).mean().compute(),
        )
        print(f"    {accuracy:.4f}; peaks of the workers: {client.run(peak)}")
    reference = SQFA(9, random_state=0).fit_statistics(statistics.shrunk())
    gap = np.abs(model.components_ - reference.components_).max()
    print(f"    filters differ from those of the merged statistics by {gap:.1e}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--folder", help="where the blocks are written, and left")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.folder or scratch)
        sizes = options.samples, options.features
        n_blocks = len(list(folder.glob("X*.npy"))) or write(folder, *sizes)
        print(
            f"{sizes[0]:,} x {sizes[1]} float32 in {n_blocks} blocks, {os.cpu_count()}"
        )
        base, _ = timed("read, multiply", lambda: read_and_multiply(folder, n_blocks))
        blocks = (load(folder, number) for number in range(n_blocks))
        seconds, statistics = timed(
            "ClassStatistics.from_blocks", lambda: ClassStatistics.from_blocks(blocks)
        )
        print(f"    {seconds / base:.2f} times reading and multiplying")
        on_a_cluster(folder, n_blocks, *sizes, statistics, base)


if __name__ == "__main__":
    main()
