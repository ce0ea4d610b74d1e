"""Claims of Appendices B.1 and B.2: generalisation, temperature and entropy."""

import numpy as np
import polars as pl

from delightful.lab.conditions import Condition
from delightful.lab.experiment import ClaimBook
from delightful.lab.quantities import Ratio
from delightful.lab.tables import at_end, seeds_by_steps, varying
from delightful.lab.verdicts import (
    Measurement,
    NotMeasuredError,
    Rule,
    above,
    at_least,
    between,
    measured,
)
from delightful.paper.comparisons import lower, pg_and_dg
from delightful.paper.mnist import sweep
from delightful.paper.mnist.runs import (
    Errors,
    Excesses,
    best,
    by_grid,
    by_value,
    excess,
    final,
    gaps,
    main_runs,
)

claims = ClaimBook("mnist")


@claims.add(
    "Section 3, Appendix B.1, Figure 14a",
    paper="≈ 1",
    sweep=sweep.TEMPERATURE,
    rule=between(
        0.8,
        1.25,
        "final validation error over final training error",
        ours="the paper says closely",
    ),
    finding="the ratio of validation error to training error {is} {side} for {case}",
)
def validation_tracks(table: pl.DataFrame) -> Measurement:
    """Validation error tracks training error closely for both PG and DG, indicating no
    overfitting."""
    ratios, rises = {}, []
    for name in ("pg", "dg"):
        train, val = (final(table, f"{split}_error", method=name) for split in ("train", "val"))
        curve = seeds_by_steps(table, "val_error", method=name).mean(0)
        ratios[name.upper()] = Ratio(val, train)
        rises.append(f"{name.upper()} {curve[-1] / curve.min():.3f}")
    note = f"final validation error over its lowest during training: {', '.join(rises)}"
    return measured(ratios, note=note)


@claims.add(
    "Appendix B.1, Figure 14a",
    paper="> 0",
    sweep=sweep.TEMPERATURE,
    rule=above(0, "final validation error, PG − DG"),
)
def held_out_gain(table: pl.DataFrame) -> Measurement:
    """DG's gains persist on held-out data."""
    pg, dg = pg_and_dg(at_end(main_runs(table)), "val_error")
    return measured(lower(pg[:, 0], dg[:, 0]), note=f"PG {pg.mean():.4f}, DG {dg.mean():.4f}")


_NEAR_ONE = Condition("the range is η from {:g} to {:g}", (0.5, 2), ours="the paper says η ≈ 1")


@claims.add(
    "Appendix B.1, Figure 14b",
    paper="1",
    sweep=sweep.TEMPERATURE,
    rule=Rule(
        above(0, "final error at each η outside a range, less that at the best η within"),
        conditions=(_NEAR_ONE,),
    ),
)
def temperature(table: pl.DataFrame) -> Measurement:
    """The optimal temperature η ≈ 1 is consistent across train and validation."""
    worse: Excesses = {}
    lowest = []
    low, high = _NEAR_ONE.values
    for split, metric in (("training", "train_error"), ("validation", "val_error")):
        errors = by_grid(table, "dg", "temperature", metric)
        worse |= {f"{split}, {case}": gap for case, gap in excess(errors, low, high, "η").items()}
        lowest.append(f"{best(errors):g} in {split}")
    return measured(worse, note=f"the η with the lowest mean error: {', '.join(lowest)}")


def _with_bonus(table: pl.DataFrame) -> Errors:
    rows = varying(table, "entropy").filter(pl.col("entropy") > 0, method="pg")
    if rows.is_empty():
        raise NotMeasuredError("it needs runs of pg with an entropy bonus")
    return by_value(rows, "entropy")


def _plain(table: pl.DataFrame, method: str) -> np.ndarray:
    return final(table, method=method, entropy=0.0)


@claims.add(
    "Section 3, Appendix B.2, Figure 15",
    paper="> 0",
    sweep=sweep.ENTROPY,
    rule=above(0, "final training error, PG with each entropy bonus − DG at η = 1", grid=True),
)
def beats_entropy(table: pl.DataFrame) -> Measurement:
    """DG achieves a lower error floor than any entropy-regularized baseline."""
    errors, dg = _with_bonus(table), _plain(table, "dg")
    return measured(gaps(errors, dg, "coefficient"), note=f"DG's error: {dg.mean():.4f}")


@claims.add(
    "Appendix B.2, Figure 15",
    paper="≈ 1 and ≫ 1",
    sweep=sweep.ENTROPY,
    rule=Rule(
        at_least(
            0.9,
            "final training error over plain PG's at the smallest coefficient",
            ours="a benefit of less than a tenth is negligible",
        ),
        at_least(
            2,
            "final training error over plain PG's at the largest coefficient",
            ours="twice the error is a collapse",
        ),
        parts=True,
    ),
)
def entropy_is_sensitive(table: pl.DataFrame) -> Measurement:
    """Entropy regularization is sensitive: a small coefficient gives negligible benefit, a large
    one collapses performance."""
    errors, pg = _with_bonus(table), _plain(table, "pg")
    small, large = ({f"{c:g}": Ratio(errors[c], pg)} for c in (min(errors), max(errors)))
    lowest = best(errors)
    note = f"plain PG {pg.mean():.4f}; lowest at {lowest:g}: {errors[lowest].mean():.4f}"
    return measured(small, large, note=note)


_WIDE = Condition(
    "at η from {:g} to {:g}",
    (0.2, 5),
    ours="a wide range is read as a factor of 5 on either side of η = 1",
)


@claims.add(
    "Appendix B.2, Figure 15",
    paper="wide",
    sweep=sweep.ENTROPY,
    rule=Rule(
        above(0, "final training error, PG with each entropy bonus − DG at each η"),
        conditions=(_WIDE,),
    ),
)
def wide_temperature(table: pl.DataFrame) -> Measurement:
    """DG maintains its advantage over entropy regularization across a wide range of η."""
    bonus, heats = _with_bonus(table), by_grid(table, "dg", "temperature")
    low, high = _WIDE.values
    wide = {eta: dg for eta, dg in heats.items() if low <= eta <= high}
    if min(wide, default=1.0) > low or max(wide, default=1.0) < high:
        raise NotMeasuredError(f"it needs runs of dg at temperatures from {low:g} to {high:g}")
    cases = {
        f"η = {eta:g}, {case}": gap
        for eta, dg in wide.items()
        for case, gap in gaps(bonus, dg, "coefficient").items()
    }
    means = ", ".join(f"{dg.mean():.4f} at η = {eta:g}" for eta, dg in heats.items())
    return measured(cases, note=f"best bonus {bonus[best(bonus)].mean():.4f}; DG {means}")
