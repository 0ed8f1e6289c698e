"""The data sets of the papers, each read once."""

import os
from functools import cache
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.datasets import load_breast_cancer, load_sample_images

from benchmarks.papers._runner import Missing
from skgeom.datasets import (
    fetch_heart,
    fetch_mnist,
    fetch_pima,
    make_speed_videos,
    make_syn_spd,
)


def fetched(fetch, *args, **kwargs):
    """Result of a fetcher of skgeom.datasets; raises Missing with the reason."""
    data, reason = attempt(fetch, args, tuple(kwargs.items()))
    if reason is not None:
        raise Missing(reason)
    return data


@cache  # cache failures too: the detection of a missing connection takes seconds
def attempt(fetch, args, options):
    try:
        return fetch(*args, **dict(options)), None
    except (OSError, ImportError) as reason:
        return None, str(reason)


def local(name):
    """A file of the folder that SKGEOM_DATA names, for data without a fetcher."""
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
def digits(name):
    """Training and test images of "mnist" or "svhn" as the SQFA paper scales them.

    All pixels are divided by the standard deviation of the training set, and the mean
    of each pixel is subtracted, in single precision.
    """
    if name == "mnist":
        images = fetched(fetch_mnist)
        X, y, n_train = images.data, images.target, images.n_train
    else:
        parts = [svhn("train"), svhn("test")]
        X, y = map(np.concatenate, zip(*parts, strict=True))
        n_train = len(parts[0][1])
    X = (X / X[:n_train].std()).astype(np.float32)
    X -= X[:n_train].mean(axis=0)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def svhn(part):
    """The cropped digits of "train" or "test": means of the color channels, labels.

    Download the files from http://ufldl.stanford.edu/housenumbers/, without https.
    """
    contents = loadmat(local(f"{part}_32x32.mat"))
    colors = np.moveaxis(contents["X"], -1, 0)  # stored as (32, 32, 3, n)
    images = colors.mean(axis=-1, dtype=np.float32)
    return images.reshape(len(images), -1), contents["y"].ravel() % 10  # 10 is zero


@cache
def bci(subject):
    """Covariance matrices of a subject: first day for training, second for the test.

    The authors of the PLRSQ paper published the 22 x 22 covariances of the signals from
    0.5 to 2.5 s after the cue, filtered from 10 to 30 Hz.
    examples/tutorials/plot_motor_imagery.py computes them from signals.
    """
    data = arrays("bci_iv_2a_s1_to_s4.npz")
    X, y, test = (data[f"{part}_{subject}"] for part in ("cov", "y", "test"))
    return X[~test], y[~test], X[test], y[test]


def eth80(n_categories, seed):
    """21 random images of each object for training, the others for the test.

    The file contains the 5 x 5 descriptors of skgeom.RegionCovariance of the
    photographs of https://github.com/Kai-Xuan/ETH-80, at 256 x 256 pixels.
    """
    data = arrays("eth80_covariances.npz")
    X, y, thing = data["cov5"], data["y"], data["object"]
    rng = np.random.default_rng(seed)
    train = np.zeros(len(y), bool)
    for label in range(n_categories):
        for k in range(10):
            own = np.flatnonzero((y == label) & (thing == k))
            train[rng.choice(own, 21, replace=False)] = True
    test = ~train & (y < n_categories)
    return X[train], y[train], X[test], y[test]


@cache
def table(name):
    """Samples, labels and column names of "wbcd", "heart" or "pima".

    In "wbcd" the malignant class is 1, and missing values are NaN.
    """
    fetch = {"wbcd": load_breast_cancer, "heart": fetch_heart, "pima": fetch_pima}
    data = fetched(fetch[name])
    X, y, names = data.data, data.target, list(data.feature_names)
    if name == "wbcd":
        y = 1 - y
    elif name == "pima":  # a zero represents a missing value
        for column in "glucose blood_pressure skin_thickness insulin bmi".split():
            X[X[:, names.index(column)] == 0, names.index(column)] = np.nan
    return X, y, names


def synthetic(name, seed):
    """Training, validation and test set of SynI or SynII, 250 samples a class each."""
    X, y = make_syn_spd(name, 750, shuffle=False, random_state=seed)
    parts = np.arange(len(y)) % 3  # the samples of a class are independent
    return [(X[parts == part], y[parts == part]) for part in range(3)]


def photographs():
    """Photographs for videos: "natural", or "sample" of scikit-learn.

    The file natural_images.npz in the folder SKGEOM_DATA contains the first.
    """
    try:
        local("natural_images.npz")
    except Missing:
        return "sample"
    return "natural"


@cache
def speed_videos(source):
    """Videos of 41 speeds: 500 per speed for training, 300 for the test."""
    if source == "natural":
        images = arrays("natural_images.npz")["X"]
    else:
        images = fetched(load_sample_images).images
    n_train = round(5 / 8 * len(images))
    train = make_speed_videos(images[:n_train], None, 500, random_state=0)
    test = make_speed_videos(images[n_train:], None, 300, random_state=1)
    return train.data, train.target, test.data, test.target
