"""What docs/refresh writes: tables of benchmarks, how much was run, which claims a figure shows."""

import copy
import dataclasses
import json
import runpy
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

from delightful.benchmarks import actor_learner, ray
from delightful.lab.cells import Plan, Sweep
from delightful.lab.store import Store
from delightful.paper import EXPERIMENTS
from delightful.paper.control.sweep import OF_FRESH, OF_REPLAYED

ROOT = Path(__file__).parent.parent
PAGES = runpy.run_path(str(ROOT / "docs" / "refresh"))
TABLES = runpy.run_path(str(ROOT / "docs" / "refresh" / "benchmarks.py"))

PART = {
    "prompts_per_batch": 10,
    "in_flight": 1,
    "trajectories_per_second": 7008.4,
    "idle_fraction": 0.19,
    "publish_milliseconds": 1.25,
    "fetch_milliseconds": 0.4,
    "staleness_mean": 1.27,
    "dropped_batches": 80.0,
    "in_process_trajectories_per_second": 9700.0,
    "ratio_to_in_process": 0.72,
    "ratio_to_in_process_interval": [0.7, 0.79],
}
SHARE = PART | {
    "prompts_per_batch": 1,
    "ratio_to_in_process": 0.93,
    "ratio_to_in_process_interval": [0.91, 0.95],
}
SYSTEM = {
    "actors": {"1": PART, "10": {**PART, "shared_steps": SHARE}},
    "cores": 2,
    "in_process_threads": 1,
    "steps": 300,
    "rounds": 3,
}
RAY = {
    "workers": 2,
    "cells": 720,
    "rounds": 3,
    "goal": 1.05,
    "local_seconds": 72.4,
    "overhead_ratio": 1.07,
    "overhead_ratio_interval": [0.96, 1.14],
    "start_seconds": 1.9,
    "empty_cells_per_second": 187.2,
    "driver_bytes_per_cell": 10_240.0,
}


def test_a_line_for_each_number_of_actors_and_size_of_batches() -> None:
    assert "72" in actor_learner.describe(SYSTEM)  # the command prints what has this form
    default = {"steps_per_second": 25.0, "idle_fraction": 0.57}
    lines = TABLES["actor_learner"](json.loads(json.dumps(SYSTEM)), default).splitlines()
    row = "| {} | 1 | 7,008 | 9,700 | {} | 1.2 + 0.4 | 1.27 |"
    assert lines[2:5] == [
        row.format("1 | 10 prompts", "0.72 [0.70, 0.79] | 19% | 20%"),
        row.format("10 | 10 prompts", "0.72 [0.70, 0.79] | 19% | 20%"),
        row.format("10 | 1 prompt", "0.93 [0.91, 0.95] | 19% | 2%"),
    ]
    assert lines[0].count("|") == lines[1].count("|") == lines[2].count("|")
    assert "the in-process trainer has 1 thread." in lines[6]
    assert lines[8].endswith("In the order of the lines it is missed, missed, held.")
    assert "2,500 trajectories per second, and its learner was idle 57%" in lines[10]


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        ([0.96, 1.14], "neither held nor missed"),
        ([0.96, 1.05], "held"),
        ([1.06, 1.14], "missed"),
    ],
)
def test_a_goal_is_judged_by_the_whole_interval(interval: list[float], said: str) -> None:
    figures: dict[str, Any] = copy.deepcopy(RAY) | {"overhead_ratio_interval": interval}
    assert "720 cells" in ray.describe(figures)
    table = TABLES["ray"](figures)
    assert f"our goal, at most 1.05, is {said} |" in table
    assert "| 720 cells on 2 workers, 3 rounds | |" in table
    assert "| bytes per cell through the driver | 10,240 |" in table


def test_without_a_file_the_page_stays_as_it_is(tmp_path: Path) -> None:
    measured = runpy.run_path(str(ROOT / "docs" / "refresh"))["measured"]
    measured.__globals__["RESULTS"] = tmp_path
    assert measured("ray", TABLES["ray"]) == {}
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "bench.json").write_text(json.dumps(RAY))
    assert measured("ray", TABLES["ray"]) == {"bench": TABLES["ray"](RAY)}


