"""Runners: the same bytes wherever a cell runs, and nothing is run or compiled twice."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np
import polars as pl
import pytest

from delightful.agents.tokens.config import TASKS, TokensConfig
from delightful.lab import runners
from delightful.lab.cells import Plan
from delightful.lab.compiling import OverSeeds
from delightful.lab.errors import LabError
from delightful.lab.progress import run_missing
from delightful.lab.store import Store
from delightful.paper.bandit import train
from delightful.paper.bandit.config import BanditConfig
from delightful.paper.bandit.sweep import ALIGNMENT

TRAINING = ("bandit/training", "--scale", "smoke", "--seeds", "2")
ALIGNING = ("bandit/alignment", "--scale", "smoke")


@pytest.fixture(autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    cache = tmp_path_factory.getbasetemp() / "cache"
    with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(cache)):  # running sets more; put it back
        yield


def run(store: Path, *arguments: str) -> str:
    """`delightful run` as a command; what it said."""
    command = [
        sys.executable,
        "-m",
        "delightful.cli",
        "run",
        *arguments,
        "--store",
        str(store),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def data(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store / "cells").glob("*.parquet")}


@pytest.mark.parametrize(("arguments", "cells"), [(TRAINING, 2), (ALIGNING, 24)], ids=["jax", "np"])
def test_one_process_and_two_store_the_same_bytes_every_time(
    tmp_path: Path, arguments: tuple[str, ...], cells: int
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    run(one, *arguments, "--workers", "1")
    run(two, *arguments, "--workers", "2")
    assert data(one) == data(two)
    assert len(data(one)) == cells


def test_a_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    assert "24 cells to run, 0 done already" in run(tmp_path, *ALIGNING, "--workers", "1")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert "24 cells done already; nothing to run" in run(tmp_path, *ALIGNING)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()} == before


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    store, cells = Store(tmp_path), ALIGNMENT.cells(Plan("smoke", seeds=2))
    assert run_missing(cells[:5], store, 1) == 5
    assert run_missing(cells, store, 1) == len(cells) - 5
    assert run_missing([*cells, *cells], store, 1) == 0


def test_a_cell_that_another_process_has_just_done_is_left_alone(tmp_path: Path) -> None:
    store, cell = Store(tmp_path), ALIGNMENT.cells(Plan("smoke", seeds=2))[0]
    store.prepare()
    assert runners.run_cell(cell, store) > 0
    before = (store.cells / f"{cell.id}.json").stat().st_mtime_ns
    assert runners.run_cell(cell, store) == 0
    assert (store.cells / f"{cell.id}.json").stat().st_mtime_ns == before


def test_a_seed_gives_the_same_result_in_any_block(tmp_path: Path) -> None:
    store = Store(tmp_path)
    few, many = (ALIGNMENT.cells(Plan("smoke", seeds=n)) for n in (3, 5))
    run_missing([*few, *many], store, 1)
    long, short = store.table(many), store.table(few)
    assert long is not None
    assert short is not None
    assert long.filter(pl.col("seed") < 3).equals(short)


def test_events_tell_of_the_start_every_cell_and_the_end(tmp_path: Path) -> None:
    store, cells = Store(tmp_path), ALIGNMENT.cells(Plan("smoke", seeds=2))
    run_missing(cells, store, 1)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [e["event"] for e in events] == ["start", *["cell"] * len(cells), "end"]
    assert {e["id"] for e in events if e["event"] == "cell"} == {cell.id for cell in cells}
    assert [e["time"] for e in events] == sorted(e["time"] for e in events)


def test_an_error_in_a_program_is_not_taken_for_a_killed_worker(tmp_path: Path) -> None:
    store, (cell, other, *_) = Store(tmp_path), ALIGNMENT.cells(Plan("smoke", seeds=2))
    store.prepare()
    broken = replace(cell, program=replace(cell.program, entry="math:hypot"))
    with pytest.raises(TypeError):
        list(runners.LocalRunner(2).run([broken, other], store))
    assert store.state(broken) == "missing"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_fails_is_named_and_the_others_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workers: int
) -> None:
    store, cells = Store(tmp_path), ALIGNMENT.cells(Plan("smoke", seeds=2))[:3]
    program = replace(cells[0].program, entry="test_runners_broken:run")
    broken = replace(cells[0], program=program)
    (tmp_path / "test_runners_broken.py").write_text(
        "import numpy\n"
        "def run(config, seeds):\n"
        "    return {'step': numpy.zeros(1), 'error': numpy.full((len(seeds), 1), numpy.nan)}\n"
    )
    with (
        mock.patch.object(sys, "path", [str(tmp_path), *sys.path]),  # workers are given it too
        pytest.raises(LabError, match="1 of 3 cells failed, for the reasons above"),
    ):
        run_missing([broken, *cells[1:]], store, workers)
    assert "gave NaN or infinity in error; it was not stored" in capsys.readouterr().err
    assert [store.state(cell) for cell in (broken, *cells[1:])] == ["missing", "done", "done"]


# Compiling


@pytest.fixture
def compilations(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], int]]:
    """How many programs XLA has compiled from here on, as JAX's own log tells."""
    caplog.set_level(logging.WARNING)
    with jax.log_compiles():
        yield lambda: caplog.text.count("Finished XLA compilation of jit(one)")


def test_floats_are_traced_and_the_rest_compiles_again(compilations: Callable[[], int]) -> None:
    config = BanditConfig(steps=3, batch=5, actions=4, method="dg")
    seeds, known = np.arange(2), train.run.compiled.cache_info().currsize

    def curves(**changes: object) -> bytes:
        return train.run(replace(config, **changes), seeds)["error"].tobytes()

    results = {
        curves(),
        curves(step_size=0.3),
        curves(baseline=0.1),
        curves(step_size=0.01, baseline=0.9),
        curves(method="dg:temperature=0.01"),
        curves(method="dg:temperature=5,level=token"),
    }
    assert len(results) >= 5  # the changes did something
    assert compilations() == 1
    assert train.run.compiled.cache_info().currsize == known + 1
    curves(batch=6)
    assert compilations() == 2
    curves(method="pg")
    assert compilations() == 3
    assert train.run.compiled.cache_info().currsize == known + 3


def test_a_traced_float_gives_what_a_constant_would() -> None:
    config = BanditConfig(steps=5, batch=5, actions=4, method="dg:temperature=0.5", step_size=0.3)
    traced = train.run(config, np.array([7]))
    fixed = replace(config, method="dg")
    constant = train.train(fixed, {"temperature": 0.5}, jax.random.key(7))
    for name in ("error", "misalignment"):
        np.testing.assert_allclose(traced[name][0], constant[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        (BanditConfig(batch=0), "batch must be at least 1"),
        (TokensConfig(samples=1), "samples must be at least 2"),
        (TokensConfig(learning_rate=0.0), "learning_rate must be > 0"),  # a float, to be traced
        (TokensConfig(task="sideways"), "task must be one of copy, flip"),  # and a word
    ],
)
def test_a_config_that_its_check_refuses_is_not_run(config: Any, rule: str) -> None:
    words = {"task": TASKS} if isinstance(config, TokensConfig) else {}
    over = OverSeeds(lambda *_: pytest.fail("it was run"), words=words)
    with pytest.raises(ValueError, match=rule):
        over(config, np.arange(1))
    assert over.compiled.cache_info().currsize == 0
