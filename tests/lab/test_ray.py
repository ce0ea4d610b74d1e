"""The runner on Ray: the same bytes as in this process, whatever becomes of workers and nodes."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import ray_programs
from ray_programs import cell

from delightful.lab import modules, nodes
from delightful.lab.cells import Cell, Plan
from delightful.lab.cluster import Cluster, imported
from delightful.lab.errors import BrokenRunError, LabError
from delightful.lab.progress import run_missing
from delightful.lab.runners import ray
from delightful.lab.runners.ray import RayRunner
from delightful.lab.store import Store
from delightful.paper.bandit.sweep import ALIGNMENT, TRAINING
from delightful.registry import METHODS

pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::FutureWarning", "ignore:os.fork:RuntimeWarning"
)
HEAD = {"num_cpus": 2, "object_store_memory": 100 * 2**20, "include_dashboard": False}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    here = str(Path(__file__).parent)
    path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    cache = str(tmp_path_factory.getbasetemp() / "cache")
    with mock.patch.dict(os.environ, PYTHONPATH=path, XDG_CACHE_HOME=cache):
        imported()  # sets Ray's own variables
        from ray.cluster_utils import Cluster as Nodes

        made = Nodes(initialize_head=True, head_node_args=HEAD)
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def connected(cluster: Any) -> Iterator[RayRunner]:
    with RayRunner(cluster.address) as runner:
        yield runner


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def entries(store: Store) -> dict[str, Any]:
    """Every entry, but for the time that it took and the seal over it."""
    found = {path.name: json.loads(path.read_bytes()) for path in store.cells.glob("*.json")}
    return {n: {k: e[k] for k in e if k not in ("seconds", "seal")} for n, e in found.items()}


def data(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.cells.glob("*.parquet")}


def events(store: Store, kind: str) -> list[dict[str, Any]]:
    lines = (store.path / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def values(store: Store, of: Cell) -> list[float]:
    table = store.read(of)
    assert table is not None
    return table["value"].to_list()


def test_ray_stores_the_same_bytes_as_this_process(
    connected: RayRunner, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan("smoke", seeds=2)
    cells = ALIGNMENT.cells(plan)[:6] + TRAINING.cells(plan)  # each pair compiles a program
    serial = Store(tmp_path / "serial")
    assert run_missing(cells, store, connected) == len(cells)
    assert "on 2 cores of 1 Ray node (" in capsys.readouterr().err
    run_missing(cells, serial, 1)
    assert data(store) == data(serial)
    assert entries(store) == entries(serial)
    assert {event["id"] for event in events(store, "cell")} == {cell.id for cell in cells}
    assert all(socket.gethostname() in event["node"] for event in events(store, "cell"))
    assert "cells in the last minute, 0 retries" in connected.status()
    assert run_missing(cells, store, connected) == 0


def test_a_result_that_is_not_finite_is_the_same_error(connected: RayRunner, store: Store) -> None:
    failed: list[Cell] = []
    cells = [cell("broken"), cell("sleeping")]
    run_missing(cells, store, connected, broken=failed)
    assert failed == cells[:1]
    with pytest.raises(LabError, match="1 of 1 cell failed"):
        run_missing(cells, store, connected)
    (outcome,) = (outcome for _, outcome in connected.run(cells[:1], store))
    assert isinstance(outcome, BrokenRunError)
    assert "gave NaN or infinity in value; it was not stored" in str(outcome)


def test_an_error_in_a_program_is_that_error(connected: RayRunner, store: Store) -> None:
    with pytest.raises(TypeError, match="a mistake in a program"):
        run_missing([cell("mistaken")], store, connected)


def test_a_data_set_comes_from_the_driver(
    connected: RayRunner, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAS_NUMBERS", "1")  # here, not in the workers
    ray_programs.numbers.clear()
    one = cell("reading")
    run_missing([one], store, connected)
    assert values(store, one)[0] == sum(range(1000))


def test_a_file_of_the_user_is_sent_to_workers(
    connected: RayRunner, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules, "LOADED", [])
    file = tmp_path / "mine.py"
    file.write_text(
        "import delightful\n"
        "@delightful.method('mine_on_ray', 'mine')\n"
        "def mine(batch):\n"
        "    return 2 * batch.advantage\n"
    )
    modules.load(str(file))
    file.unlink()  # as on a machine that does not have it
    cells = TRAINING.cells(Plan("smoke", seeds=1, methods=("mine_on_ray",)))
    assert run_missing(cells[:1], store, connected) == 1
    del METHODS["mine_on_ray"]


def test_a_module_that_nodes_do_not_have_is_named(
    connected: RayRunner, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(modules, "LOADED", [modules.Module("only_here")])
    with pytest.raises(LabError, match=r"node .* has no only_here, and here it is installed: "):
        run_missing([cell("sleeping")], store, connected)


# Losses


def test_a_cell_whose_worker_is_killed_runs_again(
    connected: RayRunner, store: Store, tmp_path: Path
) -> None:
    before, one = connected.retries, cell("killed_once", 5, folder=tmp_path)
    assert run_missing([one, cell("sleeping")], store, connected) == 2
    assert values(store, one)[:3] == [5, 10, 15]
    assert connected.retries == before + 1
    assert [event["id"] for event in events(store, "retry")] == [one.id]


def test_a_cell_that_kills_its_workers_is_given_up(
    connected: RayRunner,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ray, "MOST_LOSSES", 2)
    failed: list[Cell] = []
    run_missing([cell("killed"), cell("sleeping")], store, connected, broken=failed)
    assert [one.id for one in failed] == [cell("killed").id]
    assert capsys.readouterr().out == ""  # where Ray would report lost workers


@pytest.mark.parametrize(("visible", "halves"), [(True, 1), (False, 2)])
def test_a_cell_resumes_where_its_node_sees_the_store_and_else_starts_anew(
    connected: RayRunner,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    visible: bool,
    halves: int,
) -> None:
    if not visible:
        monkeypatch.setattr(Store, "identity", lambda _: (tmp_path / "elsewhere", "x"))
    one = cell("resumed", folder=tmp_path)
    run_missing([one], store, connected)
    assert values(store, one)[0] == halves
    assert not store.unfinished(one).exists()


HOLD = """
import sys
from delightful.lab.store import Store
from delightful.lab.runners import run_cell
from ray_programs import cell
store, one = Store(sys.argv[1]), cell("sleeping")
store.prepare()
with store.lock(one):
    print("held", flush=True)
    sys.stdin.readline()
    store.write(one, one.run(), 1.0)