def test_outcomes_on_stale_data_are_counted_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ROOT / "docs" / "refresh"
    monkeypatch.syspath_prepend(str(folder))  # it imports its neighbour
    outcome = runpy.run_path(str(folder / "frameworks.py"))["_outcome"]
    intervals = {("torchrl", 3): (-2.0, -1.0), ("torchrl", 10): (-1.0, 1.0)}
    intervals |= {("torchrl", 30): (-9.0, -3.0), ("sb3", 30): (-4.0, -3.0)}
    leads = pl.DataFrame(
        [
            {"stack": stack, "algorithm": "a2c", "staleness": level, "low": low, "high": high}
            for (stack, level), (low, high) in intervals.items()
        ]
    )
    assert outcome(leads, "ahead", "behind") == (
        "ahead in 0 of 4, behind in 3 of 4 (torchrl A2C at 3 and 30; Stable-Baselines3 A2C at 30), "
        "undecided in 1 of 4 (torchrl A2C at 10)"
    )


@pytest.mark.parametrize(
    ("number", "where", "shown"),
    [
        ("Figure 21a", "Appendix D.2, Figure 21a", True),
        ("Figure 21b", "Appendix D.2, Figure 21a", False),
        ("Figure 21a, fresh actors", "Appendix D.2, Figure 21a", False),
        ("Figure 20", "Appendix D.1, Figure 20b", True),
        ("Figure 2", "Appendix D.1, Figure 20b", False),
    ],
)
def test_a_claim_is_below_the_figure_or_the_panel_that_it_names(
    number: str, where: str, shown: bool
) -> None:
    tokens = EXPERIMENTS["tokens"]
    figure = dataclasses.replace(tokens.figures[0], number=number)
    assert PAGES["_shows"](tokens, figure, {"where": where}) is shown


def test_how_much_of_control_was_run_is_what_the_store_holds(tmp_path: Path) -> None:
    amount = PAGES["amount"]
    with mock.patch.dict(amount.__globals__, RESULTS=tmp_path):
        store = Store(tmp_path / "control")
        store.prepare()

        def run(sweep: Sweep, seeds: int) -> None:
            for cell in sweep.cells(Plan("quick", seeds)):
                if cell.config.task in ("cheetah:run", "hopper:hop"):
                    store.write(cell, {"step": np.zeros(1), "final": np.zeros((1, 1))}, 1.0)

        run(OF_FRESH.tasks, 2)
        rows = [{"verdict": "inconclusive"}, {"verdict": "not run"}]
        said = "on 2 of 28 tasks, for 300,000 of the paper's 10,000,000 steps, with 2 seeds"
        assert amount(rows) == f"Control was run {said}: too few to decide much."
        run(OF_REPLAYED.tasks, 2)
        assert amount([*rows, {"verdict": "partly"}]) == f"Control was run {said}."
        run(OF_REPLAYED.tasks, 3)
        fresh, replayed = f"with fresh draws {said}", f"with replayed actions {said}"
        assert amount(rows).startswith(
            f"Control was run {fresh}; {replayed.replace('2 seeds', '3 seeds')}"
        )


@pytest.mark.parametrize(
    ("verdicts", "seeds", "said"),
    [
        ("ririri", 7, "Shown at D = 0, 3, 30; inconclusive at D = 1, 10, 100"),
        ("iirrrr", 7, "Shown from D = 3 on: D = 3, 10, 30, 100; inconclusive at D = 0, 1"),
        ("nnnnnr", 7, "Shown at D = 100; not reproduced at D = 0, 1, 3, 10, 30"),
        ("nnnnnn", 7, "Shown at no D; not reproduced at D = 0, 1, 3, 10, 30, 100"),
        (
            "iiriri",
            [7, 7, 30, 7, 7, 7],
            "Shown at D = 3 (30 seeds) and D = 30 (7 seeds); "
            "inconclusive at D = 0, 1, 10, 100 (7 seeds)",
        ),
    ],
)
def test_a_claim_holds_from_a_delay_on_only_if_it_does_at_every_longer_one(
    verdicts: str, seeds: int | list[int], said: str
) -> None:
    words = {"r": "reproduced", "i": "inconclusive", "n": "not reproduced"}
    rows = pl.DataFrame({"delay": [0, 1, 3, 10, 30, 100], "verdict": [words[v] for v in verdicts]})
    given = pl.Series("seeds", seeds if isinstance(seeds, list) else [seeds] * 6)
    by_verdict = PAGES["stale_actors"].__globals__["_by_verdict"]
    assert by_verdict(rows.with_columns(given)) == said
