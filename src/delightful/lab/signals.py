"""Ctrl-C, and which processes hear it."""

import contextlib
import signal
from collections.abc import Iterator
from multiprocessing import resource_tracker


@contextlib.contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that are started meanwhile never hear a Ctrl-C; this one hears it afterwards.

    Blocked, not ignored: that is inherited too, and a Ctrl-C is kept and not lost.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # now, since it unblocks the signal as it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
