"""Figures 7–9 and 20–24 of the paper, and two beyond it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from delightful.agents.tokens.config import TASKS
from delightful.lab import style
from delightful.lab.curves import label, methods, side_by_side
from delightful.lab.drawing import against, along, level, logarithmic, percent, ticks
from delightful.lab.experiment import Drawing, Figure
from delightful.lab.statistics import bootstrap
from delightful.paper.tokens import sweep
from delightful.paper.tokens.figures.diagrams import draw_rewards, draw_task
from delightful.paper.tokens.runs import (
    by_size,
    ends,
    main_runs,
    power_laws,
    scaled,
    with_regret,
)
from delightful.weights import parse_method

_FLOOR = 1e-4  # what a logarithmic axis shows of an error of 0


def _error_axis(axis: Any) -> None:
    axis.set_ylim(_FLOOR, 0.7)  # first: an axis of zeros cannot be scaled by itself
    axis.set_yscale("log")
    percent(axis)


def draw_error(table: pl.DataFrame) -> Drawing:
    """Error against batches of episodes, and against gradient steps."""
    figure, axes = style.panels(2)
    rows = with_regret(main_runs(table))
    parts = [along(axes[0], rows, "error")]
    fewest = rows.group_by("method").agg(pl.col("updates").max())["updates"].min()
    by_update = rows.filter(pl.col("updates") <= fewest).with_columns(step=pl.col("updates"))
    parts.append(along(axes[1], by_update, "error"))
    for axis, title, x in zip(
        axes,
        ("(a) per episode", "(b) per gradient step"),
        ("batches of episodes", "gradient steps"),
        strict=True,
    ):
        _error_axis(axis)
        axis.set(title=title, xlabel=x)
    axes[0].set_ylabel("sequence error")
    style.legend(axes[0])
    names = ("batches", "gradient steps")
    parts = [part.with_columns(x=pl.lit(name)) for part, name in zip(parts, names, strict=True)]
    return Drawing(figure, pl.concat(parts))


def _fits(axis: Any, table: pl.DataFrame, field: str) -> pl.DataFrame:
    """Regret against a size on log-log axes, with each method's power law."""
    rows = ends(table)
    numbers = against(axis, by_size(rows, field), field, "regret", linestyle="none")
    laws = []
    for name, runs in scaled(rows, field, "regret", methods(rows)).items():
        sizes, errors = np.array(list(runs)), np.stack(list(runs.values()))
        if min(errors.shape) < 2 or errors.min() <= 0:
            continue
        exponents, intercepts = power_laws(runs)
        k = bootstrap(exponents)
        fitted = np.exp(intercepts.mean()) * sizes**k.value
        (colour,) = style.colours([name])
        text = f"{label(name)}: {k.value:.2f} [{k.low:.2f}, {k.high:.2f}]"
        axis.plot(sizes, fitted, "--", color=colour, lw=1, label=text)
        law_row = {"exponent": k.value, "exponent_low": k.low, "exponent_high": k.high}
        laws.append({"method": name, "metric": f"exponent in {field}", **law_row})
    return pl.concat([numbers, pl.DataFrame(laws)], how="diagonal") if laws else numbers


def draw_scaling(table: pl.DataFrame) -> Drawing:
    """Final error against H and M, then the average error with power laws."""
    table = main_runs(table)
    figure, axes = style.panels(4, width=2.7)
    symbols = {"length": "horizon H", "vocabulary": "vocabulary M"}
    parts = []
    for axis, (field, symbol) in zip(axes[:2], symbols.items(), strict=True):
        rows = by_size(ends(table), field)
        parts.append(against(axis, rows, field, "error"))
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
        ticks(axis, sorted(by_size(table, field)[field].unique().to_list()))
    for letter, axis in zip("abcd", axes, strict=True):
        axis.set_title(f"({letter})")
    return Drawing(figure, pl.concat(parts, how="diagonal"))


def _penalties(rows: list[tuple[int, float]]) -> list[str]:
    """The rows of a map, (passes, β), in words: one pass is named where others have more."""
    if len({passes for passes, _ in rows}) == 1:
        return [f"{beta:g}" for _, beta in rows]
    once = {0.0: "one pass"}
    return [
        f"{beta:g}" if passes > 1 else once.get(beta, f"{beta:g}, one pass")
        for passes, beta in rows
    ]


