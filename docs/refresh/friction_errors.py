"""The page on frictions: every method's error under each friction, the strongest that was run."""

import polars as pl
from stored import RESULTS

from delightful.lab.cells import Plan, Sweep
from delightful.lab.plotting import label
from delightful.lab.selection import plan_for, table_of
from delightful.lab.store import Store
from delightful.lab.tables import varying
from delightful.paper.frictions.runs import at_best_rates, final_errors, multiples
from delightful.paper.frictions.sweep import ALL, MNIST_SWEEP, TOKENS_SWEEP
from delightful.registry import METHODS

TASKS = {"tokens": "Token Reversal", "mnist": "MNIST"}
SWEEPS = {"tokens": TOKENS_SWEEP, "mnist": MNIST_SWEEP}
NAMES = {
    "delay": "actors up to {:g} updates old",
    "bugs": "{:.0%} bugs",
    "corruption": "{:.0%} corrupted rewards",
    "discovery": "{:.0%} rare discoveries",
    "all": "all four at once",
}
KEY = ("method", "learning_rate")


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
    said = f"Means over {tables['tokens']['seeds'].min()} seeds; lowest in bold. {_edges()}"
    return [*lines, "", said, ""]


def _edges() -> str:
    """How many of the errors are at the smallest of the learning rates that were run."""
    said = []
    for task, sweep in SWEEPS.items():
        smallest, best = _rates(sweep)
        few = sum(rate == smallest for rate in best)
        said.append(f"for {few} of {len(best)} numbers on {TASKS[task]} ({smallest:g})")
    return (
        f"The best learning rate is the smallest that was run {' and '.join(said)}; there an even "
        "smaller one may be better, for the baselines too."
    )


def _rates(sweep: Sweep) -> tuple[float, list[float]]:
    """The smallest learning rate, and the one of each error in the table."""
    store = Store(RESULTS / "runs")
    table = table_of(sweep, plan_for(sweep, store, Plan(), None), store)
    assert table is not None  # the figure was drawn of it
    finals = final_errors(table)
    found = {}
    for friction in NAMES:
        rows = multiples(finals) if friction == ALL else varying(finals, friction)
        best = at_best_rates(rows, "final", friction)
        for name, strength in (("none", 0), (friction, best[friction].max())):
            at = best.filter(pl.col(friction) == strength)
            found |= {(name, method): rate for method, rate in at.select(*KEY).unique().rows()}
    return finals["learning_rate"].min(), list(found.values())


def _row(task: str, friction: str, at: pl.DataFrame, methods: list[str]) -> str:
    means = dict(at.select("method", "mean").rows())
    lowest = min(means.values())
    shown = {m: f"{mean:.2%}" for m, mean in means.items()}
    bold = {m: f"**{text}**" if means[m] == lowest else text for m, text in shown.items()}
    each = " | ".join(bold.get(m, "") for m in methods)
    return f"| {task} | {friction} | {each} |"
