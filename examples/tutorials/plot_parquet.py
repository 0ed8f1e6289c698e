"""
Parquet: ten million rows with constant memory
==============================================

Class statistics of any number of rows can be computed in one pass over blocks. This
tutorial writes ten million **synthetic** rows to a Parquet file, and fits SQFA and a
Gaussian classifier without loading the whole file. A plot shows that the memory of the
process does not grow with the number of rows.
"""

# %%
# Write synthetic data
# --------------------
#
# Four Gaussian classes in ten dimensions have nearly equal means, and different
# variances in four directions. Write row groups of 250,000 rows one by one.

import os
import resource
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from skgeom import SQFA, ClassStatistics, GaussianClassifier

N_ROWS, BLOCK, N_FEATURES, N_CLASSES = 10_000_000, 250_000, 10, 4
rng = np.random.default_rng(0)
directions, _ = np.linalg.qr(rng.normal(size=(N_FEATURES, N_FEATURES)))
deviations = np.ones((N_CLASSES, N_FEATURES))
deviations[:, :4] += 3 * np.eye(4)
factors = (deviations[:, :, None] * directions).astype(np.float32)
means = 0.1 * rng.normal(size=(N_CLASSES, N_FEATURES)).astype(np.float32)
columns = [f"x{k}" for k in range(N_FEATURES)]


def draw(n_rows):
    """Rows of all classes, in random order."""
    y = rng.integers(N_CLASSES, size=n_rows)
    X = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    for label in range(N_CLASSES):
        X[y == label] = X[y == label] @ factors[label] + means[label]
    return X, y


def memory():
    """Resident memory of this process in MB; on other systems than Linux, its peak."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "rows.parquet")
schema = pa.schema([(name, pa.float32()) for name in columns] + [("y", pa.int8())])
with pq.ParquetWriter(path, schema, compression="NONE", use_dictionary=False) as writer:
    for _ in range(N_ROWS // BLOCK):
        X, y = draw(BLOCK)
        arrays = [pa.array(column) for column in X.T] + [pa.array(y.astype(np.int8))]
        writer.write_table(pa.table(arrays, schema=schema))
size = path.stat().st_size / 1e6
print(f"{N_ROWS:,} rows, file of {size:.0f} MB")

# %%
# Read blocks
# -----------
#
# The generator ``blocks`` yields X and y of each row group, and logs the memory.
# :meth:`~skgeom.ClassStatistics.from_blocks` updates counts, means and covariances with
# each block. Do not replace ``read_row_group`` by ``iter_batches``: with its default
# ``pre_buffer=True``, all row groups stay in memory.

log = []


def blocks():
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        batch = file.read_row_group(group)
        X = np.stack([batch[name].to_numpy() for name in columns], axis=1)
        yield X, batch["y"].to_numpy()
        log.append(memory())


start, before = time.perf_counter(), memory()
statistics = ClassStatistics.from_blocks(blocks())
print(statistics)
print(f"{time.perf_counter() - start:.1f} s for one pass")

# %%
# Fit filters and classifier
# --------------------------
#
# Fit the filters and the classifier to the class statistics. Test them with new rows.

sqfa = SQFA(4, distance="hellinger", regularization=0.01, random_state=0)
sqfa.fit_statistics(statistics)
classifier = GaussianClassifier().fit_statistics(sqfa.statistics_)
X_test, y_test = draw(50_000)
accuracy = classifier.score(sqfa.transform(X_test), y_test)
everything = GaussianClassifier().fit_statistics(statistics).score(X_test, y_test)
print(f"accuracy, 4 filters: {accuracy:.1%}; all 10 columns: {everything:.1%}")

# %%
# Memory of the process
# ---------------------
#
# The memory does not grow with the number of rows. The dashed line shows the memory
# that the process would use if it kept all rows.

rows = np.arange(1, len(log) + 1) * BLOCK / 1e6
figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
axis.plot(rows, log, label="memory of the process")
axis.plot(rows, before + rows * N_FEATURES * 4, "--", label="with all rows in memory")
axis.set(xlabel="millions of rows read", ylabel="memory (MB)", ylim=(0, None))
axis.legend()
# sphinx_gallery_alt = "Constant memory, and a growing line with all rows in memory"
plt.show()
folder.cleanup()

# %%
# For many files or a cluster, use ``dask.dataframe.read_parquet``, which returns a data
# frame that the estimators accept (:ref:`large_data`). :ref:`benchmarks` reports time
# and memory for 4 GB.
