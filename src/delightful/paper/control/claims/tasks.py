"""The sentences of Section 6 and Appendix E, decided on whatever has been run of their tasks.

Every note says how much that is; a sentence on all tasks is decided only if a quarter of them and 2
seeds of each are there, of all methods. "Matches" is within 5% of the best baseline's mean return.
A sentence is reproduced if the whole interval is on its side, and partly if only the value is
("never" is meant of the runs that were made).
Intervals of a few seeds are Student's: with 2, a lead is hardly ever beyond them. Those of counts
are exact, as if tasks and runs had been drawn from many.
"""

import numpy as np
import polars as pl

from delightful.agents.control.tasks import BENCHMARKING
from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.plotting import label
from delightful.lab.statistics import Estimate, share_of, t_interval
from delightful.paper.comparisons import smallest_gap
from delightful.paper.control import sweep
from delightful.paper.control.scores import (
    LEARNED,
    balanced,
    complete,
    extent,
    fewest_seeds,
    final,
    finals,
    learned,
    regrets,
)

claims = ClaimBook("control")

MATCHES = 0.95  # of the best baseline's mean
RARELY = 0.125  # of runs: half as often as one of four methods would be the worst by chance
STRETCH = 0.25  # of training: a lead "throughout" is one in every such stretch
FAILS = 0.2  # of the best method's return
ENDS = {"ppo": "PPO", "pg": "REINFORCE"}


def decided(table: pl.DataFrame, finding: Finding, of: tuple[str, ...] = BENCHMARKING) -> Finding:
    """A finding on all tasks, unless what has been run is too little to say either way."""
    if table["task"].n_unique() >= len(of) // 4 and fewest_seeds(table) > 1:
        return finding
    numbers = f"{finding.measures}: {finding.value:.3g}, {finding.note}"
    raise NotMeasuredError(f"a quarter of the tasks and 2 seeds are needed; so far {numbers}")


def _means(runs: dict[str, np.ndarray]) -> dict[str, float]:
    return {name: float(of_seeds.mean()) for name, of_seeds in runs.items()}


def _best_baseline(means: dict[str, float]) -> str:
    return max((name for name in means if name != "dg"), key=means.__getitem__)


def _listed(by_task: dict[str, dict[str, np.ndarray]]) -> str:
    """DG's final return and the best baseline's, by task."""
    words = []
    for task, runs in by_task.items():
        means = _means(runs)
        best = _best_baseline(means)
        words.append(f"{task} {means['dg']:.0f} ({label(best)} {means[best]:.0f})")
    return ", ".join(words)


def _of_all(table: pl.DataFrame) -> pl.DataFrame:
    """The tasks and seeds that every method of the paper has."""
    missing = set(sweep.METHODS) - set(table["method"])
    if missing:
        raise NotMeasuredError(f"it needs runs of {', '.join(sorted(missing))} too")
    return complete(table)


def _unlearned(table: pl.DataFrame) -> str:
    """The tasks that say nothing, since nobody has learned them."""
    nothing = sorted(set(table["task"]) - set(learned(table)["task"]))
    return f"; left out, since no method has learned them: {', '.join(nothing)}" if nothing else ""


@claims.add("Section 6", paper="> 0.5", sweep=sweep.TASKS)
def majority(table: pl.DataFrame) -> Finding:
    """DG matches or exceeds the best baseline on a majority of environments."""
    table = _of_all(table)
    by_task = finals(learned(table))
    each = [_means(runs) for runs in by_task.values()]
    count = sum(means["dg"] >= MATCHES * means[_best_baseline(means)] for means in each)
    share = share_of(count, len(each))
    note = f"{extent(table)}; final return of DG (best baseline): {_listed(by_task)}"
    note += _unlearned(table)
    sure, most = share.low > 0.5, share.value > 0.5
    return decided(table, found("share of tasks", share, sure, partly=most, note=note))


@claims.add("Section 6, Figure 10", paper="0", sweep=sweep.TASKS)
def never_worst(table: pl.DataFrame) -> Finding:
    """Across all 84 runs, DG is never the worst method."""
    table = _of_all(table)
    ends = final(learned(table))
    others = pl.col("final").filter(pl.col("method") != "dg").min()
    dg = pl.col("final").filter(pl.col("method") == "dg").first()
    runs = ends.group_by("task", "seed").agg((dg < others).alias("worst")).sort("task", "seed")
    count = runs.height
    share = share_of(int(runs["worst"].sum()), count)
    named = runs.filter("worst").group_by("task", maintain_order=True).len().rows()
    where = ", ".join(f"{task} {times}×" for task, times in named) or "none"
    note = f"{extent(table)}: {count} runs; the worst on {where}{_unlearned(table)}"
    worst = Estimate(share.value * count, share.low * count, share.high * count)
    measures = f"runs of {count} in which DG is the worst"
    rarely = share.value < RARELY
    return decided(table, found(measures, worst, not named, partly=rarely, note=note))


