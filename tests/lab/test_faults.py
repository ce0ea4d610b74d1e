"""Faults: full and unwritable disks, Ctrl-C, kill -9, and two runs at once.

Whatever happens, the command ends with one sentence, the same command goes on from there, and
the result is byte for byte that of an undisturbed run.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from delightful.lab.cells import Plan
from delightful.lab.store import Store
from delightful.paper.bandit.sweep import ALIGNMENT

PYTHON = sys.executable
RUN = ("run", "bandit/alignment", "--scale", "paper", "--seeds", "400")
CELLS = ALIGNMENT.cells(Plan("paper", 400))  # 24 cells of some 60 ms
pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")


def start(store: Path, *arguments: str, program: tuple[str, ...] = ("-m", "delightful.cli")):
    """The command in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [PYTHON, *program, *(arguments or RUN), "--store", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a command that should end well; what it said."""
    error = process.communicate(timeout=100)[1]
    assert process.returncode == 0, error
    return error


def refused(process: subprocess.Popen[str]) -> str:
    """Wait for a command that should end with exit code 2; its one sentence."""
    error = process.communicate(timeout=60)[1]
    said = [line for line in error.splitlines() if line.startswith("delightful")]
    assert "Traceback" not in error
    assert (process.returncode, len(said)) == (2, 1), error
    assert error.endswith(said[0] + "\n"), error
    return said[0]


def data(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store / "cells").glob("*.parquet")}


def events(store: Path) -> list[dict]:
    return [json.loads(line) for line in (store / "events.jsonl").read_text().splitlines()]


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def cells_done(store: Path) -> int:
    return len(list((store / "cells").glob("*.json")))


def status(pid: int) -> tuple[str, int]:
    """State and parent of a process; a zombie is dead."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return "X", 0
    return state, int(parent)


def alive(pid: int) -> bool:
    return status(pid)[0] not in "ZX"


def children(pid: int) -> list[int]:
    every = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [child for child in every if status(child)[1] == pid and alive(child)]


def command_of(pid: int) -> bytes:
    """Its command line; nothing if it has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def workers(pid: int) -> list[int]:
    return [c for c in children(pid) if b"spawn_main" in command_of(c)]


@pytest.fixture(scope="module", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    cache = tmp_path_factory.getbasetemp() / "cache"
    with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(cache)):
        yield


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    finish(start(store))
    assert len(data(store)) == len(CELLS)
    return data(store)


def check_whole(store: Path, undisturbed: dict[str, bytes]) -> None:
    assert data(store) == undisturbed
    assert {Store(store).state(cell) for cell in CELLS} == {"done"}


# Disks


def mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() == 0:  # root ignores permissions, not mounts
        yield from mounted(tmp_path / "mount", "ro,size=64k")
    else:
        tmp_path.chmod(0o555)
        yield tmp_path
        tmp_path.chmod(0o755)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path / "mount", "size=128k")


@pytest.mark.parametrize(
    "command",
    ["list", "run bandit/alignment", "claims bandit/faster", "export bandit/alignment --out x.csv"],
)
def test_a_store_that_is_a_file_is_refused(tmp_path: Path, command: str) -> None:
    store = tmp_path / "store"
    store.write_text("my notes")
    assert str(store) in refused(start(store, *command.split()))
    assert store.read_text() == "my notes"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_read_only_place_is_refused_before_any_work(read_only: Path, workers: str) -> None:
    said = refused(start(read_only / "store", *RUN, "--workers", workers))
    assert f"cannot write to {read_only / 'store'}" in said
    assert "Read-only" in said or "Permission denied" in said


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_run_goes_on_once_a_full_disk_has_space_again(
    small_disk: Path, workers: str, undisturbed: dict[str, bytes]
) -> None:
    store = small_disk / "store"
    said = refused(start(store, *RUN, "--workers", workers))
    assert f"cannot write to {store}: No space left on device" in said
    assert 0 < len(data(store)) < len(CELLS)
    assert [p.name for p in (store / "cells").glob(".*")] == []
    assert {Store(store).state(cell) for cell in CELLS} == {"done", "missing"}
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    finish(start(store, *RUN, "--workers", workers))
    check_whole(store, undisturbed)
    assert all(events(store))  # each line is whole, also the one at which the disk was full


def test_a_file_that_may_not_grow_is_refused_and_nothing_is_torn(tmp_path: Path) -> None:
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4200, 4200));"
        "from delightful.cli.main import main; sys.exit(main())"
    )
    store, arguments = tmp_path / "store", (*RUN, "--seeds", "5", "--workers", "1")
    said = refused(start(store, *arguments, program=("-c", limited)))
    assert f"cannot write to {store}: " in said
    finish(start(store, *arguments))
    assert len(data(store)) == len(CELLS)
    assert [p.name for p in (store / "cells").glob(".*")] == []
    assert all(events(store))


# Ctrl-C


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    store = tmp_path / "store"
    process = start(store, *RUN, "--workers", "2")
    wait_for(lambda: cells_done(store) >= 4)
    helpers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    said = refused(process)
    assert f" of {len(CELLS)} cells were finished and are kept" in said
    assert "give the same command again" in said
    assert len(helpers) >= 2
    wait_for(lambda: not any(map(alive, helpers)), 5)
    kept = cells_done(store)
    assert 4 <= kept < len(CELLS)
    assert f"{len(CELLS) - kept} cells to run, {kept} done already" in finish(start(store))
    check_whole(store, undisturbed)


def test_ctrl_c_in_one_process_says_the_same(tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = start(store, *RUN, "--workers", "1")
    wait_for(lambda: cells_done(store) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    assert "cells were finished and are kept" in refused(process)


@pytest.mark.parametrize(("started", "delay"), [(1, 0), (2, 0), (2, 0.15), (2, 0.45)])
def test_ctrl_c_while_the_workers_are_starting_is_one_sentence_too(
    tmp_path: Path, started: int, delay: float
) -> None:
    process = start(tmp_path / "store", *RUN, "--workers", "2")
    wait_for(lambda: len(workers(process.pid)) >= started)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    assert f" of {len(CELLS)} cells were finished" in refused(process)


# kill -9


@pytest.mark.slow
def test_killing_the_parent_at_random_moments_loses_nothing(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    store, moments = tmp_path / "store", random.Random(0)
    for _ in range(5):
        known = cells_done(store)
        process = start(store, *RUN, "--workers", "2")
        wait_for(lambda known=known: cells_done(store) > known)
        time.sleep(moments.uniform(0, 0.06))
        helpers = children(process.pid)
        process.kill()
        process.communicate(timeout=20)
        wait_for(lambda helpers=helpers: not any(map(alive, helpers)), 5)
        assert {Store(store).state(cell) for cell in CELLS} <= {"done", "missing"}
    assert cells_done(store) < len(CELLS), "every kill came too late to prove anything"
    finish(start(store))
    check_whole(store, undisturbed)
    assert all(events(store))


def test_killing_a_worker_is_reported_and_the_same_command_goes_on(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    store = tmp_path / "store"
    process = start(store, *RUN, "--workers", "2")
    wait_for(lambda: cells_done(store) >= 2)
    victim, *others = workers(process.pid)
    os.kill(victim, signal.SIGKILL)
    said = refused(process)
    assert "a worker process was killed" in said
    assert "finished cells are kept" in said
    wait_for(lambda: not any(map(alive, others)), 5)
    finish(start(store))
    check_whole(store, undisturbed)


# Two at once


def test_two_runs_of_the_same_cells_share_the_work(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    store = tmp_path / "store"
    for process in [start(store, *RUN, "--workers", "2") for _ in range(2)]:
        finish(process)
    check_whole(store, undisturbed)
    ran = [event["id"] for event in events(store) if event["event"] == "cell"]
    assert sorted(ran) == sorted(cell.id for cell in CELLS)
