"""Claims of Appendices B.1 and B.2: generalisation, temperature and entropy."""

from itertools import groupby

import numpy as np
import polars as pl

from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.statistics import bootstrap_ratio
from delightful.lab.tables import at_end, seeds_by_steps
from delightful.paper.comparisons import lower, pg_and_dg
from delightful.paper.mnist import sweep
from delightful.paper.mnist.runs import (
    Errors,
    best,
    by_grid,
    by_value,
    final,
    listed_means,
    main_runs,
)

claims = ClaimBook("mnist")


@claims.add("Appendix B.1, Figure 14a", paper="≈ 1", sweep=sweep.TEMPERATURE)
def validation_tracks(table: pl.DataFrame) -> Finding:
    """Validation error tracks training error closely for both PG and DG, indicating no overfitting.

    Validation over training error at the end. "Closely" is read as 0.8 to 1.25; "partly"
    is validation error still within 2% of its lowest, so that training longer has done no harm.
    """
    ratios, risen = {}, {}
    for name in ("pg", "dg"):
        train, val = (final(table, f"{split}_error", method=name) for split in ("train", "val"))
        ratios[name] = bootstrap_ratio(val, train)
        curve = seeds_by_steps(table, "val_error", method=name).mean(0)
        risen[name] = float(curve[-1] / curve.min())
    far = max(ratios, key=lambda name: abs(np.log(ratios[name].value)))
    note = "; ".join(
        f"{name.upper()} {ratios[name]}, validation error {risen[name]:.3f} times its lowest"
        for name in ratios
    )
    measures = f"validation over training error, {far.upper()}"
    holds = all(0.8 <= ratio.value <= 1.25 for ratio in ratios.values())
    partly = all(rise <= 1.02 for rise in risen.values())
    return found(measures, ratios[far], holds, partly=partly, note=note)


@claims.add("Appendix B.1, Figure 14a", paper="> 0", sweep=sweep.TEMPERATURE)
def held_out_gain(table: pl.DataFrame) -> Finding:
    """DG's gains persist on held-out data."""
    pg, dg = pg_and_dg(at_end(main_runs(table)), "val_error")
    gap = lower(pg[:, 0], dg[:, 0])
    note = f"PG {pg.mean():.4f}, DG {dg.mean():.4f}"
    return found("final validation error, PG − DG", gap, gap.low > 0, note=note)


@claims.add("Appendix B.1, Figure 14b", paper="1", sweep=sweep.TEMPERATURE)
def temperature(table: pl.DataFrame) -> Finding:
    """The optimal temperature η ≈ 1 is consistent across train and validation.

    The best η on each split; "≈ 1" is read as ½ to 2, "partly" if only on one split.
    """
    splits = ("train", "val")
    errors = {split: by_grid(table, "dg", "temperature", f"{split}_error") for split in splits}
    train, val = (best(errors[split]) for split in splits)
    near = [0.5 <= eta <= 2 for eta in (train, val)]
    note = ", ".join(f"{split}: {listed_means(errors[split])}" for split in splits)
    measures = f"best η on training batches (on validation {val:g})"
    return found(measures, train, all(near), partly=any(near), note=note)


def _with_bonus(table: pl.DataFrame) -> Errors:
    rows = table.filter((pl.col("entropy") > 0) & (pl.col("method") == "pg"))
    if rows.is_empty():
        raise NotMeasuredError("it needs runs of pg with an entropy bonus")
    return by_value(rows, "entropy")


def _plain(table: pl.DataFrame, method: str) -> np.ndarray:
    return final(table, method=method, entropy=0.0)


@claims.add("Appendix B.2, Figure 15", paper="> 0", sweep=sweep.ENTROPY)
def beats_entropy(table: pl.DataFrame) -> Finding:
    """DG achieves a lower error floor than any entropy-regularized baseline."""
    errors, dg = _with_bonus(table), _plain(table, "dg")
    bonus = best(errors)
    gap = lower(errors[bonus], dg)
    note = f"DG at η = 1: {dg.mean():.4f}; by coefficient: {listed_means(errors)}"
    return found(f"best bonus ({bonus:g}) − DG in final error", gap, gap.low > 0, note=note)


@claims.add("Appendix B.2, Figure 15", paper="≈ 1 and ≫ 1", sweep=sweep.ENTROPY)
def entropy_is_sensitive(table: pl.DataFrame) -> Finding:
    """Entropy regularization is sensitive: a small coefficient gives negligible benefit, a large
    one collapses performance.

    Error at the largest coefficient over plain PG's (a collapse: twice or more), and at the
    smallest (a negligible benefit: less than a tenth lower, or none at all).
    """
    errors, pg = _with_bonus(table), _plain(table, "pg")
    small, large = (bootstrap_ratio(errors[c], pg) for c in (min(errors), max(errors)))
    collapses, negligible = large.low >= 2, small.value >= 0.9
    note = f"at the smallest ({min(errors):g}) {small}; by coefficient: {listed_means(errors)}"
    measures = f"error at coefficient {max(errors):g} over plain PG's"
    return found(measures, large, collapses and negligible, partly=collapses, note=note)


@claims.add("Appendix B.2, Figure 15", paper="wide", sweep=sweep.ENTROPY)
def wide_temperature(table: pl.DataFrame) -> Finding:
    """DG maintains its advantage over entropy regularization across a wide range of η.

    How far η can grow with DG staying below the best bonus, as a factor; "wide" is a decade.
    """
    bonus = _with_bonus(table)
    heats = by_grid(table, "dg", "temperature")
    below = {eta: lower(bonus[best(bonus)], runs).low > 0 for eta, runs in heats.items()}
    stretches = [list(run) for wins, run in groupby(below, key=below.get) if wins]
    span = max((run[-1] / run[0] for run in stretches), default=0.0)
    wins = [f"{eta:g}" for eta in below if below[eta]]
    note = f"it does at η = {', '.join(wins) or 'none'}; {listed_means(heats)}"
    return found(
        "largest over smallest η of that range", span, span >= 10, partly=span > 1, note=note
    )
