"""Claims of Section 3."""

from itertools import pairwise

import numpy as np
import polars as pl

from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, bootstrap_difference, bootstrap_ratio
from delightful.paper.comparisons import Gaps, listed, lower, narrowest, pg_and_dg, positive
from delightful.paper.mnist import sweep
from delightful.paper.mnist.runs import exact_pg, final, main_runs

claims = ClaimBook("mnist")

_ERRORS = {
    "train_error": "training, drawn",
    "train_greedy_error": "training, greedy",
    "val_error": "validation, drawn",
    "val_greedy_error": "validation, greedy",
}


def gap_closed(table: pl.DataFrame, metric: str, **where: object) -> Estimate:
    """The share of the gap between PG's and CE's final errors that DG closes."""
    sampled = {"samples": 1, **where}
    pg, dg = (final(table, metric, method=m, **sampled) for m in ("pg", "dg"))
    ce = final(table, metric, method="ce", samples=0, **where)
    return bootstrap_ratio(pg - dg, pg - ce)


@claims.add("Section 3, Figure 2", paper="> 0", sweep=sweep.CURVES)
def faster(table: pl.DataFrame) -> Finding:
    """DG learns faster than PG."""
    pg, dg = pg_and_dg(main_runs(table), "train_error")
    gap = lower(pg.mean(1), dg.mean(1))
    first = float(np.mean(dg.mean(0) < pg.mean(0)))
    note = f"DG's mean error is the lower at {first:.0%} of the {pg.shape[1]} records"
    return found("error averaged over training, PG − DG", gap, gap.low > 0, note=note)


@claims.add("Section 3, Figure 2", paper="≈ 0.5", sweep=sweep.CURVES)
def half_the_gap(table: pl.DataFrame) -> Finding:
    """DG closes roughly half the gap between PG and supervised cross-entropy.

    At the end of training; "roughly half" is read as 0.4 to 0.6, "partly" as 0.25 to 0.75.
    """
    parts = {name: gap_closed(table, metric) for metric, name in _ERRORS.items()}
    main = parts["training, drawn"]
    pg, ce = final(table, method="pg", samples=1), final(table, method="ce", samples=0)
    is_gap = bool(pg.mean() > ce.mean())
    note = listed(parts)
    measures = "part of the gap in final training error"
    holds = is_gap and 0.4 <= main.value <= 0.6
    return found(measures, main, holds, partly=is_gap and 0.25 <= main.value <= 0.75, note=note)


def _by_baseline(table: pl.DataFrame, method: str) -> dict[str, dict[int, np.ndarray]]:
    """A method's final errors, by baseline and number of samples."""
    sampled = table.filter(pl.col("samples") > 0)
    if sampled.is_empty():
        raise NotMeasuredError("it needs runs that draw actions, samples > 0")
    return {
        baseline: {
            samples: final(sampled, method=method, baseline=baseline, samples=samples)
            for samples in sorted(sampled["samples"].unique().to_list())
        }
        for baseline in sampled["baseline"].unique(maintain_order=True).to_list()
    }


def _floor(table: pl.DataFrame) -> np.ndarray:
    return final(exact_pg(table), method="pg", samples=0)


def _worst(gaps: Gaps, what: str, holds: bool, *, partly: bool = False, more: str = "") -> Finding:
    """A finding on the case where the gap is smallest, the others in the note."""
    worst = narrowest(gaps)
    note = listed(gaps) + more
    return found(f"{what} ({worst})", gaps[worst], holds, partly=partly, note=note)


@claims.add("Section 3, Figure 3", paper="0", sweep=sweep.LIMIT)
def pg_reaches_floor(table: pl.DataFrame) -> Finding:
    """As S increases, PG converges from above to the error floor set by the exact PG oracle.

    The share of PG's excess error at S = 1 over the floor that is left at the largest S.

    It holds if PG falls with every S, is above the floor at S = 1, and a tenth or less is left.
    """
    floor, left, falls, above = _floor(table), {}, True, True
    for baseline, runs in _by_baseline(table, "pg").items():
        errors = list(runs.values())
        if len(errors) < 2:
            raise NotMeasuredError("it needs at least two numbers of samples")
        above &= lower(errors[0], floor).low > 0
        falls &= all(lower(a, b).value > 0 for a, b in pairwise(errors))
        left[baseline] = bootstrap_ratio(errors[-1] - floor, errors[0] - floor)
    farthest = max(left, key=lambda name: abs(left[name].value))
    most = max(abs(part.value) for part in left.values())
    note = f"{listed(left)}; PG's error falls with every S: {'yes' if falls else 'no'}"
    measures = f"part of the excess left at the largest S ({farthest})"
    holds = above and falls and most <= 0.1
    return found(measures, left[farthest], holds, partly=above and most <= 0.25, note=note)


