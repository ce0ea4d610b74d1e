"""The claims of Section 3 on runs whose outcome is known: each verdict occurs, with its value."""

import math

import numpy as np
import pytest

from delightful.lab.cells import Plan
from delightful.lab.verdicts import VERDICTS, NotMeasuredError
from delightful.paper.mnist import EXPERIMENT
from delightful.paper.mnist.claims.main_text import claims
from delightful.paper.mnist.sweep import SAMPLES

CLAIMS = {claim.id.removeprefix("mnist/"): claim for claim in claims}
REPRODUCED, _, NOT, OPEN = list(VERDICTS)[:4]


def by_method(**values):
    return lambda config: values[config.method]


def gap(dg):
    """PG ends at 0.2 and CE at 0.1."""
    return by_method(pg=0.2, dg=dg, ce=0.1)


def where(field, value, there, elsewhere):
    return lambda config: there if getattr(config, field) == value else elsewhere


def limit(pg=(0.08, 0.04, 0.02, 0.01, 0.004), dg=lambda _: 0.0):
    """Errors above the floor of 0.1: of PG for each S, of DG by its config."""

    def error(config):
        if config.samples == 0:
            return 0.1
        above = pg[SAMPLES.index(config.samples)] if config.method == "pg" else dg(config)
        return 0.1 + above

    return error


def advantage(oracle, at_one, at_many):
    """By how much DG is closer to an oracle than PG is, at S = 1 and S = 100."""
    other = {"pg": "ce", "ce": "pg"}[oracle]  # where it is the other way round

    def misalignments(config):
        lead = {1: at_one, 100: at_many}[config.samples] if config.method == "dg" else 0.0
        return {f"misalignment_{oracle}": 0.5 - lead, f"misalignment_{other}": 0.5 + lead}

    return misalignments


CASES = [
    ("faster", by_method(pg=0.2, dg=0.15, ce=0.1), REPRODUCED, 0.05),
    ("faster", by_method(pg=0.15, dg=0.2, ce=0.1), NOT, -0.05),
    ("faster", by_method(pg=0.2, dg=0.2, ce=0.1), OPEN, 0.0),
    ("half-the-gap", gap(dg=0.15), REPRODUCED, 0.5),
    ("half-the-gap", gap(dg=0.13), NOT, 0.7),
    ("half-the-gap", gap(dg=0.17), NOT, 0.3),
    ("half-the-gap", gap(dg=0.14), OPEN, 0.6),
    ("half-the-gap", gap(dg=0.11), NOT, 0.9),
    ("half-the-gap", gap(dg=0.19), NOT, 0.1),
    ("half-the-gap", gap(dg=0.25), NOT, -0.5),
    ("pg-reaches-floor", limit(), REPRODUCED, 0.05),
    ("pg-reaches-floor", limit(pg=(0.08, 0.07, 0.05, 0.03, 0.016)), NOT, 0.2),
    ("pg-reaches-floor", limit(pg=(0.08, 0.04, 0.02, 0.01, 0.008)), OPEN, 0.1),
    # It gets there, though not at every S; then, not at all; then, from below.
    ("pg-reaches-floor", limit(pg=(0.08, 0.02, 0.04, 0.01, 0.004)), REPRODUCED, 0.05),
    ("pg-reaches-floor", limit(pg=(0.08, 0.07, 0.06, 0.05, 0.04)), NOT, 0.5),
    ("pg-reaches-floor", limit(pg=(-0.08, -0.04, -0.02, -0.01, -0.004)), NOT, -0.08),
    ("dg-below-floor", limit(dg=where("baseline", "zero", -0.02, -0.05)), REPRODUCED, 0.02),
    ("dg-below-floor", limit(dg=where("baseline", "zero", 0.03, -0.05)), NOT, -0.03),
    ("dg-below-floor", limit(dg=where("samples", 100, 0.03, -0.05)), NOT, -0.03),
    ("dg-below-floor", limit(), OPEN, 0.0),
    ("one-sample-is-enough", limit(dg=lambda _: -0.03), REPRODUCED, 0.7),
    ("one-sample-is-enough", limit(dg=where("samples", 1, 0.003, 0.05)), REPRODUCED, 1.03),
    ("one-sample-is-enough", limit(dg=lambda _: 0.005), OPEN, 1.05),
    ("one-sample-is-enough", limit(dg=where("samples", 1, 0.03, 0.0)), NOT, 1.3),
    ("one-sample-is-enough", limit(dg=where("baseline", "expected", 0.03, 0.0)), NOT, 1.3),
    ("gain-persists", limit(dg=lambda _: -0.01), REPRODUCED, 0.014),
    ("gain-persists", limit(dg=where("baseline", "oracle", 0.054, -0.05)), NOT, -0.05),
    ("gain-persists", limit(dg=where("samples", 100, 0.004, -0.05)), OPEN, 0.0),
    ("variance-effect", advantage("pg", 0.3, 0.1), REPRODUCED, 0.2),
    ("variance-effect", advantage("pg", 0.3, -0.1), REPRODUCED, 0.4),
    ("variance-effect", advantage("pg", 0.1, 0.3), NOT, -0.2),
    ("variance-effect", advantage("pg", 0.2, 0.2), OPEN, 0.0),
    ("variance-effect", advantage("pg", -0.1, -0.3), NOT, -0.1),  # there is none to lose
    ("directional-effect", advantage("ce", 0.3, 0.2), REPRODUCED, 0.2),
    ("directional-effect", advantage("ce", 0.3, 0.0), OPEN, 0.0),
    ("directional-effect", advantage("ce", 0.3, -0.1), NOT, -0.1),
]


