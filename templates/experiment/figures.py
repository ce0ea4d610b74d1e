"""What is drawn: a function whose docstring begins with the figure's caption."""

from typing import Any

import polars as pl

from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import along, side_by_side
from delightful.paper.experiment import sweep

FIGURES = FigureBook("experiment")


def _error(axis: Any, table: pl.DataFrame) -> pl.DataFrame:
    axis.set(ylabel="error  1 − π(better arm)", ylim=(0, 1.02))
    return along(axis, table, "error")


@FIGURES.add("beyond the paper", "Two arms", sweep=sweep.TRAINING, appendix=True)
def error(table: pl.DataFrame) -> Drawing:
    """Error along training. Mean over seeds, band ±1 standard error."""
    return side_by_side(table, _error)
