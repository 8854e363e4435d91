"""Run many small tasks elsewhere and take their results in order, a bounded number ahead."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from collections import deque
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.synchronize import Event

T = TypeVar("T")


def in_order(
    executor: Executor,
    run: Callable[..., T],
    tasks: Iterable[tuple[Any, ...]],
    ahead: int,
    cancel: bool = True,
) -> Iterator[T]:
    """Yield ``run(*task)`` for each task, in their order.

    Parameters
    ----------
    executor : Executor
    run : callable
    tasks : iterable of tuple
    ahead : int
        Tasks that are handed out and not yet taken, at most.
    cancel : bool
        Cancel what is left in the end. Not for `processes`, which ends with its tasks: until
        Python 3.12 a pool whose processes die stumbles over tasks that were cancelled.
    """
    waiting: deque[Future[T]] = deque()
    try:
        for task in tasks:
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
            with _no_interrupt_for_children():
                waiting.append(executor.submit(run, *task))
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting if cancel else ():
            future.cancel()


@contextlib.contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """Give a pool of `jobs` fresh processes. An exception ends them at once, even at start-up."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_begin_process, initargs=(stop,)
    )
    try:
        yield pool
    except BaseException:
        # They only hand back results that nobody wants any more. Until Python 3.14 the pool has
        # no public way to end them.
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()
        raise
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


_stop: Event | None = None  # in a process of `processes`: set when its work is not wanted


def stopped() -> bool:
    """Tell a task whether it may as well give up."""
    return _stop is not None and _stop.is_set()


def _begin_process(stop: Event) -> None:
    global _stop
    _stop = stop
    # Ctrl-C reaches every process of the terminal; only the parent is to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _no_interrupt_for_children() -> Iterator[None]:
    """Start processes with SIGINT blocked: they inherit it, and stay quiet while starting up.

    For this process an interrupt is only put off to the end. The mask alone would not do that: the
    signal may reach another thread, and Python would still raise here, half way through a start.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    ours = callable(handler) and threading.current_thread() is threading.main_thread()
    put_off: list[int] = []
    if ours:
        signal.signal(signal.SIGINT, lambda number, _: put_off.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if ours:
            signal.signal(signal.SIGINT, handler)
        if put_off:
            signal.raise_signal(signal.SIGINT)
