"""Processor time and results with different values of single constants.

    python -m benchmarks.bench_constants [part of a constant's name] [--write]

The script replaces each constant by each variant, one at a time, and solves a short
problem. Variants of a number are its half and its double, and values that are listed
with the constant. The table contains the smallest processor time of two runs, divided
by the time with the value of the package, and the result of the problem. MNIST is read
from the folder ``SKGEOM_DATA``. ``--write`` writes the tables of the page "Constants"
of the documentation. ``ELSEWHERE`` lists constants that other scripts compare.
"""

import argparse
import csv
import functools
import time
import tracemalloc
import warnings
from numbers import Real
from pathlib import Path
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
    bayes_error,
)
from skgeom._held_out import held_out_folds, remaining_weights
from skgeom.geometry import mean_affine_invariant

load = functools.cache(load)
RESULTS = Path(__file__).parents[1] / "doc" / "results"


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
    return log_loss_of_few_samples(KernelDiscriminantAnalysis())


def gaussians_of_few_samples():
    return log_loss_of_few_samples(GaussianClassifier())


def log_loss_of_few_samples(classifier):
    """Mean log-loss of classifiers of 30 samples, in percent."""
    losses = []
    tables = [load(return_X_y=True) for load in (load_wine, load_breast_cancer)]
    tables += [make_moons(2_000, noise=noise, random_state=0) for noise in (0.1, 0.3)]
    for X, y in tables:
        for seed in range(20):
            X_train, X_test, y_train, y_test = train_test_split(
                X, y, train_size=30, stratify=y, random_state=seed
            )
            model = make_pipeline(StandardScaler(), classifier).fit(X_train, y_train)
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


def filters_with_little_noise():
    return filters_of_mnist(sigma2=0.003, n_components=9)


def filters_of_several_starts():
    sqfa = SQFA(9, regularization=0.1, random_state=0)
    return sqfa.fit_statistics(statistics_of(60_000)).objective_


