"""What is drawn: each figure names the sweep that it needs."""

from typing import Any

import polars as pl

from delightful.lab.experiment import Figure
from delightful.lab.plotting import along, side_by_side
from delightful.paper.experiment import sweep


def _error(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(ylabel="error  1 − π(better arm)", ylim=(0, 1.02))
    return along(axis, table, "error")


FIGURES = (
    Figure(
        "experiment/error",
        "beyond the paper",
        "Two arms",
        "Error along training. Mean over seeds, band ±1 standard error.",
        side_by_side(_error),
        sweep.TRAINING,
    ),
)
