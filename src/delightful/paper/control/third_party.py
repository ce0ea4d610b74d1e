"""DG and third-party baselines: runs of SBX's SAC, and public scores.

SBX's SAC is run live; public scores are those of the CSV that DELIGHTFUL_SCORES names, each agent's
at the step nearest to where our runs end, and at most twice or half of it.
"""

import polars as pl

from delightful.lab.verdicts import NotMeasuredError
from delightful.paper.control import public_scores
from delightful.paper.control.scores import RETURN, dg_and

NEAR = 2.0  # times our steps: a public score at other steps is not compared


def dg_and_baselines(table: pl.DataFrame) -> pl.DataFrame:
    """DG's and the third-party baselines' runs, on the tasks and seeds that all of them have."""
    if "agent" not in table.columns or "method" not in table.columns:
        raise NotMeasuredError("it needs runs of dg and of SBX's SAC")
    table = dg_and("third-party", table).with_columns(agent=pl.coalesce("agent", pl.lit("DG")))
    names = table["agent"].n_unique()
    kept = table.filter(pl.col("agent").n_unique().over("task", "seed", "steps") == names)
    if names < 2 or kept.is_empty():
        raise NotMeasuredError("it needs runs of dg and of SBX's SAC on the same tasks")
    return kept


def with_regret(runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The runs, and the public scores nearest to their end, with regret to the best of them all."""
    end = int(runs["steps"].max())  # type: ignore[arg-type]
    near = pl.col("step").is_between(end / NEAR, end * NEAR)
    gap = (pl.col("step") - end).abs()
    others = (
        public_scores.scores()
        .filter(pl.col("task").is_in(runs["task"].unique().to_list()), near)
        .filter(gap == gap.min().over("agent", "task"))
        .group_by("agent", "task", maintain_order=True)
        .agg(pl.col("step").mean().cast(pl.Int64), pl.col("score").mean())
    )
    means = runs.group_by("task", "agent", "step").agg(score=pl.col(RETURN).mean())
    all_scores = pl.concat([means.select("task", "score"), others.select("task", "score")])
    best = all_scores.group_by("task").agg(best=pl.col("score").max())
    runs = runs.join(best, on="task").with_columns(regret=pl.col("best") - pl.col(RETURN))
    others = others.join(best, on="task").with_columns(regret=pl.col("best") - pl.col("score"))
    return runs, others
