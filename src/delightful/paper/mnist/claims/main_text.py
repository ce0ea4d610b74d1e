"""Claims of Section 3."""

import numpy as np
import polars as pl

from delightful.lab.experiment import ClaimBook, Reading
from delightful.lab.quantities import Mean, Ratio
from delightful.lab.verdicts import (
    Measurement,
    NotMeasuredError,
    Rule,
    above,
    at_most,
    between,
    measured,
)
from delightful.paper.comparisons import lower, pg_and_dg
from delightful.paper.mnist import sweep
from delightful.paper.mnist.runs import Gaps, exact_pg, final, main_runs, require_every_baseline

claims = ClaimBook("mnist")

HALF = Rule(
    between(
        0.4, 0.6, "part of the gap from PG to CE that DG closes", ours="the paper says roughly half"
    ),
    above(1, "PG's final training error over CE's"),
)
_OTHER_ERRORS = {
    "train_greedy_error": "training, greedy",
    "val_error": "validation, drawn",
    "val_greedy_error": "validation, greedy",
}


def gap_closed(table: pl.DataFrame, metric: str = "train_error") -> tuple[Ratio, Ratio]:
    """The quantities of HALF, of any error."""
    pg, dg = (final(table, metric, method=m, samples=1) for m in ("pg", "dg"))
    ce = final(table, metric, method="ce", samples=0)
    return Ratio(pg - dg, pg - ce), Ratio(pg, ce)


@claims.add(
    "Section 3, Figure 2",
    paper="> 0",
    sweep=sweep.CURVES,
    rule=above(0, "training error averaged over training, PG − DG"),
    finding="with bandit feedback on MNIST, DG's average training error {is} below PG's",
)
def faster(table: pl.DataFrame) -> Measurement:
    """DG learns faster than PG."""
    pg, dg = pg_and_dg(main_runs(table), "train_error")
    first = float(np.mean(dg.mean(0) < pg.mean(0)))
    note = f"DG's mean error is the lower at {first:.0%} of the {pg.shape[1]} records"
    return measured(lower(pg.mean(1), dg.mean(1)), note=note)


def _one_hidden_layer(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("layers") == 1)


@claims.add(
    "Section 3, Figure 2",
    paper="≈ 0.5",
    rule=HALF,
    readings=(
        Reading(
            sweep=sweep.CURVES,
            stands="the paper's networks for control are a '2-layer MLP' as well, where two hidden "
            "layers are the custom; counting layers of weights, only one is hidden",
        ),
        Reading("one hidden layer", sweep.DEPTH, _one_hidden_layer),
    ),
    finding="the part of the gap from PG to supervised cross-entropy that DG closes {is} {side}",
)
def half_the_gap(table: pl.DataFrame) -> Measurement:
    """DG closes roughly half the gap between PG and supervised cross-entropy.

    At the end of training, in the probability of a wrong answer, as in Figure 2.
    """
    others = {name: gap_closed(table, metric)[0] for metric, name in _OTHER_ERRORS.items()}
    parts = (f"{name} {part.estimate(0.95).value:.3f}" for name, part in others.items())
    return measured(*gap_closed(table), note=f"the same part by other errors: {'; '.join(parts)}")


def _by_baseline(table: pl.DataFrame, method: str) -> dict[str, dict[int, np.ndarray]]:
    """A method's final errors, by the name of the baseline and the number of samples."""
    sampled = table.filter(pl.col("samples") > 0)
    if sampled.is_empty():
        raise NotMeasuredError("it needs runs that draw actions, samples > 0")
    return {
        f"baseline {baseline}": {
            samples: final(sampled, method=method, baseline=baseline, samples=samples)
            for samples in sorted(sampled["samples"].unique().to_list())
        }
        for baseline in sampled["baseline"].unique(maintain_order=True).to_list()
    }


def _floor(table: pl.DataFrame) -> np.ndarray:
    return final(exact_pg(table), method="pg", samples=0)


@claims.add(
    "Section 3, Figure 3",
    paper="0",
    sweep=sweep.LIMIT,
    rule=Rule(
        between(
            -0.1,
            0.1,
            "part of PG's excess over the PG oracle left at the largest S",
            ours="converged if a tenth or less is left",
        ),
        above(0, "PG's excess over the PG oracle in final training error at the smallest S"),
    ),
)
def pg_reaches_floor(table: pl.DataFrame) -> Measurement:
    """As S increases, PG converges from above to the error floor set by the exact PG oracle."""
    floor, starts, left = _floor(table), {}, {}
    for baseline, runs in _by_baseline(table, "pg").items():
        if len(runs) < 2:
            raise NotMeasuredError("it needs at least two numbers of samples")
        first, last = runs[min(runs)] - floor, runs[max(runs)] - floor
        starts[baseline], left[baseline] = Mean(first), Ratio(last, first)
    return measured(left, starts, note=f"the PG oracle's error: {floor.mean():.4f}")