@claims.add("Section 6, Figure 12", paper="> 0", sweep=sweep.TASKS)
def lowest_regret(table: pl.DataFrame) -> Finding:
    """DG achieves the lowest average regret throughout training."""
    table = balanced(_of_all(table))
    steps, by_method = regrets(table)
    dg = by_method.pop("dg")
    gaps = {
        name: t_interval(other.mean(axis=1) - dg.mean(axis=1)) for name, other in by_method.items()
    }
    closest = min(gaps, key=lambda name: gaps[name].value)
    stretch = max(1, round(STRETCH * len(steps)))
    lead = min(smallest_gap(other, dg, stretch).value for other in by_method.values())
    listed = ", ".join(f"{label(name)} {gap}" for name, gap in gaps.items())
    note = f"{extent(table)}; baseline − DG: {listed}; "
    note += f"smallest lead over any {STRETCH:.0%} of training {lead:.1f}"
    ahead = lead > 0 and gaps[closest].low > 0
    partly = gaps[closest].value > 0
    measures = f"regret over training, {label(closest)} − DG"
    return decided(table, found(measures, gaps[closest], ahead, partly=partly, note=note))


def _on_task(table: pl.DataFrame, task: str) -> tuple[pl.DataFrame, dict[str, np.ndarray]]:
    table = _of_all(table).filter(pl.col("task") == task)
    if table.is_empty():
        raise NotMeasuredError(f"it needs runs of every method on {task}")
    runs = finals(table)[task]
    if fewest_seeds(table) < 2:
        each = ", ".join(f"{label(name)} {mean:.0f}" for name, mean in _means(runs).items())
        raise NotMeasuredError(f"2 seeds of {task} are needed; so far {each}, {extent(table)}")
    return table, runs


def _fails(table: pl.DataFrame, task: str, name: str) -> Finding:
    """Whether a method ends far below the best."""
    table, runs = _on_task(table, task)
    means = _means(runs)
    each = ", ".join(f"{label(n)} {mean:.1f}" for n, mean in means.items())
    note = f"{extent(table)}; {each}"
    if max(means.values()) < LEARNED:
        raise NotMeasuredError(f"no method has learned {task} yet: {each} {extent(table)}")
    own, best = t_interval(runs[name]), max(means.values())
    share = Estimate(own.value / best, own.low / best, own.high / best)
    measures = f"final return of {ENDS[name]}, of the best method's mean"
    sure, fails = share.high < FAILS, share.value < FAILS
    return found(measures, share, sure, partly=fails, note=note)


@claims.add("Section 6, Figure 11", paper="≈ 0", sweep=sweep.HUMANOID)
def ppo_humanoid(table: pl.DataFrame) -> Finding:
    """PPO collapses on humanoid:run."""
    return _fails(table, "humanoid:run", "ppo")


@claims.add("Section 6, Figure 11", paper="> 0", sweep=sweep.HUMANOID)
def humanoid(table: pl.DataFrame) -> Finding:
    """On humanoid:run, DG discovers a successful gait while all baselines plateau."""
    return _exceeds(table, "humanoid:run")


@claims.add("Section 6, Figure 10", paper="≈ 0", sweep=sweep.TASKS)
def pg_hopper(table: pl.DataFrame) -> Finding:
    """REINFORCE fails on hopper:hop."""
    return _fails(table, "hopper:hop", "pg")


def _exceeds(table: pl.DataFrame, task: str) -> Finding:
    table, runs = _on_task(table, task)
    means = _means(runs)
    if max(means.values()) < LEARNED:
        raise NotMeasuredError(f"no method has learned {task} yet, {extent(table)}")
    best = _best_baseline(means)
    gap = t_interval(runs["dg"] - runs[best])
    each = ", ".join(f"{label(name)} {mean:.0f}" for name, mean in means.items())
    note = f"{extent(table)}; {each}; a lead of up to {1 - MATCHES:.0%} counts as a match"
    measures = f"final return, DG − {label(best)}"
    ahead = MATCHES * means["dg"] > means[best]  # by more than what counts as a match
    return found(measures, gap, ahead and gap.low > 0, partly=ahead, note=note)


@claims.add("Appendix E, Figure 25", paper="> 0", sweep=sweep.TASKS)
def acrobot(table: pl.DataFrame) -> Finding:
    """DG has notable improvements on exploration-heavy tasks such as acrobot:swingup."""
    return _exceeds(table, "acrobot:swingup")


@claims.add("Appendix E, Figure 25", paper="> 0", sweep=sweep.TASKS)
def finger(table: pl.DataFrame) -> Finding:
    """DG has notable improvements on exploration-heavy tasks such as finger:turn_hard."""
    return _exceeds(table, "finger:turn_hard")
