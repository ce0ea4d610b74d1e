"""Figure 5 of the paper, and two beyond it."""

from typing import Any

import numpy as np
import polars as pl

from delightful import theory
from delightful.lab import style
from delightful.lab.cells import DEFAULT
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import along, label, line, methods, side_by_side
from delightful.lab.tables import by_step, means, varying
from delightful.paper.bandit import sweep
from delightful.registry import parse_method

FIGURES = FigureBook("bandit")


def _error(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="Error", ylabel="error  1 − π(y*)", ylim=(0, 1.02))
    return along(axis, table, "error")


def _misalignment(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="Misalignment", ylabel="1 − cos(g, g*)", yscale="log", ylim=(3e-5, 1))
    return along(axis, table, "misalignment")


@FIGURES.add("Figure 5", "Symmetric bandit, normalised steps", sweep=sweep.TRAINING)
def curves(table: pl.DataFrame) -> Drawing:
    """Error 1 − π(y*) (a) and misalignment to the PG oracle (b); K = 100, B = 100, α = 0.1. Mean
    over seeds, band ±1 standard error."""
    return side_by_side(table, _error, _misalignment)


@FIGURES.add("Figure 5a", "Error", sweep=sweep.TRAINING, panel=True)
def error(table: pl.DataFrame) -> Drawing:
    """Error 1 − π(y*)."""
    return side_by_side(table, _error)


@FIGURES.add("Figure 5b", "Misalignment", sweep=sweep.TRAINING, panel=True)
def misalignment(table: pl.DataFrame) -> Drawing:
    """Misalignment 1 − cos(g, g*_PG)."""
    return side_by_side(table, _misalignment)


@FIGURES.add(
    "beyond the paper", "Proposition 1 against Monte Carlo", sweep=sweep.ALIGNMENT, appendix=True
)
def alignment(table: pl.DataFrame) -> Drawing:
    """Cosine gap of a batch gradient at a frozen policy, K = 100, b = ½: dots measured, lines the
    second-order formula with DG's factor w₋²/s²."""
    figure, axes = style.panels(2)
    numbers = by_step(table, "misalignment", ("method", "actions", "baseline", "error", "batch"))
    errors = sorted(numbers["error"].unique().to_list(), reverse=True)
    for axis, error in zip(axes, errors, strict=False):
        for name in methods(table):
            part = numbers.filter((pl.col("method") == name) & (pl.col("error") == error))
            colour = style.colour(name)
            K, b = part["actions"][0], part["baseline"][0]
            dots = {"fmt": "o", "ms": 4, "color": colour, "label": label(name)}
            axis.errorbar(part["batch"], part["mean"], part["se"], **dots)
            if name in ("pg", "dg"):
                kept = theory.cosine_gap_ratio(K, error, b) if name == "dg" else 1.0
                gaps = [kept * theory.symmetric_cosine_gap(K, error, n, b) for n in part["batch"]]
                axis.plot(part["batch"], np.minimum(gaps, 2.0), color=colour, lw=1)
        axis.set(xscale="log", yscale="log", xlabel="batch B", title=f"ε = {error:g}")
    axes[0].set_ylabel("1 − cos(ḡ, g*)")
    axes[0].legend()
    return Drawing(figure, numbers)


def _averaged(table: pl.DataFrame, *fields: str) -> pl.DataFrame:
    """The error of every run, averaged over training."""
    runs = table.group_by("method", *fields, "seed", maintain_order=True)
    return runs.agg(pl.col("error").mean())


def _summary(scores: pl.DataFrame, grid: str) -> pl.DataFrame:
    scores = scores.with_columns(varied=pl.lit(grid), value=pl.col(grid).cast(pl.Float64))
    return means(scores, "error", ("varied", "method", "value"))


def _temperatures(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    """DG against η; PG, which has none, as a level."""
    etas = {m: parse_method(m)[1].get("temperature", np.inf) for m in methods(table)}
    names = pl.col("method").str.split(":").list.first()
    scores = _averaged(table).with_columns(temperature=pl.col("method").replace_strict(etas))
    numbers = _summary(scores.with_columns(method=names), "temperature")
    line(axis, numbers.filter(method="dg"), "value", label="DG", marker="o", **style.look("dg"))
    for mean in numbers.filter(method="pg")["mean"]:
        axis.axhline(mean, color=style.colour("pg"), linestyle="--", label="PG")
    axis.set(xscale="log", xlabel="temperature η")
    return numbers


@FIGURES.add(
    "beyond the paper", "Robustness in K, B, b and η", sweep=sweep.ROBUSTNESS, appendix=True
)
def robustness(table: pl.DataFrame) -> Drawing:
    """Error averaged over training, one quantity varied at a time; dashed: PG."""
    figure, axes = style.panels(4, width=2.6)
    titles = {"actions": "actions K", "batch": "batch B", "baseline": "baseline b"}
    parts = []
    for axis, (grid, title) in zip(axes, titles.items(), strict=False):
        parts.append(_summary(_averaged(varying(table, grid), grid), grid))
        for name in methods(parts[-1]):
            part = parts[-1].filter(pl.col("method") == name)
            line(axis, part, "value", label=label(name), marker="o", **style.look(name))
        axis.set_xlabel(title)
    parts.append(_temperatures(axes[3], varying(table, "temperature", DEFAULT)))
    for axis in axes:
        axis.set(ylim=(0, 1.05 * axis.get_ylim()[1]))
    axes[0].set(xscale="log", ylabel="error, mean over training")
    axes[1].set(xscale="log")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))
