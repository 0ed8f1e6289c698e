"""Processor time and results with different values of single constants.

    python -m benchmarks.bench_constants [part of a constant's name] [--write FILE]

The script replaces each constant by each variant, one at a time, and solves a short
problem. The table contains the smallest processor time of three runs, divided by the
time with the value of the package, and the result of the problem. MNIST is read from
the folder ``SKGEOM_DATA``. ``--write doc/results/constants.csv`` writes the table of
the documentation.
"""

import argparse
import csv
import functools
import time
import tracemalloc
import warnings
from pkgutil import resolve_name
from unittest import mock

import autograd.numpy as anp
import dask.array as da
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_moons
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import load
from benchmarks.suite import small_class, ssvep
from skgeom import (
    PLRSQ,
    SQFA,
    AMAGauss,
    ClassStatistics,
    GaussianClassifier,
    KernelDiscriminantAnalysis,
    RegionCovariance,
)
from skgeom._held_out import held_out_folds, remaining_weights
from skgeom.geometry import mean_affine_invariant

load = functools.cache(load)


def filters_of_digits():
    X, y, X_test, y_test = load(None)
    sqfa = SQFA(9, random_state=0).fit(X, y)
    qda = QuadraticDiscriminantAnalysis(reg_param=0.01).fit(sqfa.transform(X), y)
    return qda.score(sqfa.transform(X_test), y_test)


def independent_filters():
    filters = SQFA(3, random_state=0).fit(*load_iris(return_X_y=True)).components_
    return np.linalg.svd(filters, compute_uv=False)[-1]  # smallest singular value


def filters_of_a_small_class():
    """Mean accuracy over ten problems with classes of 500, 500 and 8 samples."""
    found = []
    for seed in range(10):
        X, y, X_test, y_test = next(small_class(seed).parts())
        sqfa = SQFA(2, distance="hellinger", random_state=0).fit(X, y)
        classifier = GaussianClassifier(priors="uniform").fit(sqfa.transform(X), y)
        found.append(classifier.score(sqfa.transform(X_test), y_test))
    return np.mean(found)


def filters_of_a_rare_class():
    """Mean balanced accuracy over ten problems with classes of 2,000 and 20 samples."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1, 0, 1], [2000, 20, 1000, 1000])
        X = rng.normal(size=(4020, 30)) * np.linspace(1, 3, 30)
        X += np.outer(y, np.arange(30) < 3)
        sqfa = SQFA(2, distance="hellinger", random_state=0).fit(X[:2020], y[:2020])
        classifier = GaussianClassifier(priors="uniform")
        classifier.fit(sqfa.transform(X[:2020]), y[:2020])
        found.append(classifier.score(sqfa.transform(X[2020:]), y[2020:]))
    return np.mean(found)


def unnecessary_scaling():
    """Mean gain of accuracy by scaling with a warning, minus the gain without one."""
    gains = {False: [0.0], True: [0.0]}
    for load_table in (load_wine, load_breast_cancer, load_iris):
        X, y = load_table(return_X_y=True)
        for seed in range(8):
            X_train, X_test, y_train, y_test = train_test_split(
                X, y, train_size=12, stratify=y, random_state=seed
            )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                raw, scaled = (
                    make_pipeline(*scaling, SQFA(random_state=0), GaussianClassifier())
                    .fit(X_train, y_train)
                    .score(X_test, y_test)
                    for scaling in ([], [StandardScaler()])
                )
            warned = any(
                "of the variance of all features" in str(w.message) for w in caught
            )
            gains[warned].append(scaled - raw)
    return np.mean(gains[True]) - np.mean(gains[False])


def kernels_of_few_samples():
    """Mean log-loss of kernel discriminants of 30 samples, in percent."""
    losses = []
    tables = [load(return_X_y=True) for load in (load_wine, load_breast_cancer)]
    tables += [make_moons(2_000, noise=noise, random_state=0) for noise in (0.1, 0.3)]
    for X, y in tables:
        for seed in range(20):
            X_train, X_test, y_train, y_test = train_test_split(
                X, y, train_size=30, stratify=y, random_state=seed
            )
            model = make_pipeline(StandardScaler(), KernelDiscriminantAnalysis())
            model.fit(X_train, y_train)
            losses.append(log_loss(y_test, model.predict_proba(X_test)))
    return 100 * np.mean(losses)


def prototypes_of_rare_classes():
    """Mean accuracy of PLRSQ on SSVEP, subjects 1 to 6, with three rare classes."""
    parts = ssvep(range(1, 7), largest=True).parts()
    return np.mean(
        [PLRSQ(priors="uniform").fit(*part[:2]).score(*part[2:]) for part in parts]
    )


def gaussian_of_mnist():
    X, y, X_test, y_test = load("mnist.npz")
    axes = np.linalg.svd(X[:2000], full_matrices=False)[2][:30].T
    return GaussianClassifier().fit(X @ axes, y).score(X_test @ axes, y_test)


def memory(function):
    """Peak of the memory that a function allocates, in MiB."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def folds_of_mnist():
    X, y = (values[:10_000] for values in load("mnist.npz")[:2])
    return memory(lambda: held_out_folds(X, y))


