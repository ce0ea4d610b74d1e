"""Figure 5 of the paper, and two beyond it."""

from typing import Any

import numpy as np
import polars as pl

from delightful import theory
from delightful.lab import style
from delightful.lab.curves import by_step, draw_by_step, label, methods, side_by_side
from delightful.lab.experiment import Drawing, Figure
from delightful.paper.bandit import sweep
from delightful.weights import parse_method


def _error(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="Error", ylabel="error  1 − π(y*)", ylim=(0, 1.02))
    return draw_by_step(axis, table, "error")


def _misalignment(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="Misalignment", ylabel="1 − cos(g, g*)", yscale="log", ylim=(3e-5, 1))
    return draw_by_step(axis, table, "misalignment")


def draw_robustness(table: pl.DataFrame) -> Drawing:
    """Error averaged over training against each of K, B, b and η, the others at their centre."""
    figure, axes = style.panels(4, width=2.6)
    centre = sweep.centre(table)
    scores = table.group_by("method", *centre, "seed", maintain_order=True).agg(
        pl.col("error").mean()
    )
    titles = {"actions": "actions K", "batch": "batch B", "baseline": "baseline b"}
    parts = [
        _one_way(axis, sweep.at_centre(scores, centre, free=name), name, title)
        for axis, (name, title) in zip(axes, titles.items(), strict=False)
    ]
    parts.append(_temperatures(axes[3], sweep.at_centre(scores, centre)))
    for axis in axes:
        axis.set(ylim=(0, 1.05 * axis.get_ylim()[1]))
    axes[0].set(xscale="log", ylabel="error, mean over training")
    axes[1].set(xscale="log")
    axes[0].legend()
    return Drawing(figure, pl.concat(parts))


def _summary(scores: pl.DataFrame, axis_name: str) -> pl.DataFrame:
    error = pl.col("error").std() / pl.len().sqrt()
    return (
        scores.group_by(
            "method", pl.col(axis_name).cast(pl.Float64).alias("value"), maintain_order=True
        )
        .agg(pl.col("error").mean().alias("mean"), error.alias("se"), pl.len().alias("seeds"))
        .sort("method", "value")
        .select(pl.lit(axis_name).alias("varied"), pl.all())
    )


def _one_way(axis: Any, scores: pl.DataFrame, name: str, title: str) -> pl.DataFrame:
    plain = scores.filter(~pl.col("method").str.contains(":"))
    summary = _summary(plain, name)
    names = methods(plain)
    for method, colour in zip(names, style.colours(names), strict=True):
        part = summary.filter(pl.col("method") == method)
        style.curve(
            axis,
            part["value"],
            part["mean"],
            part["se"],
            colour=colour,
            label=label(method),
            marker="o",
        )
    axis.set_xlabel(title)
    return summary


def _temperatures(axis: Any, rows: pl.DataFrame) -> pl.DataFrame:
    etas = {m: parse_method(m)[1].get("temperature", np.inf) for m in methods(rows)}
    rows = rows.with_columns(temperature=pl.col("method").replace_strict(etas))
    rows = rows.with_columns(method=pl.col("method").str.split(":").list.first())
    summary = _summary(rows, "temperature")
    dg = summary.filter(pl.col("method") == "dg")
    style.curve(
        axis, dg["value"], dg["mean"], dg["se"], colour=style.COLOURS["dg"], label="DG", marker="o"
    )
    for mean in summary.filter(pl.col("method") == "pg")["mean"]:
        axis.axhline(mean, color=style.COLOURS["pg"], linestyle="--", label="PG")
    axis.set(xscale="log", xlabel="temperature η")
    return summary


def draw_alignment(table: pl.DataFrame) -> Drawing:
    """The cosine gap against batch size, measured (dots) and by Proposition 1 (lines)."""
    figure, axes = style.panels(2)
    numbers = by_step(table, "misalignment", ("method", "actions", "baseline", "error", "batch"))
    errors = sorted(numbers["error"].unique().to_list(), reverse=True)
    for axis, error in zip(axes, errors, strict=False):
        for name in methods(table):
            part = numbers.filter((pl.col("method") == name) & (pl.col("error") == error))
            colour = style.colours([name])[0]
            K, b = part["actions"][0], part["baseline"][0]
            axis.errorbar(
                part["batch"],
                part["mean"],
                part["se"],
                fmt="o",
                ms=4,
                color=colour,
                label=label(name),
            )
            if name in ("pg", "dg"):
                kept = theory.cosine_gap_ratio(K, error, b) if name == "dg" else 1.0
                expected = [
                    kept * theory.symmetric_cosine_gap(K, error, n, b) for n in part["batch"]
                ]
                axis.plot(part["batch"], np.minimum(expected, 2.0), color=colour, lw=1)
        axis.set(xscale="log", yscale="log", xlabel="batch B", title=f"ε = {error:g}")
    axes[0].set_ylabel("1 − cos(ḡ, g*)")
    axes[0].legend()
    return Drawing(figure, numbers)


FIGURES = (
    Figure(
        "bandit/curves",
        "Figure 5",
        "Symmetric bandit, normalised steps",
        "Error 1 − π(y*) (a) and misalignment to the PG oracle (b); K = 100, B = 100, α = 0.1. "
        "Mean over seeds, band ±1 standard error.",
        side_by_side(_error, _misalignment),
        sweep.TRAINING,
    ),
    Figure(
        "bandit/error",
        "Figure 5a",
        "Error",
        "Error 1 − π(y*).",
        side_by_side(_error),
        sweep.TRAINING,
        panel=True,
    ),
    Figure(
        "bandit/misalignment",
        "Figure 5b",
        "Misalignment",
        "Misalignment 1 − cos(g, g*_PG).",
        side_by_side(_misalignment),
        sweep.TRAINING,
        panel=True,
    ),
    Figure(
        "bandit/alignment",
        "beyond the paper",
        "Proposition 1 against Monte Carlo",
        "Cosine gap of a batch gradient at a frozen policy, K = 100, b = ½: dots measured, lines "
        "the second-order formula with DG's factor w₋²/s².",
        draw_alignment,
        sweep.ALIGNMENT,
    ),
    Figure(
        "bandit/robustness",
        "beyond the paper",
        "Robustness in K, B, b and η",
        "Error averaged over training, one quantity varied at a time; dashed: PG.",
        draw_robustness,
        sweep.ROBUSTNESS,
    ),
)
