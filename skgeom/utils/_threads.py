"""Several threads for numpy functions that keep one core busy each."""

from concurrent.futures import ThreadPoolExecutor

from skgeom.utils._sklearn import effective_n_threads


def map_threads(function, items, parallel=True):
    """List of ``function(item)``, by as many threads as scikit-learn would use.

    That is one for each core, unless ``OMP_NUM_THREADS``, threadpoolctl, or a parallel
    job of joblib around this one asks for fewer.
    """
    n_threads = min(len(items), effective_n_threads()) if parallel else 1
    if n_threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, items))
