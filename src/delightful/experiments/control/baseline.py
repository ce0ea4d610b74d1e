"""Whether a baseline is a strong one: MPO over 500,000 steps, and public scores of MPO."""

import polars as pl

from delightful.experiments.control import published, scores, sweep
from delightful.experiments.control.figures import curves
from delightful.lab.experiment import Drawing, Figure


def along(table: pl.DataFrame) -> Drawing:
    """Return along training, a panel per task; public MPO's scores up to its end are points."""
    end = int(table["steps"].max())  # type: ignore[arg-type]
    public = published.scores().filter(pl.col("agent").str.contains("MPO"), pl.col("step") <= end)
    drawing = curves(table)
    drawn = []
    for axis in drawing.figure.axes:
        for (agent,), mine in public.filter(pl.col("task") == axis.get_title()).group_by("agent"):
            axis.plot(mine["step"], mine["score"], "o", ms=3, color="#555555", label=agent)
            axis.legend(loc="upper left")
            drawn.append(mine)
    numbers = pl.concat([drawing.numbers, scores.final(table), *drawn], how="diagonal_relaxed")
    return Drawing(drawing.figure, numbers)


FIGURES = (
    Figure(
        "control/baseline",
        "beyond the paper",
        "Our MPO over the steps of public scores",
        "Return of the mean action, 4 episodes per evaluation, mean over seeds with ±1 standard "
        "error. Points: MPO's scores in the CSV that DELIGHTFUL_SCORES names.",
        along,
        sweep.BASELINE,
    ),
)
