"""The claim on tuned third-party baselines."""

import polars as pl

from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, t_interval
from delightful.paper.control import sweep
from delightful.paper.control.claims.tasks import decided
from delightful.paper.control.scores import balanced, extent, late
from delightful.paper.control.third_party import dg_and_baselines, with_regret

claims = ClaimBook("control")


@claims.add("Appendix E, Figure 27", paper="> 0", sweep=sweep.EXTERNAL)
def tuned(table: pl.DataFrame) -> Finding:
    """Even against tuned MPO and SAC of other codebases, DG achieves the lowest average regret."""
    runs, others = with_regret(balanced(dg_and_baselines(table)))
    closest, gap = _lead_on_live(runs)
    measures = f"regret over training, {closest} − DG"
    public, tasks = _beside_public(runs, others), runs["task"].n_unique()
    every = runs.filter(pl.col("agent") != "DG")["every"].to_list()[0]
    end = float(late(runs).filter(pl.col("agent") == "DG")["regret"].mean())  # type: ignore[arg-type]
    each = "step" if every == 1 else f"{every} steps"
    note = f"{extent(runs)}, SAC with one update per {each}; "
    note += f"regret at the end: DG {end:.0f}; public scores: {_listed(public, tasks)}"
    named = public.filter(pl.col("agent").str.contains("MPO|SAC"))  # the sentence is on no other
    ahead = bool((named["regret"] > named["dg"]).all())
    whole = pl.col("tasks") == tasks
    tuned_mpo = not named.filter(whole & pl.col("agent").str.contains("MPO")).is_empty()
    tuned_sac = every == 1  # with fewer updates than its authors give it, it is no tuned one
    sure = gap.low > 0 and ahead and tuned_mpo and tuned_sac
    finding = found(measures, gap, sure, partly=gap.value > 0 and ahead, note=note)
    finding = decided(runs, finding, sweep.COMPARABLE)
    if not (tuned_mpo or tuned_sac):
        raise NotMeasuredError(
            "it needs public scores of MPO on these tasks, or SAC with one update per step; so far "
            f"{measures}: {gap}, {note}"
        )
    return finding


def _lead_on_live(runs: pl.DataFrame) -> tuple[str, Estimate]:
    """The third-party baseline, run here, whose regret is nearest to DG's, and the difference."""
    means = (
        runs.group_by("agent", "seed", maintain_order=True)
        .agg(pl.col("regret").mean())
        .sort("agent", "seed")
    )
    by_agent = {
        str(name): part["regret"].to_numpy()
        for (name,), part in means.group_by("agent", maintain_order=True)
    }
    dg = by_agent.pop("DG")
    gaps = {name: t_interval(other - dg) for name, other in by_agent.items()}
    closest = min(gaps, key=lambda name: gaps[name].value)
    return closest, gaps[closest]


def _beside_public(runs: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Each public agent's regret on the tasks that it has, and DG's there at its end."""
    ours = late(runs.filter(pl.col("agent") == "DG"))
    ours = ours.group_by("task", maintain_order=True).agg(dg=pl.col("regret").mean())
    beside = others.join(ours, on="task").group_by("agent", maintain_order=True)
    return beside.agg(pl.col("regret", "dg").mean(), tasks=pl.len()).sort("regret")


def _listed(public: pl.DataFrame, tasks: int) -> str:
    words = []
    for row in public.iter_rows(named=True):
        part = f" on {row['tasks']} of {tasks} tasks, DG {row['dg']:.0f} there"
        words.append(f"{row['agent']} {row['regret']:.0f}{part if row['tasks'] < tasks else ''}")
    return ", ".join(words) or "none were given"
