"""Claims of Appendices B.3 to B.6: sensitivity to settings, and other forms of delight."""

from itertools import pairwise

import polars as pl

from delightful.lab.conditions import Condition
from delightful.lab.experiment import ClaimBook
from delightful.lab.verdicts import Measurement, NotMeasuredError, Rule, above, measured
from delightful.paper.comparisons import lower
from delightful.paper.mnist import sweep
from delightful.paper.mnist.runs import (
    Excesses,
    Gaps,
    best,
    by_grid,
    by_value,
    excess,
    final,
    gaps,
    require_every_baseline,
)

claims = ClaimBook("mnist")

_EVERYWHERE = above(0, "final training error, PG − DG")


def _gaps(table: pl.DataFrame, field: str, symbol: str, metric: str = "train_error") -> Gaps:
    """PG's final error less DG's, by the value of `field` and the baseline."""
    found: Gaps = {}
    for (baseline, steps), rows in table.group_by("baseline", "steps", maintain_order=True):
        pg, dg = (by_value(rows, field, metric, method=m) for m in ("pg", "dg"))
        several = "" if table["baseline"].n_unique() == 1 else f", baseline {baseline}"
        short = "" if steps == table["steps"].max() else f", {steps} steps"
        found |= {f"{symbol} = {v:g}{several}{short}": lower(pg[v], dg[v]) for v in pg}
    return found


def _everywhere(table: pl.DataFrame, field: str, symbol: str) -> Measurement:
    """The gaps at every value of `field`, and every baseline that was run."""
    greedy = _gaps(table, field, symbol, "train_greedy_error")
    note = f"by greedy error the smallest is {min(g.scores.mean() for g in greedy.values()):.3g}"
    if table["baseline"].n_unique() == 1:
        note += f"; with the baseline {table['baseline'][0]} only"
    return measured(_gaps(table, field, symbol), note=note)


_EFFECTIVE = Condition(
    "at learning rates from {:g} to {:g}",
    (1e-4, 1e-3),
    ours="the effective range is read as the basin of low error that the paper names",
)


@claims.add(
    "Section 3, Appendix B.3, Figure 16",
    paper="> 0",
    sweep=sweep.RATE,
    rule=Rule(_EVERYWHERE, conditions=(_EFFECTIVE,)),
)
def learning_rates(table: pl.DataFrame) -> Measurement:
    """DG consistently outperforms PG across the effective range of learning rates."""
    low, high = _EFFECTIVE.values
    rounded = 0.99 * low, 1.01 * high  # as grids of rates may be
    effective = table.filter(pl.col("learning_rate").is_between(*rounded))
    if effective.is_empty():
        raise NotMeasuredError(f"it needs learning rates from {low:g} to {high:g}")
    return _everywhere(effective, "learning_rate", "rate")


@claims.add("Appendix B.3, Figure 16 (caption)", paper="> 0", sweep=sweep.RATE, rule=_EVERYWHERE)
def all_learning_rates(table: pl.DataFrame) -> Measurement:
    """DG outperforms PG across all baselines and learning rates, 10⁻⁵ to 10⁻²."""
    require_every_baseline(table)
    return _everywhere(table, "learning_rate", "rate")


@claims.add("Section 3, Appendix B.4, Figure 17", paper="> 0", sweep=sweep.BATCH, rule=_EVERYWHERE)
def batch_sizes(table: pl.DataFrame) -> Measurement:
    """DG maintains its advantage across all batch sizes, 1 to 1000."""
    return _everywhere(table, "batch", "B")


@claims.add(
    "Appendix B.4",
    paper="> 0",
    sweep=sweep.BATCH,
    rule=above(0, "fall of the final training error from one batch size to the next"),
)
def larger_batches(table: pl.DataFrame) -> Measurement:
    """Larger batches reduce gradient variance and improve both methods.

    Of runs with equally many steps.
    """
    same = table.filter(pl.col("steps") == pl.col("steps").max())
    falls: Gaps = {}
    for method in ("pg", "dg"):
        errors = by_value(same, "batch", method=method)
        for small, large in pairwise(errors):
            fall = lower(errors[small], errors[large])
            falls[f"{method.upper()}, B = {small:g} to {large:g}"] = fall
    if not falls:
        raise NotMeasuredError("it needs two batch sizes with the same number of steps")
    left = sorted(set(table["batch"]) - set(same["batch"]))
    short = f"; B = {', '.join(map(str, left))} had fewer steps and is left out" if left else ""
    return measured(falls, note=f"runs of {same['steps'][0]:,} steps{short}")


@claims.add("Section 3, Appendix B.5, Figure 18", paper="> 0", sweep=sweep.WIDTH, rule=_EVERYWHERE)
def widths(table: pl.DataFrame) -> Measurement:
    """DG achieves lower error at every width, 1 to 2048."""
    return _everywhere(table, "width", "W")


_WIDTHS = Condition(
    "if at least {:g} widths have been run for equally many steps",
    (3,),
    ours="fewer have none between",
)


@claims.add(
    "Appendix B.5, Figure 18",
    paper="inside",
    sweep=sweep.WIDTH,
    rule=Rule(
        above(0, "final training error at either end, less that at the best width between"),
        conditions=(_WIDTHS,),
    ),
)
def sweet_spot(table: pl.DataFrame) -> Measurement:
    """Both methods exhibit a sweet spot in capacity."""
    if table["steps"].n_unique() > 1:
        raise NotMeasuredError("at the quick scale the widest networks have fewer steps")
    ends: Excesses = {}
    lowest = []
    for method in ("pg", "dg"):
        errors = by_value(table, "width", method=method)
        if len(errors) < _WIDTHS.values[0]:
            raise NotMeasuredError("it needs at least three widths")
        _, *between, _ = errors
        found = excess(errors, between[0], between[-1], "W")
        ends |= {f"{method.upper()}, {case}": gap for case, gap in found.items()}
        lowest.append(f"{method.upper()} at W = {best(errors):g}")
    return measured(ends, note=f"lowest mean error: {', '.join(lowest)}")


@claims.add(
    "Section 3, Appendix B.6, Figure 19a",
    paper="> 0",
    sweep=sweep.STRUCTURE,
    rule=above(0, "final training error, each mixture − DG", grid=True),
)
def additive(table: pl.DataFrame) -> Measurement:
    """Additive mixtures (1−α)U + αℓ consistently underperform the multiplicative form."""
    errors, dg = by_grid(table, "additive", "alpha"), final(table, method="dg")
    return measured(gaps(errors, dg, "α"), note=f"DG's error: {dg.mean():.4f}")


@claims.add(
    "Appendix B.6, Figure 19b",
    paper="1",
    sweep=sweep.STRUCTURE,
    rule=above(0, "final training error at each other β, less that at β = 1"),
)
def exponent(table: pl.DataFrame) -> Measurement:
    """The optimal surprisal exponent is exactly β = 1; deviations in either direction degrade
    performance."""
    errors = by_grid(table, "exponent", "beta")
    note = f"the β with the lowest mean error: {best(errors):g}"
    return measured(excess(errors, 1, 1, "β"), note=note)