def statistics_of_mnist():
    X, y = (values[:20_000] for values in load("mnist.npz")[:2])
    return memory(lambda: ClassStatistics.from_data(X, y))


def classes_without_samples():
    """Of 1,000 classes, all samples are held out: classes with remaining weight."""
    labels = np.repeat(np.arange(1000), 50)
    weights = np.random.default_rng(0).exponential(size=len(labels))
    order = np.random.default_rng(1).permutation(len(labels))
    total = mock.Mock(counts=np.bincount(labels[order], weights[order]))
    return np.count_nonzero(remaining_weights(total, labels, weights))


def divergence(mean_a, a, mean_b, b):
    """A distance that rounding makes negative where two classes are equal."""
    products = anp.linalg.inv(a) * b + anp.linalg.inv(b) * a
    squares = anp.sum((mean_a - mean_b) ** 2, axis=1)
    return anp.sum(products, axis=(1, 2)) - 2 * a.shape[-1] + squares


def filters_of_equal_classes():
    X, y = load_iris(return_X_y=True)
    X, y = np.concatenate([X, X[y == 0]]), np.concatenate([y, np.full(50, 3)])
    sqfa = SQFA(3, distance=divergence, regularization=0.1, random_state=0)
    return sqfa.fit(X, y).objective_


def mean_of_matrices(spread=2.0):
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.normal(size=(200, 10, 10)))[0]
    scales = np.exp(spread * rng.normal(size=(200, 1, 10)))
    matrices = bases * scales @ np.swapaxes(bases, 1, 2)
    mean = mean_affine_invariant((matrices + np.swapaxes(matrices, 1, 2)) / 2)
    return np.log(np.linalg.eigvalsh(mean)).sum() - np.log(scales).sum() / 200


def filters_of_mnist(sigma2=0.01, n_components=20):
    """Objective of filters of the statistics of MNIST."""
    sqfa = SQFA(n_components, regularization=sigma2, n_init=1, random_state=0)
    return sqfa.fit_statistics(statistics_of(60_000)).objective_


@functools.cache
def statistics_of(n_samples):
    X, y = (values[:n_samples] for values in load("mnist.npz")[:2])
    return ClassStatistics.from_data(X, y)


def discriminants_of_collinear_means():
    """Mean number of discriminants of four classes whose means are on a line."""
    numbers = []
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(50, 20))
        X = np.concatenate([X + k * np.arange(20) / 7 for k in range(4)])
        model = KernelDiscriminantAnalysis(kernel="linear", regularization=100.0)
        model.fit(X, np.repeat(range(4), 50))
        numbers.append(model.transform(X).shape[1])
    return np.mean(numbers)