"""


def test_a_cell_that_another_process_runs_is_left_to_it(
    connected: RayRunner, store: Store, cluster: Any
) -> None:
    assert cluster is not None  # which sets the path
    command = [sys.executable, "-c", HOLD, str(store.path)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        free, held = cell("sleeping", 1), cell("sleeping")
        stop = threading.Timer(1.0, other.stdin.close)
        stop.start()
        run_missing([held, free], store, connected)
    assert [event["id"] for event in events(store, "cell")] == [free.id]
    assert store.state(held) == "done"


# Demand

MOST = ray.MOST_IN_FLIGHT


@pytest.mark.parametrize(
    ("workers", "at_once", "submitted"),
    [
        (None, True, MOST),
        (8, True, 8),  # on a cluster of 2 cores: 6 wait, for which an autoscaler adds nodes
        (1, True, 1),
        (MOST + 1, True, MOST),
        (None, False, 3),
        (8, False, 3),
        (1, False, 1),
    ],
)
def test_an_autoscaler_sees_the_cells_that_wait_for_a_core(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    workers: int | None,
    at_once: bool,
    submitted: int,
) -> None:
    runner = RayRunner(workers=workers)
    runner._cluster = Cluster()
    monkeypatch.setattr(Cluster, "cores", lambda _: 2)
    given: list[Cell] = []
    monkeypatch.setattr(ray._Run, "_submit", lambda _, one: given.append(one))
    cells = [cell("sleeping", number) for number in range(MOST + 2)]
    store.prepare()
    with store.locks() as locks:
        list(ray._Run(runner, cells if at_once else iter(cells), store, locks)._start())
    assert given == cells[:submitted]


# Connections


def test_a_ray_of_the_caller_is_used_and_left_running(
    connected: RayRunner, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")  # which nobody asks then
    with RayRunner() as runner:
        assert run_missing([cell("sleeping")], store, runner) == 1
        assert runner.cluster.nodes() == connected.cluster.nodes()
    assert imported().is_initialized()
    assert run_missing([cell("sleeping", 1)], store, connected) == 1


# What is refused


def test_another_version_is_refused_by_the_check_and_by_each_task(
    connected: RayRunner, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = nodes.expected(nodes.ALWAYS) | {"jax": "0.0.1"}
    monkeypatch.setattr(ray, "expected", lambda _: ours)
    said = r"node .* has jax [\d.]+, and here it is 0\.0\.1: install the same on every node"
    with pytest.raises(LabError, match=said):
        run_missing([cell("sleeping")], store, connected)
    monkeypatch.setattr(ray, "check", lambda *_: None)  # as if the node had joined after it
    with pytest.raises(LabError, match=f"{said}; finished cells are kept"):
        run_missing([cell("sleeping")], store, connected)


def test_a_cluster_without_cores_is_refused_at_once(
    connected: RayRunner, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cluster, "nodes", lambda *_, **__: [])
    with pytest.raises(LabError, match="no node of the Ray cluster has a core"):
        run_missing([cell("sleeping")], store, connected)
