"""Figures 20 to 24: tuning, robustness, variants, additive mixtures; and two beyond the paper."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from delightful.agents.tokens.config import TASKS
from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import (
    against,
    along,
    label,
    level,
    line,
    logarithmic,
    methods,
    percent,
    side_by_side,
)
from delightful.lab.tables import by_option, by_step, means, with_role
from delightful.paper.tokens import sweep
from delightful.paper.tokens.figures.main_text import error_axis
from delightful.paper.tokens.runs import ends

figures = FigureBook("tokens")


def _penalties(rows: list[tuple[int, float]]) -> list[str]:
    """The rows of a map, (passes, β), in words: one pass is named where others have more."""
    several = len({passes for passes, _ in rows}) > 1
    once = [", one pass" if several and passes == 1 else "" for passes, _ in rows]
    names = [f"{beta:g}{words}" for (_, beta), words in zip(rows, once, strict=True)]
    return ["one pass" if name == "0, one pass" else name for name in names]


def _map(axis: Any, table: pl.DataFrame, method: str, option: str, symbol: str) -> pl.DataFrame:
    """The average error of a method over its option and β, as a heat map."""
    numbers = (
        by_option(ends(table), method, option)
        .group_by(option, "kl", "epochs", maintain_order=True)
        .agg(mean=pl.col("regret").mean(), seeds=pl.len())
        .sort(option, "epochs", "kl")
        .with_columns(method=pl.lit(method), metric=pl.lit("regret"))
    )
    if numbers.is_empty():
        return numbers
    wide = numbers.pivot(option, index=("epochs", "kl"), values="mean").sort("epochs", "kl")
    grid = wide.drop("epochs", "kl").to_numpy()
    axis.imshow(grid, origin="lower", aspect="auto", cmap="viridis_r", vmin=0, vmax=0.5)
    for i, j in np.argwhere(np.isfinite(grid)):
        value = grid[i, j]
        shade = "white" if value > 0.25 else "black"
        axis.text(j, i, f"{value:.3f}", ha="center", va="center", color=shade, fontsize=7)
    across = numbers[option].unique(maintain_order=True)
    axis.set_xticks(range(len(across)), labels=[f"{x:g}" for x in across])
    axis.set_yticks(range(len(wide)), labels=_penalties(wide.select("epochs", "kl").rows()))
    axis.grid(visible=False)
    axis.set(title=label(method), xlabel=symbol, ylabel="KL penalty β")
    return numbers


@figures.add("Figure 20", "Tuning PPO and PMPO", sweep=sweep.STALE.tuning, appendix=True)
def tuning(table: pl.DataFrame) -> Drawing:
    """Average error over clip or preference and KL penalty, with stale actors and one pass over
    each batch."""
    ppo = partial(_map, method="ppo", option="clip", symbol="clip ε")
    pmpo = partial(_map, method="pmpo", option="preference", symbol="preference α")
    return side_by_side(table, ppo, pmpo)


@figures.add(
    "Figure 20, fresh actors",
    "Tuning PPO and PMPO, fresh actors",
    sweep=sweep.FRESH.tuning,
    appendix=True,
)
def tuning_fresh(table: pl.DataFrame) -> Drawing:
    """As Figure 20, with four passes over each batch; for PMPO also with one, where the penalty has
    no gradient."""
    return tuning(table)


@figures.add("Figure 21a", "Learning rate", sweep=sweep.STALE.rate, appendix=True)
def learning_rate(table: pl.DataFrame) -> Drawing:
    """Error averaged over training."""
    figure, (axis,) = style.panels(1, width=3.8, height=2.7)
    numbers = against(axis, ends(table), "learning_rate", "regret")
    axis.set(xscale="log", xlabel="learning rate", ylabel="average error")
    logarithmic(axis, numbers)
    style.legend(axis)
    return Drawing(figure, numbers)


@figures.add(
    "Figure 21a, fresh actors", "Learning rate, fresh actors", sweep=sweep.FRESH.rate, appendix=True
)
def learning_rate_fresh(table: pl.DataFrame) -> Drawing:
    """As Figure 21a; PPO makes four passes over each batch."""
    return learning_rate(table)


@figures.add("Figure 21b", "Extended training", sweep=sweep.STALE.extended, appendix=True)
def extended(table: pl.DataFrame) -> Drawing:
    """Sequence error in training that goes on for longer than that of Figure 8."""
    figure, (axis,) = style.panels(1)
    numbers = along(axis, table, "error")
    error_axis(axis)
    axis.set(xscale="log", xlabel="batches of episodes", ylabel="sequence error")
    style.legend(axis)
    return Drawing(figure, numbers)


@figures.add(
    "Figure 21b, fresh actors",
    "Extended training, fresh actors",
    sweep=sweep.FRESH.extended,
    appendix=True,
)
def extended_fresh(table: pl.DataFrame) -> Drawing:
    """As Figure 21b; PPO makes four passes over each batch."""
    return extended(table)


@figures.add("Figure 22", "Reward structures", appendix=True)
def rewards() -> Drawing:
    """The same answer, wrong at two places, under each reward. Green tokens are rewarded, red ones
    are wrong, grey ones are right but not rewarded."""
    from delightful.paper.tokens.figures.diagrams import draw_rewards  # late: it takes JAX

    return draw_rewards()


def _by_reward(
    table: pl.DataFrame, rewards: Sequence[str], field: str, values: Sequence[Any]
) -> Drawing:
    """Learning curves, a row of panels for each reward and a column for each value of a field."""
    figure, axes = style.panels(
        len(rewards) * len(values), width=2.3, height=2.0, rows=len(rewards)
    )
    parts = []
    places = [(reward, value) for reward in rewards for value in values]
    for axis, (reward, value) in zip(axes, places, strict=True):
        mine = table.filter(pl.col("reward") == reward, pl.col(field) == value)
        parts.append(along(axis, mine, "error", keys=("method", "reward", field)))
        words = f"{value}" if field == "task" else f"{field} {value}"
        axis.set(title=f"{words}, {reward}", xlabel="", ylim=(0, 0.6))
        percent(axis)
    for axis in axes[-len(values) :]:
        axis.set_xlabel("batches of episodes")
    for axis in axes[:: len(values)]:
        axis.set_ylabel("sequence error")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


@figures.add("Figure 23", "Eight task variants", sweep=sweep.STALE.variants, appendix=True)
def variants(table: pl.DataFrame) -> Drawing:
    """Sequence error for four targets and two rewards."""
    rewards = [r for r in ("bag", "sequential", "all") if r in set(table["reward"])]
    return _by_reward(table, rewards, "task", [t for t in TASKS if t in set(table["task"])])


@figures.add(
    "Figure 23, fresh actors",
    "Eight task variants, fresh actors",
    sweep=sweep.FRESH.variants,
    appendix=True,
)
def variants_fresh(table: pl.DataFrame) -> Drawing:
    """As Figure 23; PPO makes four passes over each batch."""
    return variants(table)


@figures.add(
    "Figure 24", "Additive mixtures against the product", sweep=sweep.STALE.additive, appendix=True
)
def additive(table: pl.DataFrame) -> Drawing:
    """Error averaged over training of σ(((1−α)U + αℓ)/η)·U, each mixture at its own best learning
    rate."""
    figure, (axis,) = style.panels(1, width=5.4, height=2.9)
    rows = ends(table)
    mixtures = by_option(rows, "additive", "alpha", "temperature")
    mixture = ("temperature", "alpha")
    tried = means(mixtures, "regret", (*mixture, "learning_rate")).sort("mean")
    numbers = tried.group_by(*mixture, maintain_order=True).first().sort(*mixture)
    numbers = numbers.with_columns(method=pl.lit("additive"), metric=pl.lit("regret"))
    heats = numbers["temperature"].unique().sort()
    for shade, eta in zip(np.linspace(0.15, 0.85, max(1, len(heats))), heats, strict=False):
        part = numbers.filter(pl.col("temperature") == eta)
        colour, name = style.shade("viridis", float(shade)), f"additive, η = {eta:g}"
        line(axis, part, "alpha", colour=colour, label=name, marker="o", ms=3.5)
    parts = [numbers]
    for name, words in (("pg", "REINFORCE"), ("dg", "DG")):
        mine = rows.filter(pl.col("method") == name)
        colour = "black" if name == "pg" else style.colour(name)
        parts.append(level(axis, mine, "regret", words, colour=colour))
    axis.set(xlabel="mixture α", ylabel="average error")
    drawn = pl.concat(parts, how="diagonal")
    logarithmic(axis, drawn)
    style.legend_outside(axis)
    return Drawing(figure, drawn)


@figures.add(
    "Figure 24, fresh actors",
    "Additive mixtures, fresh actors",
    sweep=sweep.FRESH.additive,
    appendix=True,
)
def additive_fresh(table: pl.DataFrame) -> Drawing:
    """As Figure 24."""
    return additive(table)


@figures.add("beyond the paper", "All-or-nothing reward", sweep=sweep.ALL_OR_NOTHING, appendix=True)
def all_or_nothing(table: pl.DataFrame) -> Drawing:
    """An answer earns 1 if it is faultless and 0 otherwise, so at first nearly every batch has no
    gradient."""
    lengths = sorted(table["length"].unique().to_list())
    return _by_reward(table, [table["reward"][0]], "length", lengths)


@figures.add(
    "beyond the paper",
    "What the gate does to Token Reversal",
    sweep=sweep.STALE.curves,
    appendix=True,
)
def gate(table: pl.DataFrame) -> Drawing:
    """(a) DG's gate at η = 1, averaged over the tokens of answers above and below their baseline; a
    batch without any counts as ½. (b) Mean surprisal of the sampled tokens. On average the gate is
    near ½ here: what it changes is the weight of the few rare tokens."""
    figure, axes = style.panels(2)
    name = (methods(with_role(table, "main")) or methods(table))[0]
    rows = table.filter(pl.col("method") == name)
    gates = {"gate_good": ("above the baseline", "#2ca02c"), "gate_bad": ("below it", "#d62728")}
    parts = []
    for metric, (text, colour) in gates.items():
        parts.append(by_step(rows, metric))
        line(axes[0], parts[-1], "step", label=text, colour=colour)
    parts.append(along(axes[1], table, "surprisal"))
    axes[0].set(title=f"(a) mean gate of {label(name)}", ylabel="gate w")
    axes[1].set(title="(b) surprisal of sampled tokens", ylabel="nats")
    if not parts[-1].filter(pl.col("mean") > 0).is_empty():
        axes[1].set_yscale("log")
    for axis in axes:
        axis.set_xlabel("batches of episodes")
        style.legend(axis)
    return Drawing(figure, pl.concat(parts))
