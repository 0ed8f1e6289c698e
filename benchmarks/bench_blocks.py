"""Statistics and filters of data that do not fit in memory: time and peak memory.

    python -m benchmarks.bench_blocks [--samples 100000 1000000 10000000]
        [--features 100] [--classes 10] [--axes K] [--rows 100000] [--repeats 3]
        [--folder F] [--parquet]

For each number of samples, the script draws Gaussian classes in blocks and writes them
to a folder of float32 .npy files, or of Parquet files, which Dask reads as a data
frame. The following jobs run in turn, each in a separate process:

- read, multiply: each block is read and multiplied once by its transpose, in double
  precision. This is the minimum work;
- from_blocks: the statistics of the classes, with ``--axes`` in that many dimensions;
- read, multiply on a Dask cluster of two processes with one thread each;
- cluster: the statistics, on the same cluster;
- SQFA: nine filters, by ``SQFA.fit``, on the same cluster.

The table contains median times in seconds, the ratio of each time to the time of "read,
multiply" on the same number of cores, and the peak resident memory in MB of the
process, or of the largest worker. The last line is the largest difference between
filters computed on the cluster and filters computed from the statistics of
``from_blocks``, for a fixed regularization.
"""

import argparse
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from skgeom import SQFA, ClassStatistics

NOISE = 0.01
ONE_PROCESS, ON_CLUSTER = "read, multiply", "the same on a cluster"


