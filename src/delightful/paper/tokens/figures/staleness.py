"""Beyond the paper: what the age of the actors' parameters does to every method."""

from typing import Any

import numpy as np
import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import against, label, letter, logarithmic, methods, percent
from delightful.lab.statistics import t_interval
from delightful.paper.tokens import sweep
from delightful.paper.tokens.runs import by_seed, ends

figures = FigureBook("tokens")

FEWEST = 4  # seeds for an interval: those of 2 or 3 are so wide that they hide all others


def at_best_rates(table: pl.DataFrame) -> pl.DataFrame:
    """The last records, of each method and delay at the learning rate with the lowest mean regret
    of those that were run."""
    rows = ends(table)
    key = ["method", "delay"]
    by_rate = rows.group_by(*key, "learning_rate").agg(pl.col("regret").mean())
    best = by_rate.sort("regret", "learning_rate").group_by(key, maintain_order=True).first()
    return rows.join(best.select(*key, "learning_rate"), on=[*key, "learning_rate"], how="semi")


def leads(rows: pl.DataFrame) -> pl.DataFrame:
    """By how much each method's regret is above DG's at each delay, with 95% intervals, on the
    seeds that both have, at least FEWEST."""
    found = []
    for delay in sorted(rows["delay"].unique().to_list()):
        at = rows.filter(pl.col("delay") == delay)
        if "dg" not in set(at["method"]):
            continue
        dg = by_seed(at, "regret", method="dg")
        for spec in (name for name in methods(at) if name != "dg"):
            other = by_seed(at, "regret", method=spec)
            shared = min(len(dg), len(other))
            if shared >= FEWEST:
                gap = t_interval(other[:shared] - dg[:shared])
                row = {"method": spec, "delay": delay, "metric": "regret − DG's", "seeds": shared}
                found.append(row | {"mean": gap.value, "low": gap.low, "high": gap.high})
    return pl.DataFrame(found, schema_overrides={"seeds": pl.UInt32})


def _by_delay(axis: Any, delays: list[int]) -> None:
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xticks(delays, labels=[str(delay) for delay in delays])
    axis.minorticks_off()
    axis.set_xlim(-0.3, 1.5 * max(1, *delays))
    axis.set_xlabel("actors up to D updates old")


@figures.add(
    "beyond the paper", "Stale actors", name="staleness", sweep=sweep.STALENESS, appendix=True
)
def staleness(table: pl.DataFrame) -> Drawing:
    """Each actor samples with parameters of an age that is uniform over the last D + 1 updates;
    every method at the best of the learning rates that were run. Errors are those of the answers
    that the actors gave, which lag the learner's by D/2 updates on average. (a) Error averaged over
    training, (b) error at its end, on a linear scale, since some runs end without any, (c) average
    error less DG's, with 95% intervals over seeds, from 4 of them on."""
    figure, axes = style.panels(3, width=3.0)
    rows = at_best_rates(table)
    delays = sorted(rows["delay"].unique().to_list())
    parts = []
    for axis, metric in zip(axes, ("regret", "error"), strict=False):
        parts.append(against(axis, rows, "delay", metric))
    logarithmic(axes[0], parts[0])
    axes[1].set_ylim(bottom=0)
    gaps = leads(rows)
    for name in methods(gaps) if gaps.height else []:
        mine = gaps.filter(pl.col("method") == name).sort("delay")
        ends_ = np.abs(mine.select("low", "high").to_numpy().T - mine["mean"].to_numpy())
        look = style.look(name)
        axes[2].errorbar(
            mine["delay"],
            mine["mean"],
            yerr=ends_,
            color=look["colour"],
            linestyle=look["linestyle"],
            marker="o",
            ms=3.5,
            capsize=2,
            label=label(name),
        )
    axes[2].axhline(0, color=style.colour("dg"), label=label("dg"))
    axes[0].set(title="average error", ylabel="error")
    axes[1].set(title="final error")
    axes[2].set(title="average error, less DG's")
    for axis in axes:
        _by_delay(axis, delays)
    for axis in axes[1:]:
        percent(axis)
    style.legend_outside(axes[2])
    letter(axes)
    parts = [
        part.with_columns(pl.col("delay").cast(pl.Float64))
        for part in (*parts, gaps)
        if part.height
    ]
    return Drawing(figure, pl.concat(parts, how="diagonal"))
