"""Learning curves of each framework, alone and with the plug-in, and what the plug-in changes."""

from typing import Any

import numpy as np
import polars as pl

from delightful.experiments.stacks.sweep import SWEEPS
from delightful.lab import style
from delightful.lab.experiment import Drawing, Figure
from delightful.lab.statistics import Estimate, t_interval

TITLES = {
    "trl": "TRL",
    "verl": "verl",
    "sb3": "Stable-Baselines3",
    "rllib": "RLlib",
    "torchrl": "torchrl",
}
ARMS = {"plain": "pg", "delightful": "dg"}
SPANS = {"last quarter": 0.75, "whole run": 0.0}  # of the run, from this fraction on


def _draw(table: pl.DataFrame) -> Drawing:
    tasks = table.select("algorithm", "task").unique(maintain_order=True).sort("task", "algorithm")
    figure, axes = style.panels(len(tasks))
    parts = []
    for axis, (algorithm, task) in zip(axes, tasks.rows(), strict=True):
        mine = table.filter(pl.col("algorithm") == algorithm, pl.col("task") == task)
        numbers = compare(mine)
        _panel(axis, numbers)
        axis.set(title=f"{algorithm.upper()}, {task}", xlabel="step")
        ids = (pl.lit(algorithm).alias("algorithm"), pl.lit(task).alias("task"))
        parts.append(numbers.select(*ids, pl.all()))
    axes[0].set_ylabel("reward" if tasks["task"][0] == "reversal" else "return")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


def compare(table: pl.DataFrame) -> pl.DataFrame:
    """Of one task: each arm at every step and over spans of the run, and their paired difference.

    Arms are paired by seed, which gives both the same initial network.
    """
    scores = {arm: _scores(table, method) for arm, method in ARMS.items()}
    steps = table["step"].unique().sort().to_list()
    rows = []
    if all(len(found) for found in scores.values()):
        scores["difference"] = scores["delightful"] - scores["plain"]
    for arm, found in scores.items():
        for index, step in enumerate(steps if len(found) and arm != "difference" else ()):
            rows.append(_row(arm, "step", step, found[:, index]))
        for span, start in SPANS.items() if len(found) else ():
            inside = found[:, int(start * len(steps)) :]
            rows.append(_row(arm, span, None, inside.mean(axis=1)))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


_SCHEMA = {
    "arm": pl.String,
    "over": pl.String,
    "step": pl.Int64,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "seeds": pl.Int64,
}


def _row(arm: str, over: str, step: int | None, scores: np.ndarray) -> tuple[Any, ...]:
    found: Estimate = t_interval(scores)
    return arm, over, step, found.value, found.low, found.high, len(scores)


def _scores(table: pl.DataFrame, method: str) -> np.ndarray:
    """(seeds, records)."""
    mine = table.filter(pl.col("method").str.split(":").list.first() == method)
    by_seed = mine.sort("seed", "step").group_by("seed", maintain_order=True).agg("score")
    return np.array(by_seed["score"].to_list())


def _panel(axis: Any, numbers: pl.DataFrame) -> None:
    for arm, method in ARMS.items():
        part = numbers.filter(pl.col("arm") == arm, pl.col("over") == "step")
        if part.is_empty():
            continue
        colour = style.colours([method])[0]
        axis.plot(part["step"], part["mean"], color=colour, label=arm)
        low, high = part["low"].to_numpy(), part["high"].to_numpy()
        axis.fill_between(part["step"], low, high, color=colour, alpha=0.2, linewidth=0)


def _figure(stack: str, sweep: Any) -> Figure:
    return Figure(
        f"stacks/{stack}",
        "beyond the paper",
        f"{TITLES[stack]}, plain and with DG's plug-in",
        "Mean over seeds and its 95% Student interval; the same settings, budget and initial "
        "networks in both arms. A point is the mean of what was finished since the last one.",
        _draw,
        sweep,
    )


FIGURES = tuple(_figure(sweep.extra, sweep) for sweep in SWEEPS)