def batches_of_digits():
    """Log posterior of filters that are learned from a Dask array."""
    X, y, _, _ = load(None)
    blocks = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    model = AMAGauss(4, regularization=1.0, random_state=0)
    return model.fit(*blocks).objective_


def dependent_features():
    """Of 100 color images, those with an unnecessary error or without an error."""
    images = np.random.default_rng(0).random((100, 12, 12, 3))
    images[50:, :, :, 1] = images[50:, :, :, 0]
    wrong = 0
    for number, image in enumerate(images):
        try:
            RegionCovariance("color").transform(image[None])
            wrong += number >= 50
        except ValueError:
            wrong += number < 50
    return wrong


def wrong_warnings():
    """Kernels of digits with a missing warning, and with an unnecessary warning.

    A warning is necessary if the accuracy is less than the best accuracy minus 5 %.
    """
    X, y, X_test, y_test = (values[:900] for values in load(None))
    found = []
    for gamma in np.logspace(-5, 0, 11):
        model = KernelDiscriminantAnalysis(gamma=gamma, regularization=0.01)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            accuracy = model.fit(X, y).score(X_test, y_test)
        found.append(
            (accuracy, any("nearly diagonal" in str(w.message) for w in warned))
        )
    accuracies, warns = np.array(found).T
    necessary = accuracies < accuracies.max() - 0.05
    return np.sum(necessary > warns) + 0.01 * np.sum(warns > necessary)


def mean_of_distant_matrices():
    return mean_of_matrices(3.5)


MEASURES = {
    filters_of_digits: "accuracy, digits",
    independent_filters: "smallest singular value of the filters, iris",
    filters_of_a_small_class: "accuracy, classes of 500, 500 and 8 samples",
    filters_of_a_rare_class: "balanced accuracy, classes of 2,000 and 20 samples",
    unnecessary_scaling: "gain by scaling with a warning, minus gain without one",
    kernels_of_few_samples: "log-loss in percent, 30 samples",
    prototypes_of_rare_classes: "accuracy of PLRSQ, SSVEP with rare classes",
    gaussian_of_mnist: "accuracy, MNIST",
    folds_of_mnist: "MiB, folds of 10,000 images",
    statistics_of_mnist: "MiB, statistics of 20,000 images",
    classes_without_samples: "classes with a remaining weight; correct: 0",
    filters_of_equal_classes: "objective, two equal classes",
    mean_of_matrices: "error of log det",
    mean_of_distant_matrices: "error of log det, distant matrices",
    filters_of_mnist: "objective, MNIST",
    discriminants_of_collinear_means: "discriminants of collinear means; correct: 1",
    batches_of_digits: "objective of AMA-Gauss, blocks of digits",
    dependent_features: "wrong errors and missing errors, 100 images",
    wrong_warnings: "missing warnings + unnecessary warnings / 100",
}
AUTO = "_filters._auto."
WEIGHTS = [np.logspace(top, -4, 3 * (top + 4) + 1) for top in (-1, 0)]
KARCHER = "geometry._affine_invariant."
GRIDS = [(0.3,), (0.6, 0.3), (0.6, 0.3, 0.0), (0.9, 0.8, 0.6, 0.4, 0.2, 0.0)]
CASES = [
    ("_filters._linear_filters.SHRINKAGES", GRIDS, filters_of_digits),
    ("_filters._linear_filters.SHRINKAGES", GRIDS, filters_of_a_small_class),
    (AUTO + "_POWER", [0, 0.5, 0.75, 1], filters_of_a_small_class),
    (AUTO + "_POWER", [0, 0.5, 0.75, 1], filters_of_a_rare_class),
    ("utils.warn.LARGEST_SHARE", [0.5, 0.99, 0.9999], unnecessary_scaling),
    ("_selection._LEAST_ERRORS", [0.5, 1.0, 2.0, 4.0], kernels_of_few_samples),
    (AUTO + "_STEP", [2.0, 4.0, 16.0], filters_of_digits),
    (AUTO + "_TOL", [1e-3, 1e-2, 1e-1], filters_of_digits),
    (AUTO + "_FIRST_ITERATIONS", [10, 30, 100], filters_of_digits),
    (AUTO + "_NEXT_ITERATIONS", [1, 5, 20], filters_of_digits),
    ("_filters._optimization.DEPENDENT", [0.0, 1e-3, 1e-2], independent_filters),
    ("_filters._basis._AXES_PER_FILTER", [5, 10, 20], filters_of_mnist),
    ("_held_out.MOST_SAMPLES", [1000, 10_000, 60_000], gaussian_of_mnist),
    ("_held_out._KEYS", [8, 64, 784], folds_of_mnist),
    ("_held_out._ROUNDING", [0, 1e-9, 1e-3], classes_without_samples),
    ("_sample_moments.ROWS_PER_BLOCK", [128, 2048, 32768], statistics_of_mnist),
    ("objectives._callable._ROUNDING", [0, 1e-12, 1e-6], filters_of_equal_classes),
    (KARCHER + "_TOLERANCE", [1e-6, 1e-10, 1e-13], mean_of_matrices),
    (KARCHER + "_MAX_STEPS", [20, 200, 1000], mean_of_distant_matrices),
    (KARCHER + "_MOST_LOST", [5, 10, 200], mean_of_distant_matrices),
    (
        "_kernel._eigenproblems._RANK_TOLERANCE",
        [0, 1e-15, 1e-11, 1e-6],
        discriminants_of_collinear_means,
    ),
    ("optim._batches._FIRST_STEP", [0.001, 0.01, 0.1], batches_of_digits),
    ("optim._batches._STEPS_PER_ROUND", [5, 20, 80], batches_of_digits),
    ("optim._batches._LEAST_FALL", [0.0, 1e-4, 1e-2], batches_of_digits),
    ("optim._batches._MAX_HALVINGS", [4, 8, 12], batches_of_digits),
    ("_prototypes.plrsq._REPRESENTABILITIES", WEIGHTS, prototypes_of_rare_classes),
    ("_region_covariance._DEPENDENT", [0, 1e-13, 1e-3], dependent_features),
    ("_kernel._kernels._SMALL_BY_DISTANCE", [0.005, 0.05, 0.3], wrong_warnings),
    ("_kernel._kernels._CHECKED_ROWS", [20, 200, 900], wrong_warnings),
]


