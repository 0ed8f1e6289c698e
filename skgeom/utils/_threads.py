"""Threads for numpy functions that each keep one core busy."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock

from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

from skgeom.utils._sklearn import effective_n_threads

# Whether this thread is one of map_threads, which then has all cores at work already.
_IS_WORKER = ContextVar("_IS_WORKER", default=False)

# Held while BLAS is limited.
_LIMIT = Lock()


def map_threads(function, items, parallel=True):
    """List of ``function(item)``, by as many threads as scikit-learn would use.

    That is one for each core, unless ``OMP_NUM_THREADS``, threadpoolctl or a joblib job
    around this call asks for fewer. Within one of these threads it is one. The calling
    thread is one of them, and the others get its configuration of scikit-learn. If
    items fail, the error of the first of them is raised.
    """
    parallel = parallel and not _IS_WORKER.get()
    n_threads = min(len(items), effective_n_threads()) if parallel else 1
    if n_threads < 2:
        return list(map(function, items))
    config, todo = get_config(), deque(enumerate(items))
    results, errors = [None] * len(items), {}

    def work():
        token = _IS_WORKER.set(True)
        try:
            with config_context(**config):
                while todo and not errors:
                    try:
                        index, item = todo.popleft()
                    except IndexError:  # another thread was faster
                        return
                    try:
                        results[index] = function(item)
                    except Exception as error:
                        errors[index] = error
        finally:
            todo.clear()  # after an interrupt
            _IS_WORKER.reset(token)

    with ThreadPoolExecutor(n_threads - 1) as pool:
        try:
            helpers = [pool.submit(work) for _ in range(n_threads - 1)]
            work()
        finally:
            todo.clear()
    for helper in helpers:
        helper.result()
    try:
        if errors:
            raise errors[min(errors)]
    finally:
        errors.clear()  # the error refers to this frame, and would keep all of it
    return results


@contextmanager
def one_blas_thread(wanted=True):
    """Context in which BLAS has one thread; with False, nothing changes.

    Threads of BLAS keep their cores busy for a while after each product. So they slow
    down our own threads, and each other if numpy and scipy have a BLAS each and
    matrices are small. The limit holds for the whole process. If several threads want
    it at the same time, only the first one sets and resets it: a later one would take
    the limit for the original setting, and restore that.
    """
    if not wanted or not _LIMIT.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMIT.release()


@cache
def _controller():
    return ThreadpoolController()  # finding the libraries takes milliseconds
