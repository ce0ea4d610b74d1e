"""Faults on Ray: nodes killed at random, Ctrl-C, kill -9, two drivers, a wrong node that joins.

Whatever happens, the store ends byte for byte as that of a run in one process.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from ray_programs import cell

from delightful.lab.cells import Cell
from delightful.lab.cluster import imported
from delightful.lab.errors import LabError
from delightful.lab.progress import run_missing
from delightful.lab.runners import run_here
from delightful.lab.runners.ray import RayRunner
from delightful.lab.store import Store

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::FutureWarning", "ignore:os.fork:RuntimeWarning"
    ),
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc"),
]
SMALL = {"object_store_memory": 80 * 2**20}
NODE = {"num_cpus": 1, **SMALL}
KILLS = 20
LEAST_RETRIES = 5  # so many kills at least must cost a cell
RUN = ("run", "bandit/alignment", "--scale", "paper", "--seeds", "400", "--ray", "--workers", "2")
CELLS = 24


@pytest.fixture(autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    here = str(Path(__file__).parent)
    path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    cache = str(tmp_path_factory.getbasetemp() / "cache")
    with mock.patch.dict(os.environ, PYTHONPATH=path, XDG_CACHE_HOME=cache):
        imported()  # sets Ray's own variables
        yield


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head that runs no cells, where the driver is."""
    head = {"num_cpus": 0, "include_dashboard": False, **SMALL}
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args=head)
    yield made
    made.shutdown()


def data(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store / "cells").glob("*.parquet")}


def entries(store: Path) -> dict[str, Any]:
    """Every entry, but for the time that it took and the seal over it."""
    found = {path.name: json.loads(path.read_bytes()) for path in (store / "cells").glob("*.json")}
    return {n: {k: e[k] for k in e if k not in ("seconds", "seal")} for n, e in found.items()}


