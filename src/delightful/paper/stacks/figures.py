"""Learning curves of each framework, alone and with the plug-in, and what the plug-in changes."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from delightful.lab import style
from delightful.lab.cells import Sweep
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.statistics import t_interval
from delightful.lab.tables import seeds_by_steps
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.stacks.sweep import FRESH, STALE

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
FRESH_DATA = "fresh data"
TASK = ("stack", "algorithm", "task")
SPANS = {"last quarter": 0.75, "whole run": 0.0}  # of the run, from this fraction on


def _draw(table: pl.DataFrame) -> Drawing:
    """Mean over seeds and its 95% Student interval; the same settings, budget and initial networks
    in all arms. A point is the mean of what was finished since the last one."""
    numbers = by(table.sort("task", "algorithm"), "algorithm", "task")
    tasks = numbers.partition_by("algorithm", "task")
    figure, axes = style.panels(len(tasks))
    for axis, mine in zip(axes, tasks, strict=True):
        _curves(axis, mine)
        axis.set(title=_task(mine), xlabel="step")
    axes[0].set_ylabel(_score(tasks[0]))
    style.legend(axes[0])
    return Drawing(figure, numbers)


def _draw_stale(table: pl.DataFrame) -> Drawing:
    """Mean over seeds and its 95% Student interval, against how many updates old the data can be:
    the policy that acts gets new weights every staleness + 1 updates. Above the last quarter of
    the run, below the whole run; the same settings, budget and initial networks in both arms."""
    numbers = pl.concat([by(table, *TASK, "staleness"), harm(table)])
    tasks = numbers.partition_by(*TASK, maintain_order=True)
    figure, axes = style.panels(len(SPANS) * len(tasks), rows=len(SPANS), height=2.1)
    for index, (span, mine) in enumerate(itertools.product(SPANS, tasks)):
        axis, levels = axes[index], mine["staleness"].unique().sort().to_list()
        drawn = mine.filter(pl.col("over") == span, pl.col("less") == "")
        for shift, ((name,), part) in enumerate(drawn.group_by("arm", maintain_order=True)):
            at = [levels.index(level) + 0.06 * (2 * shift - 1) for level in part["staleness"]]
            reach = (part["mean"] - part["low"]).to_numpy()
            look = {"color": style.colour(COLOURS.get(str(name), str(name)))}
            axis.errorbar(at, part["mean"], reach, marker="o", capsize=3, label=name, **look)
        axis.set_xticks(range(len(levels)), [str(level) for level in levels])
        axis.set(ylabel=f"{_score(mine)}, {span}")
        if index < len(tasks):
            axis.set(title=f"{TITLES[mine['stack'][0]]} {_task(mine)}\n{_seeds(drawn)}")
        else:
            axis.set(xlabel="staleness")
    style.legend_below(figure, axes[0])
    return Drawing(figure, numbers)


def _draw_stale_curves(table: pl.DataFrame) -> Drawing:
    """Mean over seeds and its 95% Student interval along the run, at every staleness: the policy
    that acts gets new weights every staleness + 1 updates."""
    numbers = pl.concat([by(table, *TASK, "staleness"), harm(table)])
    tasks = numbers.partition_by(*TASK, maintain_order=True)
    levels = numbers["staleness"].unique().sort()
    figure, axes = style.panels(len(tasks) * len(levels), rows=len(tasks), height=2.1)
    for row, mine in zip(axes.reshape(len(tasks), -1), tasks, strict=True):
        algorithm = f"{TITLES[mine['stack'][0]]} {mine['algorithm'][0].upper()}"
        row[0].set_ylabel(f"{_score(mine)}, {mine['task'][0]}")
        for axis, level in zip(row, levels, strict=True):
            axis.sharey(row[0])
            part = mine.filter(pl.col("staleness") == level)
            _curves(axis, part)
            seeds = _seeds(part.filter(pl.col("over") == "step"))
            axis.set(title=f"{algorithm}, staleness {level}, {seeds}", xlabel="step")
    style.legend_below(figure, axes[0])
    return Drawing(figure, numbers)


def _curves(axis: Any, numbers: pl.DataFrame) -> None:
    drawn = numbers.filter(pl.col("over") == "step")
    for (name,), part in drawn.group_by("arm", maintain_order=True):
        look = {"color": style.colour(COLOURS.get(str(name), str(name)))}
        axis.plot(part["step"], part["mean"], label=name, **look)
        low, high = part["low"].to_numpy(), part["high"].to_numpy()
        axis.fill_between(part["step"], low, high, alpha=0.2, linewidth=0, **look)
    axis.locator_params(axis="x", nbins=4)


def _task(numbers: pl.DataFrame) -> str:
    return f"{numbers['algorithm'][0].upper()}, {numbers['task'][0]}"


def _score(numbers: pl.DataFrame) -> str:
    return "reward" if numbers["task"][0] == "reversal" else "return"


def _seeds(numbers: pl.DataFrame) -> str:
    """How many seeds were drawn, which can differ from level to level; none of a level not run."""
    if numbers.is_empty():
        return "not run"
    counts = numbers["seeds"].unique().sort().to_list()
    return f"{' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} seeds"


def by(table: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """`compare`, for each combination of these columns, of the seeds that all its arms have."""
    arms = pl.col("method").n_unique()
    shared = arms.over(*keys, "seed") == arms.over(*keys)
    parts = table.filter(shared).partition_by(*keys, maintain_order=True)
    if not parts:
        raise NotMeasuredError("it needs runs of the same seed in all arms")
    return pl.concat(
        compare(mine).select(*(pl.lit(mine[key][0]).alias(key) for key in keys), pl.all())
        for mine in parts
    )


def harm(table: pl.DataFrame) -> pl.DataFrame:
    """What staleness changes in each arm: its score, less that of the same seeds on fresh data."""
    fresh = table.filter(pl.col("staleness") == 0).drop("staleness")
    keys = [*TASK, "method", "seed", "step"]
    pairs = table.filter(pl.col("staleness") > 0).join(fresh, on=keys, suffix="_fresh")
    rows = []
    each = (*TASK, "staleness", "method")
    for (*case, method), mine in pairs.sort(*each).group_by(*each, maintain_order=True):
        scores = seeds_by_steps(mine.with_columns(x=pl.col("score") - pl.col("score_fresh")), "x")
        for span, start in SPANS.items():
            over = scores[:, int(start * scores.shape[1]) :].mean(axis=1)
            rows.append((*case, *_row(arm(str(method)), FRESH_DATA, span, None, over)))
    return pl.DataFrame(rows, schema=by(table, *TASK, "staleness").schema, orient="row")


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


def _frameworks(sweep: Sweep) -> str:
    stacks = dict.fromkeys(point.config.stack for point in sweep.points("smoke"))
    return ", ".join(TITLES[stack] for stack in stacks)


_add = partial(FIGURES.add, "beyond the paper", appendix=True)
for _sweep in FRESH:
    _stack = _sweep.name.partition("/")[2]
    _add(f"{TITLES[_stack]}, plain and with DG's plug-in", sweep=_sweep, name=_stack)(_draw)
for _sweep in STALE:
    _name = _sweep.name.partition("/")[2]
    _title = f"Stale data, plain and with DG's plug-in: {_frameworks(_sweep)}"
    _add(_title, sweep=_sweep, name=_name)(_draw_stale)
    _add(f"{_title}, curves", sweep=_sweep, name=f"{_name}-curves")(_draw_stale_curves)
