"""Threads for numpy: order, errors, and as many as the rest of the process allows."""

import threading
import time

import pytest
from sklearn import config_context, get_config
from threadpoolctl import threadpool_info, threadpool_limits

from skgeom.utils._threads import limit_blas, map_threads


def names_of_threads(n_items=8, parallel=True):
    """Names of the threads that evaluate a few items, each waiting for company."""
    meeting = threading.Barrier(2)

    def name(item):
        try:
            meeting.wait(timeout=0.2)
        except threading.BrokenBarrierError:
            pass
        return threading.current_thread().name

    return set(map_threads(name, list(range(n_items)), parallel))


def test_results_keep_their_order():
    assert map_threads(lambda x: x**2, [3, 1, 2]) == [9, 1, 4]
    assert map_threads(lambda x: x**2, []) == []


def test_errors_are_raised():
    def fail(item):
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        map_threads(fail, [0, 1, 2, 3])


def test_the_first_error_is_raised():
    meeting = threading.Barrier(2)

    def fail(item):
        if item in (1, 2):
            meeting.wait(timeout=5)  # both fail, at about the same time
            raise IndexError(f"item {item}")

    with threadpool_limits(2), pytest.raises(IndexError, match="item 1"):
        map_threads(fail, range(50))


def test_an_interrupt_leaves_nothing_behind():
    def interrupt(item):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.01)
        done.append(item)

    done = []
    with threadpool_limits(2):
        with pytest.raises(KeyboardInterrupt):
            map_threads(interrupt, range(1000))
        assert len(done) < 100
        assert len(names_of_threads()) == 2


def test_limits_are_obeyed():
    here = {threading.current_thread().name}
    assert names_of_threads(parallel=False) == here
    assert names_of_threads(n_items=1) == here
    with threadpool_limits(1):
        assert names_of_threads() == here
    with threadpool_limits(2):
        assert len(names_of_threads()) == 2


def test_configuration_of_scikit_learn_is_kept():
    with threadpool_limits(2), config_context(working_memory=7, assume_finite=True):
        found = map_threads(lambda _: get_config(), range(4))
        assert found == [get_config()] * 4
    assert not get_config()["assume_finite"]


def test_threads_do_not_multiply():
    """A thread at work does what is inside by itself; the caller is as before."""

    def inside(item):
        return names_of_threads(), threading.current_thread().name

    with threadpool_limits(2):
        for names, own in map_threads(inside, range(4)):
            assert names == {own}
        assert len(names_of_threads()) == 2


def test_blas_is_limited_for_a_while():
    def n_threads():
        return {
            library["num_threads"]
            for library in threadpool_info()
            if library["user_api"] == "blas"
        }

    with threadpool_limits(2):
        with limit_blas(1):
            assert n_threads() == {1}
        assert n_threads() == {2}
        with limit_blas(None):
            assert n_threads() == {2}
