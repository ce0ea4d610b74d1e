"""The sentences of Section 6 and Appendix E on returns and regret, on what has been run of them.

A sentence on all tasks is decided on those that every method has with every seed, if these are
enough. "Matches" is within 5% of a baseline's return.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from delightful.agents.control.tasks import BENCHMARKING
from delightful.lab.conditions import Condition
from delightful.lab.experiment import ClaimBook
from delightful.lab.plotting import label
from delightful.lab.quantities import Greatest, Least, Mean, Ratio, Sampled
from delightful.lab.verdicts import (
    Measurement,
    NotMeasuredError,
    Rule,
    TooFewSeedsError,
    above,
    at_least,
    below,
    measured,
)
from delightful.paper.control import sweep
from delightful.paper.control.claims.readings import both
from delightful.paper.control.scores import (
    LEARNED,
    complete,
    dg_and,
    extent,
    final,
    finals,
    learned,
    length,
    regrets,
    with_every_seed,
)

claims = ClaimBook("control")

MATCHES = 0.95  # of a baseline's return
FAILS = 0.2  # of another method's return
_FAILURE = "so far below another method is a failure"
STRETCHES = 4  # of training: a lead "throughout" is one in each
ENDS = {"ppo": "PPO", "pg": "REINFORCE"}

Runs = dict[str, np.ndarray]
"""By method, one final return per seed."""


def quarter(tasks: tuple[str, ...]) -> Condition:
    """The condition of a sentence on all tasks: that enough of them were run."""
    return Condition(
        "if at least {:g} of the {:g} tasks have been run with every method and seed",
        (len(tasks) // 4, len(tasks)),
        ours="a quarter",
    )


QUARTER = quarter(BENCHMARKING)


def require(condition: Condition, table: pl.DataFrame) -> None:
    """Refuse a sentence on all tasks where too few of them were run to say either way."""
    fewest, _ = condition.values
    if table["task"].n_unique() < fewest:
        raise TooFewSeedsError(f"at least {fewest:g} tasks are needed; so far {extent(table)}")


def _of_all(table: pl.DataFrame) -> pl.DataFrame:
    """DG's and its rivals' runs, on the tasks that all of them have with every seed."""
    missing = set(sweep.METHODS) - set(table["method"])
    if missing:
        raise NotMeasuredError(f"it needs runs of {', '.join(sorted(missing))} too")
    return with_every_seed(complete(dg_and("rival", table)), table)


def _listed(runs: Runs) -> str:
    return ", ".join(f"{label(name)} {x.mean():.3g}" for name, x in runs.items())


def _unlearned(table: pl.DataFrame) -> str:
    """The tasks that say nothing, since nobody has learned them."""
    nothing = sorted(set(table["task"]) - set(learned(table)["task"]))
    (least,) = LEARNED.values
    words = f"; left out, since no method has a mean return of {least:g} there: "
    return words + ", ".join(nothing) if nothing else ""


def _against_baselines(
    table: pl.DataFrame, compare: Callable[[np.ndarray, np.ndarray], Sampled]
) -> dict[str, list[Sampled]]:
    """DG compared with every baseline, by task."""
    return {
        task: [compare(runs["dg"], x) for name, x in runs.items() if name != "dg"]
        for task, runs in finals(learned(table)).items()
    }


_share = partial(Ratio, positive=True)  # returns are not below 0


def _shares_of_best(table: pl.DataFrame) -> dict[str, Least]:
    """DG's return over that of the best baseline, by task."""
    return {task: Least(shares) for task, shares in _against_baselines(table, _share).items()}


@claims.add(
    "Section 6",
    paper="> 0.5 of the tasks",
    readings=both("tasks"),
    rule=Rule(
        at_least(
            MATCHES,
            "final return, DG over the best baseline",
            most=True,
            ours="up to 5% below the best baseline is a match",
        ),
        conditions=(LEARNED, QUARTER),
    ),
    finding=f"DG's return {{is}} at least {MATCHES:g} of the best baseline's on {{case:tasks}}",
)
def majority(table: pl.DataFrame) -> Measurement:
    """DG matches or exceeds the best baseline on a majority of environments."""
    table = _of_all(table)
    require(QUARTER, table)
    return measured(_shares_of_best(table), note=extent(table) + _unlearned(table))


@claims.add(
    "Section 6, Figure 10",
    paper="0 of 84 runs",
    readings=both("tasks"),
    rule=Rule(
        at_least(0, "mean final return, DG − the worst baseline"), conditions=(LEARNED, QUARTER)
    ),
)
def never_worst(table: pl.DataFrame) -> Measurement:
    """Across all 84 runs, DG is never the worst method.

    By a task's mean over seeds, as in Figure 10: it fails only if DG's is below every baseline's.
    """
    table = _of_all(table)
    require(QUARTER, table)
    others = pl.col("final").filter(pl.col("method") != "dg").min()
    dg = pl.col("final").filter(pl.col("method") == "dg").first()
    last = final(learned(table)).group_by("task", "seed").agg((dg < others).alias("last"))["last"]
    note = f"{extent(table)}: DG is the worst in {last.sum()} of {len(last)} single runs"
    margins = _against_baselines(table, lambda dg, x: Mean(dg - x))
    cases = {task: Greatest(found) for task, found in margins.items()}
    return measured(cases, note=note + _unlearned(table))


