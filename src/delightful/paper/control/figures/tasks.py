"""Figures 10–12 and 25, 26 of the paper."""

import contextlib

import polars as pl

from delightful.agents.control.config import LEAST_WEIGHT
from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import along, label, line, methods
from delightful.lab.tables import means
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.control import scores
from delightful.paper.control.figures.readings import for_both
from delightful.paper.control.scores import RETURN
from delightful.registry import METHODS

figures = FigureBook("control")
both = for_both(figures)

_RUNS = (
    "Return of the mean action, 4 episodes per evaluation; lines are means over seeds with ±1 "
    "standard error."
)
_FINAL = (
    f"Final return is the mean of the evaluations in the last {scores.LAST:.0%} of a run, and of "
    f"no fewer than {scores.FEWEST}."
)


@both("Figure 10", "Final return by task", "tasks", caption=_FINAL)
def rewards(table: pl.DataFrame) -> Drawing:
    """Final return by task: a dot per seed, a bar at their mean."""
    with contextlib.suppress(NotMeasuredError):  # tasks that every method has, if there are any
        table = scores.complete(table)
    rows = scores.final(table)
    tasks = rows["task"].unique().sort().to_list()
    figure, (axis,) = style.panels(1, width=max(4.5, 1.1 * len(tasks)), height=2.8)
    names = methods(table)
    for k, name in enumerate(names):
        colour = style.colour(name)
        mine = rows.filter(pl.col("method") == name)
        offset = (k - (len(names) - 1) / 2) * 0.2
        at = [tasks.index(task) + offset for task in mine["task"]]
        means = mine.group_by("task", maintain_order=True).agg(pl.col("final").mean()).sort("task")
        places = [tasks.index(task) + offset for task in means["task"]]
        axis.bar(places, means["final"], 0.18, color=colour, alpha=0.5, label=label(name))
        axis.plot(at, mine["final"], ".", color=colour, ms=4)
    axis.set_xticks(range(len(tasks)), [task.replace(":", "\n") for task in tasks], fontsize=7)
    axis.grid(axis="x", visible=False)
    axis.set_ylabel("final return")
    style.legend(axis)
    return Drawing(figure, rows)


@both("Figure 11", "humanoid:run", "humanoid", caption=_RUNS, name="humanoid")
def curves(table: pl.DataFrame) -> Drawing:
    """Return along training, a panel per task."""
    tasks = table["task"].unique().sort().to_list()
    columns = min(4, len(tasks))
    rows = -(-len(tasks) // columns)
    figure, axes = style.panels(rows * columns, width=2.4, height=1.9, rows=rows)
    parts = []
    for axis, task in zip(axes, tasks, strict=False):
        mine = table.filter(pl.col("task") == task)
        numbers = along(axis, mine, RETURN)
        parts.append(numbers.with_columns(task=pl.lit(task)))
        axis.set_title(task)
        axis.locator_params(axis="x", nbins=3)
        axis.ticklabel_format(axis="x", style="sci", scilimits=(0, 0), useMathText=True)
    for axis in axes[len(tasks) :]:
        axis.axis("off")
    for axis in axes[::columns]:
        axis.set_ylabel("return")
    if len(tasks) < len(axes):  # a panel is left over
        drawn = [zip(*axis.get_legend_handles_labels(), strict=True) for axis in axes]
        lines = {name: line for pairs in drawn for line, name in pairs}  # not all are in each panel
        axes[-1].legend(lines.values(), lines.keys(), loc="center")
    else:
        style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


@both(
    "Figure 12",
    "Aggregate regret",
    "tasks",
    caption="R_best − R_k, averaged over the tasks that all methods have; R_best is the best mean "
    f"over seeds that any method has at any evaluation of the task. {_RUNS}",
)
def regret(table: pl.DataFrame) -> Drawing:
    """Regret averaged over tasks, along training."""
    table = scores.balanced(scores.complete(table))
    figure, (axis,) = style.panels(1)
    numbers = along(axis, scores.mean_regret(table), "regret")
    axis.set(ylabel=f"regret, mean of {table['task'].n_unique()} tasks", ylim=(0, None))
    axis.locator_params(axis="x", nbins=4)
    style.legend(axis)
    return Drawing(figure, numbers)


both("Figure 25", "Learning curves", "tasks", caption=_RUNS, appendix=True)(curves)


@both(
    "Figure 26",
    "PPO's clip and MPO's temperature on cartpole:swingup",
    "tuning",
    appendix=True,
    caption=f"Dashed: the paper's values. {_FINAL} MPO's weights at high temperatures are smaller "
    f"than the {LEAST_WEIGHT:g} by which they are divided at least: steps then are smaller, too.",
)
def tuning(table: pl.DataFrame) -> Drawing:
    """Return against PPO's clip and MPO's temperature; the defaults are dashed."""
    figure, axes = style.panels(2)
    parts = []
    for axis, (name, option) in zip(axes, (("ppo", "clip"), ("mpo", "temperature")), strict=True):
        rows = scores.final_by_option(table, name, option)
        if rows[option].n_unique() < 2:
            raise NotMeasuredError(f"it needs several values of {name}'s {option}")
        numbers = means(rows, "final", (option,))
        look = {"marker": "o", "ms": 3.5, **style.look(name)}
        line(axis, numbers, option, label=METHODS[name].label, **look)
        axis.axvline(METHODS[name].defaults[option], color="#555555", ls="--", lw=1)
        axis.set_xscale("log")
        axis.set(xlabel=f"{METHODS[name].label} {option}", ylabel="final return", ylim=(0, None))
        parts.append(numbers.rename({option: "value"}).with_columns(method=pl.lit(name)))
    return Drawing(figure, pl.concat(parts))


both(
    "beyond the paper",
    "Dog and quadruped",
    "dogs",
    caption=_RUNS,
    name="dogs",
    appendix=True,
)(curves)
