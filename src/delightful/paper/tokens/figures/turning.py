"""Beyond the paper: with actors how old the claims of Section 5 hold."""

import polars as pl

from delightful.lab import style
from delightful.lab.decisions import shown
from delightful.lab.experiment import Claim, Drawing, FigureBook
from delightful.lab.verdicts import (
    LEAST,
    NotMeasuredError,
    Verdict,
    confidence_of,
    headline,
    judge,
    looks,
    verdict_of,
)
from delightful.paper.tokens import sweep
from delightful.paper.tokens.claims import CLAIMS
from delightful.paper.tokens.figures.staleness import at_best_rates

figures = FigureBook("tokens")

TURNING = ("tokens/faster", "tokens/lower-error", "tokens/tuned-dg", "tokens/pmpo-boundary")
"""The claims that the runs of tokens/staleness can decide at every delay."""
COLOURS: dict[Verdict, str] = {
    "reproduced": "#8fce8f",
    "partly": "#d9e8a0",
    "not reproduced": "#f0a3a0",
    "inconclusive": "#e3e3e3",
    "not run": "#ffffff",
}


def verdicts(table: pl.DataFrame) -> pl.DataFrame:
    """The verdict on each of TURNING at each delay, with every method at its best rate there, on
    the seeds that all methods have."""
    paper = sweep.STALENESS.seeds["paper"]
    best = at_best_rates(table).select("method", "delay", "learning_rate").unique()
    kept = table.join(best, on=["method", "delay", "learning_rate"], how="semi")
    all_methods = table["method"].n_unique()
    found = []
    for (delay,), mine in kept.sort("delay").group_by("delay", maintain_order=True):
        shared = mine.group_by("seed").agg(pl.col("method").n_unique() == all_methods)
        seeds = sorted(shared.filter(pl.col("method"))["seed"].to_list())
        look = max((n for n in looks(paper) if n <= len(seeds)), default=len(seeds))
        at = mine.filter(pl.col("seed").is_in(seeds[:look]))
        for claim in (c for c in CLAIMS if c.id in TURNING):
            row = {"claim": claim.id, "sentence": claim.sentence, "delay": delay, "seeds": look}
            verdict, value = _judged(claim, at, look, confidence_of(paper))
            found.append(row | {"verdict": verdict, "value": value})
    return pl.DataFrame(found)


def _judged(
    claim: Claim, table: pl.DataFrame, seeds: int, confidence: float
) -> tuple[Verdict, str]:
    """The verdict, and the value that it rests on first, in words."""
    if not table.height:
        return "not run", ""
    try:
        measurement = claim.check(claim.readings[0].prepare(table))
    except NotMeasuredError:
        return "not run", ""
    outcomes = judge(claim.rule, measurement, confidence, seeds >= LEAST)
    first = headline(outcomes)
    return verdict_of(claim.rule, outcomes), f"{first.measures}: {shown(first, 3)}"


@figures.add(
    "beyond the paper",
    "Claims by the age of the actors",
    name="claims-by-age",
    sweep=sweep.STALENESS,
    appendix=True,
)
def claims_by_age(table: pl.DataFrame) -> Drawing:
    """The verdict on claims of Section 5 and Appendix D with actors up to D updates old, every
    method at the best of the learning rates that were run at that D. Below each D: seeds."""
    rows = verdicts(table)
    delays = sorted(rows["delay"].unique().to_list())
    claims = rows["claim"].unique(maintain_order=True).to_list()
    figure, (axis,) = style.panels(
        1, width=2.2 + 1.05 * len(delays), height=0.9 + 0.4 * len(claims)
    )
    for row in rows.rows(named=True):
        x, y = delays.index(row["delay"]), claims.index(row["claim"])
        verdict: Verdict = row["verdict"]
        axis.fill_between([x - 0.48, x + 0.48], y - 0.44, y + 0.44, color=COLOURS[verdict], lw=0)
        words = ": ".join(filter(None, (verdict, row["value"])))  # for who points at it
        written = verdict.replace("not ", "not\n")
        axis.text(x, y, written, ha="center", va="center", fontsize=7, label=words)
    seeds = dict(rows.select("delay", "seeds").unique().rows())
    axis.set_xticks(range(len(delays)), labels=[f"{d}\n({seeds[d]})" for d in delays])
    axis.set_yticks(range(len(claims)), labels=[name.partition("/")[2] for name in claims])
    axis.set(xlabel="D (seeds)", xlim=(-0.5, len(delays) - 0.5), ylim=(len(claims) - 0.5, -0.5))
    axis.grid(False)
    return Drawing(figure, rows.drop("value"))
