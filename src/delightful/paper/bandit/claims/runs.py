"""Claims of Section 4.1 on runs, with intervals over seeds."""

import math

import numpy as np
import polars as pl

from delightful import theory
from delightful.lab.cells import DEFAULT
from delightful.lab.experiment import ClaimBook, Finding, NotMeasuredError, found
from delightful.lab.statistics import Estimate, bootstrap, bootstrap_ratio, power_law
from delightful.lab.tables import seeds_by_steps, varying, with_role
from delightful.paper.bandit import sweep
from delightful.paper.comparisons import dg_is_lower_throughout, lower, pg_and_dg
from delightful.weights import parse_method

claims = ClaimBook("bandit")


@claims.add("Proposition 1(iii)", paper="0.0414", sweep=sweep.ALIGNMENT)
def monte_carlo_ratio(table: pl.DataFrame) -> Finding:
    """Where the batch mean concentrates, DG's cosine gap is about w₋²/s² times PG's.

    Measured cosine-gap ratio at the largest batch against w₋²/s², at every ε that was run.
    """
    batch = max(table["batch"].to_list())
    estimates, holds = {}, True
    for error in sorted(table["error"].unique().to_list(), reverse=True):
        pg, dg = pg_and_dg(_at(table, error, batch), "misalignment")
        estimates[error] = found_ratio = bootstrap_ratio(dg, pg)
        expected = float(theory.cosine_gap_ratio(table["actions"][0], error, table["baseline"][0]))
        inside = found_ratio.low <= expected <= found_ratio.high
        holds &= inside or abs(found_ratio.value / expected - 1) < 0.05
    first = next(iter(estimates))
    note = "; ".join(f"ε = {error:g}: {estimate}" for error, estimate in estimates.items())
    return found(f"gap ratio at ε = {first:g}, B = {batch}", estimates[first], holds, note=note)


def _at(table: pl.DataFrame, error: float, batch: int) -> pl.DataFrame:
    return table.filter((pl.col("error") == error) & (pl.col("batch") == batch))


@claims.add("Appendix C.2", paper="1", sweep=sweep.ALIGNMENT)
def second_order(table: pl.DataFrame) -> Finding:
    """1 − E[cos(ḡ, ∇J)] ≈ Var⊥(g) / (2B ‖E[ḡ]‖²).

    Measured gap of PG at the largest batch, over the formula.
    """
    batch, error = max(table["batch"].to_list()), max(table["error"].to_list())
    pg, _ = pg_and_dg(_at(table, error, batch), "misalignment")
    expected = theory.symmetric_cosine_gap(table["actions"][0], error, batch, table["baseline"][0])
    ratio = bootstrap(pg[:, 0] / expected)
    holds = ratio.low <= 1 <= ratio.high or abs(ratio.value - 1) < 0.02
    return found(f"PG's gap over the formula at ε = {error:g}, B = {batch}", ratio, holds)


@claims.add("Proposition 1(iii)", paper="< 1", sweep=sweep.ALIGNMENT)
def gap_always_smaller(table: pl.DataFrame) -> Finding:
    """DG always reduces the alignment gap.

    DG's gap over PG's at every batch size: below 1 wherever a batch can hold two actions.
    """
    ratios = {}
    for batch in sorted(table["batch"].unique().to_list()):
        for error in table["error"].unique().to_list():
            pg, dg = pg_and_dg(_at(table, error, batch), "misalignment")
            ratios[batch, error] = bootstrap_ratio(dg, pg)
    worst = max(ratios, key=lambda key: ratios[key].high)
    several = [r.high < 1 for (batch, _), r in ratios.items() if batch > 1]
    measures = f"largest ratio of gaps (B = {worst[0]})"
    holds = all(r.high < 1 for r in ratios.values())
    note = "with B = 1 the gate only scales the one term, so both directions are equal"
    return found(measures, ratios[worst], holds, partly=bool(several) and all(several), note=note)


@claims.add("Proposition 1(iii)", paper="−1", sweep=sweep.ALIGNMENT)
def gap_vanishes(table: pl.DataFrame) -> Finding:
    """Both methods converge to cosine 1 as B → ∞.

    The gap as a power of B, over the larger batches.
    """
    error = max(table["error"].to_list())
    large = table.filter((pl.col("batch") >= 1000) & (pl.col("error") == error))
    batches = sorted(large["batch"].unique().to_list())
    if len(batches) < 2:
        raise NotMeasuredError("it needs at least two batch sizes from 1000")
    laws = {}
    for method in ("pg", "dg"):
        gaps = [seeds_by_steps(large, "misalignment", method=method, batch=b) for b in batches]
        laws[method] = _exponent(np.array(batches, float), np.concatenate(gaps, 1))
    holds = all(law.high < -0.9 for law in laws.values())
    return found("exponent of PG's gap in B", laws["pg"], holds, note=f"DG: {laws['dg']}")