@claims.add(
    "Section 6",
    paper="≫ 0",
    readings=both("tasks"),
    rule=Rule(
        at_least(FAILS, "final return, DG over the best baseline", ours=_FAILURE),
        conditions=(LEARNED, QUARTER),
    ),
)
def no_catastrophe(table: pl.DataFrame) -> Measurement:
    """DG avoids catastrophic failures."""
    table = _of_all(table)
    require(QUARTER, table)
    return measured(_shares_of_best(table), note=extent(table) + _unlearned(table))


@claims.add(
    "Section 6, Figure 12",
    paper="> 0",
    readings=both("tasks"),
    rule=Rule(
        above(0, "regret averaged over tasks and a quarter of training, baseline − DG"),
        conditions=(QUARTER,),
    ),
    finding="DG's regret over all tasks {is} below that of {case:baselines × quarters}",
)
def lowest_regret(table: pl.DataFrame) -> Measurement:
    """DG achieves the lowest average regret throughout training.

    "Throughout" is in each quarter of training, against each baseline.
    """
    table = _of_all(table)
    require(QUARTER, table)
    by_method = regrets(table)
    note = f"{extent(table)}; over all of training: {_listed(by_method)}"
    dg = by_method.pop("dg")
    stretches = np.array_split(np.arange(dg.shape[1]), min(STRETCHES, dg.shape[1]))
    cases = {
        f"{label(name)}, quarter {k}": Mean((other - dg)[:, steps].mean(axis=1))
        for name, other in by_method.items()
        for k, steps in enumerate(stretches, 1)
    }
    return measured(cases, note=note)


def _on_task(table: pl.DataFrame, task: str) -> tuple[Runs, str]:
    """The final returns on a task, and what was run, in words."""
    table = _of_all(table).filter(pl.col("task") == task)
    if table.is_empty():
        raise TooFewSeedsError(f"it needs runs of every method on {task}, with every seed")
    runs = finals(table)[task]
    note = f"final return: {_listed(runs)}; {length(table)}"
    (least,) = LEARNED.values
    if max(x.mean() for x in runs.values()) < least:
        words = f"no method has a mean return of {least:g} on {task} yet"
        raise NotMeasuredError(f"{words}; {note}")
    return runs, note


def _far_below(name: str) -> Rule:
    words = f"final return, {ENDS[name]} over the best other method"
    return Rule(below(FAILS, words, ours=_FAILURE), conditions=(LEARNED,))


def _from_best(table: pl.DataFrame, task: str, name: str) -> Measurement:
    """A method's return over that of the best other method."""
    runs, note = _on_task(table, task)
    own = runs.pop(name)
    return measured(Least([_share(own, x) for x in runs.values()]), note=note)


_EXCEEDS = Rule(
    below(MATCHES, "final return, baseline over DG", ours="a lead of up to 5% is a match"),
    conditions=(LEARNED,),
)


def _exceeds(table: pl.DataFrame, task: str) -> Measurement:
    """Each baseline's return over DG's."""
    runs, note = _on_task(table, task)
    dg = runs.pop("dg")
    return measured({label(n): _share(x, dg) for n, x in runs.items()}, note=note)


@claims.add("Section 6, Figure 11", paper="≪ 1", readings=both("humanoid"), rule=_far_below("ppo"))
def ppo_humanoid(table: pl.DataFrame) -> Measurement:
    """PPO collapses on humanoid:run."""
    return _from_best(table, "humanoid:run", "ppo")


@claims.add(
    "Section 6, Figure 11",
    paper="< 1",
    readings=both("humanoid"),
    rule=_EXCEEDS,
    finding=f"on humanoid:run, {MATCHES:g} of DG's final return {{is}} above that of {{case}}",
)
def humanoid(table: pl.DataFrame) -> Measurement:
    """On humanoid:run, DG discovers a successful gait while all baselines plateau."""
    return _exceeds(table, "humanoid:run")


@claims.add("Section 6, Figure 10", paper="≪ 1", readings=both("tasks"), rule=_far_below("pg"))
def pg_hopper(table: pl.DataFrame) -> Measurement:
    """REINFORCE fails on hopper:hop."""
    return _from_best(table, "hopper:hop", "pg")


@claims.add("Appendix E, Figure 25", paper="< 1", readings=both("tasks"), rule=_EXCEEDS)
def acrobot(table: pl.DataFrame) -> Measurement:
    """DG has notable improvements on exploration-heavy tasks such as acrobot:swingup."""
    return _exceeds(table, "acrobot:swingup")


@claims.add("Appendix E, Figure 25", paper="< 1", readings=both("tasks"), rule=_EXCEEDS)
def finger(table: pl.DataFrame) -> Measurement:
    """DG has notable improvements on exploration-heavy tasks such as finger:turn_hard."""
    return _exceeds(table, "finger:turn_hard")
