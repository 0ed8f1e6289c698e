"""Functions shared by the benchmarks: data, interleaved timing, the package sqfa."""

import contextlib
import os
import statistics
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

try:
    import sqfa
    import torch
except ImportError:
    sqfa = None


def has_peer():
    """Whether the package sqfa is installed."""
    return sqfa is not None


def load(name):
    """Training and test data, centered and divided by the training deviation.

    ``name`` is None, for scikit-learn's digits, or an .npz file with the samples ``X``,
    ``y`` and the number ``n_train`` of leading samples that train; a bare name is
    looked for in the folder ``SKGEOM_DATA`` as well.
    """
    if name is None:
        X, y = load_digits(return_X_y=True)
        split = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
        X_train, X_test, y_train, y_test = split
    else:
        path = Path(name)
        if not path.exists():
            path = Path(os.environ.get("SKGEOM_DATA", "."), name)
        data = np.load(path)
        n_train = int(data["n_train"])
        X, y = data["X"].reshape(len(data["y"]), -1), data["y"].astype(np.int64)
        X_train, X_test = X[:n_train], X[n_train:]
        y_train, y_test = y[:n_train], y[n_train:]
    scale = X_train.std()
    X_train, X_test = (np.asarray(X / scale, np.float32) for X in (X_train, X_test))
    mean = X_train.mean(axis=0)
    return X_train - mean, y_train, X_test - mean, y_test


def interleaved(jobs, repeats):
    """Median seconds and last result of each job, in turn after a warm-up."""
    seconds, results = {name: [] for name in jobs}, {}
    for repeat in range(repeats + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            results[name] = job()
            if repeat:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(s) for name, s in seconds.items()}, results


PEER = f"sqfa {version('sqfa')}" if has_peer() else "sqfa"
_PEER_MODELS = {
    "fisher-rao": ("SQFA", "fisher_rao_lower_bound"),
    "affine-invariant": ("SecondMomentsSQFA", "affine_invariant"),
    "log-euclidean": ("SecondMomentsSQFA", "log_euclidean"),
}


def peer_fit(
    stats, n_components, regularization, distance="fisher-rao", pairwise=False
):
    """Filters by the package sqfa, in single precision, from its PCA initialization."""
    model_name, distance_name = _PEER_MODELS[distance]
    model = getattr(sqfa.model, model_name)(
        n_dim=stats.n_features,
        n_filters=n_components,
        feature_noise=regularization,
        distance_fun=getattr(sqfa.distances, distance_name),
    )
    tensors = {
        "means": torch.tensor(stats.means, dtype=torch.float32),
        "covariances": torch.tensor(stats.covariances, dtype=torch.float32),
    }
    with contextlib.redirect_stdout(None):
        model.fit_pca(data_statistics=tensors)
        model.fit(data_statistics=tensors, pairwise=pairwise, show_progress=False)
    return model.filters.detach().numpy().astype(float)
