"""Figure 6 of the paper."""

from typing import Any

import polars as pl

from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import along, side_by_side
from delightful.paper.contexts import sweep

FIGURES = FigureBook("contexts")


def _error(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="Average error", ylabel="average error  1 − p̄", ylim=(0, 1.02))
    return along(axis, table, "error")


def _misalignment(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    numbers = along(axis, table, "misalignment")
    axis.set(title="Misalignment to cross-entropy", ylabel="1 − cos(g, g*)", ylim=(-0.01, None))
    return numbers


@FIGURES.add("Figure 6", "Independent contexts, exact gradients", sweep=sweep.TRAINING)
def curves(table: pl.DataFrame) -> Drawing:
    """Average error (a) and misalignment to the cross-entropy oracle (b); N = 100 contexts, K = 10
    actions, N(0, 1) logits, α = 0.1, exact population gradients. Mean over seeds, band ±1 standard
    error."""
    return side_by_side(table, _error, _misalignment)


@FIGURES.add("Figure 6a", "Average error", sweep=sweep.TRAINING, panel=True)
def error(table: pl.DataFrame) -> Drawing:
    """Average error."""
    return side_by_side(table, _error)


@FIGURES.add("Figure 6b", "Misalignment to cross-entropy", sweep=sweep.TRAINING, panel=True)
def misalignment(table: pl.DataFrame) -> Drawing:
    """Misalignment 1 − cos(g, g*_CE)."""
    return side_by_side(table, _misalignment)
