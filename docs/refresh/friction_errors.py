"""The page on frictions: every method's error under each friction, the strongest that was run."""

import polars as pl
from results import RESULTS

from delightful.lab.plotting import label
from delightful.registry import METHODS

TASKS = {"tokens": "Token Reversal", "mnist": "MNIST"}
NAMES = {
    "delay": "actors up to {:g} updates old",
    "bugs": "{:.0%} bugs",
    "corruption": "{:.0%} corrupted rewards",
    "discovery": "{:.0%} rare discoveries",
    "all": "all four at once",
}


def errors() -> list[str]:
    """A row for each task and friction: mean final errors, the lowest in bold."""
    tables = {name: pl.read_csv(RESULTS / f"figures/frictions-{name}.csv") for name in TASKS}
    known = set().union(*(set(table["method"]) for table in tables.values()))
    methods = [name for name in METHODS if name in known]
    lines = [f"| final error | | {' | '.join(map(label, methods))} |"]
    lines.append(f"|---|---|{'---|' * len(methods)}")
    for task, table in tables.items():
        plain = table.filter(pl.col("strength") == 0).unique("method")
        lines.append(_row(TASKS[task], "none", plain, methods))
        for friction, words in NAMES.items():
            mine = table.filter(pl.col("friction") == friction)
            strongest = mine["strength"].max()
            at = mine.filter(pl.col("strength") == strongest)
            lines.append(_row(TASKS[task], words.format(strongest), at, methods))
    return [*lines, "", f"Means over {tables['tokens']['seeds'].min()} seeds; lowest in bold.", ""]


def _row(task: str, friction: str, at: pl.DataFrame, methods: list[str]) -> str:
    means = dict(at.select("method", "mean").rows())
    lowest = min(means.values())
    shown = {m: f"{mean:.2%}" for m, mean in means.items()}
    bold = {m: f"**{text}**" if means[m] == lowest else text for m, text in shown.items()}
    each = " | ".join(bold.get(m, "") for m in methods)
    return f"| {task} | {friction} | {each} |"
