"""Check memory and global state after many small fits of all estimators.

    python tools/many_fits.py 10000

The script prints the memory in use during the fits. At the end, it prints whether
threads, warning filters, random states and further global settings are unchanged.
``tests/test_many_fits.py`` runs a few fits with these functions.
"""

import gc
import os
import random
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import sklearn
from threadpoolctl import threadpool_info

# The table of all estimators, and the functions that create data for them.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
import public_estimators as table


def global_state():
    """The global settings that no fit may change, by name."""
    return {
        "numpy.random": str(np.random.get_state()),  # noqa: NPY002
        "random": random.getstate(),
        "warning filters": list(warnings.filters),
        "numpy errors": np.geterr(),
        "print options": str(np.get_printoptions()),
        "scikit-learn": sklearn.get_config(),
        "threads of BLAS": sorted(
            (library["filepath"], library["num_threads"])
            for library in threadpool_info()
        ),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "interrupt": signal.getsignal(signal.SIGINT),
        "garbage collector": (gc.isenabled(), gc.get_threshold()),
        "sys.path": list(sys.path),
        "exception hooks": (sys.excepthook, threading.excepthook),
    }


def changed_state(before):
    """Names of settings that differ from an earlier state."""
    after = global_state()
    return [name for name in before if before[name] != after[name]]


def fit_all(n_rounds, skip=()):
    """Fit each estimator once per round, to different data; yield the round."""
    for seed in range(n_rounds):
        for name, case in table.ESTIMATORS.items():
            if name not in skip:
                X, y = table.data_of(case, seed, n_per_class=8)
                table.outcome(table.fitted(case, X, y), X)
        yield seed


def memory():
    """Resident memory of this process in MB (Linux only)."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(n_fits):
    n_rounds = -(-n_fits // len(table.ESTIMATORS))
    for _ in fit_all(1):  # imports, caches
        pass
    before, start = global_state(), time.perf_counter()
    sizes = []
    gc.collect()
    print(f"{'fits':>7} {'seconds':>8} {'MB':>8} {'blocks':>9}", flush=True)
    for seed in fit_all(n_rounds):
        if (seed + 1) % max(n_rounds // 10, 1) == 0:
            gc.collect()
            n_done = (seed + 1) * len(table.ESTIMATORS)
            seconds, blocks = time.perf_counter() - start, sys.getallocatedblocks()
            row = f"{n_done:7} {seconds:8.0f} {memory():8.1f} {blocks:9}"
            print(row, flush=True)
            sizes.append(memory())
    changed = changed_state(before)
    print("Changed:", ", ".join(changed) or "nothing")
    # Between the first tenth and the last; caches are filled by then.
    if changed or sizes[-1] > sizes[0] + 10:
        raise SystemExit("The fits leave something behind.")


def growth_of(fits):
    """Increase of the number of memory blocks of Python after each item of an iterator.

    An array, a dict or a model that is kept takes at least one.
    """
    sizes = []
    for _ in fits:
        gc.collect()
        sizes.append(sys.getallocatedblocks())
    return np.diff(sizes)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10_000)
