"""Beyond the paper: the other reading of "two-layer", and what the gate does."""

import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import along, label, line, methods, percent, same_heights
from delightful.lab.tables import by_step, with_role
from delightful.paper.mnist import sweep
from delightful.paper.mnist.runs import main_runs

figures = FigureBook("mnist")
_GATES = (
    {"gate_right": ("right answers", "#2ca02c"), "gate_wrong": ("wrong answers", "#d62728")},
    {
        "gate_suppressed": ("below 0.2", "#d62728"),
        "gate_neutral": ("0.4 to 0.6", "#7f7f7f"),
        "gate_open": ("above 0.8", "#2ca02c"),
    },
)


@figures.add("beyond the paper", "One hidden layer or two", sweep=sweep.DEPTH, appendix=True)
def depth(table: pl.DataFrame) -> Drawing:
    """The paper's 'two-layer' network read as two hidden layers, the default, or as one."""
    rows = main_runs(table)
    depths = sorted(rows["layers"].unique().to_list(), reverse=True)
    figure, axes = style.panels(len(depths))
    parts = []
    for axis, layers in zip(axes, depths, strict=True):
        mine = rows.filter(layers=layers)
        parts.append(along(axis, mine, "train_error", keys=("method", "layers")))
        axis.set(title=f"hidden layers: {layers}", yscale="log")
        percent(axis)
    same_heights(axes)
    axes[0].set_ylabel("error on training batches")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts))


@figures.add("beyond the paper", "What the gate does to MNIST", sweep=sweep.CURVES, appendix=True)
def gate(table: pl.DataFrame) -> Drawing:
    """In expectation over the policy's actions on fresh batches: right answers are mostly expected,
    with a gate near ½; wrong ones are mostly surprises, and are suppressed."""
    figure, axes = style.panels(2)
    rows = main_runs(table)
    name = (methods(with_role(rows, "main")) or methods(rows))[0]
    rows = rows.filter(pl.col("method") == name)
    parts = []
    for axis, metrics in zip(axes, _GATES, strict=True):
        for metric, (text, colour) in metrics.items():
            parts.append(by_step(rows, metric))
            line(axis, parts[-1], "step", label=text, colour=colour)
        axis.set_xlabel("step")
    axes[0].set(title=f"(a) mean gate of {label(name)}", ylabel="gate w", ylim=(0, 1))
    axes[1].set(title="(b) share of actions by gate", ylabel="share", yscale="log")
    style.legend(axes[0])
    style.legend(axes[1], (0.6, 0.62))  # between the lines
    return Drawing(figure, pl.concat(parts))
