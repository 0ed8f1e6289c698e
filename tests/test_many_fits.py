"""Many fits in one process, one after another or at once, leave nothing behind."""

import sys
from concurrent.futures import ThreadPoolExecutor

import many_fits
import numpy as np
import pytest
from numpy.testing import assert_allclose
from public_estimators import ESTIMATORS, data_of, outcome
from threadpoolctl import threadpool_limits


@pytest.mark.exhaustive
def test_nothing_is_left_behind():
    """About 200 fits: the same memory in each round, threads and settings as before."""
    list(many_fits.fit_all(1))  # imports, caches
    before = many_fits.global_state()
    growth = many_fits.growth_of(many_fits.fit_all(6))
    assert many_fits.changed_state(before) == []
    # An array or a model that is kept takes at least one block for each of the fits.
    assert np.median(growth) < 3 * len(ESTIMATORS)


# Before Python 3.14, a forest of scikit-learn may start while another one has emptied
# the filters of all threads, and takes that for a wrong use of its own Parallel.
@pytest.mark.filterwarnings("ignore:`sklearn.utils.parallel.delayed` should be used")
@pytest.mark.skipif(sys.platform == "emscripten", reason="no threads")
@pytest.mark.parametrize(
    "names",
    [
        ["SQFA", "GaussianClassifier", "PLRSQ", "KernelDiscriminantAnalysis"],
        pytest.param(list(ESTIMATORS), marks=pytest.mark.exhaustive),
    ],
    ids=["few", "all"],
)
def test_fits_at_once_give_what_fits_in_turn_give(names):
    """Eight threads that change places as often as possible."""

    def result(name):
        case = ESTIMATORS[name]
        X, y = data_of(case, seed=0, n_per_class=8)
        return outcome(case.make().fit(X, y), X)

    expected = [result(name) for name in names]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        # scikit-learn's k-means limits the threads of BLAS and restores what it found,
        # which may be the limit of a fit in another thread.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(8) as pool:
            before = many_fits.global_state()
            found = [list(pool.map(result, names[k:] + names[:k])) for k in (0, 3)]
            pool.shutdown()
            changed = set(many_fits.changed_state(before))
    finally:
        sys.setswitchinterval(interval)
    # Before Python 3.14, scikit-learn's own checks change the filters for all threads.
    assert changed <= {"warning filters"}
    for k, results in zip((0, 3), found, strict=True):
        results = results[len(names) - k :] + results[: len(names) - k]
        for name, value, wanted in zip(names, results, expected, strict=True):
            assert_allclose(value, wanted, rtol=1e-9, atol=1e-12, err_msg=name)