def _exponent(batches: np.ndarray, gaps: np.ndarray) -> Estimate:
    if len(gaps) > 1:
        return power_law(batches, gaps).exponent
    slope = np.polyfit(np.log(batches), np.log(gaps[0]), 1)[0]
    return Estimate(float(slope), math.nan, math.nan)


@claims.add("Section 4.1, Figure 5a", paper="> 0", sweep=sweep.TRAINING)
def faster(table: pl.DataFrame) -> Finding:
    """Despite identical step magnitudes, DG converges faster."""
    pg, dg = pg_and_dg(table, "error")
    gap = lower(pg.mean(1), dg.mean(1))
    reach = [float(np.mean([_first_below(run, 0.1) for run in runs])) for runs in (pg, dg)]
    note = f"mean steps to error below 0.1: PG {reach[0]:.0f}, DG {reach[1]:.0f}"
    return found("error averaged over training, PG − DG", gap, gap.low > 0, note=note)


def _first_below(run: np.ndarray, level: float) -> int:
    below = np.flatnonzero(run < level)
    return int(below[0]) if below.size else len(run)


@claims.add("Section 4.1, Figure 5b", paper="> 0", sweep=sweep.TRAINING)
def misalignment_below(table: pl.DataFrame) -> Finding:
    """DG maintains lower misalignment throughout training."""
    return dg_is_lower_throughout(table, "misalignment")


@claims.add("Section 4.1, Figure 5b", paper="> 1", sweep=sweep.TRAINING)
def rebound(table: pl.DataFrame) -> Finding:
    """Late in training PG's misalignment rebounds while DG's stays suppressed.

    Late hump over mid-training trough of the mean misalignment, steps smoothed by ten.
    """
    pg, dg = (_smooth(runs) for runs in pg_and_dg(table, "misalignment"))
    rise_pg, rise_dg = _rebound(pg), _rebound(dg)
    late_pg, late_dg = (float(runs.mean(0)[_trough(pg) :].max()) for runs in (pg, dg))
    holds = rise_pg.low > 1.5 and late_dg < 0.1 * late_pg
    note = f"DG's rise {rise_dg}, its late peak {late_dg:.2g} against PG's {late_pg:.2g}"
    return found("PG's late peak over its trough", rise_pg, holds, note=note)


def _smooth(runs: np.ndarray, window: int = 10) -> np.ndarray:
    window = min(window, runs.shape[1])
    return np.apply_along_axis(
        lambda run: np.convolve(run, np.full(window, 1 / window), "valid"), 1, runs
    )


def _trough(runs: np.ndarray) -> int:
    """The lowest point before error is so small that most batches hold no mistake at all."""
    mean = runs.mean(0)
    return int(np.argmin(mean[: max(1, int(0.8 * mean.size))]))


def _rebound(runs: np.ndarray) -> Estimate:
    trough = _trough(runs)
    late = trough + int(np.argmax(runs.mean(0)[trough:]))
    return bootstrap_ratio(runs[:, late], runs[:, trough])


@claims.add("Section 2.2", paper="> 0", sweep=sweep.ROBUSTNESS)
def temperature(table: pl.DataFrame) -> Finding:
    """We use η = 1 throughout and find it robust (here: DG beats PG in the bandit at every η from
    0.1 to 10).

    Error averaged over training: DG at every η against PG, on the same seeds.
    """
    pg = seeds_by_steps(varying(table, DEFAULT), "error", method="pg").mean(1)
    heated = with_role(varying(table, "temperature"), "main")
    gains = {}
    for method in sorted(heated["method"].unique().to_list()):
        dg = seeds_by_steps(heated, "error", method=method).mean(1)
        gains[parse_method(method)[1]["temperature"]] = lower(pg, dg)
    worst = min(gains, key=lambda eta: gains[eta].value)
    note = "; ".join(f"η = {eta:g}: {gains[eta].value:.2g}" for eta in sorted(gains))
    measures = f"smallest gain over PG, at η = {worst:g}"
    return found(measures, gains[worst], all(g.low > 0 for g in gains.values()), note=note)
