"""The claims of Section 4.1 on runs: on made-up runs each comes out either way."""

import numpy as np
import polars as pl
import pytest

from delightful import theory
from delightful.lab.verdicts import NotMeasuredError, judge, verdict_of
from delightful.paper.bandit.claims.runs import claims, late_peaks

CLAIMS = {claim.id.removeprefix("bandit/"): claim for claim in claims}
SEEDS, STEPS = 8, 60


def verdict(name, table):
    claim = CLAIMS[name]
    return verdict_of(claim.rule, judge(claim.rule, claim.check(table), 0.99))


def runs(configs, seeds=SEEDS):
    """A table as a store gives it: of every config, its `curves` under seeds that differ by 1%."""
    rng = np.random.default_rng(0)
    parts = []
    for fields, curves in configs:
        for seed, spread in enumerate(rng.permutation(np.linspace(0.99, 1.01, seeds))):
            columns = {name: spread * np.atleast_1d(values) for name, values in curves.items()}
            step = np.arange(len(next(iter(columns.values()))))
            one = pl.DataFrame({"seed": np.full(step.size, seed), "step": step, **columns})
            parts.append(one.with_columns(**{name: pl.lit(x) for name, x in fields.items()}))
    return pl.concat(parts)


# At a frozen policy

BATCHES = (1, 10, 1000, 100_000)


def second_order(method, error, batch):
    """The cosine gap of the paper's formula."""
    kept = theory.cosine_gap_ratio(100, error) if method == "dg" else 1.0
    return kept * theory.symmetric_cosine_gap(100, error, batch)


def frozen(gap=second_order, batches=BATCHES, seeds=SEEDS):
    fields = [
        {"method": method, "error": error, "batch": batch, "actions": 100, "baseline": 0.5}
        for method in ("pg", "dg")
        for error in (0.5, 0.1)
        for batch in batches
    ]
    gaps = [gap(f["method"], f["error"], f["batch"]) for f in fields]
    return runs([(f, {"misalignment": g}) for f, g in zip(fields, gaps, strict=True)], seeds)


def scaled(method, by, **where):
    """The formula, and `by` times it for one method, where the fields are as given."""

    def gap(name, error, batch):
        here = {"error": error, "batch": batch}
        changed = name == method and where.items() <= here.items()
        return second_order(name, error, batch) * (by if changed else 1.0)

    return gap


def flat_for(method):
    return lambda name, error, batch: second_order(name, error, 1 if name == method else batch)


@pytest.mark.parametrize(
    ("name", "gap", "expected"),
    [
        ("monte-carlo-ratio", second_order, "reproduced"),
        ("monte-carlo-ratio", scaled("dg", 1.2), "not reproduced"),
        ("monte-carlo-ratio", scaled("dg", 0.8, error=0.1, batch=100_000), "not reproduced"),
        ("monte-carlo-ratio", scaled("dg", 1.05), "inconclusive"),
        ("second-order", second_order, "reproduced"),
        ("second-order", scaled("pg", 1.1), "not reproduced"),
        ("second-order", scaled("pg", 1.02), "inconclusive"),
        ("gap-always-smaller", second_order, "reproduced"),
        ("gap-always-smaller", scaled("dg", 100.0), "not reproduced"),
        ("gap-vanishes", second_order, "reproduced"),
        ("gap-vanishes", flat_for("pg"), "not reproduced"),
        ("gap-vanishes", flat_for("dg"), "not reproduced"),
    ],
)
def test_alignment_at_a_frozen_policy(name, gap, expected):
    assert verdict(name, frozen(gap)) == expected


@pytest.mark.parametrize("batches", [(1,), BATCHES])
def test_a_gap_that_is_equal_but_for_rounding_is_not_smaller(batches):
    table = frozen()
    equal = pl.col("batch").is_in(batches)
    pg = table.filter(equal & (pl.col("method") == "pg"))
    dg = pg.with_columns(method=pl.lit("dg"), misalignment=pl.col("misalignment") * (1 - 2e-16))
    table = pl.concat([table.filter(~equal), pg, dg])
    assert verdict("gap-always-smaller", table) == "not reproduced"


def test_a_gap_vanishes_along_several_large_batches_or_is_not_measured():
    with pytest.raises(NotMeasuredError, match="two batch sizes"):
        verdict("gap-vanishes", frozen(batches=(1, 1000)))


# Along training

