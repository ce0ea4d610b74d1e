"""Figures 10–12 and 25, 26 of the paper; and how often a density inverts the gate."""

import contextlib
from typing import Any

import polars as pl

from delightful.agents.control.config import LEAST_WEIGHT, ControlConfig
from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import along, label, line, methods
from delightful.lab.statistics import t_interval
from delightful.lab.tables import by_step, means
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.control import scores, sweep
from delightful.paper.control.scores import RETURN
from delightful.registry import METHODS

figures = FigureBook("control")

_RUNS = (
    "Return of the mean action, 4 episodes per evaluation; lines are means over seeds with ±1 "
    "standard error."
)
_FINAL = (
    f"Final return is the mean of the evaluations in the last {scores.LAST:.0%} of a run, and of "
    f"no fewer than {scores.FEWEST}."
)


@figures.add("Figure 10", "Final return by task", sweep=sweep.TASKS, caption=_FINAL)
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


@figures.add("Figure 11", "humanoid:run", sweep=sweep.HUMANOID, caption=_RUNS, name="humanoid")
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


@figures.add(
    "Figure 12",
    "Aggregate regret",
    sweep=sweep.TASKS,
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


figures.add("Figure 25", "Learning curves", sweep=sweep.TASKS, caption=_RUNS, appendix=True)(curves)


@figures.add(
    "Figure 26",
    "PPO's clip and MPO's temperature on cartpole:swingup",
    sweep=sweep.TUNING,
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


figures.add(
    "beyond the paper",
    "Dog and quadruped",
    sweep=sweep.DOGS,
    caption=_RUNS,
    name="dogs",
    appendix=True,
)(curves)


def _either(axis: Any, table: pl.DataFrame, metric: str, *, pale: bool = False) -> pl.DataFrame:
    """A line for each surprisal; the numbers drawn."""
    numbers = by_step(table, metric, ("surprisal",))
    for kind, method, dashes in (("density", "dg", "-"), ("mode", "exponent", "--")):
        look: dict[str, Any] = {"colour": style.colour(method), "linestyle": dashes}
        part = numbers.filter(pl.col("surprisal") == kind)
        line(axis, part, "step", label=kind, alpha=0.4 if pale else 1.0, **look)
    return numbers


def _lead(table: pl.DataFrame) -> dict[str, float]:
    """By how much surprisal relative to the mode ends higher, with Student's interval."""
    density, mode = (scores.final(table.filter(surprisal=kind)) for kind in ("density", "mode"))
    both = mode.join(density, on="seed", suffix="_density")
    if both.is_empty():
        raise NotMeasuredError("no seed has been run with either surprisal")
    lead = t_interval((both["final"] - both["final_density"]).to_numpy())
    return {"mean": lead.value, "low": lead.low, "high": lead.high}


@figures.add(
    "beyond the paper",
    "How often a density above 1 inverts DG's gate, and whether it matters",
    sweep=sweep.SURPRISAL,
    appendix=True,
    caption="Above: the share of drawn actions whose density exceeds 1, so that −log π is negative "
    "and the gate turned over. Between: the mean gate of all draws with U > 0, and of those with "
    "U < 0: turned over as a whole, it would be below ½ for the former. Below: the return with "
    "that surprisal, and with surprisal relative to the mode, which is never negative; its "
    "lead at the end has Student's 95% interval. Means over seeds, ±1 standard error. In one "
    "dimension a density can exceed 1 below a "
    f"deviation of 0.4; ours starts at {ControlConfig().deviation:g}, held by a KL term, and "
    f"was started at {sweep.NARROW:g} too; clip {ControlConfig().max_surprisal:g}.",
)
def inversion(table: pl.DataFrame) -> Drawing:
    """How often a density above 1 turns the gate over, what the gate comes to, and the return."""
    place = ("task", "deviation")
    both = table.filter(pl.col("surprisal").n_unique().over(place) == 2)
    if both.is_empty():
        raise NotMeasuredError("it needs runs with either surprisal on one task")
    panels = both.partition_by(place, maintain_order=True, as_dict=True)
    count = len(panels)
    figure, axes = style.panels(3 * count, rows=3, width=2.8, height=1.9)
    parts = []
    highest = float(by_step(both, "inverted", ("surprisal", *place))["mean"].max())  # type: ignore[arg-type]
    for k, ((task, deviation), mine) in enumerate(sorted(panels.items(), key=lambda p: p[0])):
        above, between, below = axes[k], axes[count + k], axes[2 * count + k]
        drawn = [
            _either(above, mine, "inverted"),
            _either(between, mine, "gate_good"),
            _either(between, mine, "gate_bad", pale=True),
            _either(below, mine, RETURN),
        ]
        lead = _lead(mine)
        drawn.append(pl.DataFrame({"metric": "mode − density at the end"} | lead))
        parts += [d.with_columns(task=pl.lit(task), deviation=pl.lit(deviation)) for d in drawn]
        above.set(ylim=(0, max(0.1, 1.05 * highest)))
        above.set_title(f"{task}, deviation from {deviation:g}", fontsize=8)
        title = "mode − density: {mean:+.0f} [{low:+.0f}, {high:+.0f}]".format(**lead)
        below.set_xlabel("step")
        below.set_title(title.replace("-", "−"), fontsize=7)
    said = ("draws of density > 1", "mean gate\n(pale: U < 0)", "return")
    for axis, words in zip(axes[::count], said, strict=True):
        axis.set_ylabel(words)
    for axis in axes:
        axis.locator_params(axis="x", nbins=4)
    style.legend(axes[2 * count])
    return Drawing(figure, pl.concat(parts, how="diagonal"))
