"""Several threads for numpy functions that keep one core busy each."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache

from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

from skgeom.utils._sklearn import effective_n_threads

# Whether this thread is one of map_threads, which then has all cores at work already.
_IS_WORKER = ContextVar("_IS_WORKER", default=False)


def map_threads(function, items, parallel=True):
    """List of ``function(item)``, by as many threads as scikit-learn would use.

    That is one for each core, unless ``OMP_NUM_THREADS``, threadpoolctl, or a parallel
    job of joblib around this one asks for fewer; and one only within such a thread.
    Each has scikit-learn's configuration of the thread that calls.
    """
    parallel = parallel and not _IS_WORKER.get()
    n_threads = min(len(items), effective_n_threads()) if parallel else 1
    if n_threads < 2:
        return [function(item) for item in items]
    config = get_config()

    def work(item):
        _IS_WORKER.set(True)
        with config_context(**config):
            return function(item)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, items))


def limit_blas(n_threads):
    """Context in which BLAS has so many threads, or with None as many as before.

    Threads of BLAS keep their cores busy for a while after each product. So they are in
    the way of threads of our own, and of each other where numpy and scipy bring a BLAS
    each and matrices are small.
    """
    return _controller().limit(limits=n_threads, user_api="blas")


@cache
def _controller():
    return ThreadpoolController()  # to look for the libraries takes milliseconds
