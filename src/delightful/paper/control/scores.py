"""Scores of control runs: final returns, and regret along training.

Return is that of the mean action. Runs are compared task by task, on the seeds that every method
has there; a task that lacks a method is left out, and `extent` says how much is left.
"""

import numpy as np
import polars as pl

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.tasks import BENCHMARKING
from delightful.lab.conditions import Condition
from delightful.lab.tables import by_option, seeds_by_steps, with_role
from delightful.lab.verdicts import NotMeasuredError, TooFewSeedsError

RETURN = "deterministic"
LAST = 0.1  # of a run, over which its final return is the mean of the evaluations
FEWEST = 5  # of them: where an episode fails or succeeds by its start, two evaluations say little
LEARNED = Condition(
    "on tasks where some method has a mean final return of at least {:g}",
    (10.0,),
    ours="of 1,000; below it no method has learned anything, and none can be ranked",
)


def dg_and(role: str, table: pl.DataFrame) -> pl.DataFrame:
    """DG with its default options, and the runs with a role: what a sentence compares it with.

    DG with other options, which --method can add, is neither.
    """
    return table.filter((pl.col("role") == role) | (pl.col("method") == "dg"))


def complete(table: pl.DataFrame) -> pl.DataFrame:
    """The tasks and seeds that every method of the table has."""
    names = set(table["method"])
    if with_role(table, "main").is_empty() or len(names) < 2:
        raise NotMeasuredError("it compares dg with other methods, and not enough of them were run")
    count = pl.col("method").n_unique().over("task", "seed", "steps")
    found = table.filter(count == len(names))
    if found.is_empty():
        raise NotMeasuredError("no task has been run with every method")
    return found


def with_every_seed(part: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """The tasks of `part` that have every seed of the table: a verdict is on that many."""
    seeds = table["seed"].n_unique()
    found = part.filter(pl.col("seed").n_unique().over("task") == seeds)
    if found.is_empty():
        raise TooFewSeedsError(f"no task has all of what it compares with {seeds} seeds")
    return found


def learned(table: pl.DataFrame) -> pl.DataFrame:
    """The tasks that some method has learned, by the condition LEARNED."""
    (least,) = LEARNED.values
    means = final(table).group_by("task", "method", maintain_order=True).agg(pl.col("final").mean())
    tasks = means.filter(pl.col("final") >= least)["task"].unique().to_list()
    if not tasks:
        raise NotMeasuredError(
            f"no method has a mean return of {least:g} on any task yet, {extent(table)}"
        )
    return table.filter(pl.col("task").is_in(tasks))


def balanced(table: pl.DataFrame) -> pl.DataFrame:
    """The seeds that every task has, so that a mean over tasks is of the same ones for all."""
    tasks = table["task"].n_unique()
    found = table.filter(pl.col("task").n_unique().over("seed") == tasks)
    if found.is_empty():
        raise NotMeasuredError("no seed has been run on every task")
    return found


def late(table: pl.DataFrame) -> pl.DataFrame:
    """The evaluations of which a final return is the mean."""
    from_the_end = pl.col("step").rank("dense", descending=True).over("steps")
    return table.filter((pl.col("step") > (1 - LAST) * pl.col("steps")) | (from_the_end <= FEWEST))


def final(table: pl.DataFrame) -> pl.DataFrame:
    """Each run's final return: task, method, seed, final."""
    keys = ("task", "method", "seed")
    runs = late(table).group_by(*keys, maintain_order=True)
    return runs.agg(final=pl.col(RETURN).mean()).sort(*keys)


def finals(table: pl.DataFrame) -> dict[str, dict[str, np.ndarray]]:
    """By task and method, one final return per seed."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for (task, method), part in final(table).group_by("task", "method", maintain_order=True):
        found.setdefault(str(task), {})[str(method)] = part["final"].to_numpy()
    return found


def final_by_option(table: pl.DataFrame, name: str, option: str) -> pl.DataFrame:
    """Final returns of one method's runs, its option as a column."""
    specs = by_option(table.with_columns(spec=pl.col("method")), name, option)
    specs = specs.select("spec", option).unique()
    return final(table).join(specs, left_on="method", right_on="spec")


def with_regret(table: pl.DataFrame) -> pl.DataFrame:
    """The table with Regret_k = R_best − R_k (Appendix E).

    R_best is the best that any method's mean over seeds reaches on the task at any evaluation, our
    reading of "the best performance achieved by any method"; R_k is a run's return at step k.
    """
    mean = pl.col(RETURN).mean().over("task", "method", "step")
    return table.with_columns(best=mean.max().over("task")).with_columns(
        regret=pl.col("best") - pl.col(RETURN)
    )


def mean_regret(table: pl.DataFrame) -> pl.DataFrame:
    """Regret averaged over tasks, by method, seed and step."""
    rows = with_regret(table).group_by("method", "seed", "step", maintain_order=True)
    return rows.agg(pl.col("regret").mean())


def regrets(table: pl.DataFrame) -> dict[str, np.ndarray]:
    """By method, regret averaged over tasks, (seeds, steps)."""
    rows, names = mean_regret(table), sorted(set(table["method"]))
    return {name: seeds_by_steps(rows, "regret", method=name) for name in names}


def extent(table: pl.DataFrame) -> str:
    """How much of the paper's work the table is, in words."""
    return f"on {table['task'].n_unique()} of {len(BENCHMARKING)} tasks, {length(table)}"


def length(table: pl.DataFrame) -> str:
    """How long the runs are, in words, and what was left out of them."""
    steps = int(table["steps"].max())  # type: ignore[arg-type]
    count = int(table["dropped"].sum()) if "dropped" in table.columns else 0
    dropped = f", {count} episodes with NaN left out" if count else ""
    return f"{steps:,} of {ControlConfig().steps:,} steps{dropped}"
