"""Constants of GaussianClassifier and bayes_error: accuracies, standard errors, times.

    python benchmarks/bench_gaussian.py

For GaussianClassifier, the script selects the shrinkage with different candidates,
temperatures and numbers of held-out samples, and prints the accuracy in five stratified
folds with three seeds. For bayes_error, it compares different numbers of sets and
directions: the relative standard error, and the deviation from a value with a tolerance
of 1e-3.
"""

import time
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score

from skgeom import ClassStatistics, GaussianClassifier, _bayes_error, _shrinkage

DATA = load_iris, load_wine, load_breast_cancer, load_digits
INFINITY = np.inf


def main():
    print("GaussianClassifier, accuracy:", *(load.__name__ for load in DATA))
    for changed in (
        {},
        {"PRIOR_SAMPLES": np.array([0, 1, 10, INFINITY])},
        {"PRIOR_SAMPLES": np.append(np.append(0, np.geomspace(0.1, 30, 11)), INFINITY)},
        *({"_TEMPERATURES": values} for values in ((1, 4, 16), (1, 2, 4, 8, 16))),
        *({"_ENOUGH": number} for number in (100, 10_000)),
    ):
        start = time.process_time()
        with patch.dict(vars(_shrinkage), changed):
            scores = [accuracy(*load(return_X_y=True)) for load in DATA]
        seconds = time.process_time() - start
        print(np.round(scores, 3), f"{seconds:.1f} s", changed, flush=True)
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


def accuracy(X, y):
    folds = [StratifiedKFold(5, shuffle=True, random_state=seed) for seed in range(3)]
    return np.mean([cross_val_score(GaussianClassifier(), X, y, cv=cv) for cv in folds])


if __name__ == "__main__":
    main()
