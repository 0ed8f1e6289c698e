"""Threads for NumPy functions that each keep one core busy."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from sklearn import get_config, set_config
from sklearn.utils._openmp_helpers import (
    _openmp_effective_n_threads as effective_n_threads,
)
from sklearn.utils.parallel import _get_threadpool_controller as threadpool_controller

# Whether this is a thread of map_threads, all of which together use all cores.
_IS_WORKER = ContextVar("_IS_WORKER", default=False)

# Held while BLAS is limited.
_LIMIT = Lock()


def map_threads(function, items, parallel=True):
    """List of ``function(item)``, by as many threads as scikit-learn would use.

    That is one per core, unless ``OMP_NUM_THREADS``, threadpoolctl or a joblib job
    around this call asks for fewer, and one in a thread of this function. The threads
    have the configuration of scikit-learn of the calling thread. If items fail, the
    error of the first of them is raised. After an error or an interrupt, no more items
    are begun.
    """
    n_threads = min(len(items), effective_n_threads())
    if not parallel or n_threads < 2 or _IS_WORKER.get():
        return list(map(function, items))
    config = get_config()

    def begin():
        _IS_WORKER.set(True)
        set_config(**config)

    with ThreadPoolExecutor(n_threads, initializer=begin) as pool:
        return list(pool.map(function, items))


@contextmanager
def one_blas_thread(wanted=True):
    """Context in which BLAS has one thread; with False, nothing changes.

    Threads of BLAS keep their cores busy for a while after each product. So they slow
    down our own threads, and each other if NumPy and SciPy have a BLAS each and
    matrices are small. The limit holds for the whole process. If several threads
    request it at the same time, only the first one sets and resets it: a later one
    would take the limit for the original setting, and restore that.
    """
    if not wanted or not _LIMIT.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMIT.release()
