"""Figures 27 and 28: DG beside agents that are not ours, and the claim about them.

SBX's SAC is run live; public scores are those of the CSV that DELIGHTFUL_SCORES names, each agent's
at the step nearest to where our runs end, and at most twice or half of it.
"""

import polars as pl

from delightful.experiments.control import published, sweep
from delightful.experiments.control.claims import decided
from delightful.experiments.control.scores import RETURN, balanced, extent, late
from delightful.lab import style
from delightful.lab.curves import by_step
from delightful.lab.experiment import ClaimBook, Drawing, Figure, Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, t_interval

claims = ClaimBook("control")

NEAR = 2.0  # times our steps: a public score at other steps is not compared
COLOURS = {"DG": "dg", "SAC (SBX)": "grpo"}


def beside(table: pl.DataFrame) -> pl.DataFrame:
    """DG and the agents of others that were run, on the tasks and seeds that all of them have."""
    if "agent" not in table.columns or "method" not in table.columns:
        raise NotMeasuredError("it needs runs of dg and of SBX's SAC")
    table = table.filter(pl.col("method").is_null() | (pl.col("method") == "dg"))
    table = table.with_columns(agent=pl.coalesce("agent", pl.lit("DG")))
    names = table["agent"].n_unique()
    kept = table.filter(pl.col("agent").n_unique().over("task", "seed", "steps") == names)
    if names < 2 or kept.is_empty():
        raise NotMeasuredError("it needs runs of dg and of SBX's SAC on the same tasks")
    return kept


def with_regret(runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The runs, and the public scores nearest to their end, with regret to the best of them all."""
    end = int(runs["steps"].max())  # type: ignore[arg-type]
    others = published.scores().filter(pl.col("task").is_in(runs["task"].unique().to_list()))
    others = others.filter(pl.col("step").is_between(end / NEAR, end * NEAR))
    gap = (pl.col("step") - end).abs()
    others = others.filter(gap == gap.min().over("agent", "task"))
    others = others.group_by("agent", "task", maintain_order=True).agg(
        pl.col("step", "score").mean()
    )
    others = others.with_columns(pl.col("step").cast(pl.Int64))
    mean = pl.col(RETURN).mean().over("task", "agent", "step")
    best = runs.group_by("task").agg(mean.max().alias("best"))
    public = others.group_by("task").agg(pl.col("score").max().alias("public"))
    best = best.join(public, on="task", how="left").select(
        "task", best=pl.max_horizontal("best", "public")
    )
    runs = runs.join(best, on="task").with_columns(regret=pl.col("best") - pl.col(RETURN))
    others = others.join(best, on="task").with_columns(regret=pl.col("best") - pl.col("score"))
    return runs, others


def along(table: pl.DataFrame) -> Drawing:
    """Regret averaged over tasks; public agents that have all of them are points at their step."""
    runs, others = with_regret(balanced(beside(table)))
    tasks = runs["task"].n_unique()
    means = runs.group_by("agent", "seed", "step", maintain_order=True).agg(pl.col("regret").mean())
    numbers = by_step(means, "regret", ("agent",))
    points = (
        others.group_by("agent", maintain_order=True)
        .agg(pl.col("regret").mean().alias("mean"), pl.col("step").mean(), pl.len().alias("tasks"))
        .filter(pl.col("tasks") == tasks)
        .sort("mean", descending=True)
    )
    figure, (axis,) = style.panels(1, width=3.3 if points.is_empty() else 5.0)
    for (name,), part in numbers.group_by("agent", maintain_order=True):
        error = None if part["se"].null_count() else part["se"]
        colour = style.colours([COLOURS[str(name)]])[0]
        style.curve(axis, part["step"], part["mean"], error, colour=colour, label=str(name))
    looks = _public_looks(others)
    for name, mean, step in points.select("agent", "mean", "step").rows():
        axis.plot(step, mean, "o", ms=4, color=looks[name], label=f"{name}, {step / 1e6:.2g}M")
    axis.set(xlabel="step", ylabel=f"regret, mean of {tasks} tasks", ylim=(0, None))
    axis.locator_params(axis="x", nbins=4)
    (style.legend if points.is_empty() else style.legend_outside)(axis)
    points = points.with_columns(pl.col("step").cast(numbers["step"].dtype))
    return Drawing(figure, pl.concat([numbers, points], how="diagonal"))


def by_task(table: pl.DataFrame) -> Drawing:
    """Regret at the end, task by task: bars of what was run, points of public scores."""
    runs, others = with_regret(beside(table))
    keys = ("task", "agent")
    ends = late(runs).group_by(*keys, maintain_order=True)
    ours = ends.agg(pl.col("steps").max().cast(pl.Int64).alias("step"), pl.col("regret").mean())
    ours, others = ours.sort(*keys), others.select(ours.columns).sort(*keys)
    tasks = ours["task"].unique().sort().to_list()
    width = max(4.5, 1.1 * len(tasks)) + (0 if others.is_empty() else 1.5)
    figure, (axis,) = style.panels(1, width=width, height=2.8)
    names = ours["agent"].unique().sort().to_list()
    for k, name in enumerate(names):
        mine = ours.filter(pl.col("agent") == name)
        at = [tasks.index(task) + (k - (len(names) - 1) / 2) * 0.4 for task in mine["task"]]
        axis.bar(at, mine["regret"], 0.36, color=style.colours([COLOURS[name]])[0], label=name)
    looks = _public_looks(others)
    for k, (name, colour) in enumerate(looks.items()):
        mine = others.filter(pl.col("agent") == name)
        at = [tasks.index(task) + (k + 0.5) / len(looks) * 0.7 - 0.35 for task in mine["task"]]
        look = {"ms": 4, "mec": "white", "mew": 0.4, "color": colour}
        axis.plot(at, mine["regret"], "o", label=name, **look)
    axis.set_xticks(range(len(tasks)), [task.replace(":", "\n") for task in tasks], fontsize=7)
    axis.grid(axis="x", visible=False)
    axis.set_ylabel("regret at the end")
    (style.legend if others.is_empty() else style.legend_outside)(axis)
    return Drawing(figure, pl.concat([ours, others]))


def _public_looks(others: pl.DataFrame) -> dict[str, str]:
    """A colour for each public agent, from the most regret on its tasks to the least."""
    means = others.group_by("agent", maintain_order=True).agg(pl.col("regret").mean())
    names = means.sort("regret", "agent", descending=True)["agent"].to_list()
    return {
        name: style.shade("viridis", k / max(1, len(names) - 1)) for k, name in enumerate(names)
    }


@claims.add(
    "tuned",
    "Appendix E, Figure 27",
    "Even against tuned MPO and SAC of other codebases, DG achieves the lowest average regret.",
    paper="> 0",
    sweep=sweep.EXTERNAL,
)
def tuned(table: pl.DataFrame) -> Finding:
    runs, others = with_regret(balanced(beside(table)))
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
    """The agent of others, run here, whose regret over training is nearest to DG's; how near."""
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


_CAPTION = (
    "R_best is the best of all that is shown. SBX's SAC was run on the same tasks; public scores "
    "are read from the CSV that DELIGHTFUL_SCORES names, at the step nearest to our runs' end and "
    "at most twice or half of it."
)

FIGURES = (
    Figure(
        "control/tuned",
        "Figure 27",
        "Regret beside other codebases",
        _CAPTION,
        along,
        sweep.EXTERNAL,
    ),
    Figure("control/tuned-tasks", "Figure 28", "Regret by task", _CAPTION, by_task, sweep.EXTERNAL),
)
