"""Data sets for the selection of default parameters, and held-out data sets.

``vectors("choose")`` yields the problems on vectors that are used to select default
rules, and ``vectors("report")`` the held-out problems; ``matrices`` does the same for
SPD matrices. Data that scikit-learn does not contain are files in the folder
``SKGEOM_DATA``.
"""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from pyriemann.geometry.base import logm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from skgeom.datasets import make_spd_classes


@dataclass(frozen=True)
class Problem:
    """Samples, labels, and the pairs of training and test indices to score on."""

    name: str
    X: np.ndarray
    y: np.ndarray
    splits: tuple
    table: bool = False  # columns of different units, to be standardized

    def parts(self):
        for train, test in self.splits:
            yield self.X[train], self.y[train], self.X[test], self.y[test]


def folds(name, X, y, n_splits=5, table=False):
    cv = StratifiedKFold(n_splits, shuffle=True, random_state=0)
    return Problem(name, X, y, tuple(cv.split(X, y)), table)


def shuffled(name, X, y, *, train_size, test_size=None, n_splits=3):
    cv = StratifiedShuffleSplit(
        n_splits, train_size=train_size, test_size=test_size, random_state=0
    )
    return Problem(name, X, y, tuple(cv.split(X, y)))


def once(name, X_train, y_train, X_test, y_test):
    n = len(y_train)
    split = np.arange(n), np.arange(n, n + len(y_test))
    X, y = np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test])
    return Problem(name, X, y, (split,))


def path(name):
    return Path(os.environ["SKGEOM_DATA"], name)


@cache
def arrays(name):
    with np.load(path(name)) as data:
        return dict(data)


def table(name, file, target):
    """A table of numbers without incomplete rows; the class is whether target > 0."""
    with open(path(file)) as lines:
        columns = lines.readline().strip().split(",")
        values = np.genfromtxt(lines, delimiter=",")
    values = values[np.isfinite(values).all(axis=1)]
    features = [i for i, c in enumerate(columns) if c not in ("num", "target")]
    y = values[:, columns.index(target)] > 0
    return folds(name, values[:, features], y.astype(int), table=True)


def log_vectors(matrices):
    """The upper triangles of the logarithms, with the Frobenius norm."""
    logs = logm(matrices)
    rows, columns = np.triu_indices(logs.shape[-1])
    return logs[:, rows, columns] * np.where(rows == columns, 1, np.sqrt(2))


def in_logs(problem):
    name = problem.name + ", logarithms"
    return Problem(name, log_vectors(problem.X), problem.y, problem.splits)


# Vectors


def rare_digits():
    """Digits: all images of 0 to 4 and 15 images of each of 5 to 9 for training."""
    X, y = load_digits(return_X_y=True)
    splits = []
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    for train, test in cv.split(X, y):
        rare = [train[y[train] == c][:15] for c in range(5, 10)]
        splits.append((np.concatenate([train[y[train] < 5], *rare]), test))
    return Problem("digits, five classes rare", X, y, tuple(splits))


def mnist():
    data = arrays("mnist.npz")
    n = int(data["n_train"])
    X = data["X"].reshape(len(data["X"]), -1)
    return X[:n], data["y"][:n], X[n:], data["y"][n:]


def few_mnist(per_class=20):
    X, y, X_test, y_test = mnist()
    return shuffled(
        f"MNIST, {per_class} a class",
        *(np.concatenate([X[:5000], X_test[:3000]]) / 255.0,),
        np.concatenate([y[:5000], y_test[:3000]]),
        train_size=10 * per_class,
        test_size=2000,
    )


def rare_mnist():
    """MNIST with 400 images of the digits 0 to 4 and 20 of the digits 5 to 9."""
    X, y, X_test, y_test = mnist()
    counts = [400] * 5 + [20] * 5
    chosen = np.concatenate([np.flatnonzero(y == c)[:n] for c, n in enumerate(counts)])
    return once(
        "MNIST, five classes rare",
        X[chosen] / 255.0,
        y[chosen],
        X_test[:3000] / 255.0,
        y_test[:3000],
    )


