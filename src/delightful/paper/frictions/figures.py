"""Figures on frictions: error against their strength, learning curves, and the lead in samples."""

from typing import Any

import numpy as np
import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import against, along, letter, logarithmic, same_heights, ticks
from delightful.lab.tables import varying
from delightful.paper.frictions import sweep
from delightful.paper.frictions.runs import (
    REACHED,
    at_best_rates,
    final_errors,
    multiples,
    reached,
)

FIGURES = FigureBook("frictions")

TITLES = {
    "delay": ("stale actors", "up to D updates old"),
    "bugs": ("bugs", "probability"),
    "corruption": ("corrupted rewards", "probability"),
    "discovery": ("rare discoveries", "probability"),
    sweep.ALL: ("all at once", "times the default"),
}


def _strengths(table: pl.DataFrame) -> Drawing:
    """The final error against each friction alone, and against all at once."""
    figure, axes = style.panels(len(TITLES), width=2.2)
    finals = final_errors(table)
    parts = []
    for axis, (field, (title, words)) in zip(axes, TITLES.items(), strict=True):
        rows = multiples(finals) if field == sweep.ALL else varying(finals, field)
        numbers = against(axis, at_best_rates(rows, "final", field), field, "final")
        parts.append(numbers.rename({field: "strength"}).with_columns(friction=pl.lit(field)))
        _by_strength(axis, sorted(rows[field].unique().to_list()))
        logarithmic(axis, numbers)
        axis.set(title=title, xlabel=words)
    axes[0].set_ylabel("final error")
    same_heights(axes)
    letter(axes)
    style.legend_outside(axes[-1])
    return Drawing(figure, pl.concat(parts))


def _by_strength(axis: Any, values: list[float]) -> None:
    """A logarithmic axis that shows 0 as well, with the values that were run."""
    smallest = min((x for x in values if x > 0), default=1.0)
    axis.set_xscale("symlog", linthresh=smallest)
    axis.set_xticks(values, labels=[f"{x:g}" for x in values])
    axis.minorticks_off()


@FIGURES.add(
    "beyond the paper",
    "Token Reversal against the strength of frictions",
    sweep=sweep.TOKENS_SWEEP,
    appendix=True,
)
def tokens(table: pl.DataFrame) -> Drawing:
    """The share of wrong tokens in the policy's own answers, before any is replaced, over the last
    tenth of training; each method at the best of the learning rates that were run. (a) to (d) one
    friction alone, (e) all four at once: at 1, actors up to 10 updates old, 10% bugs, 10% corrupted
    rewards and 1% discoveries."""
    return _strengths(table)


@FIGURES.add(
    "beyond the paper",
    "MNIST against the strength of frictions",
    sweep=sweep.MNIST_SWEEP,
    appendix=True,
)
def mnist(table: pl.DataFrame) -> Drawing:
    """As on Token Reversal, the probability that an action of the learner's policy is wrong. All
    four at once: at 1, actors up to 100 updates old, the others as there."""
    return _strengths(table)


@FIGURES.add(
    "beyond the paper",
    "Learning curves with all four frictions",
    sweep=sweep.DIFFICULTY,
    appendix=True,
)
def curves(table: pl.DataFrame) -> Drawing:
    """The share of wrong tokens in the policy's own answers, with prompts of several lengths H and
    all four frictions at once; each method at the learning rate with the lowest average error."""
    lengths = sorted(table["length"].unique().to_list())
    figure, axes = style.panels(len(lengths))
    best = at_best_rates(table, "error", "length")
    parts = []
    for axis, length in zip(axes, lengths, strict=True):
        numbers = along(axis, best.filter(pl.col("length") == length), "error")
        parts.append(numbers.with_columns(length=pl.lit(length)))
        logarithmic(axis, numbers)
        axis.axhline(REACHED, color="#999999", lw=0.8, ls="--")
        axis.set(title=f"H = {length}", xlabel="batches of episodes")
    axes[0].set_ylabel("error")
    same_heights(axes)
    letter(axes)
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


@FIGURES.add(
    "beyond the paper",
    "Samples that are needed with all four frictions",
    sweep=sweep.DIFFICULTY,
    appendix=True,
    caption=f"Batches until {REACHED:.0%} of the tokens in the policy's own answers are wrong, "
    "against the length H of prompts; each method at its best learning rate. A run that does not "
    "get there counts with its length: at the dotted line, values are lower bounds.",
)
def difficulty(table: pl.DataFrame) -> Drawing:
    """Batches until the error is below a bound, against the length of prompts."""
    rows = _batches(table)
    figure, (axis,) = style.panels(1)
    numbers = against(axis, at_best_rates(rows, "batches", "length"), "length", "batches")
    ticks(axis, sorted(rows["length"].unique().to_list()))
    axis.axhline(table["steps"].max(), color="#999999", lw=0.8, ls=":")
    axis.set(yscale="log", xlabel="length H", ylabel="batches")
    style.legend(axis)
    return Drawing(figure, numbers)


def _batches(table: pl.DataFrame) -> pl.DataFrame:
    """One row per run, with `batches`, when it got there."""
    keys = ("method", "length", "learning_rate", "seed")
    found = []
    for key, run in table.sort("step").group_by(*keys, maintain_order=True):
        steps = reached(run["error"].to_numpy()[None], np.asarray(run["step"])).steps
        found.append(dict(zip(keys, key, strict=True)) | {"batches": float(steps[0])})
    return pl.DataFrame(found)
