"""The grid on which the settings for replayed actions are chosen."""

from typing import Any

import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import against, label, ticks
from delightful.lab.tables import means, varying
from delightful.paper.control import scores, sweep

figures = FigureBook("control")

_KEYS = ("task", "method", "kl", "choice", "seed")


def _words(choice: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in choice.items()) or "as it is"


def _with_choice(table: pl.DataFrame) -> pl.DataFrame:
    """The table with `choice`, which of the shared choices a run has; the last that fits."""
    found = pl.lit(_words({}))
    for choice in sweep.CHOICES[1:]:
        fits = pl.all_horizontal(pl.col(name) == value for name, value in choice.items())
        found = pl.when(fits).then(pl.lit(_words(choice))).otherwise(found)
    return table.with_columns(choice=found)


@figures.add(
    "beyond the paper", "What replayed actions were tuned on", sweep=sweep.GRID, appendix=True
)
def grid(table: pl.DataFrame) -> Drawing:
    """Final return on tasks that no claim at the quick scale uses. Above: against the weight of
    KL, each method with the other settings as they are. Below: PG and DG at their own weight, with
    one of the settings that all methods share changed. Means over seeds, ±1 standard error."""
    late = scores.late(_with_choice(table)).group_by(*_KEYS, "varied", maintain_order=True)
    rows = late.agg(final=pl.col(scores.RETURN).mean())
    tasks = rows["task"].unique().sort().to_list()
    figure, axes = style.panels(2 * len(tasks), rows=2, width=3.4, height=2.4)
    parts = []
    for task, above, below in zip(tasks, axes, axes[len(tasks) :], strict=False):
        mine = rows.filter(pl.col("task") == task)
        by_kl = varying(mine, "kl").with_columns(pl.lit(task).alias("task"))
        parts.append(against(above, by_kl, "kl", "final").with_columns(task=pl.lit(task)))
        ticks(above, sorted(by_kl["kl"].unique().to_list()))
        above.set(title=task, xlabel="coefficient of KL for the mean", ylim=(0, None))
        parts.append(_bars(below, varying(mine, "shared")).with_columns(task=pl.lit(task)))
    axes[0].set_ylabel("final return")
    style.legend(axes[0])
    return Drawing(figure, pl.concat(parts, how="diagonal"))


def _bars(axis: Any, rows: pl.DataFrame) -> pl.DataFrame:
    """A bar for each choice and method; the numbers drawn."""
    numbers = means(rows, "final", ("method", "choice"))
    order = [words for words in map(_words, sweep.CHOICES) if words in set(numbers["choice"])]
    names = style.ordered(numbers["method"].unique().to_list())
    for k, name in enumerate(names):
        mine = numbers.filter(pl.col("method") == name)
        at = [order.index(words) + 0.4 * k - 0.2 for words in mine["choice"]]
        look = {"color": style.colour(name), "label": label(name), "alpha": 0.7}
        axis.barh(at, mine["mean"], 0.36, xerr=mine["se"].fill_null(0), **look)
    axis.set_yticks(range(len(order)), order, fontsize=7)
    axis.invert_yaxis()
    axis.set_xlabel("final return")
    axis.grid(axis="y", visible=False)
    return numbers.with_columns(metric=pl.lit("final"))
