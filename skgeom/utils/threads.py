"""Threads for NumPy functions that use one core each."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from sklearn import get_config, set_config

from skgeom.utils._sklearn import effective_n_threads, threadpool_controller

# True in the threads of map_threads, which already use all cores together.
_IS_WORKER = ContextVar("_IS_WORKER", default=False)

# Held while BLAS is limited.
_LIMIT = Lock()


def map_threads(function, items, parallel=True):
    """List of ``function(item)``, computed by as many threads as scikit-learn uses.

    The number of threads is the number of cores, unless ``OMP_NUM_THREADS``,
    threadpoolctl or a joblib job around this call limits it. Nested calls use one
    thread. The threads have the scikit-learn configuration of the calling thread. If
    the function raises errors, the error of the first item with an error is raised.
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
    """Context in which BLAS uses one thread, if ``wanted``.

    BLAS threads keep their cores busy for some time after each product. They slow down
    the threads of ``map_threads`` and, if NumPy and SciPy use different BLAS libraries,
    each other. The limit holds for the whole process. If several threads request the
    limit at the same time, only the first thread sets and resets it. Otherwise, a later
    thread would store the limit as the original setting, and restore the limit.
    """
    if not wanted or not _LIMIT.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMIT.release()
