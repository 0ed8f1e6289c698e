"""
Data larger than memory: SQFA with Dask or blocks of files
==========================================================

This example learns filters and a quadratic classifier from data in files, which may be
larger than memory. It writes the data to files, block by block, and computes the class
statistics in two ways: with Dask and a progress bar, and with a generator of blocks.
With the same regularization and shrinkage, the filters of both ways agree up to
rounding.

This page is built with 100,000 samples. Pass a different number as an argument::

    python plot_ten_million_samples.py 10000000

This command writes 2 GB to a temporary folder. The data in memory are a few blocks of
4 MB, 10,000 samples that select the regularization, and the class covariances,
regardless of the number of samples.
"""

import sys
import tempfile
from pathlib import Path

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.diagnostics import ProgressBar
from sklearn.base import clone

from skgeom import SQFA, ClassStatistics, GaussianClassifier
from skgeom.plotting import ClassEllipsesDisplay

N_SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
N_CLASSES, N_FEATURES, ROWS = 5, 50, 20_000

# %%
# Generate Gaussian classes with fifty features. The class means differ slightly, and
# the class covariances differ more: each class has a large variance along two
# directions of its own.

rng = np.random.default_rng(0)
means = 0.3 * rng.normal(size=(N_CLASSES, N_FEATURES))
directions, _ = np.linalg.qr(rng.normal(size=(N_FEATURES, N_FEATURES)))


def draw(n_samples):
    y = rng.integers(N_CLASSES, size=n_samples)
    sizes = np.ones((N_CLASSES, N_FEATURES))
    for k in range(N_CLASSES):
        sizes[k, 2 * k : 2 * k + 2] = 4
    X = rng.normal(size=(n_samples, N_FEATURES)) * sizes[y] @ directions.T + means[y]
    return X.astype(np.float32), y


def load(path):
    block = np.load(path)
    return block["X"], block["y"]


folder = tempfile.TemporaryDirectory()
paths = []
for start in range(0, N_SAMPLES, ROWS):
    X, y = draw(min(ROWS, N_SAMPLES - start))
    paths.append(Path(folder.name) / f"{len(paths)}.npz")
    np.savez(paths[-1], X=X, y=y)
print(f"{len(paths)} files, {sum(path.stat().st_size for path in paths) / 1e6:.0f} MB")

# %%
# Create Dask arrays from the files. No file is read yet. For Parquet files, use
# ``dask.dataframe.read_parquet``, which returns a data frame that the estimators also
# accept. For Zarr, use ``dask.array.from_zarr``.

blocks = [dask.delayed(load)(path) for path in paths]
rows = [min(ROWS, N_SAMPLES - start) for start in range(0, N_SAMPLES, ROWS)]
X = da.concatenate(
    [
        da.from_delayed(block[0], (n, N_FEATURES), np.float32)
        for n, block in zip(rows, blocks, strict=True)
    ]
)
y = da.concatenate(
    [
        da.from_delayed(block[1], (n,), np.int64)
        for n, block in zip(rows, blocks, strict=True)
    ]
)
print(f"{X.shape[0]:,} samples in {X.numblocks[0]} blocks of {X.dtype}")

# %%
# ``fit`` reads the files once. In this pass, it computes the class statistics, with one
# task per block, and keeps 10,000 samples to select the regularization. The
# optimization of the filters and the classifier require no further pass.

sqfa = SQFA(10, distance="hellinger", random_state=0)
with ProgressBar(minimum=1):  # shown for computations longer than a second
    sqfa.fit(X, y)
classifier = GaussianClassifier().fit_statistics(sqfa.statistics_)

# %%
# Features and predictions are lazy arrays. The accuracy is computed in one more pass
# over the files.

predicted = classifier.predict(sqfa.transform(X))
with ProgressBar(minimum=1):
    accuracy = (predicted == y).mean().compute()
print(f"Accuracy: {accuracy:.1%}")

# %%
# On a cluster, create a client first. The remaining code is the same. If a worker
# fails, Dask repeats its tasks on different workers::
#
#     from distributed import Client
#
#     client = Client("address-of-the-scheduler:8786")
#     sqfa.fit(X, y)
#
# Without Dask, compute the statistics from any iterable of blocks. Class statistics
# contain no held-out samples, so this fit uses the regularization and the shrinkage of
# the first fit.

statistics = ClassStatistics.from_blocks(load(path) for path in paths)
again = clone(sqfa).set_params(regularization=sqfa.regularization_)
again.fit_statistics(statistics.shrunk(sqfa.shrinkage_))
print(statistics)
print(f"Objectives: {sqfa.objective_:.6f} and {again.objective_:.6f}")

# %%
# Plot the class ellipses of the first two features.

ClassEllipsesDisplay.from_statistics(sqfa.statistics_)
# sphinx_gallery_alt = "Ellipses of five classes in the plane of two features"
plt.show()

folder.cleanup()
