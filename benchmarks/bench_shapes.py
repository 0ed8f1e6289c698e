"""Filters for few samples of many features, and for a million samples.

    python -m benchmarks.bench_shapes wide     # compared with PCA of the same samples
    python -m benchmarks.bench_shapes long     # compared with the statistics
    python -m benchmarks.bench_shapes linear   # different linear methods, few samples

The table contains medians of ``--repeats`` interleaved fits after a warm-up: wall-clock
and processor time, the ratio to the reference in the first row, the peak memory that
NumPy allocates in addition to the data, and the objective or score. OMP_NUM_THREADS
sets the number of threads.
"""

import argparse
import statistics
import time
import tracemalloc
import warnings

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.suite import gaussians
from skgeom import (
    GMLVQ,
    SQFA,
    AMAGauss,
    ClassStatistics,
    CovarianceHessianProjection,
    GaussianClassifier,
    KernelDiscriminantAnalysis,
    SecondMomentSQFA,
)
from skgeom.baselines import (
    LOL,
    GeneralizedEigenvectors,
    LocalFisherDiscriminantAnalysis,
    SupervisedPCA,
)

WIDE = [(100, 5_000), (316, 1_400), (500, 3_072), (300, 20_000)]


def wide_samples(n_samples, n_features, n_classes=5):
    """Classes that differ in means and variances, with a falling spectrum."""
    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % n_classes
    deviations = np.arange(1, n_features + 1) ** -0.5
    means = 0.3 * rng.normal(size=(n_classes, n_features))
    scales = 1 + 0.5 * rng.random((n_classes, n_features))
    X = means[y] + rng.normal(size=(n_samples, n_features)) * scales[y]
    return X * deviations, y


def reached(model):
    """The objective or score of a model, if any."""
    for name in ("best_score_", "objective_"):
        if hasattr(model, name):
            return f"{name} {getattr(model, name):.6f}"
    return ""


def peak_of(job):
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def table(title, jobs, repeats):
    """Fit all models in turn, and print a row for each; the first is the reference."""
    print(f"\n{title}")
    print(f"{'':<34} {'seconds':>9} {'cpu':>8} {'ratio':>8} {'peak MB':>9}")
    seconds, cpu = ({name: [] for name in jobs} for _ in range(2))
    results = {}
    for repeat in range(repeats + 1):
        for name, job in jobs.items():
            wall, used = time.perf_counter(), time.process_time()
            results[name] = job()
            if repeat or not repeats:  # without repeats, use the first measurement
                seconds[name].append(time.perf_counter() - wall)
                cpu[name].append(time.process_time() - used)
    reference = statistics.median(next(iter(seconds.values())))
    for name, job in jobs.items():
        median = statistics.median(seconds[name])
        print(
            f"{name:<34} {median:9.3f} {statistics.median(cpu[name]):8.3f} "
            f"{median / reference:8.2f} {peak_of(job):9.0f}  {reached(results[name])}",
            flush=True,
        )


def fits(models, X, y):
    """Jobs that fit models, by their names and numbers of components."""
    jobs = {}
    for model in models:
        n_components = model.get_params().get("n_components", "")
        name = f"{type(model).__name__}({n_components})"
        jobs[name] = lambda model=model: model.fit(X, y)
    return jobs


def compare_wide(repeats):
    for n_samples, n_features in WIDE:
        X, y = wide_samples(n_samples, n_features)
        models = [
            PCA(n_samples - 1, random_state=0),
            SQFA(random_state=0),
            SQFA(9, random_state=0),
            SecondMomentSQFA(random_state=0),
            AMAGauss(random_state=0),
        ]
        title = f"{n_samples} x {n_features:,}, {X.nbytes / 1e6:.0f} MB"
        table(title, fits(models, X, y), repeats)


def compare_long(repeats):
    problem = gaussians(1_000_000, seed=0)
    X, y = problem.X, problem.y
    for n_components in (2, 4):
        models = [
            SQFA(n_components, random_state=0),
            AMAGauss(n_components, random_state=0),
        ]
        jobs = {"ClassStatistics": lambda: ClassStatistics.from_data(X, y)}
        title = f"1,000,000 x 20, {X.nbytes / 1e6:.0f} MB, {n_components} filters"
        table(title, jobs | fits(models, X, y), repeats)


def compare_linear(repeats):
    X, y = wide_samples(100, 5_000)
    models = [
        PCA(99, random_state=0),
        LOL(),
        SupervisedPCA(),
        LocalFisherDiscriminantAnalysis(regularization=0.1),
        GeneralizedEigenvectors(),
        KernelDiscriminantAnalysis(),
    ]
    table("100 x 5,000", fits(models, X, y), repeats)
    X, y = wide_samples(100, 2_000)
    models = [
        PCA(99, random_state=0),
        GMLVQ(),
        CovarianceHessianProjection(),
        GaussianClassifier(),
    ]
    table("100 x 2,000", fits(models, X, y), repeats)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parts = {"wide": compare_wide, "long": compare_long, "linear": compare_linear}
    parser.add_argument("part", choices=parts)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    parts[arguments.part](arguments.repeats)


if __name__ == "__main__":
    main()
