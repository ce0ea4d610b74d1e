"""Learning curves of each framework, alone and with the plug-in."""

from typing import Any

import polars as pl

from delightful.experiments.stacks.sweep import SWEEPS
from delightful.lab import style
from delightful.lab.curves import by_step
from delightful.lab.experiment import Drawing, Figure

TITLES = {
    "trl": "TRL",
    "verl": "verl",
    "sb3": "Stable-Baselines3",
    "rllib": "RLlib",
    "torchrl": "torchrl",
}


def _draw(table: pl.DataFrame) -> Drawing:
    tasks = table.select("algorithm", "task").unique(maintain_order=True).rows()
    figure, axes = style.panels(len(tasks))
    parts = []
    for axis, (algorithm, task) in zip(axes, tasks, strict=True):
        mine = table.filter(pl.col("algorithm") == algorithm, pl.col("task") == task)
        parts.append(_panel(axis, mine))
        axis.set(title=f"{algorithm.upper()}, {task}", xlabel="step")
    axes[0].set_ylabel("score of what was finished since the last point")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


def _panel(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    numbers = by_step(table, "score", ("algorithm", "task", "method"))
    for method in sorted(table["method"].unique(), reverse=True):  # plain first
        part = numbers.filter(pl.col("method") == method)
        plain = method == "pg"
        style.curve(
            axis,
            part["step"],
            part["mean"],
            None if part["se"].null_count() else part["se"],
            colour=style.colours(["pg" if plain else "dg"])[0],
            label="plain" if plain else "delightful",
        )
    return numbers


def _figure(stack: str, sweep: Any) -> Figure:
    return Figure(
        f"stacks/{stack}",
        "beyond the paper",
        f"{TITLES[stack]}, plain and with DG's plug-in",
        "Mean and standard error over seeds; the same budget and the same settings.",
        _draw,
        sweep,
    )


FIGURES = tuple(_figure(sweep.name.partition("/")[2], sweep) for sweep in SWEEPS)
