"""Kernel discriminant analysis, scikit-kda, kfda and SVC: time, memory, accuracy.

All methods of a table run in one process, in turn. The tables contain medians and
ratios. Run the script on an otherwise idle machine::

    python -m benchmarks.bench_kernel_discriminant solvers peers svc one-thread auto
    python -m benchmarks.bench_kernel_discriminant small sizes
    python -m benchmarks.bench_kernel_discriminant mnist blocks million

The data are read from ``mnist.npz`` in the folder ``SKGEOM_DATA``, with the arrays
``X``, ``y`` and ``n_train``; pixels are scaled to values from 0 to 1. The compared
packages are installed by ``pip install scikit-kda kfda`` and are skipped if they are
missing or fail. ``mnist`` runs each size in a separate process to measure the peak
memory.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.suite import gaussians
from skgeom import KernelDiscriminantAnalysis

GAMMA = 0.025
PENALTIES, CRITERIA = ["identity", "kernel"], ["total", "between"]


def load(n, dtype=np.float64):
    """The first n training images, and all test images."""
    data = np.load(Path(os.environ.get("SKGEOM_DATA", "."), "mnist.npz"))
    n_train = int(data["n_train"])
    X = data["X"].reshape(len(data["y"]), -1)
    y = data["y"].astype(np.int64)
    X_train, X_test = (part.astype(dtype) / 255 for part in (X[:n], X[n_train:]))
    return X_train, y[:n], X_test, y[n_train:]


def interleaved(jobs, repeats):
    """Median seconds and last result of each job, run in turn."""
    seconds, results = {name: [] for name in jobs}, {}
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            try:
                results[name] = job()
            except Exception as error:  # a compared package may raise any error
                results[name] = error
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(s) for name, s in seconds.items()}, results


def table(title, jobs, repeats, reference, test):
    """Print seconds, the ratio to the reference, and test accuracy.

    Returns the last result of each job.
    """
    print(f"\n{title} (medians of {repeats})")
    print(f"{'method':40s}  seconds  / {reference:24s} accuracy")
    seconds, results = interleaved(jobs, repeats)
    for name in jobs:
        result = results[name]
        if isinstance(result, Exception):
            print(f"{name:40s}  fails: {type(result).__name__}: {str(result)[:60]}")
            continue
        ratio = seconds[name] / seconds[reference]
        score = result.score(*test) if hasattr(result, "predict") else np.nan
        print(f"{name:40s} {seconds[name]:8.2f}   {ratio:23.2f} {score:10.4f}")
    return results


def ours(X, y, solver, penalty, criterion):
    regularization = 1e-6 if penalty == "identity" else 1e-5
    return KernelDiscriminantAnalysis(
        gamma=GAMMA,
        solver=solver,
        penalty=penalty,
        criterion=criterion,
        regularization=regularization,
        calibration=None,
    ).fit(X, y)


def compare_solvers(repeats, n=4000):
    X, y, *test = load(n)
    for penalty in PENALTIES:
        for criterion in CRITERIA:
            jobs = {
                solver: lambda s=solver, p=penalty, c=criterion: ours(X, y, s, p, c)
                for solver in ("cholesky", "eigen")
            }
            title = f"Solvers, n = {n}, penalty {penalty}, criterion {criterion}"
            table(title, jobs, repeats, "cholesky", test)


def compare_peers(repeats, n=2000):
    X, y, *test = load(n)
    jobs = {
        f"skgeom, {penalty}, {criterion}": lambda p=penalty, c=criterion: ours(
            X, y, "cholesky", p, c
        )
        for penalty in PENALTIES
        for criterion in CRITERIA
    }
    try:
        from skkda.base import KernelDiscriminantAnalysis as Peer

        jobs["scikit-kda"] = lambda: Peer(lmb=1e-3, gamma=GAMMA).fit(X, y)
    except ImportError as error:
        print("scikit-kda:", error)
    try:
        from kfda import Kfda

        jobs["kfda"] = lambda: Kfda(9, kernel="rbf", gamma=GAMMA).fit(X, y)
    except ImportError as error:
        print("kfda:", error)
    table(f"Peers, n = {n}", jobs, repeats, "skgeom, identity, total", test)


def compare_svc(repeats, n=10_000):
    X, y, *test = load(n)
    jobs = {
        "SVC, C = 1": lambda: SVC(gamma=GAMMA).fit(X, y),
        "SVC, C = 10": lambda: SVC(gamma=GAMMA, C=10).fit(X, y),
    }
    for penalty in PENALTIES:
        for criterion in CRITERIA:
            jobs[f"skgeom, {penalty}, {criterion}"] = lambda p=penalty, c=criterion: (
                ours(X, y, "cholesky", p, c)
            )
    table(f"Comparison with SVC, n = {n}", jobs, repeats, "SVC, C = 1", test)


def compare_one_thread(repeats, n=10_000, n_choice=2000):
    """Defaults, and parameters chosen by the same folds; processor time of one thread.

    Both methods select one of nine settings in three folds of the first 2,000 images.
    """
    X, y, *test = load(n)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    kda = KernelDiscriminantAnalysis(penalty="kernel", calibration=None)
    gammas = {"gamma": [0.01, 0.025, 0.06]}
    tuned = {
        "SVC": (SVC(), {"C": [1, 10, 100]}),
        "KDA": (kda, {"regularization": [1e-6, 1e-5, 1e-4]}),
    }
    models = {
        "SVC, defaults": SVC(),
        "KDA, defaults": KernelDiscriminantAnalysis(random_state=0),
    }
    with threadpool_limits(1):
        for name, (model, grid) in tuned.items():
            search = GridSearchCV(model, grid | gammas, cv=folds, refit=False)
            search.fit(X[:n_choice], y[:n_choice])
            settings = search.best_params_
            models[f"{name}, tuned {settings}"] = clone(model).set_params(**settings)
        seconds = {name: [] for name in models}
        for _ in range(repeats):
            for name, model in models.items():
                start = time.process_time()
                model.fit(X, y)
                seconds[name].append(time.process_time() - start)
        print(f"\nOne thread, n = {n} (medians of {repeats}, processor time)")
        for name, model in models.items():
            middle, score = statistics.median(seconds[name]), model.score(*test)
            print(f"{name:60s} {middle:6.1f} s {score:7.2%}", flush=True)


def load_small(n, n_test=2007):
    """The first n training images, and some test images, of 16 x 16 pixels."""
    X, y, X_test, y_test = load(n)

    def shrink(images):
        images = np.pad(images.reshape(-1, 28, 28), ((0, 0), (2, 2), (2, 2)))
        return images.reshape(-1, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(-1, 256)

    return shrink(X), y, shrink(X_test[:n_test]), y_test[:n_test]


def compare_small(repeats, n=7291):
    """The defaults with the numbers of images and pixels of USPS."""
    X, y, *test = load_small(n)
    grid = {"C": [0.1, 1, 10, 100]}
    jobs = {
        "SVC": lambda: SVC().fit(X, y),
        "GridSearchCV(SVC), 4 values": lambda: GridSearchCV(SVC(), grid).fit(X, y),
        "KDA": lambda: KernelDiscriminantAnalysis().fit(X, y),
        "KDA, regularization given": lambda: KernelDiscriminantAnalysis(
            gamma="scale", regularization=1e-5
        ).fit(X, y),
        "KDA, laplacian kernel": lambda: KernelDiscriminantAnalysis(
            kernel="laplacian", gamma=0.03
        ).fit(X, y),
    }
    table(f"Defaults, {n} images of 16 x 16 pixels", jobs, repeats, "SVC", test)


def compare_sizes(repeats):
    """Time of the selection of the regularization, in units of a plain fit."""
    for n in (300, 1000, 2000, 3500, 5000, 7291, 10_000):
        X, y, *test = load_small(n)
        jobs = {
            "given": lambda X=X, y=y: KernelDiscriminantAnalysis(
                gamma="scale", regularization=1e-5, calibration=None
            ).fit(X, y),
            "auto, the default": lambda X=X, y=y: KernelDiscriminantAnalysis().fit(
                X, y
            ),
        }
        title = f"{n} images of 16 x 16 pixels"
        table(title, jobs, repeats, "auto, the default", test)


def compare_blocks(repeats, n=60_000, n_blocks=60):
    """Images in memory, and in the blocks of a Dask array."""
    import dask.array as da

    X, y, *test = load(n)
    rows = -(-n // n_blocks)
    blocks, labels = da.from_array(X, chunks=(rows, -1)), da.from_array(y, chunks=rows)
    kda = KernelDiscriminantAnalysis(random_state=0)
    jobs = {
        "in memory": lambda: clone(kda).fit(X, y),
        f"{n_blocks} blocks": lambda: clone(kda).fit(blocks, labels),
    }
    title = f"{n} images of MNIST, double precision"
    models = table(title, jobs, repeats, "in memory", test)
    expected, found = (model.transform(test[0]) for model in models.values())
    difference = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"largest difference of components {difference:.1e}")


def compare_million(repeats):
    """A million samples of 20 features, with default parameters."""
    problem = gaussians(1_100_000, seed=0)
    X, y, test = problem.X, problem.y, slice(1_000_000, 1_050_000)
    jobs = {
        f"{n:,} samples": lambda n=n: KernelDiscriminantAnalysis(random_state=0).fit(
            X[:n], y[:n]
        )
        for n in (10_000, 100_000, 1_000_000)
    }
    reference = "100,000 samples"
    title = "Five Gaussian classes in 20 dimensions"
    table(title, jobs, repeats, reference, (X[test], y[test]))


def fit_mnist(n, n_landmarks, regularization):
    """Print one line, for one size, in a separate process."""
    X, y, *test = load(n, np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    kda = KernelDiscriminantAnalysis(
        gamma=GAMMA,
        penalty="kernel",
        criterion="total",
        regularization=regularization,
        solver="nystroem",
        n_landmarks=n_landmarks,
        random_state=0,
    )
    start = time.perf_counter()
    kda.fit(X, y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    start = time.perf_counter()
    score = kda.score(*test)
    print(
        f"{n:7d} {n_landmarks:9d} {seconds:8.1f} "
        f"{seconds / n * 1e4:9.2f} {time.perf_counter() - start:8.1f} {score:9.4f} "
        f"{before:9.2f} {peak:7.2f}",
        flush=True,
    )


def scale_mnist(n_landmarks, regularization):
    print(
        "\nMNIST, Nystroem\n      n landmarks  seconds /10000 n  predict  "
        "accuracy   data GiB    peak"
    )
    for n in (7500, 15_000, 30_000, 60_000):
        arguments = [str(value) for value in (n, n_landmarks)]
        module = "benchmarks.bench_kernel_discriminant"
        command = [sys.executable, "-m", module, "one", "--fit", *arguments]
        subprocess.run([*command, str(regularization)], check=True)


def choice_sets():
    """Data for the selection: small tables are scaled, images are not."""
    for load_one in (load_iris, load_wine, load_breast_cancer):
        X, y = load_one(return_X_y=True)
        yield load_one.__name__[5:], StandardScaler().fit_transform(X), y
    yield "digits", *load_digits(return_X_y=True)
    X, y, *_ = load(2500)
    yield "MNIST, 2,500 images", X, y


def compare_auto(repeats):
    """Accuracy and log-loss of 1e-3, leave-one-out selection, and a grid search."""
    print("\nfive-fold accuracy, log-loss, and seconds of a fit")
    for name, X, y in choice_sets():
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        print(f"{name}: SVC {cross_val_score(SVC(), X, y, cv=folds).mean():.4f}")
        for penalty in PENALTIES:
            auto = KernelDiscriminantAnalysis(penalty=penalty)
            plain = clone(auto).set_params(regularization=1e-3, calibration=None)
            lowest = -12 if penalty == "identity" else -8
            grid = {"regularization": np.logspace(lowest, 0, 1 - 2 * lowest)}
            best = GridSearchCV(auto, grid, cv=folds, refit=False, n_jobs=-1).fit(X, y)
            figures = [
                [
                    cross_val_score(m, X, y, cv=folds, scoring=scoring).mean()
                    for m in (plain, auto)
                ]
                for scoring in ("accuracy", "neg_log_loss")
            ]
            jobs = {
                "plain": lambda m=plain, X=X, y=y: clone(m).fit(X, y),
                "auto": lambda m=auto, X=X, y=y: clone(m).fit(X, y),
            }
            seconds, _ = interleaved(jobs, repeats)
            print(
                f"  {penalty}: accuracy of 1e-3 {figures[0][0]:.4f}, auto "
                f"{figures[0][1]:.4f}, best {best.best_score_:.4f}; log-loss "
                f"{-figures[1][0]:.3f}, auto {-figures[1][1]:.3f}; "
                f"{seconds['plain']:.3f} s, "
                f"{seconds['auto'] / seconds['plain']:.1f} times that"
            )


def number_or_auto(text):
    return text if text == "auto" else float(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    compare = {
        "solvers": compare_solvers,
        "peers": compare_peers,
        "svc": compare_svc,
        "one-thread": compare_one_thread,
        "auto": compare_auto,
        "small": compare_small,
        "sizes": compare_sizes,
        "blocks": compare_blocks,
        "million": compare_million,
    }
    parts = [*compare, "mnist", "one"]
    parser.add_argument("parts", nargs="+", choices=parts)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--n-landmarks", type=int, default=4000)
    parser.add_argument("--regularization", type=number_or_auto, default=1e-6)
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in arguments.parts:
        if part == "one":
            n, n_landmarks, regularization = arguments.fit
            regularization = number_or_auto(regularization)
            fit_mnist(int(n), int(n_landmarks), regularization)
        elif part == "mnist":
            scale_mnist(arguments.n_landmarks, arguments.regularization)
        else:
            compare[part](arguments.repeats)


if __name__ == "__main__":
    main()
