"""Constants of GaussianClassifier and bayes_error: accuracies, standard errors, times.

    python benchmarks/bench_gaussian.py

For GaussianClassifier, the script selects the covariances with different candidates,
temperatures and numbers of held-out samples, and prints the accuracies and log-losses
in five stratified folds with three seeds. For bayes_error, it compares different
numbers of sets and directions: the relative standard error, and the deviation from a
value with a tolerance of 1e-3.
"""

import time
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_validate

from skgeom import (
    ClassStatistics,
    GaussianClassifier,
    _bayes_error,
    _gaussian_classifier,
    _held_out,
    _regularized_gaussians,
    _selection,
)
from skgeom._regularized_gaussians import RIDGES

DATA = load_iris, load_wine, load_breast_cancer, load_digits
INFINITY = np.inf


def main():
    print("GaussianClassifier, accuracies and log-losses:")
    print(*(load.__name__ for load in DATA))
    fine = (INFINITY, *np.geomspace(30, 0.1, 11), 0.0)
    dense = (*RIDGES[:5], *np.geomspace(0.5, 1e-7, 21))
    for module, changed in (
        (_regularized_gaussians, {}),
        (_gaussian_classifier, {"POOLINGS": (INFINITY, 1.0, 0.0)}),
        (_gaussian_classifier, {"POOLINGS": fine}),
        *((_regularized_gaussians, {"RIDGES": grid}) for grid in (RIDGES[::2], dense)),
        (_selection, {"_RATIO": np.sqrt(2)}),
        *((_held_out, {"_ENOUGH": number}) for number in (100, 10_000)),
    ):
        start = time.process_time()
        with patch.dict(vars(module), changed):
            found = np.array([scores(*load(return_X_y=True)) for load in DATA])
        seconds = time.process_time() - start
        print(*found.T.round(3), f"{seconds:.1f} s", changed, flush=True)
    print("bayes_error, ten classes of five features")
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(10, 5, 10))
    moments = 2 * rng.normal(size=(10, 5)), factors @ factors.mT / 10
    statistics = ClassStatistics(range(10), np.full(10, 50), *moments)
    reference = _bayes_error.bayes_error(statistics, tol=1e-3, random_state=1).value
    for changed in (
        {},
        *({"_N_SHIFTS": number} for number in (4, 64)),
        *({"_FIRST": number} for number in (16, 4096)),
        {"_MOST": 256},
    ):
        start = time.process_time()
        with patch.dict(vars(_bayes_error), changed):
            errors = [
                _bayes_error.bayes_error(statistics, tol=0.003, random_state=seed)
                for seed in range(10)
            ]
        seconds = time.process_time() - start
        claimed = np.mean([error.standard_error for error in errors]) / reference
        found = np.std([error.value / reference - 1 for error in errors])
        print(f"{claimed:.1e} {found:.1e}", f"{seconds:.2f} s", changed, flush=True)


def scores(X, y):
    """Accuracy and log-loss."""
    names, found = ("accuracy", "neg_log_loss"), []
    for seed in range(3):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        of_seed = cross_validate(GaussianClassifier(), X, y, cv=folds, scoring=names)
        found.append([of_seed[f"test_{name}"].mean() for name in names])
    return np.abs(np.mean(found, axis=0))


if __name__ == "__main__":
    main()
