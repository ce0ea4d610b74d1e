"""Beyond the paper: with actors how old the claims of Section 5 hold."""

import textwrap
from typing import NamedTuple

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


class Runs(NamedTuple):
    """Which runs of tokens/staleness decide a claim at a delay."""

    methods: tuple[str, ...]
    rates: tuple[float, ...] = ()  # every one of them; none: of each method the best at that delay
    part: str = ""  # what they decide, if it is less than the claim's whole sentence


_COMPARED = tuple(sweep.WITH_STALE.settings)
TURNING = {
    "tokens/faster": Runs(_COMPARED),
    "tokens/lower-error": Runs(_COMPARED),
    "tokens/tuned-dg": Runs(_COMPARED),
    "tokens/learning-rates": Runs(_COMPARED, sweep.RATES),
    "tokens/pmpo-boundary": Runs(
        ("pmpo", "pmpo:preference=1.0"),
        part="PMPO with α = 1 outperforms α = ½, without a KL penalty.",
    ),
}
"""The claims that these runs can decide at every delay, or a part of which they can."""
COLOURS: dict[Verdict, str] = {
    "reproduced": "#8fce8f",
    "partly": "#d9e8a0",
    "not reproduced": "#f0a3a0",
    "inconclusive": "#e3e3e3",
    "not run": "#ffffff",
}


def verdicts(table: pl.DataFrame) -> pl.DataFrame:
    """The verdict on each of TURNING at each delay, on the seeds that all of its runs have."""
    paper, known = sweep.STALENESS.seeds["paper"], {claim.id: claim for claim in CLAIMS}
    found = []
    for name, needed in TURNING.items():
        rows, claim = _rows(table, needed).sort("delay"), known[name]
        for (delay,), mine in rows.group_by("delay", maintain_order=True):
            seeds = _shared(mine, len(needed.methods) * max(1, len(needed.rates)))
            look = max((n for n in looks(paper) if n <= len(seeds)), default=len(seeds))
            at = mine.filter(pl.col("seed").is_in(seeds[:look]))
            sentence = needed.part or claim.sentence
            row = {"claim": name, "sentence": sentence, "delay": delay, "seeds": look}
            verdict, value = _judged(claim, at, look, confidence_of(paper))
            found.append(row | {"verdict": verdict, "value": value})
    return pl.DataFrame(found)


def _rows(table: pl.DataFrame, needed: Runs) -> pl.DataFrame:
    mine = table.filter(pl.col("method").is_in(needed.methods))
    if needed.rates:
        return mine.filter(pl.col("learning_rate").is_in(needed.rates))
    key = ["method", "delay", "learning_rate"]
    return mine.join(at_best_rates(mine).select(key).unique(), on=key, how="semi")


def _shared(rows: pl.DataFrame, configs: int) -> list[int]:
    """The seeds that have been run in so many configs."""
    ran = rows.group_by("seed").agg(configs=pl.struct("method", "learning_rate").n_unique())
    return sorted(ran.filter(pl.col("configs") == configs)["seed"].to_list())


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
    """The verdict on claims of Section 5 and Appendix D with actors up to D updates old, and in
    brackets how many seeds it rests on. Every method has the best of the learning rates that were
    run at that D, by the means of all its seeds; the claim on learning rates has those of
    Figure 21a. The row on PMPO is a part of the claim that boundary values of α outperform
    intermediate ones under every KL penalty."""
    rows = verdicts(table)
    delays = sorted(rows["delay"].unique().to_list())
    sentences = rows["sentence"].unique(maintain_order=True).to_list()
    figure, (axis,) = style.panels(
        1, width=3.4 + 1.05 * len(delays), height=0.9 + 0.48 * len(sentences)
    )
    for row in rows.rows(named=True):
        x, y = delays.index(row["delay"]), sentences.index(row["sentence"])
        verdict: Verdict = row["verdict"]
        axis.fill_between([x - 0.48, x + 0.48], y - 0.44, y + 0.44, color=COLOURS[verdict], lw=0)
        words = ": ".join(filter(None, (verdict, row["value"])))  # for who points at it
        written = f"{verdict}\n({row['seeds']})"
        axis.text(x, y, written, ha="center", va="center", fontsize=7, label=words)
    axis.set_xticks(range(len(delays)), labels=list(map(str, delays)))
    wrapped = [textwrap.fill(sentence, 40) for sentence in sentences]
    axis.set_yticks(range(len(sentences)), labels=wrapped, fontsize=7)
    axis.set(xlabel="D", xlim=(-0.5, len(delays) - 0.5), ylim=(len(sentences) - 0.5, -0.5))
    axis.grid(False)
    return Drawing(figure, rows.drop("value"))