@claims.add(
    "Section 3, Figure 3",
    paper="> 0",
    sweep=sweep.LIMIT,
    rule=above(0, "final training error, PG oracle − DG at the largest S"),
    finding="DG's error with the most samples {is} below that of exact PG, with {case}",
)
def dg_below_floor(table: pl.DataFrame) -> Measurement:
    """DG surpasses the PG-oracle floor for every baseline."""
    require_every_baseline(table.filter(pl.col("samples") > 0))
    floor, first = _floor(table), []
    gaps: Gaps = {}
    for baseline, runs in _by_baseline(table, "dg").items():
        gaps[baseline] = lower(floor, runs[max(runs)])
        below = [s for s, dg in runs.items() if dg.mean() < floor.mean()]
        first.append(f"{baseline} from S = {below[0]}" if below else f"{baseline} never")
    return measured(gaps, note=f"DG's mean error is below: {', '.join(first)}")


@claims.add(
    "Section 3, Figure 3",
    paper="≈ 1",
    sweep=sweep.LIMIT,
    rule=at_most(
        1.05,
        "DG's final training error at S = 1 over the PG oracle's",
        ours="a match is at most 5% above",
    ),
)
def one_sample_is_enough(table: pl.DataFrame) -> Measurement:
    """With the expected baseline, DG at S = 1 already matches the level that PG approaches only as
    S → ∞."""
    dg, floor = final(table, method="dg", baseline="expected", samples=1), _floor(table)
    return measured(Ratio(dg, floor), note=f"DG {dg.mean():.4f}, PG oracle {floor.mean():.4f}")


@claims.add(
    "Section 3, Figure 3",
    paper="> 0",
    sweep=sweep.LIMIT,
    rule=above(0, "final training error at the largest S, PG − DG"),
)
def gain_persists(table: pl.DataFrame) -> Measurement:
    """DG's gain over PG persists at large S, so it cannot be explained by variance reduction
    alone."""
    pg, dg = (_by_baseline(table, method) for method in ("pg", "dg"))
    return measured(
        {name: lower(runs[max(runs)], dg[name][max(runs)]) for name, runs in pg.items()}
    )


def _advantages(table: pl.DataFrame, oracle: str) -> dict[int, np.ndarray]:
    """PG's misalignment less DG's, averaged over training, at the smallest and the largest S."""
    samples = sorted(table["samples"].unique().to_list())
    if len(samples) < 2:
        raise NotMeasuredError("it compares two numbers of samples")
    found = {}
    for s in (samples[0], samples[-1]):
        pg, dg = pg_and_dg(table.filter(pl.col("samples") == s), f"misalignment_{oracle}")
        found[s] = np.asarray((pg - dg).mean(1))
    return found


@claims.add(
    "Section 3, Figure 4a",
    paper="> 0",
    sweep=sweep.ALIGNMENT,
    rule=Rule(
        above(0, "fall of PG − DG in 1 − cos to g*_PG, averaged over training"),
        above(0, "PG − DG in 1 − cos to g*_PG at the smallest S"),
    ),
)
def variance_effect(table: pl.DataFrame) -> Measurement:
    """Against g*_PG, DG's advantage in alignment shrinks at S = 100."""
    (one, before), (many, after) = _advantages(table, "pg").items()
    note = f"advantage {before.mean():.3f} at S = {one}, {after.mean():.3f} at S = {many}"
    if after.mean() < 0:
        note += ": there DG is the further from g*_PG, since it leans towards g*_CE"
    return measured(lower(before, after), Mean(before), note=note)


@claims.add(
    "Section 3, Figure 4b",
    paper="> 0",
    sweep=sweep.ALIGNMENT,
    rule=above(0, "PG − DG in 1 − cos to g*_CE, averaged over training"),
)
def directional_effect(table: pl.DataFrame) -> Measurement:
    """Against g*_CE, DG's advantage in alignment persists at S = 100."""
    (one, before), (many, after) = _advantages(table, "ce").items()
    return measured({f"S = {many}": Mean(after)}, note=f"at S = {one} it is {before.mean():.3f}")