@functools.cache
def many_classes():
    """Statistics of 150 classes of 40 features."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(150, 40)) * np.linspace(2, 0.1, 40)
    factors = rng.normal(size=(150, 40, 60)) / 8
    return ClassStatistics(range(150), [200] * 150, means, factors @ factors.mT)


def filters_of_many_classes():
    sqfa = SQFA(4, regularization=0.01, random_state=0)
    return sqfa.fit_statistics(many_classes()).objective_


def error_of_gaussians():
    return bayes_error(statistics_of(20_000).project(np.eye(784)[300:303])).value


def posterior_of_digits():
    X, y, _, _ = load(None)
    model = AMAGauss(3, regularization=1.0, random_state=0)
    return model.fit(X, y).objective_


@functools.cache
def pixels_of_mnist():
    return SQFA(9, regularization=1.0, n_init=1, random_state=0).fit_statistics(
        statistics_of(60_000)
    ), np.asarray(load("mnist.npz")[0], np.float32)


def projection_of_mnist():
    model, X = pixels_of_mnist()
    return np.abs(model.transform(X)).mean()


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
    gaussians_of_few_samples: "log-loss in percent, 30 samples",
    filters_with_little_noise: "objective, nine filters of MNIST, sigma^2 = 0.003",
    filters_of_several_starts: "objective, MNIST, several initializations",
    filters_of_many_classes: "objective, 150 classes",
    error_of_gaussians: "Bayes error, three pixels of MNIST",
    posterior_of_digits: "objective of AMA-Gauss, digits",
    projection_of_mnist: "mean feature of 60,000 images",
    wrong_warnings: "missing warnings + unnecessary warnings / 100",
}
AUTO = "_filters._auto."
OPTIMIZATION = "_filters._optimization."
BASIS = "_filters._basis."
PAIRS = "objectives._pairs."
WEIGHTS = [np.logspace(top, -4, 3 * (top + 4) + 1) for top in (-1, 0)]
KARCHER = "geometry._affine_invariant."
GRIDS = [(0.3,), (0.6, 0.3), (0.6, 0.3, 0.0), (0.9, 0.8, 0.6, 0.4, 0.2, 0.0)]
POOLINGS = [(np.inf, 0.5), (np.inf, 0.0), (np.inf, 6.0, 3.0, 1.0, 0.5, 0.25, 0.0)]
RIDGES = [(1, 0.9, 0.5, 0.1, 1e-3), (1, 0.99, 0.5, 0.1, 1e-2, 1e-3, 1e-5, 1e-7)]
# Constants, values in addition to half and double of the value, and problems.
CASES = [
    ("_filters._linear_filters.SHRINKAGES", GRIDS, filters_of_digits),
    ("_filters._linear_filters.SHRINKAGES", GRIDS, filters_of_a_small_class),
    (AUTO + "_STEP", [16.0], filters_of_digits),
    (AUTO + "_TOL", [1e-3, 1e-1], filters_of_digits),
    (AUTO + "_FIRST_ITERATIONS", [10, 100], filters_of_digits),
    (AUTO + "_NEXT_ITERATIONS", [1, 20], filters_of_digits),
    (AUTO + "_POWER", [0, 0.5, 1], filters_of_a_small_class),
    (AUTO + "_POWER", [0, 0.5, 1], filters_of_a_rare_class),
    (BASIS + "FEW_FEATURES", [], filters_of_mnist),
    (BASIS + "_AXES_PER_FILTER", [], filters_of_mnist),
    (BASIS + "_ABOVE_NOISE", [], filters_with_little_noise),
    (BASIS + "_MORE_TIMES", [1], filters_with_little_noise),
    (BASIS + "_LARGEST_SHARE", [], filters_with_little_noise),
    ("_filters._linear_filters.FEW_CLASSES", [1000], filters_of_many_classes),
    (OPTIMIZATION + "DEPENDENT", [0.0, 1e-2], independent_filters),
    (OPTIMIZATION + "_SCREENING_TOL", [1e-4, 1e-2], filters_of_several_starts),
    (OPTIMIZATION + "_STAGE_TOL", [1e-5, 1e-3], filters_of_many_classes),
    (OPTIMIZATION + "_STAGE_TOL", [1e-5, 1e-3], filters_of_several_starts),
    ("_filters.ama._N_INIT", [1], posterior_of_digits),
    (PAIRS + "FEW_PAIRS", [100_000], filters_of_many_classes),
    (PAIRS + "_LEAST", [], filters_of_many_classes),
    (PAIRS + "_FIRST", [], filters_of_many_classes),
    (PAIRS + "_GROWTH", [], filters_of_many_classes),
    (PAIRS + "_LAST", [], filters_of_many_classes),
    (PAIRS + "PAIRS_PER_BLOCK", [], filters_of_many_classes),
    ("objectives._callable._ROUNDING", [0, 1e-6], filters_of_equal_classes),
    ("_bayes_error._N_SHIFTS", [], error_of_gaussians),
    ("_bayes_error._FIRST", [], error_of_gaussians),
    ("_held_out.MOST_SAMPLES", [1000, 60_000], gaussian_of_mnist),
    ("_held_out._ENOUGH", [], gaussians_of_few_samples),
    ("_held_out._MOST_PARTITIONS", [1], gaussians_of_few_samples),
    ("_held_out._KEYS", [8, 784], folds_of_mnist),
    ("_held_out._ROUNDING", [0, 1e-3], classes_without_samples),
    ("_gaussian_classifier.TARGETS", [("diagonal",)], gaussians_of_few_samples),
    ("_gaussian_classifier.POOLINGS", POOLINGS, gaussians_of_few_samples),
    ("_regularized_gaussians.RIDGES", RIDGES, gaussians_of_few_samples),
    ("_selection._RATIO", [2**0.5, 4.0], gaussians_of_few_samples),
    ("_selection._LEAST_ERRORS", [4.0], kernels_of_few_samples),
    ("utils.warn.LARGEST_SHARE", [0.5, 0.9999], unnecessary_scaling),
    ("utils.linalg.ENTRIES_AT_ONCE", [4096 * 784], projection_of_mnist),
    ("_sample_moments.ROWS_PER_BLOCK", [128, 32768], statistics_of_mnist),
    (KARCHER + "_TOLERANCE", [1e-6, 1e-13], mean_of_matrices),
    (KARCHER + "_MAX_STEPS", [20, 1000], mean_of_distant_matrices),
    (KARCHER + "_MOST_LOST", [200], mean_of_distant_matrices),
    (
        "_kernel._eigenproblems._RANK_TOLERANCE",
        [0, 1e-15, 1e-6],
        discriminants_of_collinear_means,
    ),
    ("_kernel._kernels._SMALL_BY_DISTANCE", [0.005, 0.3], wrong_warnings),
    ("_kernel._kernels._CHECKED_ROWS", [20, 900], wrong_warnings),
    ("optim._batches._FIRST_STEP", [0.001, 0.1], batches_of_digits),
    ("optim._batches._STEPS_PER_ROUND", [5, 80], batches_of_digits),
    ("optim._batches._LEAST_FALL", [0.0, 1e-2], batches_of_digits),
    ("optim._batches._MAX_HALVINGS", [], batches_of_digits),
    ("optim._lbfgs._PATIENCE", [], prototypes_of_rare_classes),
    ("optim._lbfgs._LONGER", [], prototypes_of_rare_classes),
    ("optim._lbfgs._LEAST_CURVATURE", [0.0, 1e-2], prototypes_of_rare_classes),
    ("optim._minimize._WINDOW", [1], filters_of_several_starts),
    ("optim._minimize._NEGLIGIBLE", [1e-6, 1e-2], filters_of_several_starts),
    ("_prototypes.plrsq._REPRESENTABILITIES", WEIGHTS, prototypes_of_rare_classes),
    ("_region_covariance._DEPENDENT", [0, 1e-3], dependent_features),
]
# A ratio must exceed 1, and a share must not.
AS_LISTED = {"_selection._RATIO", "utils.warn.LARGEST_SHARE"}
# Constants that a script compares on larger data, on other machines or by a plot.
ELSEWHERE = {
    "_bayes_error._MOST": "bench_gaussian",
    "_filters._optimization._LEAST_SAMPLES": "bench_growth",
    "_filters._optimization._SAMPLES_PER_ENTRY": "bench_growth",
    "_transfer._adaptation._EM_TOLERANCE": "bench_transfer constants",
    "_transfer._adaptation._MATRICES_PER_CLASS": "bench_transfer checks",
    "_transfer._shrinkage_selection._SHRINKAGES": "bench_transfer constants",
    "_transfer.transfer_discriminant._TARGET_WEIGHT": "bench_transfer labels",
    "geometry._affine_invariant._PARALLEL": "bench_lvq",
    "objectives._class_distances._TOL": "bench_fisher_rao",
    "objectives._pairs._MOST_BLOCKS": "bench_many_classes",
    "objectives._pairwise._PAIRS_OF_MEAN": "bench_many_classes",
    "objectives._posterior._SAMPLES_PER_BLOCK": "bench_shapes",
}


def measured(constant, value, problem):
    """Smallest processor time of two runs with a value of a constant, and result."""
    seconds = []
    with mock.patch(f"skgeom.{constant}", value):
        for _ in range(2):
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
    if isinstance(value, tuple | list):
        return ", ".join(label(entry) for entry in value)
    return f"{value:g}" if isinstance(value, Real) else value


def value_of(constant):
    module, name = constant.rsplit(".", 1)
    return getattr(resolve_name(f"skgeom.{module}"), name)


def variants_of(constant, others):
    """The value of the package first, then half and double of a number, and others."""
    value, others = value_of(constant), list(others)
    if isinstance(value, Real) and constant not in AS_LISTED:
        others += [type(value)(value / 2), value * 2]
    if all(isinstance(other, Real) for other in others):
        others.sort()
    return {label(variant): variant for variant in (value, *others)}


def rows(part):
    """A row for each constant and value; the value of the package comes first."""
    for constant, others, problem in CASES:
        if part not in constant:
            continue
        reference = None
        for text, value in variants_of(constant, others).items():
            seconds, result = measured(constant, value, problem)
            is_first = reference is None
            reference = reference or seconds
            row = {
                "constant": f"``{constant}``" if is_first else "",
                "value": f"**{text}**" if is_first else text,
                "measure": MEASURES[problem] if is_first else "",
                "result": result,
                "time": f"{seconds / reference:.2f}",
            }
            print(*row.values(), flush=True)
            yield row


def elsewhere():
    for constant, script in ELSEWHERE.items():
        yield {
            "constant": f"``{constant}``",
            "value": f"**{label(value_of(constant))}**",
            "compared by": f"``python -m benchmarks.{script}``",
        }


def write(name, table):
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--write", action="store_true", help="write the tables")
    options = parser.parse_args()
    if options.part and options.write:
        parser.error("--write requires all constants")
    table = list(rows(options.part))
    if options.write:
        write("constants.csv", table)
        write("constants_elsewhere.csv", list(elsewhere()))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
