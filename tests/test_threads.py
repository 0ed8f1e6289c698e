"""Threads for numpy: order, errors, and as many as the rest of the process allows."""

import _thread
import signal
import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skgeom.utils.threads import map_threads, one_blas_thread


@pytest.fixture
def two_threads(monkeypatch):
    """Two threads, however many cores there are, which an interrupt reaches."""
    monkeypatch.setattr("skgeom.utils.threads.effective_n_threads", lambda: 2)
    # Shells ignore it in what they run in the background, for all that it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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


def test_the_first_error_is_raised(two_threads):
    meeting = threading.Barrier(2)

    def fail(item):
        if item in (1, 2):
            meeting.wait(timeout=5)  # both fail, at about the same time
            raise IndexError(f"item {item}")

    with pytest.raises(IndexError, match="item 1"):
        map_threads(fail, range(50))


def test_an_interrupt_begins_no_more_items(two_threads):
    """The caller waits for two items, and is interrupted."""
    begun = []

    def work(item):
        begun.append(item)
        if item == 1:
            threading.Timer(0.05, _thread.interrupt_main).start()
        time.sleep(0.2)

    n_threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        map_threads(work, range(20))
    assert len(begun) < 10
    assert threading.active_count() <= n_threads + 1  # the timer may still end
    assert len(names_of_threads()) == 2


def test_limits_are_obeyed():
    here = {threading.current_thread().name}
    assert names_of_threads(parallel=False) == here
    assert names_of_threads(n_items=1) == here
    with threadpool_limits(1):
        assert names_of_threads() == here


def test_threads_do_not_multiply(two_threads):
    """A thread at work does what is inside by itself; the caller is as before."""

    def inside(item):
        return names_of_threads(), threading.current_thread().name

    with threadpool_limits(2):
        for names, own in map_threads(inside, range(4)):
            assert names == {own}
        assert len(names_of_threads()) == 2


def n_blas_threads():
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }


def test_threads_that_limit_blas_crosswise():
    """The second one must not take the limit of the first for what was before."""
    second_is_in, first_is_out = threading.Event(), threading.Event()

    def second():
        with one_blas_thread():
            second_is_in.set()
            first_is_out.wait(timeout=5)

    with threadpool_limits(2):
        thread = threading.Thread(target=second)
        with one_blas_thread():
            thread.start()
            second_is_in.wait(timeout=5)
            with one_blas_thread():
                assert n_blas_threads() == {1}
            assert n_blas_threads() == {1}
        first_is_out.set()
        thread.join()
        assert n_blas_threads() == {2}
        with one_blas_thread():
            assert n_blas_threads() == {1}
        assert n_blas_threads() == {2}
