"""Third-party baselines: public scores of MPO beside ours, and Figures 27 and 28."""

import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import line
from delightful.lab.tables import by_step
from delightful.paper.control import public_scores
from delightful.paper.control.figures.readings import for_both
from delightful.paper.control.figures.tasks import curves
from delightful.paper.control.scores import balanced, final, late
from delightful.paper.control.third_party import dg_and_baselines, with_regret

figures = FigureBook("control")
both = for_both(figures)

COLOURS = {"DG": "dg", "SAC (SBX)": "grpo"}
_CAPTION = (
    "R_best is the best of all that is shown. SBX's SAC was run on the same tasks; public scores "
    "are read from the CSV that DELIGHTFUL_SCORES names, at the step nearest to our runs' end and "
    "at most twice or half of it."
)


@both(
    "beyond the paper",
    "Our MPO over the steps of public scores",
    "baseline",
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
    numbers = pl.concat([drawing.numbers, final(table), *drawn], how="diagonal_relaxed")
    return Drawing(drawing.figure, numbers)


@both(
    "Figure 27",
    "Regret against other codebases",
    "external",
    caption=_CAPTION,
    appendix=True,
)
def tuned(table: pl.DataFrame) -> Drawing:
    """Regret averaged over tasks; public agents that have all of them are points at their step."""
    runs, others = with_regret(balanced(dg_and_baselines(table)))
    tasks = runs["task"].n_unique()
    means = runs.group_by("agent", "seed", "step", maintain_order=True).agg(pl.col("regret").mean())
    numbers = by_step(means, "regret", ("agent",))
    points = (
        others.group_by("agent", maintain_order=True)
        .agg(pl.col("regret").mean().alias("mean"), pl.col("step").mean(), pl.len().alias("tasks"))
        .filter(pl.col("tasks") == tasks)
        .sort("mean", descending=True)
    )
    figure, (axis,) = style.panels(1, width=3.3 if points.is_empty() else 5.0)
    for (name,), part in numbers.group_by("agent", maintain_order=True):
        line(axis, part, "step", label=str(name), colour=style.colour(COLOURS[str(name)]))
    looks = _public_looks(others)
    for name, mean, step in points.select("agent", "mean", "step").rows():
        axis.plot(step, mean, "o", ms=4, color=looks[name], label=f"{name}, {step / 1e6:.2g}M")
    axis.set(xlabel="step", ylabel=f"regret, mean of {tasks} tasks", ylim=(0, None))
    axis.locator_params(axis="x", nbins=4)
    (style.legend if points.is_empty() else style.legend_outside)(axis)
    points = points.with_columns(pl.col("step").cast(numbers["step"].dtype))
    return Drawing(figure, pl.concat([numbers, points], how="diagonal"))


@both("Figure 28", "Regret by task", "external", caption=_CAPTION, appendix=True)
def tuned_tasks(table: pl.DataFrame) -> Drawing:
    """Regret at the end, task by task: bars of what was run, points of public scores."""
    runs, others = with_regret(dg_and_baselines(table))
    keys = ("task", "agent")
    ends = late(runs).group_by(*keys, maintain_order=True)
    ours = ends.agg(pl.col("steps").max().cast(pl.Int64).alias("step"), pl.col("regret").mean())
    ours, others = ours.sort(*keys), others.select(ours.columns).sort(*keys)
    tasks = ours["task"].unique().sort().to_list()
    width = max(4.5, 1.1 * len(tasks)) + (0 if others.is_empty() else 1.5)
    figure, (axis,) = style.panels(1, width=width, height=2.8)
    names = ours["agent"].unique().sort().to_list()
    for k, name in enumerate(names):
        mine = ours.filter(pl.col("agent") == name)
        at = [tasks.index(task) + (k - (len(names) - 1) / 2) * 0.4 for task in mine["task"]]
        axis.bar(at, mine["regret"], 0.36, color=style.colour(COLOURS[name]), label=name)
    looks = _public_looks(others)
    for k, (name, colour) in enumerate(looks.items()):
        mine = others.filter(pl.col("agent") == name)
        at = [tasks.index(task) + (k + 0.5) / len(looks) * 0.7 - 0.35 for task in mine["task"]]
        look = {"ms": 4, "mec": "white", "mew": 0.4, "color": colour}
        axis.plot(at, mine["regret"], "o", label=name, **look)
    axis.set_xticks(range(len(tasks)), [task.replace(":", "\n") for task in tasks], fontsize=7)
    axis.grid(axis="x", visible=False)
    axis.set_ylabel("regret at the end")
    (style.legend if others.is_empty() else style.legend_outside)(axis)
    return Drawing(figure, pl.concat([ours, others]))


def _public_looks(others: pl.DataFrame) -> dict[str, str]:
    """A colour for each public agent, from the most regret on its tasks to the least."""
    means = others.group_by("agent", maintain_order=True).agg(pl.col("regret").mean())
    names = means.sort("regret", "agent", descending=True)["agent"].to_list()
    return {
        name: style.shade("viridis", k / max(1, len(names) - 1)) for k, name in enumerate(names)
    }