def write(folder, n_samples, n_features, n_classes, rows, parquet=False):
    """Blocks of samples and labels; the classes differ in mean and covariance."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(n_classes, n_features))
    spreads = rng.normal(size=(10, n_features, n_features)) / n_features**0.5
    for number, start in enumerate(range(0, n_samples, rows)):
        y = rng.integers(n_classes, size=min(rows, n_samples - start))
        X = rng.standard_normal((len(y), n_features), dtype=np.float32)
        for kind in range(10):
            own = y % 10 == kind
            X[own] = X[own] @ spreads[kind].astype(np.float32)
        X += means[y]
        if parquet:
            frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(n_features)])
            frame.assign(y=y).to_parquet(folder / f"X{number:04}.parquet")
        else:
            np.save(folder / f"X{number:04}.npy", X)
            np.save(folder / f"y{number:04}.npy", y)


def load(folder, number):
    path = folder / f"X{number:04}.parquet"
    if path.exists():
        frame = pd.read_parquet(path)
        return frame.iloc[:, :-1].to_numpy(), frame["y"].to_numpy()
    return np.load(folder / f"X{number:04}.npy"), np.load(folder / f"y{number:04}.npy")


def n_blocks(folder):
    return len(list(folder.glob("X*")))


def blocks(folder):
    for number in range(n_blocks(folder)):
        yield load(folder, number)


def peak():
    """Peak resident memory of this process, in MB."""
    status = Path("/proc/self/status").read_text().splitlines()
    (size,) = (line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(size) / 1024


def read_and_multiply(folder):
    return sum(product(folder, number) for number in range(n_blocks(folder)))


def product(folder, number):
    X = load(folder, number)[0].astype(np.float64)
    return X.T @ X


def products_on_a_cluster(folder):
    import dask

    of_block = dask.delayed(product)
    return dask.delayed(sum)(
        [of_block(folder, number) for number in range(n_blocks(folder))]
    ).compute()


def statistics_of_blocks(folder, n_axes):
    return ClassStatistics.from_blocks(partial(blocks, folder), n_axes=n_axes)


def cluster_data(folder):
    import dask.array as da
    import dask.dataframe as dd

    if not (folder / "X0000.npy").exists():
        frame = dd.read_parquet(folder)
        return frame[list(frame.columns[:-1])], frame["y"]
    lengths = [len(np.load(f, mmap_mode="r")) for f in sorted(folder.glob("y*.npy"))]
    n_features = np.load(folder / "X0000.npy", mmap_mode="r").shape[1]
    chunks = tuple(lengths), (n_features,)
    X, y = np.empty((0, 0), np.float32), np.empty(0, np.int64)
    return (
        da.map_blocks(part, folder, "X", chunks=chunks, meta=X),
        da.map_blocks(part, folder, "y", chunks=chunks[:1], meta=y),
    )


def part(folder, name, block_id):
    return np.load(folder / f"{name}{block_id[0]:04}.npy")


def statistics_on_a_cluster(folder, n_axes):
    return ClassStatistics.from_data(*cluster_data(folder), n_axes=n_axes)


def filters_on_a_cluster(folder, **options):
    return filters(**options).fit(*cluster_data(folder)).components_


def filters(**options):
    return SQFA(9, random_state=0, **options)


def on_a_cluster(folder, job):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as own,
        Client(own) as client,
    ):
        start = time.perf_counter()
        result = job(folder)
        seconds = time.perf_counter() - start
        return seconds, max(client.run(peak).values()), result


def measured(job, *arguments):
    """Seconds, peak memory, and result of a job, in this process."""
    start = time.perf_counter()
    result = job(*arguments)
    return time.perf_counter() - start, peak(), result


def in_a_new_process(function, *arguments):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def compare(folder, n_axes, repeats):
    """Median seconds and largest peak of each job, and the difference of filters."""
    jobs = {
        ONE_PROCESS: (measured, read_and_multiply, folder),
        "from_blocks": (measured, statistics_of_blocks, folder, n_axes),
        ON_CLUSTER: (on_a_cluster, folder, products_on_a_cluster),
        "cluster": (
            on_a_cluster,
            folder,
            partial(statistics_on_a_cluster, n_axes=n_axes),
        ),
    }
    if n_axes is None:
        jobs["SQFA on it"] = (on_a_cluster, folder, filters_on_a_cluster)
    runs = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            runs[name].append(in_a_new_process(*job))
    table = {
        name: (np.median([r[0] for r in of_job]), max(r[1] for r in of_job))
        for name, of_job in runs.items()
    }
    statistics, from_cluster = runs["from_blocks"][0][2], runs["cluster"][0][2]
    equal = np.array_equal(statistics.covariances, from_cluster.covariances)
    gap = np.nan
    if n_axes is None:
        # The automatic regularization and shrinkage require samples.
        options = {"regularization": NOISE, "covariance_estimator": None}
        same = partial(filters_on_a_cluster, **options)
        _, _, of_blocks = in_a_new_process(on_a_cluster, folder, same)
        model = filters(**options).fit_statistics(statistics)
        gap = np.abs(of_blocks - model.components_).max()
    return table, equal, gap


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = [100_000, 1_000_000, 10_000_000]
    parser.add_argument("--samples", type=int, nargs="+", default=sizes)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--axes", type=int)
    parser.add_argument("--rows", type=int, default=100_000, help="of a block")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--parquet", action="store_true")
    parser.add_argument("--folder", help="where blocks are written, and removed")
    options = parser.parse_args()
    sizes = f"{options.features} features, {options.classes} classes"
    print(f"{sizes}, blocks of {options.rows:,} samples, {os.cpu_count()} cores")
    for n_samples in options.samples:
        with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
            folder = Path(scratch)
            shape = n_samples, options.features, options.classes, options.rows
            write(folder, *shape, options.parquet)
            table, equal, gap = compare(folder, options.axes, options.repeats)
        print(f"{n_samples:,} samples, {4e-9 * n_samples * options.features:.3g} GB")
        for name, (seconds, size) in table.items():
            if name in (ONE_PROCESS, ON_CLUSTER):
                base = seconds
            print(
                f"  {name:<21} {seconds:7.1f} s  x {seconds / base:4.2f}  "
                f"peak {size:5.0f} MB"
            )
        print(f"  statistics of both equal to the last digit: {equal}")
        if options.axes is None:
            print(f"  filters differ by {gap:.1e}")


if __name__ == "__main__":
    main()
