"""Figure 6 of the paper."""

import polars as pl

from delightful.experiments.contexts import sweep
from delightful.lab import style
from delightful.lab.curves import draw_by_step
from delightful.lab.experiment import Drawing, Figure


def draw_error(table: pl.DataFrame) -> Drawing:
    figure, (axis,) = style.panels(1)
    numbers = draw_by_step(axis, table, "error")
    axis.set(ylabel="average error  1 − p̄", ylim=(0, 1.02))
    axis.legend()
    return Drawing(figure, numbers)


def draw_misalignment(table: pl.DataFrame) -> Drawing:
    figure, (axis,) = style.panels(1)
    numbers = draw_by_step(axis, table, "misalignment")
    axis.set(ylabel="1 − cos(g, g*) to cross-entropy", ylim=(-0.01, None))
    axis.legend()
    return Drawing(figure, numbers)


def draw_pair(table: pl.DataFrame) -> Drawing:
    figure, (left, right) = style.panels(2)
    error = draw_by_step(left, table, "error")
    left.set(ylabel="average error  1 − p̄", ylim=(0, 1.02), title="(a) Average error")
    misalignment = draw_by_step(right, table, "misalignment")
    right.set(
        ylabel="1 − cos(g, g*)", ylim=(-0.01, None), title="(b) Misalignment to cross-entropy"
    )
    left.legend()
    return Drawing(figure, pl.concat([error, misalignment]))


FIGURES = (
    Figure(
        "contexts/curves",
        "Figure 6",
        "Independent contexts, exact gradients",
        "N = 100 contexts, K = 10 actions, N(0, 1) logits, α = 0.1, exact population gradients; "
        "mean over seeds, band ±1 standard error. DG converges faster than PG (a) because it moves "
        "budget to hard contexts (b).",
        draw_pair,
        sweep.TRAINING,
    ),
    Figure(
        "contexts/error",
        "Figure 6a",
        "Average error",
        "Average error.",
        draw_error,
        sweep.TRAINING,
        panel=True,
    ),
    Figure(
        "contexts/misalignment",
        "Figure 6b",
        "Misalignment to cross-entropy",
        "Misalignment 1 − cos(g, g*_CE).",
        draw_misalignment,
        sweep.TRAINING,
        panel=True,
    ),
)
