"""Filters of LMNN for the images of MNIST, computed in a separate environment.

    python3.11 -m venv lmnn
    lmnn/bin/pip install -r benchmarks/papers/requirements-lmnn.txt
    lmnn/bin/python benchmarks/papers/lmnn.py
    python -m benchmarks.papers sqfa-mnist --only "LMNN, one image of ten"

The first three commands write nine filters to ``cache/lmnn.npz``; the last command, in
the environment of skgeom, computes the accuracies. As in the paper, LMNN is trained
with one image of ten, after PCA to 100 components of all training images, with the
settings of the authors' code. The environment variable SKGEOM_DATA names the folder of
mnist.npz.
"""

import os
import time
from pathlib import Path

import numpy as np
from metric_learn import LMNN
from sklearn.decomposition import PCA

FILTERS = Path(__file__).parent / "cache" / "lmnn.npz"
MODEL = LMNN(
    n_neighbors=3,
    n_components=9,
    init="pca",
    learn_rate=1e-6,
    max_iter=2000,
    convergence_tol=1.0,
)


def main():
    with np.load(Path(os.environ["SKGEOM_DATA"], "mnist.npz")) as data:
        n_train = int(data["n_train"])
        images, y = data["X"][:n_train], data["y"][:n_train]
    X = images.reshape(n_train, -1) / images.std()
    pca = PCA(100).fit(X)
    Z = pca.transform(X[::10])
    start = time.perf_counter()
    MODEL.fit(Z, y[::10])
    seconds = time.perf_counter() - start
    FILTERS.parent.mkdir(exist_ok=True)
    np.savez(FILTERS, filters=pca.components_.T @ MODEL.components_.T, seconds=seconds)
    print(f"{seconds:.0f} s")


if __name__ == "__main__":
    main()
