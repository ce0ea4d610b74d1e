"""Ctrl-C, and which processes receive it."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker


@contextlib.contextmanager
def ignoring_ctrl_c() -> Iterator[None]:
    """Processes started in this block never receive a Ctrl-C; this one handles it at the end.

    The signal is blocked, not set to SIG_IGN: child processes inherit that, and a pending Ctrl-C is
    not lost. It may still reach a thread that does not block it, and Python would then interrupt
    the main thread while it starts a process. So the handler only records it meanwhile.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # now, since it unblocks the signal as it starts
    received: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    ours = handler is not None and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if received:
            signal.raise_signal(signal.SIGINT)
