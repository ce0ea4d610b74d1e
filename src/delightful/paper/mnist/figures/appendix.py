"""Figures 14 to 19: generalisation, entropy, sensitivity, and other forms of delight."""

from collections.abc import Callable
from typing import Any

import polars as pl

from delightful.lab import style
from delightful.lab.cells import DEFAULT
from delightful.lab.experiment import Drawing, Figure
from delightful.lab.plotting import (
    Panel,
    against,
    along,
    label,
    letter,
    level,
    methods,
    percent,
    side_by_side,
)
from delightful.lab.tables import at_end, by_option, varying, with_role
from delightful.paper.mnist import sweep
from delightful.paper.mnist.config import BASELINES


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
    parts = [
        against(axis, rows, "temperature", metric, suffix=f", {split}", linestyle=linestyle)
        for split, metric, linestyle in (
            ("training", "train_error", "-"),
            ("validation", "val_error", "--"),
        )
    ]
    style.legend(axis)
    return pl.concat(parts)


def draw_validation(table: pl.DataFrame) -> Drawing:
    """Both panels of Figure 14; their numbers in one table."""
    figure, axes = style.panels(2)
    curves, temperatures = _splits(axes[0], table), _temperatures(axes[1], table)
    letter(axes)
    return Drawing(figure, pl.concat([curves, temperatures], how="diagonal"))


def draw_entropy(table: pl.DataFrame) -> Drawing:
    """Final error against the entropy coefficient of PG and against the temperature of DG."""
    figure, (axis,) = style.panels(1, width=4.2, height=2.8)
    bonus = varying(at_end(table), "entropy").filter(pl.col("entropy") > 0)
    suffix = " + entropy bonus, by coefficient"
    parts = [against(axis, bonus, "entropy", "train_error", suffix=suffix)]
    gated = by_option(varying(at_end(table), "temperature"), "dg", "temperature")
    parts.append(against(axis, gated, "temperature", "train_error", suffix=", by η"))
    plain = with_role(varying(at_end(table), DEFAULT), "rival")
    for name in methods(plain):
        mine, colour = plain.filter(pl.col("method") == name), style.colour(name)
        parts.append(level(axis, mine, "train_error", label(name), colour=colour))
    axis.set(xscale="log", yscale="log", xlabel="coefficient or temperature")
    axis.set_ylabel("error at the end of training")
    percent(axis)
    style.legend(axis, "upper left")
    return Drawing(figure, pl.concat(parts, how="diagonal"))


def _by_steps(axis: Any, rows: pl.DataFrame, field: str) -> list[pl.DataFrame]:
    """A line for each length of runs; shorter ones hollow, since they are not to be compared."""
    longest, *shorter = sorted(rows["steps"].unique().to_list(), reverse=True)
    keys = ("method", "baseline", "steps")
    parts = [against(axis, rows.filter(steps=longest), field, "train_error", keys=keys)]
    for steps in shorter:
        mine, name = rows.filter(steps=steps), f", {steps} steps"
        hollow = {"linestyle": ":", "mfc": "white"}
        parts.append(against(axis, mine, field, "train_error", keys=keys, suffix=name, **hollow))
    return parts


def _sensitivity(field: str, title: str) -> Callable[[pl.DataFrame], Drawing]:
    """Make the `draw` of final error against one config field, PG and DG, a panel per baseline."""

    def draw(table: pl.DataFrame) -> Drawing:
        names = [b for b in BASELINES if b in set(table["baseline"])]
        figure, axes = style.panels(len(names), width=2.5 if len(names) > 1 else 3.3)
        ends = at_end(table)
        parts = []
        for axis, baseline in zip(axes, names, strict=True):
            rows = ends.filter(pl.col("baseline") == baseline)
            parts += _by_steps(axis, rows, field)
            axis.set(xscale="log", yscale="log", xlabel=title)
            axis.set_title(f"baseline: {baseline}" if len(names) > 1 else "")
            percent(axis)
        axes[0].set_ylabel("error at the end of training")
        style.legend(axes[0])
        return Drawing(figure, pl.concat(parts))

    return draw


def _form(name: str, parameter: str, symbol: str, title: str) -> Panel:
    def draw(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
        ends = at_end(table)
        numbers = against(axis, by_option(ends, name, parameter), parameter, "train_error")
        product = ends.filter(pl.col("method") == "dg")
        look = {"colour": style.colour("dg"), "linestyle": ":"}
        dg = level(axis, product, "train_error", "DG", **look)
        axis.set(title=title, xlabel=symbol, ylabel="error at the end of training")
        percent(axis)
        style.legend(axis)
        return pl.concat([numbers, dg], how="diagonal")

    return draw


FIGURES = (
    Figure(
        "mnist/validation",
        "Figure 14",
        "Generalisation",
        "Training (solid) against validation (dashed): (a) along training, (b) at its end against "
        "the temperature.",
        draw_validation,
        sweep.TEMPERATURE,
    ),
    Figure(
        "mnist/entropy",
        "Figure 15",
        "Entropy regularisation against temperature",
        "PG with an entropy bonus of each coefficient, and DG at each temperature.",
        draw_entropy,
        sweep.ENTROPY,
    ),
    Figure(
        "mnist/learning-rate",
        "Figure 16",
        "Learning rate",
        "Error at the end of training. At the paper's scale a panel per baseline, at the quick "
        "scale the default one.",
        _sensitivity("learning_rate", "learning rate"),
        sweep.RATE,
    ),
    Figure(
        "mnist/batch",
        "Figure 17",
        "Batch size",
        "Error at the end of training. At the quick scale B = 1000 has 2,000 steps, not 10,000.",
        _sensitivity("batch", "batch size B"),
        sweep.BATCH,
    ),
    Figure(
        "mnist/width",
        "Figure 18",
        "Network width",
        "Error at the end of training. At the quick scale widths from 1024 have 500 steps, not "
        "10,000: compare the methods there, not the widths.",
        _sensitivity("width", "hidden width W"),
        sweep.WIDTH,
    ),
    Figure(
        "mnist/structure",
        "Figure 19",
        "Alternative definitions of delight",
        "(a) σ((1−α)U + αℓ)·U. (b) σ(U·ℓ^β)·U. Dotted: the product, DG.",
        side_by_side(
            _form("additive", "alpha", "mixture α", "additive mixtures"),
            _form("exponent", "beta", "exponent β", "surprisal exponent"),
        ),
        sweep.STRUCTURE,
    ),
)