def _map(axis: Any, table: pl.DataFrame, method: str, option: str, symbol: str) -> pl.DataFrame:
    """The average error of a method over its option and β, as a heat map."""
    specs = [m for m in table["method"].unique().to_list() if parse_method(m)[0].name == method]
    rows = ends(main_runs(table, "epochs")).filter(pl.col("method").is_in(specs))
    options = {spec: parse_method(spec)[1][option] for spec in specs}
    rows = rows.with_columns(
        pl.col("method").replace_strict(options, return_dtype=pl.Float64).alias(option)
    )
    numbers = (
        rows.group_by(option, "kl", "epochs", maintain_order=True)
        .agg(mean=pl.col("regret").mean(), seeds=pl.len())
        .sort(option, "epochs", "kl")
        .with_columns(method=pl.lit(method), metric=pl.lit("regret"))
    )
    if numbers.is_empty():
        return numbers
    across = sorted(numbers[option].unique().to_list())
    up = sorted(numbers.select("epochs", "kl").unique().rows())
    grid = np.full((len(up), len(across)), np.nan)
    for row in numbers.iter_rows(named=True):
        grid[up.index((row["epochs"], row["kl"])), across.index(row[option])] = row["mean"]
    axis.imshow(grid, origin="lower", aspect="auto", cmap="viridis_r", vmin=0, vmax=0.5)
    for i, j in np.argwhere(np.isfinite(grid)):
        value = grid[i, j]
        shade = "white" if value > 0.25 else "black"
        axis.text(j, i, f"{value:.3f}", ha="center", va="center", color=shade, fontsize=7)
    axis.set_xticks(range(len(across)), labels=[f"{x:g}" for x in across])
    axis.set_yticks(range(len(up)), labels=_penalties(up))
    axis.grid(visible=False)
    axis.set(title=label(method), xlabel=symbol, ylabel="KL penalty β")
    return numbers


