"""What DG's gate does in control: whether it is alive, and how often a density inverts it."""

from typing import Any

import polars as pl

from delightful.agents.control.config import ControlConfig
from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import line
from delightful.lab.statistics import t_interval
from delightful.lab.tables import by_step
from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.control import scores, sweep
from delightful.paper.control.figures.readings import for_both
from delightful.paper.control.scores import RETURN

figures = FigureBook("control")
both = for_both(figures)

DASHES = {"replayed": "-", "fresh": ":"}
METRICS = {
    "measured_surprisal": "mean surprisal",
    "inverted": "share with density > 1",
}


@figures.add("beyond the paper", "Is the gate alive?", sweep=sweep.GATES, appendix=True)
def gates(table: pl.DataFrame) -> Drawing:
    """DG's gate along training, for both readings of the actor's update. Above: the mean gate of
    scored actions with U > 0 and, pale, of those with U < 0; a gate of ½ (grey) does nothing.
    Between: their mean −log π, before it is clipped. Below: the share whose density exceeds 1, so
    that −log π is negative and the gate inverts. Means over seeds, ±1 standard error."""
    tasks = table["task"].unique().sort().to_list()
    rows = 1 + len(METRICS)
    figure, axes = style.panels(rows * len(tasks), rows=rows, width=2.8, height=1.9)
    colour, parts = style.colour("dg"), []
    for k, task in enumerate(tasks):
        mine = table.filter(pl.col("task") == task)
        column = axes[k :: len(tasks)]
        column[0].axhline(0.5, color="#999999", lw=1)
        column[0].set(title=task, ylim=(0, 1))
        for axis, metric, pale in (
            (column[0], "gate_good", False),
            (column[0], "gate_bad", True),
            *((axis, name, False) for axis, name in zip(column[1:], METRICS, strict=True)),
        ):
            numbers = by_step(mine, metric, ("reading",)).with_columns(task=pl.lit(task))
            for reading, dashes in DASHES.items():
                part = numbers.filter(pl.col("reading") == reading)
                if part.is_empty():
                    continue
                look: dict[str, Any] = {"linestyle": dashes, "alpha": 0.4 if pale else 1.0}
                line(axis, part, "step", colour=colour, label="" if pale else reading, **look)
            parts.append(numbers)
    for axis, words in zip(axes[:: len(tasks)], ("mean gate", *METRICS.values()), strict=True):
        axis.set_ylabel(words)
    for axis in axes:
        axis.set_xlabel("step")
        axis.locator_params(axis="x", nbins=4)
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


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
    joined = mode.join(density, on="seed", suffix="_density")
    if joined.is_empty():
        raise NotMeasuredError("no seed has been run with either surprisal")
    lead = t_interval((joined["final"] - joined["final_density"]).to_numpy())
    return {"mean": lead.value, "low": lead.low, "high": lead.high}


@both(
    "beyond the paper",
    "How often a density above 1 inverts DG's gate, and whether it matters",
    "surprisal",
    appendix=True,
    caption="Above: the share of scored actions whose density exceeds 1, so that −log π is "
    "negative and the gate turned over. Between: the mean gate of those with U > 0, and of those "
    "with U < 0: turned over as a whole, it would be below ½ for the former. Below: the return "
    "with that surprisal, and with surprisal relative to the mode, which is never negative; its "
    "lead at the end has Student's 95% interval. Means over seeds, ±1 standard error. In one "
    "dimension a density can exceed 1 below a "
    f"deviation of 0.4; ours starts at {ControlConfig().deviation:g}, held by a KL term, and "
    f"was started at {sweep.NARROW:g} too; clip {ControlConfig().max_surprisal:g}.",
)
def inversion(table: pl.DataFrame) -> Drawing:
    """How often a density above 1 turns the gate over, what the gate comes to, and the return."""
    place = ("task", "deviation")
    either = table.filter(pl.col("surprisal").n_unique().over(place) == 2)
    if either.is_empty():
        raise NotMeasuredError("it needs runs with either surprisal on one task")
    panels = either.partition_by(place, maintain_order=True, as_dict=True)
    count = len(panels)
    figure, axes = style.panels(3 * count, rows=3, width=2.8, height=1.9)
    parts = []
    highest = float(by_step(either, "inverted", ("surprisal", *place))["mean"].max())  # type: ignore[arg-type]
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
    said = ("actions of density > 1", "mean gate\n(pale: U < 0)", "return")
    for axis, words in zip(axes[::count], said, strict=True):
        axis.set_ylabel(words)
    for axis in axes:
        axis.locator_params(axis="x", nbins=4)
    style.legend(axes[2 * count])
    return Drawing(figure, pl.concat(parts, how="diagonal"))
