"""The claim on tuned third-party baselines."""

import numpy as np
import polars as pl

from delightful.lab.conditions import Condition
from delightful.lab.experiment import ClaimBook
from delightful.lab.quantities import Mean
from delightful.lab.tables import with_role
from delightful.lab.verdicts import Measurement, NotMeasuredError, Rule, above, measured
from delightful.paper.control import sweep
from delightful.paper.control.claims.readings import both
from delightful.paper.control.claims.tasks import quarter, require
from delightful.paper.control.scores import extent, late, with_every_seed
from delightful.paper.control.third_party import NEAR, dg_and_baselines, with_regret

claims = ClaimBook("control")

_QUARTER = quarter(sweep.COMPARABLE)
_NEAR = Condition(
    "with public scores at {:g} to {:g} times as many steps",
    (1 / NEAR, NEAR),
    ours="scores at other steps are not compared",
)


@claims.add(
    "Appendix E, Figure 27",
    paper="> 0",
    readings=both("external"),
    rule=Rule(
        above(0, "regret averaged over tasks, MPO of another codebase − DG"),
        above(0, "regret averaged over tasks, SAC of another codebase − DG"),
        conditions=(_QUARTER, _NEAR),
    ),
)
def tuned(table: pl.DataFrame) -> Measurement:
    """Even against tuned MPO and SAC of other codebases, DG achieves the lowest average regret.

    Tuned are public scores, taken as known, and SBX's SAC if it has as many updates as its authors
    give it; one of each is needed that has all tasks. With fewer updates SAC can only refute it.
    """
    runs, others = with_regret(with_every_seed(dg_and_baselines(table), table))
    require(_QUARTER, runs)
    by_agent, tasks = _over_training(runs), runs["task"].n_unique()
    ends = late(with_role(runs, "main"))
    every = with_role(runs, "third-party")["every"].to_list()[0]
    updates = "one update per step" if every == 1 else f"one update per {every} steps"
    means = ", ".join(f"{name} {regret.mean():.0f}" for name, regret in by_agent.items())
    note = f"{extent(runs)}, SAC with {updates}; regret over training: {means}"
    dg = by_agent.pop("DG")
    sac = {f"{name}, over training": Mean(other - dg) for name, other in by_agent.items()}
    cases: dict[str, dict[str, Mean]] = {"MPO": {}, "SAC": sac}
    lacking = {"MPO"} if every == 1 else {"MPO", "SAC"}
    for (name,), part in others.group_by("agent", maintain_order=True):
        if kind := next((kind for kind in cases if kind in str(name)), None):
            cases[kind][f"{name} on {len(part)} of {tasks} tasks, at the end"] = _lead(part, ends)
            lacking -= {kind} if len(part) == tasks else set()
    if lacking:
        needed = " and ".join(sorted(lacking))
        raise NotMeasuredError(f"it needs public scores of {needed} on all tasks; so far {note}")
    return measured(cases["MPO"], cases["SAC"], note=note)


def _over_training(runs: pl.DataFrame) -> dict[str, np.ndarray]:
    """By agent, each seed's regret averaged over tasks and training."""
    means = runs.group_by("agent", "seed", maintain_order=True).agg(pl.col("regret").mean())
    return {
        str(name): part["regret"].to_numpy()
        for (name,), part in means.sort("agent", "seed").group_by("agent", maintain_order=True)
    }


def _lead(public: pl.DataFrame, ends: pl.DataFrame) -> Mean:
    """How much more regret a public agent has than DG at its end, on the tasks of the former."""
    ours = ends.join(public, on="task", how="semi").group_by("seed", maintain_order=True)
    regret = ours.agg(pl.col("regret").mean()).sort("seed")["regret"].to_numpy()
    return Mean(public["regret"].to_numpy().mean() - regret)
