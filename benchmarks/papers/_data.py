"""The data sets of the papers, each read once."""

import os
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks.papers._runner import Missing
from skgeom.datasets import make_syn_spd


def local(name):
    """A file of the folder that SKGEOM_DATA names."""
    folder = os.environ.get("SKGEOM_DATA")
    if folder is None:
        raise Missing(f"{name}: set SKGEOM_DATA to the folder that has it")
    path = Path(folder, name)
    if not path.exists():
        raise Missing(f"{name} is not in the folder SKGEOM_DATA, {folder}")
    return path


@cache
def arrays(name):
    """All arrays of an .npz file."""
    with np.load(local(name)) as data:
        return dict(data)


@cache
def mnist():
    """Training and test images as the SQFA paper scales them, single precision.

    All pixels are divided by the one deviation of the training set, and the mean of
    each is subtracted.
    """
    data = arrays("mnist.npz")
    n_train = int(data["n_train"])
    X = data["X"].reshape(len(data["y"]), -1)
    X = (X / X[:n_train].std()).astype(np.float32)
    X -= X[:n_train].mean(axis=0)
    y = data["y"].astype(np.int64)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def bci(subject):
    """Covariance matrices of a subject: first day for training, second for the test."""
    data = arrays("bci_iv_2a_s1_to_s4.npz")
    X, test = data[f"cov_{subject}"], data[f"test_{subject}"].astype(bool)
    y = data[f"y_{subject}"] if f"y_{subject}" in data else data["y"]
    return X[~test], y[~test], X[test], y[test]


def eth80(n_categories, seed):
    """21 random images of each object for training, the others for the test."""
    data = arrays("eth80_covariances.npz")
    rng = np.random.default_rng(seed)
    y = data["y"]
    train = np.zeros(len(y), bool)
    for label in range(n_categories):
        for thing in range(10):
            own = np.flatnonzero((y == label) & (data["object"] == thing))
            train[rng.choice(own, 21, replace=False)] = True
    test = ~train & (y < n_categories)
    return data["cov5"][train], y[train], data["cov5"][test], y[test]


@cache
def table(name):
    """Samples, labels and column names of "wbcd", "heart" or "pima".

    In "wbcd" the malignant class is 1, and missing values are NaN.
    """
    if name == "wbcd":
        data = load_breast_cancer()
        return data.data, 1 - data.target, list(data.feature_names)
    path = local({"heart": "heart_cleveland.csv", "pima": "pima_diabetes.csv"}[name])
    names = path.read_text().splitlines()[0].split(",")
    values = np.genfromtxt(path, delimiter=",", skip_header=1)
    y = values[:, names.index("target")].astype(int)
    kept = [i for i, column in enumerate(names) if column not in ("num", "target")]
    X, names = values[:, kept], [names[i] for i in kept]
    if name == "pima":  # a zero stands for a missing value
        for column in "glucose blood_pressure skin_thickness insulin bmi".split():
            X[X[:, names.index(column)] == 0, names.index(column)] = np.nan
    return X, y, names


def synthetic(name, seed):
    """Training, validation and test set of SynI or SynII, 250 samples a class each."""
    X, y = make_syn_spd(name, 750, shuffle=False, random_state=seed)
    parts = np.arange(len(y)) % 3  # the samples of a class are independent
    return [(X[parts == part], y[parts == part]) for part in range(3)]
