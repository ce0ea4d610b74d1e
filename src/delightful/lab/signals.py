"""Ctrl-C, and which processes hear it."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker


@contextlib.contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that are started meanwhile never hear a Ctrl-C; this one hears it afterwards.

    Blocked, not ignored: that is inherited too, and a Ctrl-C is kept and not lost. It may reach
    another thread, which does not block it, and Python would then interrupt the main thread all the
    same, in the midst of starting a process: so it is only taken down, too.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # now, since it unblocks the signal as it starts
    heard: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    ours = handler is not None and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if heard:
            signal.raise_signal(signal.SIGINT)