def _ppo_map(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    return _map(axis, table, "ppo", "clip", "clip ε")


def _pmpo_map(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    return _map(axis, table, "pmpo", "preference", "preference α")


def draw_rate(table: pl.DataFrame) -> Drawing:
    figure, (axis,) = style.panels(1, width=3.8, height=2.7)
    rows = ends(main_runs(table, "learning_rate"))
    numbers = against(axis, rows, "learning_rate", "regret")
    axis.set(xscale="log", xlabel="learning rate", ylabel="average error")
    logarithmic(axis, numbers)
    style.legend(axis)
    return Drawing(figure, numbers)


def _extended(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    numbers = along(axis, main_runs(table), "error")
    _error_axis(axis)
    axis.set(xscale="log", xlabel="batches of episodes", ylabel="sequence error")
    return numbers


def _grid(
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


def draw_variants(table: pl.DataFrame) -> Drawing:
    rewards = [r for r in ("bag", "sequential", "all") if r in set(table["reward"])]
    tasks = [t for t in TASKS if t in set(table["task"])]
    return _grid(main_runs(table), rewards, "task", tasks)


def draw_all_or_nothing(table: pl.DataFrame) -> Drawing:
    lengths = sorted(table["length"].unique().to_list())
    return _grid(main_runs(table), [table["reward"][0]], "length", lengths)


def draw_additive(table: pl.DataFrame) -> Drawing:
    """Average error against α, a line for each η; dashed, REINFORCE and DG."""
    figure, (axis,) = style.panels(1, width=4.2, height=2.9)
    rows = ends(main_runs(table))
    specs = [m for m in rows["method"].unique().to_list() if parse_method(m)[0].name == "additive"]
    options = {spec: parse_method(spec)[1] for spec in specs}
    numbers = (
        rows.filter(pl.col("method").is_in(specs))
        .with_columns(
            pl.col("method")
            .replace_strict({s: o[name] for s, o in options.items()}, return_dtype=pl.Float64)
            .alias(name)
            for name in ("alpha", "temperature")
        )
        .group_by("temperature", "alpha", maintain_order=True)
        .agg(
            mean=pl.col("regret").mean(),
            se=pl.col("regret").std() / pl.len().sqrt(),
            seeds=pl.len(),
        )
        .sort("temperature", "alpha")
        .with_columns(method=pl.lit("additive"), metric=pl.lit("regret"))
    )
    heats = sorted(numbers["temperature"].unique().to_list())
    for shade, eta in zip(np.linspace(0.15, 0.85, max(1, len(heats))), heats, strict=False):
        part = numbers.filter(pl.col("temperature") == eta)
        error = None if part["se"].null_count() else part["se"]
        colour = style.shade("viridis", float(shade))
        name, dots = f"additive, η = {eta:g}", {"marker": "o", "ms": 3.5}
        style.curve(axis, part["alpha"], part["mean"], error, colour=colour, label=name, **dots)
    parts = [numbers]
    for name, words in (("pg", "REINFORCE"), ("dg", "DG")):
        mine = rows.filter(pl.col("method") == name)
        shade = "black" if name == "pg" else style.COLOURS[name]
        parts.append(level(axis, mine, "regret", words, colour=shade, line="--"))
    axis.set(xlabel="mixture α", ylabel="average error")
    drawn = pl.concat(parts, how="diagonal")
    logarithmic(axis, drawn)
    style.legend(axis)
    return Drawing(figure, drawn)


def draw_gate(table: pl.DataFrame) -> Drawing:
    """The mean gate of answers above and below their prompt's mean, and the mean surprisal."""
    figure, axes = style.panels(2)
    name = next((m for m in methods(table) if m.startswith("dg")), methods(table)[0])
    table = main_runs(table)
    rows = table.filter(pl.col("method") == name)
    parts = [
        along(axes[0], rows, "gate_good", named="above the baseline", colour="#2ca02c"),
        along(axes[0], rows, "gate_bad", named="below it", colour="#d62728"),
        along(axes[1], table, "surprisal"),
    ]
    axes[0].set(title=f"(a) mean gate of {label(name)}", ylabel="gate w")
    axes[1].set(title="(b) surprisal of sampled tokens", ylabel="nats")
    if not parts[-1].filter(pl.col("mean") > 0).is_empty():
        axes[1].set_yscale("log")
    for axis in axes:
        axis.set_xlabel("batches of episodes")
        style.legend(axis)
    return Drawing(figure, pl.concat(parts))


FIGURES = (
    Figure(
        "tokens/task",
        "Figure 7",
        "The Token Reversal task",
        "A prompt of H tokens and the answer that is asked for; arrows show what is repeated.",
        draw_task,
    ),
    Figure(
        "tokens/error",
        "Figure 8",
        "Sequence error on Token Reversal",
        "The share of wrong tokens in sampled answers, H = 10 and M = 2, each method at its own "
        "learning rate. PPO makes four passes over each batch, the others one: (a) per batch of "
        "100 episodes, (b) per gradient step.",
        draw_error,
        sweep.CURVES,
    ),
    Figure(
        "tokens/scaling",
        "Figure 9",
        "Scaling with task complexity",
        "(a, b) Final error and (c, d) error averaged over training, against the horizon at M = 2 "
        "and the vocabulary at H = 10. Dashed: power laws fitted to each method. The paper trains "
        "for 10,000 batches; the quick scale for 1,000.",
        draw_scaling,
        sweep.SCALING,
    ),
    Figure(
        "tokens/tuning",
        "Figure 20",
        "Tuning PPO and PMPO",
        "Average error over clip or preference and KL penalty, with four passes over each batch; "
        "for PMPO also with one, where the penalty has no gradient. The quick scale has fewer "
        "values.",
        side_by_side(_ppo_map, _pmpo_map),
        sweep.TUNING,
    ),
    Figure(
        "tokens/learning-rate",
        "Figure 21a",
        "Learning rate",
        "Error averaged over 1,000 batches.",
        draw_rate,
        sweep.RATE,
    ),
    Figure(
        "tokens/extended",
        "Figure 21b",
        "Extended training",
        "Sequence error over 10,000 batches, 1,200 at the quick scale.",
        side_by_side(_extended),
        sweep.EXTENDED,
    ),
    Figure(
        "tokens/rewards",
        "Figure 22",
        "Reward structures",
        "The same answer, wrong at two places, under each reward. Green tokens are paid for, red "
        "ones are wrong, grey ones are right and not paid for.",
        draw_rewards,
    ),
    Figure(
        "tokens/variants",
        "Figure 23",
        "Eight task variants",
        "Sequence error for four targets and two rewards over 1,000 batches; 200 if quick.",
        draw_variants,
        sweep.VARIANTS,
    ),
    Figure(
        "tokens/additive",
        "Figure 24",
        "Additive mixtures against the product",
        "Average error of σ(((1−α)U + αℓ)/η)·U over 1,000 batches.",
        draw_additive,
        sweep.ADDITIVE,
    ),
    Figure(
        "tokens/all-or-nothing",
        "beyond the paper",
        "All-or-nothing reward",
        "An answer earns 1 if it is faultless and 0 otherwise, so at first nearly every batch "
        "says nothing.",
        draw_all_or_nothing,
        sweep.ALL_OR_NOTHING,
    ),
    Figure(
        "tokens/gate",
        "beyond the paper",
        "What the gate does to Token Reversal",
        "(a) DG's gate at η = 1, averaged over the tokens of answers above and below their "
        "baseline; a batch without any counts as ½. (b) Mean surprisal of the sampled tokens. On "
        "average the gate is near ½ here: what it changes is the weight of the few rare tokens.",
        draw_gate,
        sweep.CURVES,
    ),
)
