"""Figures 2 to 4: learning curves, the limit of many samples, and misalignment."""

from functools import partial
from typing import Any

import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import (
    against,
    along,
    level,
    percent,
    same_heights,
    side_by_side,
    ticks,
)
from delightful.lab.tables import at_end
from delightful.paper.mnist import sweep
from delightful.paper.mnist.config import BASELINES
from delightful.paper.mnist.runs import exact_pg, main_runs

figures = FigureBook("mnist")


def _errors(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(ylabel="error on training batches", yscale="log")
    percent(axis)
    return along(axis, main_runs(table), "train_error")


@figures.add("Figure 2", "MNIST classification error", sweep=sweep.CURVES)
def error(table: pl.DataFrame) -> Drawing:
    """Error 1 − π(y|x) on the training batches, each before its update. Supervised CE sees labels;
    PG and DG see only whether a sampled digit was right. Mean over seeds, band ±1 standard
    error."""
    return side_by_side(table, _errors)


@figures.add("Figure 3", "Error against samples per image, by baseline", sweep=sweep.LIMIT)
def limit(table: pl.DataFrame) -> Drawing:
    """Error over the last 400 steps of 10,000. Dashed: training with the exact PG-oracle gradient,
    PG's limit as S → ∞."""
    names = [b for b in BASELINES if b in set(table["baseline"])]
    figure, axes = style.panels(len(names), width=2.5)
    floor = at_end(exact_pg(table))
    sampled = at_end(table).filter(pl.col("samples") > 0)
    parts = []
    for axis, baseline in zip(axes, names, strict=True):
        rows = sampled.filter(pl.col("baseline") == baseline)
        parts.append(against(axis, rows, "samples", "train_error", keys=("method", "baseline")))
        parts.append(level(axis, floor, "train_error", "PG oracle", colour="black"))
        axis.set(title=f"baseline: {baseline}", yscale="log", xlabel="samples per image S")
        ticks(axis, sorted(sampled["samples"].unique().to_list()))
        percent(axis)
    same_heights(axes)
    axes[0].set_ylabel("error at the end of training")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts, how="diagonal"))


def _misalignment(axis: Any, table: pl.DataFrame, oracle: str, title: str) -> pl.DataFrame:
    axis.set(title=title, ylabel="misalignment 1 − cos")
    parts = []
    for samples, linestyle in zip(sorted(set(table["samples"])), ("-", "--"), strict=False):
        rows = table.filter(pl.col("samples") == samples)
        look: dict[str, Any] = {"suffix": f", S = {samples}", "linestyle": linestyle}
        keys = ("method", "samples")
        parts.append(along(axis, rows, f"misalignment_{oracle}", keys=keys, **look))
    axis.set_ylim(bottom=0)
    return pl.concat(parts)


@figures.add("Figure 4", "Gradient misalignment over training", sweep=sweep.ALIGNMENT)
def alignment(table: pl.DataFrame) -> Drawing:
    """1 − cos between a batch's gradient and an oracle's on the same batch, in the space of all
    weights, at S = 1 (solid) and S = 100 (dashed)."""
    to_pg = partial(_misalignment, oracle="pg", title="to the PG oracle")
    to_ce = partial(_misalignment, oracle="ce", title="to the cross-entropy oracle")
    return side_by_side(table, to_pg, to_ce)
