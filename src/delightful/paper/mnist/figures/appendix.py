"""Figures 14 to 19: generalisation, entropy, sensitivity, and other forms of delight."""

from functools import partial
from typing import Any

import polars as pl

from delightful.lab import style
from delightful.lab.cells import DEFAULT
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import against, along, label, level, methods, percent, side_by_side
from delightful.lab.tables import at_end, by_option, varying, with_role
from delightful.paper.mnist import sweep
from delightful.paper.mnist.config import BASELINES

figures = FigureBook("mnist")


def _splits(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="learning curves", ylabel="error", yscale="log")
    percent(axis)
    rows = varying(table, DEFAULT)
    train = along(axis, rows, "train_error", suffix=", training")
    val = along(axis, rows, "val_error", suffix=", validation", linestyle="--")
    style.legend(axis)
    return pl.concat([train, val]).select("method", "step", "mean", "se", "seeds", "metric")


def _temperatures(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="temperature", xscale="log", xlabel="temperature η", ylabel="error at the end")
    percent(axis)
    rows = by_option(at_end(table), "dg", "temperature")
    train = against(axis, rows, "temperature", "train_error", suffix=", training")
    val = against(axis, rows, "temperature", "val_error", suffix=", validation", linestyle="--")
    style.legend(axis)
    return pl.concat([train, val])


@figures.add("Figure 14", "Generalisation", sweep=sweep.TEMPERATURE, appendix=True)
def validation(table: pl.DataFrame) -> Drawing:
    """Training (solid) against validation (dashed): (a) along training, (b) at its end against the
    temperature."""
    return side_by_side(table, _splits, _temperatures)


@figures.add(
    "Figure 15", "Entropy regularisation against temperature", sweep=sweep.ENTROPY, appendix=True
)
def entropy(table: pl.DataFrame) -> Drawing:
    """PG with an entropy bonus of each coefficient, and DG at each temperature."""
    figure, (axis,) = style.panels(1, width=4.2, height=2.8)
    ends, suffix = at_end(table), " + entropy bonus, by coefficient"
    bonus = varying(ends, "entropy").filter(pl.col("entropy") > 0)
    parts = [against(axis, bonus, "entropy", "train_error", suffix=suffix)]
    gated = by_option(varying(ends, "temperature"), "dg", "temperature")
    parts.append(against(axis, gated, "temperature", "train_error", suffix=", by η"))
    plain = with_role(varying(ends, DEFAULT), "rival")
    for name in methods(plain):
        mine, colour = plain.filter(pl.col("method") == name), style.colour(name)
        parts.append(level(axis, mine, "train_error", label(name), colour=colour))
    axis.set(xscale="log", yscale="log", xlabel="coefficient or temperature")
    axis.set_ylabel("error at the end of training")
    percent(axis)
    style.legend(axis, "upper left")
    return Drawing(figure, pl.concat(parts, how="diagonal"))


def _sensitivity(table: pl.DataFrame, field: str, title: str) -> Drawing:
    """Final error of PG and DG against one config field, a panel per baseline."""
    names = [b for b in BASELINES if b in set(table["baseline"])]
    figure, axes = style.panels(len(names), width=2.5 if len(names) > 1 else 3.3)
    keys = ("method", "baseline", "steps")
    parts = []
    for axis, baseline in zip(axes, names, strict=True):
        axis.sharey(axes[0])
        rows = at_end(table).filter(pl.col("baseline") == baseline)
        lengths = sorted(rows["steps"].unique().to_list(), reverse=True)
        for steps in lengths:  # shorter runs hollow, since they are not to be compared
            hollow = {"suffix": f", {steps} steps", "linestyle": ":", "mfc": "white"}
            mine, look = rows.filter(steps=steps), {} if steps == lengths[0] else hollow
            parts.append(against(axis, mine, field, "train_error", keys=keys, **look))
        axis.set(xscale="log", yscale="log", xlabel=title)
        axis.set_title(f"baseline: {baseline}" if len(names) > 1 else "")
        percent(axis)
    axes[0].set_ylabel("error at the end of training")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


@figures.add("Figure 16", "Learning rate", sweep=sweep.RATE, appendix=True)
def learning_rate(table: pl.DataFrame) -> Drawing:
    """Error at the end of training, a panel per baseline."""
    return _sensitivity(table, "learning_rate", "learning rate")


@figures.add("Figure 17", "Batch size", sweep=sweep.BATCH, appendix=True)
def batch(table: pl.DataFrame) -> Drawing:
    """Error at the end of training."""
    return _sensitivity(table, "batch", "batch size B")


@figures.add("Figure 18", "Network width", sweep=sweep.WIDTH, appendix=True)
def width(table: pl.DataFrame) -> Drawing:
    """Error at the end of training. Where wide networks have fewer steps than narrow ones, compare
    the methods, not the widths."""
    return _sensitivity(table, "width", "hidden width W")


def _form(
    method: str, option: str, symbol: str, title: str, axis: Any, table: pl.DataFrame
) -> pl.DataFrame:
    ends = at_end(table)
    numbers = against(axis, by_option(ends, method, option), option, "train_error")
    look = {"colour": style.colour("dg"), "linestyle": ":"}
    dg = level(axis, ends.filter(pl.col("method") == "dg"), "train_error", "DG", **look)
    axis.set(title=title, xlabel=symbol, ylabel="error at the end of training")
    percent(axis)
    style.legend(axis)
    return pl.concat([numbers, dg], how="diagonal")


@figures.add(
    "Figure 19", "Alternative definitions of delight", sweep=sweep.STRUCTURE, appendix=True
)
def structure(table: pl.DataFrame) -> Drawing:
    """(a) σ((1−α)U + αℓ)·U. (b) σ(U·ℓ^β)·U. Dotted: the product, DG."""
    mixture = partial(_form, "additive", "alpha", "mixture α", "additive mixtures")
    exponent = partial(_form, "exponent", "beta", "exponent β", "surprisal exponent")
    return side_by_side(table, mixture, exponent)
