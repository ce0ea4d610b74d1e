"""Learning curves of each framework, alone and with the plug-in, and what the plug-in changes."""

from typing import Any

import numpy as np
import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.statistics import t_interval
from delightful.lab.tables import seeds_by_steps
from delightful.paper.stacks.sweep import SWEEPS

FIGURES = FigureBook("stacks")
TITLES = {
    "trl": "TRL",
    "verl": "verl",
    "sb3": "Stable-Baselines3",
    "rllib": "RLlib",
    "torchrl": "torchrl",
}
PLAIN = "plain"
COLOURS = {PLAIN: "pg", "delightful": "dg", "delightful, whiten=scale": "additive"}
SPANS = {"last quarter": 0.75, "whole run": 0.0}  # of the run, from this fraction on


def _draw(table: pl.DataFrame) -> Drawing:
    """Mean over seeds and its 95% Student interval; the same settings, budget and initial networks
    in all arms. A point is the mean of what was finished since the last one."""
    tasks = table.select("algorithm", "task").unique(maintain_order=True).sort("task", "algorithm")
    figure, axes = style.panels(len(tasks))
    parts = []
    for axis, (algorithm, task) in zip(axes, tasks.rows(), strict=True):
        mine = table.filter(pl.col("algorithm") == algorithm, pl.col("task") == task)
        numbers = compare(mine)
        drawn = numbers.filter(pl.col("over") == "step")
        for (name,), part in drawn.group_by("arm", maintain_order=True):
            look = {"color": style.colour(COLOURS.get(str(name), str(name)))}
            axis.plot(part["step"], part["mean"], label=name, **look)
            low, high = part["low"].to_numpy(), part["high"].to_numpy()
            axis.fill_between(part["step"], low, high, alpha=0.2, linewidth=0, **look)
        axis.set(title=f"{algorithm.upper()}, {task}", xlabel="step")
        axis.locator_params(axis="x", nbins=4)
        ids = (pl.lit(algorithm).alias("algorithm"), pl.lit(task).alias("task"))
        parts.append(numbers.select(*ids, pl.all()))
    axes[0].set_ylabel("reward" if tasks["task"][0] == "reversal" else "return")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


def compare(table: pl.DataFrame) -> pl.DataFrame:
    """Of one task: each arm at every step and over spans of the run, and its lead over plain.

    Arms are paired by seed, which gives all the same initial network.
    """
    methods = table["method"].unique().sort()
    scores = {arm(method): seeds_by_steps(table, "score", method=method) for method in methods}
    steps = table["step"].unique().sort().to_list()
    rows = []
    for name, found in sorted(scores.items(), key=lambda item: item[0] != PLAIN):
        rows += [_row(name, "", "step", at, found[:, i]) for i, at in enumerate(steps)]
        for span, start in SPANS.items():
            over = {key: x[:, int(start * len(steps)) :].mean(axis=1) for key, x in scores.items()}
            rows.append(_row(name, "", span, None, over[name]))
            if name != PLAIN and PLAIN in over:
                rows.append(_row(name, PLAIN, span, None, over[name] - over[PLAIN]))
    schema = {
        **dict.fromkeys(("arm", "less", "over"), pl.String),  # less: what was subtracted
        "step": pl.Int64,
        **dict.fromkeys(("mean", "low", "high"), pl.Float64),
        "seeds": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def arm(method: str) -> str:
    """What a method of this experiment is called where it is shown."""
    if method == "pg":
        return PLAIN
    changed = [option for option in method.partition(":")[2].split(",") if "whiten" in option]
    return ", ".join(["delightful", *changed])


def _row(name: str, less: str, over: str, step: int | None, scores: np.ndarray) -> tuple[Any, ...]:
    found = t_interval(scores)
    return name, less, over, step, found.value, found.low, found.high, len(scores)


for _sweep in SWEEPS:
    _stack = _sweep.name.partition("/")[2]
    _title = f"{TITLES[_stack]}, plain and with DG's plug-in"
    FIGURES.add("beyond the paper", _title, sweep=_sweep, name=_stack, appendix=True)(_draw)