def events(store: Path, kind: str) -> list[dict[str, Any]]:
    lines = (store / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def computing(node: Any) -> bool:
    """Whether a worker of a node has a cell: Ray gives it the name of its task as its title."""
    for pid in processes(node):
        with suppress(FileNotFoundError, ProcessLookupError):
            title = Path(f"/proc/{pid}/cmdline").read_bytes()
            if re.match(rb"ray::.*\bwork\b", title):  # not one of Ray's agents, nor idle
                return True
    return False


def processes(node: Any) -> list[int]:
    """Of a node: Ray's own, and below it the workers."""
    (raylet,) = node.all_processes["raylet"]
    return [raylet.process.pid, *descendants(raylet.process.pid)]


def lose(cluster: Any, node: Any) -> None:
    """Kill a node as if its machine lost power: workers that outlive it would end their cell."""
    for pid in processes(node):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    cluster.remove_node(node, allow_graceful=False)


@contextmanager
def running(cells: list[Cell], store: Store, runner: RayRunner) -> Iterator[Future[int]]:
    """Runs cells in a thread: nodes can be started in the main thread alone."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(run_missing, cells, store, runner)


@pytest.mark.timeout(900)  # a minute or two on an idle machine: nodes are slow to start
def test_nodes_killed_at_random_leave_the_bytes_of_a_serial_run(
    cluster: Any, tmp_path: Path
) -> None:
    cells = [cell("sleeping", n, seconds=0.5) for n in range(300)]
    store, serial, moments = Store(tmp_path / "store"), Store(tmp_path / "serial"), random.Random(0)
    nodes = [cluster.add_node(**NODE) for _ in range(3)]
    with RayRunner(cluster.address) as runner:
        runner.prepare(cells)
        with running(cells, store, runner) as ran:
            for kill in range(KILLS):
                time.sleep(moments.uniform(0, 1))
                if kill % 4:  # else any node, such as one that is about to start
                    wait_for(lambda: ran.done() or any(map(computing, nodes)))
                assert not ran.done(), "the cells ended before the nodes"
                victims = [node for node in nodes if kill % 4 and computing(node)] or nodes
                victim = moments.choice(victims)
                lose(cluster, victim)
                nodes.remove(victim)
                nodes.append(cluster.add_node(**NODE, wait=False))
            assert ran.result(400) == len(cells)
        print(f"{KILLS} kills, {runner.retries} retries")
        assert runner.retries >= LEAST_RETRIES
    assert len(events(store.path, "retry")) == runner.retries
    stored = [event["id"] for event in events(store.path, "cell")]
    assert sorted(stored) == sorted(one.id for one in cells)
    with mock.patch("time.sleep"):  # of the programs, which run in this process
        serial.prepare()
        assert len(list(run_here(cells, serial))) == len(cells)
    assert data(store.path) == data(serial.path)
    assert entries(store.path) == entries(serial.path)


def test_a_node_with_another_version_that_joins_is_named(cluster: Any, tmp_path: Path) -> None:
    stub = tmp_path / "old" / "delightful"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text("__version__ = '0.0.1'\n")
    old = {"PYTHONPATH": str(stub.parent)}
    cells = [cell("sleeping", n, seconds=0.3) for n in range(400)]
    cluster.add_node(**NODE)
    said = r"node .* has delightful 0\.0\.1 with source \w+, and here it is "
    with RayRunner(cluster.address) as runner:
        runner.prepare(cells)
        with running(cells, Store(tmp_path / "store"), runner) as ran:
            cluster.add_node(**NODE, env_vars=old)
            with pytest.raises(LabError, match=f"{said}.*; finished cells are kept"):
                ran.result(150)
    with RayRunner(cluster.address) as runner, pytest.raises(LabError, match=said):
        runner.prepare(cells)


def test_a_cluster_without_cores_is_refused_and_one_that_grows_is_used(
    cluster: Any, tmp_path: Path
) -> None:
    cells, store = [cell("sleeping", n, seconds=0.2) for n in range(200)], Store(tmp_path)
    with RayRunner(cluster.address) as runner:
        with pytest.raises(LabError, match="no node of the Ray cluster has a core"):
            run_missing(cells, store, runner)
        cluster.add_node(**NODE)
        runner.cluster.nodes(afresh=True)
        with running(cells, store, runner) as ran:
            cluster.add_node(num_cpus=2, **SMALL)
            wait_for(lambda: "3 cores of 2 Ray nodes" in runner.status())
            assert ran.result(400) == len(cells)


# The command, with a local Ray


def start(store: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "delightful.cli", *RUN, "--store", str(store), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def descendants(pid: int) -> list[int]:
    """Every process below this one."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if stat[0] not in "ZX":
            parents[int(name)] = int(stat[1])
    found, new = set[int](), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return sorted(found)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def serial(store: Path) -> dict[str, bytes]:
    command = [a for a in RUN if a != "--ray"]
    command = [sys.executable, "-m", "delightful.cli", *command, "--store", str(store)]
    subprocess.run(command, check=True, capture_output=True)
    return data(store)


def test_ctrl_c_and_kill_9_keep_what_is_done_and_leave_no_ray(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for number, known in ((signal.SIGINT, 0), (signal.SIGKILL, 3)):
        process = start(store)
        wait_for(lambda known=known: len(data(store)) > known + 2)
        below = descendants(process.pid)
        assert len(below) > 3  # Ray's
        os.killpg(process.pid, number) if number == signal.SIGINT else process.kill()
        error = process.communicate(timeout=60)[1]
        wait_for(lambda below=below: all(map(gone, below)))  # after kill -9, Ray takes its time
        if number == signal.SIGINT:
            assert process.returncode == 2, error
            assert f" of {CELLS} cells were finished and are kept" in error.splitlines()[-1]
            assert "Traceback" not in error
    assert 3 < len(data(store)) < CELLS, "the signals came too late to prove anything"
    process = start(store)
    assert process.communicate(timeout=250)[0] == ""
    assert process.returncode == 0
    assert data(store) == serial(tmp_path / "serial")


def test_two_drivers_on_one_store_run_no_cell_twice(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=2, **SMALL)
    store = tmp_path / "store"
    both = [start(store, "--ray-address", cluster.address) for _ in range(2)]
    for process in both:
        error = process.communicate(timeout=250)[1]
        assert process.returncode == 0, error
    ran = [event["id"] for event in events(store, "cell")]
    assert len(ran) == len(set(ran)) == CELLS
    assert data(store) == serial(tmp_path / "serial")
