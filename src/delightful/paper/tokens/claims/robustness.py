"""Claims of Appendices D.2 and D.3: robustness and task variants."""

import numpy as np
import polars as pl

from delightful.lab.conditions import Condition
from delightful.lab.experiment import ClaimBook
from delightful.lab.plotting import label
from delightful.lab.quantities import Mean
from delightful.lab.verdicts import Measurement, NotMeasuredError, Rule, above, measured
from delightful.paper.tokens import sweep
from delightful.paper.tokens.claims.main_text import (
    LAST_ERRORS,
    OWN_RATES,
    equal_budgets,
    last_errors,
    over_dg,
)
from delightful.paper.tokens.runs import by_method

claims = ClaimBook("tokens")


@claims.add(
    "Appendix D.2, Figure 21a",
    paper="> 0",
    readings=equal_budgets("rate"),
    rule=above(0, "regret at a learning rate, baseline − DG", grid=True),
)
def learning_rates(rows: pl.DataFrame) -> Measurement:
    """DG consistently outperforms baselines over a wide effective range of learning rates.

    All rates of the grid are taken for the range.
    """
    rates = sorted(rows["learning_rate"].unique().to_list())
    if len(rates) < 2:
        raise NotMeasuredError("it needs runs at several learning rates")
    gaps: dict[str, Mean] = {}
    regrets: dict[str, list[float]] = {}
    for rate in rates:
        runs = by_method(rows, "regret", learning_rate=rate)
        gaps |= over_dg(runs, f", rate {rate:g}")
        for spec, of_seeds in runs.items():
            regrets.setdefault(spec, []).append(float(of_seeds.mean()))
    best = "; ".join(
        f"{label(spec)} {min(means):.4f} at {rates[int(np.argmin(means))]:g}"
        for spec, means in regrets.items()
    )
    return measured(gaps, note=f"lowest regrets: {best}")


_TEN_TIMES = Condition("in runs of at least {:,} batches", (10 * sweep.K,))


@claims.add(
    "Appendix D.2, Figure 21b",
    paper="> 0",
    readings=equal_budgets("extended"),
    rule=Rule(LAST_ERRORS, conditions=(OWN_RATES, _TEN_TIMES)),
)
def extended(rows: pl.DataFrame) -> Measurement:
    """Extended to K = 10,000, baselines do not catch up."""
    steps, (needed,) = min(rows["steps"].to_list()), _TEN_TIMES.values
    if steps < needed:
        raise NotMeasuredError(f"it needs runs of {needed:,} batches, and these have {steps:,}")
    return last_errors(rows)


Variant = tuple[str, str]
"""A task and a reward."""


def _by_variant(rows: pl.DataFrame) -> dict[Variant, dict[str, np.ndarray]]:
    """The regret of every method in each variant."""
    kinds = rows.select("task", "reward").unique(maintain_order=True).rows()
    return {(t, r): by_method(rows, "regret", task=t, reward=r) for t, r in kinds}


@claims.add(
    "Section 5, Appendix D.3, Figure 23",
    paper="> 0",
    readings=equal_budgets("variants"),
    rule=above(0, "regret, baseline − DG"),
)
def every_variant(rows: pl.DataFrame) -> Measurement:
    """DG achieves the lowest regret in every setting."""
    gaps: dict[str, Mean] = {}
    for (task, reward), runs in _by_variant(rows).items():
        gaps |= over_dg(runs, f", {task}, {reward} reward")
    return measured(gaps)


@claims.add(
    "Section 5, Appendix D.3, Figure 23",
    paper="> 0, often",
    readings=equal_budgets("variants"),
    rule=above(0, "gap in regret (baseline − DG), Sequential − Bag-of-Tokens", most=True),
)
def sequential_gap(rows: pl.DataFrame) -> Measurement:
    """The gap is often larger in the harder Sequential settings."""
    variants = _by_variant(rows)
    larger: dict[str, Mean] = {}
    for task in sorted({task for task, _ in variants}):
        if not {(task, "bag"), (task, "sequential")} <= set(variants):
            raise NotMeasuredError("it needs runs of both rewards for every task")
        bag, sequential = variants[task, "bag"], variants[task, "sequential"]
        larger |= over_dg({spec: sequential[spec] - bag[spec] for spec in bag}, f", {task}")
    return measured(larger)