@claims.add("Section 3, Figure 3", paper="> 0", sweep=sweep.LIMIT)
def dg_below_floor(table: pl.DataFrame) -> Finding:
    """DG surpasses the PG-oracle floor for every baseline.

    How far below the floor DG ends at the largest S, at the baseline where it is least.
    """
    floor = _floor(table)
    gaps, first = {}, []
    for baseline, runs in _by_baseline(table, "dg").items():
        gaps[baseline] = lower(floor, runs[max(runs)])
        below = [s for s, dg in runs.items() if lower(floor, dg).low > 0]
        first.append(f"{baseline} from S = {below[0]}" if below else f"{baseline} never")
    return _worst(
        gaps,
        "floor − DG's error at the largest S",
        positive(gaps),
        partly=any(gap.low > 0 for gap in gaps.values()),
        more=f"; clearly below: {', '.join(first)}",
    )


@claims.add("Section 3, Figure 3", paper="≈ 1", sweep=sweep.LIMIT)
def one_sample_is_enough(table: pl.DataFrame) -> Finding:
    """With the expected baseline, DG at S = 1 already matches the level that PG approaches only as
    S → ∞.

    DG's final error at S = 1 over the floor; a match is at most 5% above, "partly" 20%.
    """
    dg = final(table, method="dg", baseline="expected", samples=1)
    ratio = bootstrap_ratio(dg, _floor(table))
    note = f"DG {dg.mean():.4f}, PG oracle {_floor(table).mean():.4f}"
    measures = "DG's error at S = 1 over the floor"
    return found(measures, ratio, ratio.value <= 1.05, partly=ratio.value <= 1.2, note=note)


@claims.add("Section 3, Figure 3", paper="> 0", sweep=sweep.LIMIT)
def gain_persists(table: pl.DataFrame) -> Finding:
    """DG's gain over PG persists at large S, so it cannot be explained by variance reduction
    alone."""
    pg, dg = (_by_baseline(table, method) for method in ("pg", "dg"))
    gaps = {name: lower(runs[max(runs)], dg[name][max(runs)]) for name, runs in pg.items()}
    return _worst(gaps, "PG − DG in final error at the largest S", positive(gaps))


def _advantage(table: pl.DataFrame, oracle: str, samples: int) -> np.ndarray:
    """PG's misalignment less DG's, averaged over training, for each seed."""
    pg, dg = pg_and_dg(table.filter(pl.col("samples") == samples), f"misalignment_{oracle}")
    return np.asarray((pg - dg).mean(1))


def _one_and_many(table: pl.DataFrame) -> tuple[int, int]:
    samples = sorted(table["samples"].unique().to_list())
    if len(samples) < 2:
        raise NotMeasuredError("it compares two numbers of samples")
    return samples[0], samples[-1]


@claims.add("Section 3, Figure 4a", paper="> 0", sweep=sweep.ALIGNMENT)
def variance_effect(table: pl.DataFrame) -> Finding:
    """Against g*_PG, DG's advantage in alignment shrinks at S = 100."""
    one, many = _one_and_many(table)
    before, after = (_advantage(table, "pg", s) for s in (one, many))
    gap = lower(before, after)
    note = f"advantage {before.mean():.3f} at S = {one}, {after.mean():.3f} at S = {many}"
    if after.mean() < 0:
        note += ": there DG is the further from g*_PG, since it leans towards g*_CE"
    holds = gap.low > 0 and before.mean() > 0
    return found("loss of DG's advantage, in 1 − cos", gap, holds, note=note)


@claims.add("Section 3, Figure 4b", paper="> 0", sweep=sweep.ALIGNMENT)
def directional_effect(table: pl.DataFrame) -> Finding:
    """Against g*_CE, DG's advantage in alignment persists at S = 100."""
    one, many = _one_and_many(table)
    before, after = (_advantage(table, "ce", s) for s in (one, many))
    gap = bootstrap_difference(after, np.zeros_like(after), paired=True)
    note = f"at S = {one} it is {before.mean():.3f}"
    return found(f"PG − DG in 1 − cos at S = {many}", gap, gap.low > 0, note=note)
