"""Handing out tasks."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dts.export.flow import in_order


class Interrupted(ThreadPoolExecutor):
    """Gets Ctrl-C while it starts a task, in a thread that is not the one that starts it."""

    def __init__(self):
        super().__init__(1)
        self.started = 0
        self._end = threading.Event()
        # It heeds signals, as the threads of a BLAS do.
        self._other = threading.Thread(target=self._end.wait, daemon=True)
        self._other.start()

    def submit(self, run, *arguments):
        signal.pthread_kill(self._other.ident, signal.SIGINT)
        time.sleep(0.1)  # the interpreter knows by now
        self._end.set()
        self._other.join()
        self.started += 1
        return super().submit(run, *arguments)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads")
def test_an_interrupt_waits_for_a_start_whichever_thread_it_reaches():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    try:
        with Interrupted() as pool:
            with pytest.raises(KeyboardInterrupt):
                list(in_order(pool, abs, [(-1,), (-2,)], 2))
            assert pool.started == 1
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_threads_that_are_not_the_first_all_goes_on():
    found = []

    def run():
        with ThreadPoolExecutor(1) as pool:
            found.extend(in_order(pool, abs, [(-1,), (-2,), (-3,)], 2))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [1, 2, 3]