@pytest.mark.parametrize(("name", "measured", "verdict", "value"), CASES)
def test_a_verdict_and_its_value_follow_from_the_runs(decided, name, measured, verdict, value):
    found = decided(CLAIMS[name], measured)
    assert found.verdict == verdict, found
    estimate = found.first.estimate
    assert estimate.value == pytest.approx(value, abs=1e-9)
    assert estimate.low < estimate.value < estimate.high


def test_every_verdict_of_every_claim_is_among_them():
    seen = {(name, verdict) for name, _, verdict, _ in CASES}
    assert seen == {(name, verdict) for name in CLAIMS for verdict in (REPRODUCED, NOT, OPEN)}
    assert not any(claim.rule.parts for claim in CLAIMS.values())


# What a finding says besides


def test_faster_is_over_all_of_training(decided):
    curves = {"pg": (0.4, 0.2), "dg": (0.1, 0.3), "ce": (0.1, 0.1)}
    found = decided(CLAIMS["faster"], lambda c: {"train_error": curves[c.method]})
    assert found.value() == pytest.approx(0.1)
    assert "lower at 50% of the 2 records" in found.note


def test_the_part_of_the_gap_is_given_for_every_error(runs):
    dg = {"train_error": 0.15, "train_greedy_error": 0.18, "val_error": 0.12}
    ends = {"pg": 0.2, "ce": 0.1}
    table = runs(
        CLAIMS["half-the-gap"].sweep,
        lambda c: {m: dg[m] if c.method == "dg" else ends[c.method] for m in dg},
    )
    table = table.with_columns(val_greedy_error=table["val_error"])
    note = CLAIMS["half-the-gap"].check(table).note
    for part in ("training, greedy 0.200", "validation, drawn 0.800", "validation, greedy 0.800"):
        assert part in note


def test_the_baseline_where_dg_gains_least_is_named(decided):
    above = {"zero": -0.03, "constant": -0.01, "expected": -0.04, "oracle": 0.02}
    measured = limit(dg=lambda c: above[c.baseline] if c.samples >= 10 else 0.02)
    found = decided(CLAIMS["dg-below-floor"], measured)
    assert found.first.case == "baseline oracle"
    below = ", ".join(f"baseline {b} from S = 10" for b in ("zero", "constant", "expected"))
    assert found.note.endswith(f"{below}, baseline oracle never")


def test_where_dg_is_the_further_from_the_pg_oracle_the_note_says_so(runs):
    claim = CLAIMS["variance-effect"]
    notes = [claim.check(runs(claim.sweep, advantage("pg", 0.3, a))).note for a in (0.1, -0.1)]
    assert ["further from g*_PG" in note for note in notes] == [False, True]


# What cannot be decided


