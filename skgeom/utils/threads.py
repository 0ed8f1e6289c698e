"""Threads for numpy functions that each keep one core busy."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from threading import Event, Lock

from sklearn import config_context, get_config
from sklearn.utils._openmp_helpers import (
    _openmp_effective_n_threads as effective_n_threads,
)
from threadpoolctl import ThreadpoolController

# In the threads of map_threads, which keep all cores at work already: an event that
# asks them to stop.
_STOP = ContextVar("_STOP", default=None)

# Held while BLAS is limited.
_LIMIT = Lock()


class Stopped(BaseException):
    """Ends what a thread does for a call of map_threads that was interrupted."""


def map_threads(function, items, parallel=True):
    """List of ``function(item)``, by as many threads as scikit-learn would use.

    That is one for each core, unless ``OMP_NUM_THREADS``, threadpoolctl or a joblib job
    around this call asks for fewer. Within one of these threads it is one. The calling
    thread is one of them, and the others get its configuration of scikit-learn. If
    items fail, the error of the first of them is raised. After an interrupt, the others
    stop when they next come to a call of this function, or to an item of it.
    """

    def run(item):
        stop_if_asked()
        return function(item)

    is_worker = _STOP.get() is not None
    parallel = parallel and not is_worker
    n_threads = min(len(items), effective_n_threads()) if parallel else 1
    if n_threads < 2:
        return list(map(run if is_worker else function, items))
    config, todo, stop = get_config(), deque(enumerate(items)), Event()
    results, errors = [None] * len(items), {}

    def work():
        token = _STOP.set(stop)
        try:
            with config_context(**config):
                while todo and not errors:
                    try:
                        index, item = todo.popleft()
                    except IndexError:  # another thread was faster
                        return
                    try:
                        results[index] = run(item)
                    except Exception as error:
                        errors[index] = error
        except BaseException:
            stop.set()
            raise
        finally:
            _STOP.reset(token)

    pool, helpers = ThreadPoolExecutor(n_threads - 1), []
    try:
        helpers += [pool.submit(work) for _ in range(n_threads - 1)]
        with suppress(Stopped):  # a helper was interrupted, whose result says by what
            work()
        # A wait without a limit would not be interrupted on Windows.
        while wait(helpers, timeout=0.1).not_done:
            pass
    finally:
        stop.set()
        pool.shutdown()
    for helper in helpers:
        with suppress(Stopped):
            helper.result()
    try:
        if errors:
            raise errors[min(errors)]
    finally:
        errors.clear()  # the error refers to this frame, and would keep all of it
    return results


def stop_if_asked():
    """Raise in a thread of :func:`map_threads` whose call was interrupted.

    For what takes long between two calls of that.
    """
    stop = _STOP.get()
    if stop is not None and stop.is_set():
        raise Stopped


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
