"""Figures 7 to 9: the task, learning curves, and scaling with the task's size."""

from typing import Any

import numpy as np
import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import (
    against,
    along,
    label,
    letter,
    logarithmic,
    methods,
    percent,
    ticks,
)
from delightful.lab.statistics import t_interval
from delightful.lab.tables import varying
from delightful.paper.tokens import sweep
from delightful.paper.tokens.runs import ends, power_laws, scaled, with_regret

figures = FigureBook("tokens")


@figures.add("Figure 7", "The Token Reversal task")
def task() -> Drawing:
    """A prompt of H tokens and the answer that is asked for; arrows show what is repeated."""
    from delightful.paper.tokens.figures.diagrams import draw_task  # late: it takes JAX

    return draw_task()


def error_axis(axis: Any) -> None:
    axis.set_ylim(1e-4, 0.7)  # first: an axis of zeros cannot be scaled by itself
    axis.set_yscale("log")
    percent(axis)


@figures.add("Figure 8", "Sequence error on Token Reversal", sweep=sweep.STALE.curves)
def error(table: pl.DataFrame) -> Drawing:
    """The share of wrong tokens in sampled answers, H = 10 and M = 2, each method at its own
    learning rate, with actors as old as in a distributed system. One gradient step per batch of 100
    episodes."""
    figure, (axis,) = style.panels(1)
    numbers = along(axis, table, "error")
    error_axis(axis)
    axis.set(xlabel="batches of episodes", ylabel="sequence error")
    style.legend(axis)
    return Drawing(figure, numbers)


@figures.add(
    "Figure 8, fresh actors",
    "Sequence error with fresh actors",
    sweep=sweep.FRESH.curves,
    appendix=True,
)
def error_fresh(table: pl.DataFrame) -> Drawing:
    """As Figure 8, with actors that always have the learner's parameters. PPO makes four passes
    over each batch, the others one: (a) per batch of 100 episodes, (b) per gradient step."""
    figure, axes = style.panels(2)
    rows = with_regret(table)
    fewest = rows.group_by("method").agg(pl.col("updates").max())["updates"].min()
    by_update = rows.filter(pl.col("updates") <= fewest).with_columns(step=pl.col("updates"))
    parts = []
    for axis, shown, name in zip(
        axes, (rows, by_update), ("batches", "gradient steps"), strict=True
    ):
        parts.append(along(axis, shown, "error").with_columns(x=pl.lit(name)))
        error_axis(axis)
    axes[0].set(title="(a) per episode", xlabel="batches of episodes", ylabel="sequence error")
    axes[1].set(title="(b) per gradient step", xlabel="gradient steps")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


def _fits(axis: Any, table: pl.DataFrame, field: str) -> pl.DataFrame:
    """Regret against a size on log-log axes, with each method's power law."""
    rows = ends(table)
    numbers = against(axis, varying(rows, field), field, "regret", linestyle="none")
    laws = []
    for name, runs in scaled(rows, field, "regret", methods(rows)).items():
        sizes, errors = np.array(list(runs)), np.stack(list(runs.values()))
        if min(errors.shape) < 2 or errors.min() <= 0:
            continue
        exponents, intercepts = power_laws(runs)
        k = t_interval(exponents)
        fitted = np.exp(intercepts.mean()) * sizes**k.value
        text = f"{label(name)}: {k.value:.2f} [{k.low:.2f}, {k.high:.2f}]"
        axis.plot(sizes, fitted, "--", color=style.colour(name), lw=1, label=text)
        law_row = {"exponent": k.value, "exponent_low": k.low, "exponent_high": k.high}
        laws.append({"method": name, "metric": f"exponent in {field}", **law_row})
    return pl.concat([numbers, pl.DataFrame(laws)], how="diagonal") if laws else numbers


@figures.add("Figure 9", "Scaling with task complexity", sweep=sweep.STALE.scaling)
def scaling(table: pl.DataFrame) -> Drawing:
    """(a, b) Final error and (c, d) error averaged over training, against the horizon at M = 2 and
    the vocabulary at H = 10. Dashed: power laws fitted to each method."""
    figure, axes = style.panels(4, width=2.7)
    symbols = {"length": "horizon H", "vocabulary": "vocabulary M"}
    parts = []
    for axis, (field, symbol) in zip(axes[:2], symbols.items(), strict=True):
        parts.append(against(axis, varying(ends(table), field), field, "error"))
        axis.set(xlabel=symbol, ylabel="final error", ylim=(0, None))
        percent(axis)
    style.legend(axes[0])
    for axis, (field, symbol) in zip(axes[2:], symbols.items(), strict=True):
        parts.append(_fits(axis, table, field))
        axis.set(ylabel="average error", xlabel=symbol)
        logarithmic(axis, parts[-1])
        handles = [line for line in axis.get_lines() if line.get_linestyle() == "--"]
        if handles:  # below the lines
            low, high = axis.get_ylim()
            axis.set_ylim(low / (high / low) ** 0.5, high)
            axis.legend(handles=handles, title="exponent", loc="lower right", fontsize=7)
    for axis, field in zip(axes, (*symbols, *symbols), strict=True):
        ticks(axis, sorted(varying(table, field)[field].unique().to_list()))
    letter(axes)
    return Drawing(figure, pl.concat(parts, how="diagonal"))


@figures.add(
    "Figure 9, fresh actors",
    "Scaling with fresh actors",
    sweep=sweep.FRESH.scaling,
    appendix=True,
)
def scaling_fresh(table: pl.DataFrame) -> Drawing:
    """As Figure 9, with actors that always have the learner's parameters; PPO makes four passes
    over each batch."""
    return scaling(table)
