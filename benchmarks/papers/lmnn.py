"""Filters of LMNN for MNIST and for videos, computed in a separate environment.

    python -c "from benchmarks.papers.sqfa_videos import *; write_videos('videos.npz')"
    python3.11 -m venv lmnn
    lmnn/bin/pip install -r benchmarks/papers/requirements-lmnn.txt
    lmnn/bin/python benchmarks/papers/lmnn.py videos.npz
    python -m benchmarks.papers sqfa-mnist --only "LMNN, one image of ten"
    python -m benchmarks.papers sqfa-figure-6 --only "LMNN, one video of ten"

The fourth command writes nine filters for images to ``cache/lmnn-mnist.npz``, and eight
filters for videos to ``cache/lmnn-videos.npz``. The last two commands, in the
environment of skgeom, compute the accuracies of the filters. As in the paper, LMNN is
trained with one tenth of the training samples, after PCA to 100 components of all
training samples. The settings are those of the authors' code. The environment variable
SKGEOM_DATA names the folder of mnist.npz.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
from metric_learn import LMNN
from sklearn.decomposition import PCA

CACHE = Path(__file__).parent / "cache"
SETTINGS = {
    "n_neighbors": 3,
    "init": "pca",
    "learn_rate": 1e-6,
    "max_iter": 2000,
    "convergence_tol": 1.0,
}


def mnist():
    with np.load(Path(os.environ["SKGEOM_DATA"], "mnist.npz")) as data:
        n_train = int(data["n_train"])
        images, y = data["X"][:n_train], data["y"][:n_train]
    return images.reshape(n_train, -1) / images.std(), y


def write_filters(name, X, y, n_filters):
    pca = PCA(100).fit(X)
    Z = pca.transform(X[::10])
    start = time.process_time()
    model = LMNN(n_components=n_filters, **SETTINGS).fit(Z, y[::10])
    seconds = time.process_time() - start
    F = pca.components_.T @ model.components_.T
    CACHE.mkdir(exist_ok=True)
    np.savez(CACHE / f"lmnn-{name}.npz", filters=F, seconds=seconds)
    print(f"{name}: {seconds:.0f} s", flush=True)


def main():
    write_filters("mnist", *mnist(), 9)
    if len(sys.argv) > 1:
        with np.load(sys.argv[1]) as data:
            write_filters("videos", data["X"], data["y"], 8)


if __name__ == "__main__":
    main()
