"""Claims of Appendices D.2 and D.3: robustness and task variants."""

from typing import Any

import numpy as np
import polars as pl

from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.plotting import label
from delightful.lab.statistics import Estimate
from delightful.paper.comparisons import Gaps, lower
from delightful.paper.tokens import sweep
from delightful.paper.tokens.claims.main_text import both_ways, last_errors
from delightful.paper.tokens.runs import at_equal_updates, by_seed, ends, rivals

claims = ClaimBook("tokens")


@claims.add("Appendix D.2, Figure 21a", paper="> 0", sweep=sweep.RATE)
def learning_rates(table: pl.DataFrame) -> Finding:
    """DG consistently outperforms baselines over a wide effective range of learning rates.

    Regret of the best baseline − DG at each rate; "partly" also if DG is clearly the best at
    half of the rates or more, per gradient step.
    """
    rates = sorted(table["learning_rate"].unique().to_list())
    if len(rates) < 2:
        raise NotMeasuredError("it needs runs at several learning rates")

    def gaps(rows: pl.DataFrame) -> Gaps:
        return {f"rate {rate:g}": _margin(rows, learning_rate=rate) for rate in rates}

    best = []
    for spec in rivals(table):
        rows = ends(table)
        means = [by_seed(rows, "regret", method=spec, learning_rate=r).mean() for r in rates]
        best.append(f"{label(spec)} {min(means):.4f} at {rates[int(np.argmin(means))]:g}")
    return both_ways(
        table,
        "regret, best baseline − DG",
        gaps,
        nearly=_at_half,
        note=f"best rates per episode: {'; '.join(best)}",
    )


def _at_half(gaps: Gaps) -> bool:
    return 2 * sum(gap.low > 0 for gap in gaps.values()) >= len(gaps)


def _margin(rows: pl.DataFrame, **where: Any) -> Estimate:
    """The best baseline's regret − DG's."""
    runs = {spec: by_seed(rows, "regret", method=spec, **where) for spec in rivals(rows)}
    best = min((spec for spec in runs if spec != "dg"), key=lambda spec: float(runs[spec].mean()))
    return lower(runs[best], runs["dg"])


@claims.add("Appendix D.2, Figure 21b", paper="> 0", sweep=sweep.EXTENDED)
def extended(table: pl.DataFrame) -> Finding:
    """Extended to K = 10,000, baselines do not catch up.

    At most "partly" for shorter runs than the paper's.
    """
    return last_errors(table, enough=min(table["steps"].to_list()) >= 10 * sweep.K)


Variant = tuple[str, str]
"""A task and a reward."""


def _variants(rows: pl.DataFrame) -> list[Variant]:
    kinds: list[Variant] = rows.select("task", "reward").unique(maintain_order=True).rows()
    return kinds


@claims.add("Section 5, Appendix D.3, Figure 23", paper="> 0", sweep=sweep.VARIANTS)
def every_variant(table: pl.DataFrame) -> Finding:
    """DG achieves the lowest regret in every setting.

    Regret of the best baseline − DG in each; "partly" also if DG is clearly the best in half of
    them or more, per gradient step.
    """

    def gaps(rows: pl.DataFrame) -> Gaps:
        return {f"{t}, {r}": _margin(rows, task=t, reward=r) for t, r in _variants(table)}

    return both_ways(table, "regret, best baseline − DG", gaps, nearly=_at_half)


@claims.add("Appendix D.3, Figure 23", paper="> 0.5", sweep=sweep.VARIANTS)
def sequential_gap(table: pl.DataFrame) -> Finding:
    """The gap is often larger in the harder Sequential settings.

    In which share of the tasks DG's margin over the best baseline, per gradient step, is larger
    with Sequential reward than with Bag-of-Tokens; "often" is more than half, "partly" half.
    """
    rows = at_equal_updates(table)
    variants = _variants(rows)
    larger, notes = [], []
    for task in sorted({task for task, _ in variants}):
        if not {(task, "bag"), (task, "sequential")} <= set(variants):
            raise NotMeasuredError("it needs runs of both rewards for every task")
        bag, sequential = (
            _margin(rows, task=task, reward=kind).value for kind in ("bag", "sequential")
        )
        larger.append(sequential > bag)
        notes.append(f"{task} {bag:.4f} → {sequential:.4f}")
    share = float(np.mean(larger))
    note = f"bag → sequential: {'; '.join(notes)}"
    return found("share of tasks", share, share > 0.5, partly=share == 0.5, note=note)
