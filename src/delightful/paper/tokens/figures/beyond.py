"""Beyond the paper: all-or-nothing rewards, and what the gate does."""

import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import along, label, line, methods
from delightful.lab.tables import by_step, with_role
from delightful.paper.tokens import sweep
from delightful.paper.tokens.figures.appendix import by_reward

figures = FigureBook("tokens")


@figures.add("beyond the paper", "All-or-nothing reward", sweep=sweep.ALL_OR_NOTHING, appendix=True)
def all_or_nothing(table: pl.DataFrame) -> Drawing:
    """An answer earns 1 if it is faultless and 0 otherwise, so at first nearly every batch has no
    gradient."""
    lengths = sorted(table["length"].unique().to_list())
    return by_reward(table, [table["reward"][0]], "length", lengths)


@figures.add(
    "beyond the paper", "What the gate does to Token Reversal", sweep=sweep.CURVES, appendix=True
)
def gate(table: pl.DataFrame) -> Drawing:
    """(a) DG's gate at η = 1, averaged over the tokens of answers above and below their baseline; a
    batch without any counts as ½. (b) Mean surprisal of the sampled tokens. On average the gate is
    near ½ here: what it changes is the weight of the few rare tokens."""
    figure, axes = style.panels(2)
    name = (methods(with_role(table, "main")) or methods(table))[0]
    rows = table.filter(pl.col("method") == name)
    gates = {"gate_good": ("above the baseline", "#2ca02c"), "gate_bad": ("below it", "#d62728")}
    parts = []
    for metric, (text, colour) in gates.items():
        parts.append(by_step(rows, metric))
        line(axes[0], parts[-1], "step", label=text, colour=colour)
    parts.append(along(axes[1], table, "surprisal"))
    axes[0].set(title=f"(a) mean gate of {label(name)}", ylabel="gate w")
    axes[1].set(title="(b) surprisal of sampled tokens", ylabel="nats")
    if not parts[-1].filter(pl.col("mean") > 0).is_empty():
        axes[1].set_yscale("log")
    for axis in axes:
        axis.set_xlabel("batches of episodes")
        style.legend(axis)
    return Drawing(figure, pl.concat(parts))