FALLING = np.linspace(1, 0.01, STEPS)
STEADY = np.full(STEPS, 0.001)
REBOUND = np.concatenate([np.linspace(0.1, 0.01, STEPS // 2), np.linspace(0.01, 0.06, STEPS // 2)])


def trained(pg, dg, seeds=SEEDS):
    """(error, misalignment) of the two methods."""
    names = ("error", "misalignment")
    curves = [dict(zip(names, of, strict=True)) for of in (pg, dg)]
    return runs(list(zip(({"method": "pg"}, {"method": "dg"}), curves, strict=True)), seeds)


@pytest.mark.parametrize(
    ("name", "pg", "dg", "expected"),
    [
        ("faster", (FALLING, STEADY), (FALLING / 2, STEADY), "reproduced"),
        ("faster", (FALLING / 2, STEADY), (FALLING, STEADY), "not reproduced"),
        ("faster", (FALLING, STEADY), (FALLING, STEADY), "inconclusive"),
        ("misalignment-below", (FALLING, REBOUND), (FALLING, STEADY), "reproduced"),
        ("misalignment-below", (FALLING, STEADY), (FALLING, REBOUND), "not reproduced"),
        ("misalignment-below", (FALLING, REBOUND), (FALLING, REBOUND[::-1]), "not reproduced"),
        ("rebound", (FALLING, REBOUND), (FALLING, STEADY), "reproduced"),
        ("rebound", (FALLING, STEADY), (FALLING, STEADY), "not reproduced"),
        ("rebound", (FALLING, REBOUND), (FALLING, REBOUND), "not reproduced"),
        ("rebound", (FALLING, 0.1 - 0.05 * FALLING), (FALLING, STEADY / 100), "reproduced"),
        # The same in every seed, which few seeds do not make certain.
        ("rebound", (FALLING, 0.1 * FALLING), (FALLING, STEADY / 100), "inconclusive"),
    ],
)
def test_training(name, pg, dg, expected):
    assert verdict(name, trained(pg, dg)) == expected


def heated(gains, seeds=SEEDS):
    """DG at several η, its error below PG's by these gains."""
    pg = ({"method": "pg", "role": "rival", "varied": "default"}, {"error": FALLING})
    dg = [
        (
            {"method": f"dg:temperature={eta}", "role": "main", "varied": "temperature"},
            {"error": FALLING - gain},
        )
        for eta, gain in gains.items()
    ]
    return runs([pg, *dg], seeds)


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ({0.1: 0.2, 1.0: 0.2, 10.0: 0.1}, "reproduced"),
        ({0.1: 0.2, 1.0: 0.2, 10.0: -0.1}, "not reproduced"),
        ({0.1: 0.2, 1.0: 0.2, 10.0: 0.0}, "inconclusive"),
    ],
)
def test_every_temperature_counts(gains, expected):
    assert verdict("temperature", heated(gains)) == expected


@pytest.mark.parametrize("name", CLAIMS)
def test_one_seed_decides_nothing(name):
    tables = {
        "bandit/alignment": frozen(seeds=1),
        "bandit/training": trained((FALLING, REBOUND), (FALLING / 2, STEADY), seeds=1),
        "bandit/robustness": heated({0.1: 0.2}, seeds=1),
    }
    assert verdict(name, tables[CLAIMS[name].sweep.name]) == "inconclusive"


@pytest.mark.parametrize("seeds", [3, 5, 10, 30])
def test_the_intervals_of_late_peaks_cover_95_percent(seeds):
    """Though the same seeds say where the peaks are: curves that fall and rise again, with noise of
    a tenth on whole curves and on every stretch of ten steps."""
    step, rng, draws = np.arange(120), np.random.default_rng(seeds), 2000
    means = [0.02 + level * ((step - 70) / 70) ** 2 for level in (0.1, 0.01)]
    pg, dg = means
    truths = pg[70:].max() / pg.min(), dg[70:].max() / pg[70:].max()
    hits = np.zeros(2)
    for _ in range(draws):
        noise = rng.normal(0, 0.1, (2, seeds, 13))
        scales = 1 + noise[..., :1] + np.repeat(noise[..., 1:], 10, axis=2)
        found = late_peaks(*(mean * scale for mean, scale in zip(means, scales, strict=True)))
        ends = [ratio.estimate(0.95) for ratio in found]
        hits += [end.low <= truth <= end.high for end, truth in zip(ends, truths, strict=True)]
    assert np.abs(hits / draws - 0.95).max() < 0.02
