"""Whether a baseline is a strong one: MPO over 500,000 steps, and public scores of MPO."""

import polars as pl

from delightful.lab.experiment import Drawing, FigureBook
from delightful.paper.control import public_scores, scores, sweep
from delightful.paper.control.figures.tasks import curves

figures = FigureBook("control")


@figures.add(
    "beyond the paper",
    "Our MPO over the steps of public scores",
    sweep=sweep.BASELINE,
    appendix=True,
)
def baseline(table: pl.DataFrame) -> Drawing:
    """Return of the mean action, 4 episodes per evaluation, mean over seeds with ±1 standard error.
    Points: MPO's scores in the CSV that DELIGHTFUL_SCORES names."""
    end = int(table["steps"].max())  # type: ignore[arg-type]
    public = public_scores.scores().filter(pl.col("agent").str.contains(r"\bMPO$"))
    public = public.filter(pl.col("step") <= end).sort("agent", "task", "step")
    marks = dict(zip(public["agent"].unique(maintain_order=True), "ox^sdv+", strict=False))
    drawing = curves(table)
    drawn = []
    for axis in drawing.figure.axes:
        mine = public.filter(pl.col("task") == axis.get_title())
        for (agent,), part in mine.group_by("agent", maintain_order=True):
            look = {"marker": marks.get(str(agent), "."), "mfc": "none", "color": "#333333"}
            axis.plot(part["step"], part["score"], ls="", label=agent, **look)
            axis.legend(loc="best", fontsize=6)
            drawn.append(part)
    numbers = pl.concat([drawing.numbers, scores.final(table), *drawn], how="diagonal_relaxed")
    return Drawing(drawing.figure, numbers)