def measured(constant, value, problem):
    """Smallest processor time of three runs with a value of a constant, and result."""
    seconds = []
    with mock.patch(f"skgeom.{constant}", value):
        for _ in range(3):
            start = time.process_time()
            try:
                result = f"{problem():.4g}"
            except ValueError as error:
                result = str(error)
            seconds.append(time.process_time() - start)
    return min(seconds), result


def label(value):
    if isinstance(value, np.ndarray):
        return f"{value[0]:g} to {value[-1]:g}"
    if isinstance(value, tuple):
        return ", ".join(f"{entry:g}" for entry in value)
    return f"{value:g}"


def rows(part):
    """A row for each constant and value; the value of the package comes first."""
    for constant, variants, problem in CASES:
        if part not in constant:
            continue
        module, name = constant.rsplit(".", 1)
        default = getattr(resolve_name(f"skgeom.{module}"), name)
        values = {label(v): v for v in (default, *variants)}
        reference = None
        for text, value in values.items():
            seconds, result = measured(constant, value, problem)
            is_first = reference is None
            reference = reference or seconds
            row = {
                "constant": f"``{constant}``" if is_first else "",
                "value": f"{text} (package)" if is_first else text,
                "result": f"{MEASURES[problem]}: {result}" if is_first else result,
                "time": f"{seconds / reference:.2f}",
            }
            print(*row.values(), flush=True)
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--write", help="file of the table")
    options = parser.parse_args()
    table = list(rows(options.part))
    if options.write:
        with open(options.write, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
