"""Figure 6 of the paper."""

from typing import Any

import polars as pl

from delightful.lab.experiment import Figure
from delightful.lab.plotting import along, side_by_side
from delightful.paper.contexts import sweep


def _error(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(title="Average error", ylabel="average error  1 − p̄", ylim=(0, 1.02))
    return along(axis, table, "error")


def _misalignment(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    numbers = along(axis, table, "misalignment")
    axis.set(title="Misalignment to cross-entropy", ylabel="1 − cos(g, g*)", ylim=(-0.01, None))
    return numbers


FIGURES = (
    Figure(
        "contexts/curves",
        "Figure 6",
        "Independent contexts, exact gradients",
        "Average error (a) and misalignment to the cross-entropy oracle (b); N = 100 contexts, "
        "K = 10 actions, N(0, 1) logits, α = 0.1, exact population gradients. Mean over seeds, "
        "band ±1 standard error.",
        side_by_side(_error, _misalignment),
        sweep.TRAINING,
    ),
    Figure(
        "contexts/error",
        "Figure 6a",
        "Average error",
        "Average error.",
        side_by_side(_error),
        sweep.TRAINING,
        panel=True,
    ),
    Figure(
        "contexts/misalignment",
        "Figure 6b",
        "Misalignment to cross-entropy",
        "Misalignment 1 − cos(g, g*_CE).",
        side_by_side(_misalignment),
        sweep.TRAINING,
        panel=True,
    ),
)
