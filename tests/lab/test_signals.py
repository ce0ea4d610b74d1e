"""A Ctrl-C while processes are being started."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from delightful.lab.signals import ignoring_ctrl_c

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")


@pytest.fixture(autouse=True)
def heard_as_usual() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ignoring_while(send: Callable[[], None], passed: list[str]) -> None:
    with ignoring_ctrl_c():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        send()
        time.sleep(0.2)
        passed.append("the end")


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_ctrl_c_is_heard_afterwards_whichever_thread_it_reaches(elsewhere: bool) -> None:
    over, passed = threading.Event(), []
    thread = threading.Thread(target=over.wait)  # started before: it does not block the signal
    thread.start()
    to_thread = partial(signal.pthread_kill, thread.ident, signal.SIGINT)
    to_all = partial(os.kill, os.getpid(), signal.SIGINT)
    try:
        with pytest.raises(KeyboardInterrupt):
            ignoring_while(to_thread if elsewhere else to_all, passed)
        assert passed
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    finally:
        over.set()


def test_without_a_ctrl_c_nothing_is_raised() -> None:
    with ignoring_ctrl_c():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
