"""The tables that docs/refresh makes of what `delightful bench --json` prints."""

import copy
import json
import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from delightful.benchmarks import actor_learner, ray

ROOT = Path(__file__).parent.parent
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
    assert lines[2:5] == [
        "| 1 | 10 prompts | 1 | 7,008 | 9,700 | 0.72 [0.70, 0.79] | 19% | 20% | 1.2 + 0.4 | 1.27 |",
        "| 10 | 10 prompts | 1 | 7,008 | 9,700 | 0.72 [0.70, 0.79] | 19% | 20% | 1.2 + 0.4 | 1.27 |",
        "| 10 | 1 prompt | 1 | 7,008 | 9,700 | 0.93 [0.91, 0.95] | 19% | 2% | 1.2 + 0.4 | 1.27 |",
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