@pytest.mark.parametrize(
    ("name", "plan", "reason"),
    [
        ("faster", Plan(methods=("pg",)), "compares pg and dg"),
        ("half-the-gap", Plan(methods=("pg", "dg")), "method=ce"),
        ("half-the-gap", Plan(changes={"samples": "10"}), "samples=1"),
        ("pg-reaches-floor", Plan(changes={"samples": "10"}), "method=pg, samples=0"),
        ("pg-reaches-floor", Plan(methods=("dg",)), "method=pg, samples=0"),
        ("dg-below-floor", Plan(methods=("pg",)), "method=dg"),
        ("dg-below-floor", Plan("smoke"), "every baseline; not run: constant, oracle"),
        ("dg-below-floor", Plan(changes={"baseline": "zero"}), "not run: constant, expected"),
        ("one-sample-is-enough", Plan(changes={"baseline": "zero"}), "baseline=expected"),
        ("gain-persists", Plan(methods=("pg",)), "method=dg"),
        ("variance-effect", Plan(changes={"samples": "10"}), "two numbers of samples"),
        ("variance-effect", Plan(methods=("dg",)), "compares pg and dg"),
        ("directional-effect", Plan(changes={"samples": "10"}), "two numbers of samples"),
        ("directional-effect", Plan(methods=("dg",)), "compares pg and dg"),
    ],
)
def test_a_claim_that_lacks_runs_says_which(runs, name, plan, reason):
    with pytest.raises(NotMeasuredError, match=reason):
        CLAIMS[name].check(runs(CLAIMS[name].sweep, gap(dg=0.15), plan))


def test_pg_needs_two_numbers_of_samples_to_converge(runs):
    table = runs(CLAIMS["pg-reaches-floor"].sweep, limit())
    with pytest.raises(NotMeasuredError, match="two numbers of samples"):
        CLAIMS["pg-reaches-floor"].check(table.filter(table["samples"] <= 1))


def test_the_oracle_is_no_run_of_its_baseline(runs):
    claim = CLAIMS["dg-below-floor"]
    table = runs(claim.sweep, limit())  # of the baseline zero, only the oracle stays
    oracle_or_other = (table["samples"] == 0) | (table["baseline"] != "zero")
    with pytest.raises(NotMeasuredError, match="not run: zero"):
        claim.check(table.filter(oracle_or_other))


@pytest.mark.parametrize("claim", EXPERIMENT.claims, ids=lambda claim: claim.id)
def test_no_claim_is_decided_on_another_method(runs, claim):
    with pytest.raises(NotMeasuredError):
        claim.check(runs(claim.sweep, lambda _: 0.2, Plan(methods=("awr",))))


@pytest.mark.parametrize("claim", EXPERIMENT.claims, ids=lambda claim: claim.id)
def test_on_noise_alone_no_claim_is_decided(runs, on_table, claim):
    rng = np.random.default_rng(0)
    metrics = ("train_error", "val_error", "misalignment_pg", "misalignment_ce")
    table = runs(
        claim.sweep, lambda _: {name: rng.uniform(0.1, 0.9, (3, 1)) for name in metrics}, None, 3
    )
    assert on_table(claim, table, confidence=0.9999).verdict == OPEN


SCALES = [
    (claim, scale, seeds)
    for claim in EXPERIMENT.claims
    for scale, seeds in (("smoke", 2), ("quick", 3), ("paper", 1))
    # Sentences on every baseline need those that smaller scales lack: see what cannot be decided.
    if scale == "paper" or claim.id != "mnist/all-learning-rates"
    if scale != "smoke" or claim.id != "mnist/dg-below-floor"
]


@pytest.mark.parametrize(("claim", "scale", "seeds"), SCALES)
def test_every_claim_is_decided_at_every_scale_and_on_one_seed(decided, claim, scale, seeds):
    # At the quick scale the sweet spot needs a change to be decided: see test_robustness.
    changes = {"steps": "1000"} if (claim.id, scale) == ("mnist/sweet-spot", "quick") else {}
    ends = {"pg": 0.2, "dg": 0.15, "ce": 0.1}
    found = decided(
        claim,
        lambda c: ends.get(c.method, 0.18) - (0.03 if c.samples == 0 else 0.0),
        Plan(scale, changes=changes),
        seeds,
    )
    assert found.verdict == OPEN or seeds > 1  # one seed has no spread
    assert math.isfinite(found.first.estimate.value)