def all_mnist():
    X, y, X_test, y_test = mnist()
    X, X_test = (np.asarray(Z, np.float32) / 255 for Z in (X, X_test))
    return once("MNIST, 60,000", X, y, X_test, y_test)


def few_cifar():
    data = arrays("cifar10_subset.npz")
    X = data["X"].reshape(len(data["X"]), -1) / 255.0
    y = data["y"]
    return shuffled("CIFAR-10, 50 a class", X, y, train_size=500, test_size=2000)


def gaussians(n_samples, seed, n_classes=5, n_features=20):
    """Gaussian classes whose means differ by no more than their deviations."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_samples)
    X = np.empty((n_samples, n_features))
    for label in range(n_classes):
        mean, spread = rng.normal(size=n_features), rng.normal(size=[n_features] * 2)
        own = y == label
        X[own] = mean + rng.normal(size=(own.sum(), n_features)) @ spread.T
    half = n_samples // 2
    name = f"{n_classes} Gaussians, {n_samples:,} x {n_features}"
    return once(name, X[:half], y[:half], X[half:], y[half:])


def small_class(seed, equal=False):
    """Gaussian classes of 500, 500 and 8 training samples in ten dimensions."""
    rng = np.random.default_rng(seed)
    factors = [np.eye(10) if equal else rng.normal(size=(10, 10)) for _ in range(3)]
    means = rng.normal(size=(3, 10))
    y = np.repeat([0, 1, 2] * 2, [500, 500, 8, 1000, 1000, 1000])
    z = rng.normal(size=(len(y), 10))
    X = means[y] + np.einsum("ij,ikj->ik", z, np.array(factors)[y])
    name = f"500 : 500 : 8 Gaussians{', equal covariances' * equal}, seed {seed}"
    return once(name, X[:1008], y[:1008], X[1008:], y[1008:])


def rare_flag(seed):
    """Wine, and a flag that is set in 1 % of the samples."""
    X, y = load_wine(return_X_y=True)
    flag = np.random.default_rng(seed).permutation(len(y)) < len(y) // 100 + 1
    return folds(f"wine and a flag, seed {seed}", np.c_[X, flag], y, table=True)


def irrelevant_features(deviation, seed, n_train=1_500, n_test=3_000):
    """Three classes that differ in the variance of a feature each, among 40 features.

    20 more features, of a large standard deviation, do not differ.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n_train + n_test) % 3
    X = rng.normal(size=(len(y), 40))
    X[:, 20:] *= deviation
    X[np.arange(len(y)), y] *= 0.4
    name = (
        f"irrelevant features, deviation {deviation}, {n_train:,} samples, seed {seed}"
    )
    return once(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def factors(n_factors, noise, seed, n_train=120, n_test=1_000, n_features=2_000):
    """Three classes that differ in the weaker factors of a few strong factors."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_train + n_test) % 3
    means = np.zeros((3, n_factors))
    means[:, -2:] = 4.5 * rng.normal(size=(3, 2))
    scores = rng.normal(size=(len(y), n_factors)) * np.geomspace(10, 1, n_factors)
    X = (scores + means[y]) @ rng.normal(size=(n_factors, n_features))
    X += noise * rng.normal(size=X.shape)
    name = f"{n_factors} factors, noise {noise}, {n_train} x {n_features:,}"
    return once(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:])


# SPD matrices


def bci(subject):
    data = arrays("bci_iv_2a_s1_to_s4.npz")
    X, y = data[f"cov_{subject}"], data.get(f"y_{subject}", data.get("y"))
    test = data[f"test_{subject}"].astype(bool)
    return once(f"BCI subject {subject}", X[~test], y[~test], X[test], y[test])


def ssvep(subjects, largest=False):
    """Three folds of each subject; ``largest`` keeps a third of all but one class."""
    data = arrays("eeg_ssvep.npz")
    X, y, subject = data["cov"], data["y"], data["subject"]
    splits = []
    for s in subjects:
        own = np.flatnonzero(subject == s)
        cv = StratifiedKFold(3, shuffle=True, random_state=0)
        for train, test in cv.split(own, y[own]):
            train = own[train]
            if largest:
                small = [train[y[train] == c] for c in (0, 2, 3)]
                small = [part[: max(3, len(part) // 3)] for part in small]
                train = np.concatenate([train[y[train] == 1], *small])
            splits.append((train, own[test]))
    name = f"SSVEP subjects {subjects[0]} to {subjects[-1]}"
    return Problem(name + ", half of one class" * largest, X, y, tuple(splits))


def erp():
    data = arrays("erp_covariances.npz")
    return folds("ERP", data["X"], data["y"])


def eth80(features):
    """Seven objects of each category for training, and three objects for testing."""
    data = arrays("eth80_covariances.npz")
    X, y, thing = data[features], data["y"], data["object"]
    rng = np.random.default_rng(0)
    splits = []
    for _ in range(3):
        test = np.isin(thing, rng.choice(10, 3, replace=False))
        train = np.flatnonzero(~test)
        train = rng.choice(train, 800, replace=False)
        splits.append((train, np.flatnonzero(test)))
    return Problem(f"ETH-80, {features}", X, y, tuple(splits))


def unequal_spd(seed):
    """Two classes of 200 matrices, with 100 and 20 matrices for training."""
    X, y = make_spd_classes(
        2, 200, 8, separation=0.6, dispersion=1.5, random_state=seed
    )
    train = np.concatenate([np.flatnonzero(y == 0)[:100], np.flatnonzero(y == 1)[:20]])
    test = np.setdiff1d(np.arange(len(y)), train)
    return Problem(f"SPD classes 100 : 20, seed {seed}", X, y, ((train, test),))


VECTORS = {
    "choose": [
        lambda: folds("iris", *load_iris(return_X_y=True), table=True),
        lambda: table("heart", "heart_cleveland.csv", "target"),
        lambda: folds("digits", *load_digits(return_X_y=True)),
        rare_digits,
        few_mnist,
        lambda: gaussians(20_000, seed=1),
        *(lambda d=d: irrelevant_features(d, seed=1) for d in (1, 3, 6)),
        *(lambda d=d: factors(d, 10 / d, seed=1) for d in (2, 5, 10)),
        lambda: in_logs(bci(1)),
        lambda: in_logs(bci(2)),
        lambda: in_logs(ssvep(range(1, 7))),
        *(lambda equal=equal: small_class(0, equal) for equal in (False, True)),
        lambda: rare_flag(0),
    ],
    "report": [
        lambda: folds("wine", *load_wine(return_X_y=True), table=True),
        lambda: folds(
            "breast cancer", *load_breast_cancer(return_X_y=True), table=True
        ),
        lambda: table("Pima", "pima_diabetes.csv", "target"),
        rare_mnist,
        few_cifar,
        lambda: gaussians(20_000, seed=0),
        *(lambda d=d: irrelevant_features(d, seed=0) for d in (1, 3, 6)),
        *(lambda s=s: irrelevant_features(3, seed=s, n_train=6_000) for s in (2, 3, 4)),
        *(lambda d=d: factors(d, 10 / d, seed=0) for d in (2, 5, 10)),
        lambda: in_logs(bci(3)),
        lambda: in_logs(bci(4)),
        lambda: in_logs(ssvep(range(7, 13))),
        lambda: in_logs(erp()),
        lambda: in_logs(eth80("cov9")),
        lambda: gaussians(1_000_000, seed=0),
        all_mnist,
        *(lambda equal=equal: small_class(1, equal) for equal in (False, True)),
        lambda: rare_flag(1),
    ],
}
MATRICES = {
    "choose": [
        lambda: bci(1),
        lambda: bci(2),
        lambda: ssvep(range(1, 7)),
        lambda: eth80("cov5"),
        *(lambda seed=seed: unequal_spd(seed) for seed in (1, 2)),
    ],
    "report": [
        lambda: bci(3),
        lambda: bci(4),
        lambda: ssvep(range(7, 13)),
        lambda: ssvep(range(7, 13), largest=True),
        erp,
        lambda: eth80("cov9"),
        lambda: unequal_spd(0),
    ],
}


def vectors(part):
    for make in VECTORS[part]:
        yield make()


def matrices(part):
    for make in MATRICES[part]:
        yield make()
