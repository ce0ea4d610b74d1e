"""Workers run side by side, and none outlives an error or the end of the block."""

import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from delightful.benchmarks.workers import workers

SETUP = """
import os, pathlib, signal, sys, time

def tasks():
    pathlib.Path(__file__).with_name(f"{os.getpid()}.pid").touch()
    return {
        "nothing": lambda: None,
        "sleep": lambda: time.sleep(0.3),
        "raise": lambda: 1 / 0,
        "leave": lambda: sys.exit(0),
        "die": lambda: os.kill(os.getpid(), signal.SIGKILL),
    }

def one_dies():
    first = pathlib.Path(__file__).with_name("first")
    try:
        first.touch(exist_ok=False)
    except FileExistsError:
        return {"die": lambda: None, "nothing": lambda: None}
    return tasks()

def broken():
    raise RuntimeError("the setup is broken")
"""
pytestmark = pytest.mark.timeout(60)
Gone = Callable[[int], None]


@pytest.fixture
def gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gone:
    """Makes a module that the workers can import; asserts that so many ran and all have ended."""
    (tmp_path / "for_workers.py").write_text(SETUP)
    monkeypatch.syspath_prepend(str(tmp_path))  # which a spawned process is given

    def check(count: int) -> None:
        pids = [int(path.stem) for path in tmp_path.glob("*.pid")]
        assert len(pids) == count
        assert multiprocessing.active_children() == []
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)

    return check


def test_two_workers_sleep_at_the_same_time(gone: Gone) -> None:
    with workers(2, "for_workers:tasks") as both:
        both.seconds("nothing")  # until both have started
        assert 0.3 <= both.seconds("sleep") < 0.55
        assert len(multiprocessing.active_children()) == 2
    gone(2)


@pytest.mark.parametrize("task", ["raise", "leave", "die", "unknown"])
def test_a_task_that_ends_its_worker_is_an_error_and_no_hang(gone: Gone, task: str) -> None:
    with workers(2, "for_workers:tasks") as both:
        both.seconds("nothing")
        with pytest.raises((EOFError, OSError)):
            both.seconds(task)
    gone(2)


def test_one_dead_worker_of_two_is_an_error_then_and_later(gone: Gone) -> None:
    with workers(2, "for_workers:one_dies") as both:
        both.seconds("nothing")
        for _ in range(2):
            with pytest.raises((EOFError, OSError)):
                both.seconds("die")
    gone(1)


@pytest.mark.parametrize("setup", ["for_workers:broken", "for_workers:absent", "no_module:tasks"])
def test_a_setup_that_fails_is_an_error_and_no_hang(gone: Gone, setup: str) -> None:
    with pytest.raises((EOFError, OSError)), workers(2, setup) as both:
        both.seconds("nothing")
    gone(0)


def test_workers_at_work_end_with_the_block(gone: Gone) -> None:
    def leave() -> None:
        with workers(2, "for_workers:tasks") as both:
            both.seconds("nothing")
            for pipe in both._pipes:
                pipe.send("sleep")
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        leave()
    assert time.monotonic() - start < 30
    gone(2)
