"""Claims of runs that a user changed, of a single seed, and without any error.

By `--method` or `--set` one method may stand for several configs that a sweep tells apart, or what
a claim compares may be left with a single value. Then a claim is decided on what it says it is, or
it is "not run".
"""

import contextlib
import functools
import math

import numpy as np
import polars as pl
import pytest

from delightful.experiments.tokens import EXPERIMENT
from delightful.experiments.tokens.sweep import CURVES, RIVALS, SCALING, VARIANTS
from delightful.experiments.tokens.train import MEASURED
from delightful.lab.cells import Plan
from delightful.lab.experiment import VERDICTS, NotMeasuredError
from delightful.lab.store import Store

CLAIMS = {claim.id.removeprefix("tokens/"): claim for claim in EXPERIMENT.claims}
SWEEPS = {sweep.name: sweep for sweep in EXPERIMENT.sweeps}
REPRODUCED, PARTLY, NOT = VERDICTS[:3]


def changed(*methods, scale="paper", **fields):
    changes = {name: str(value) for name, value in fields.items()}
    return Plan(scale, methods=methods, changes=changes)


OF_LENGTHS, OF_VOCABULARIES = (
    {f"graceful-{field}", f"exponent-{field}"} for field in ("length", "vocabulary")
)
OF_GRIDS = {"tuned-ppo", "tuned-pmpo", "ppo-clip", "ppo-kl"}  # which tell the passes apart
PLANS = {
    "paper": (changed(), set()),
    "quick": (changed(scale="quick"), set()),
    "smoke": (changed(scale="smoke"), {"power-law"}),  # which takes three sizes
    "dg alone": (changed("dg"), set(CLAIMS)),
    "pg and awr": (changed("pg", "awr"), set(CLAIMS)),
    "every rival": (changed(*RIVALS), set(CLAIMS) - OF_GRIDS),  # with every other's rate and passes
    "smoke of dg": (changed("dg", scale="smoke"), set(CLAIMS)),
    "every rival alike": (
        changed(*RIVALS, learning_rate=1e-3, epochs=1),
        {"tuning-does-not-help", "ppo-clip", "pmpo-boundary", "best-additive"}
        | {"additive-beats-pg", "additive-below-dg", "learning-rates"},
    ),
    "steps": (changed(steps=500), set()),
    "rate": (changed(learning_rate=1e-3), {"learning-rates"}),
    "one pass": (changed(epochs=1), set()),
    "penalty": (changed(kl=0.1), {"ppo-clip", "ppo-kl"}),
    "task": (changed(task="copy"), set()),
    "reward": (changed(reward="all"), {"sequential-gap"}),
    "length": (changed(length=10), OF_LENGTHS | {"power-law"}),
    "vocabulary": (changed(vocabulary=4), OF_VOCABULARIES | {"power-law"}),
    "smoke of one length": (changed(scale="smoke", length=3), OF_LENGTHS | {"power-law"}),
}
SINGLE = pytest.mark.xfail(
    strict=True, reason="`learning_rates` takes a single learning rate for a wide range of them"
)


def better(config):
    """DG clearly the best everywhere, and by more where it is harder."""
    harder = 1 + math.log(config.length * config.vocabulary) / 3
    start = {"dg": 0.05, "pg": 0.1, "ppo": 0.12, "pmpo": 0.11}
    harder = harder**0.1 if config.method == "dg" else harder
    return start.get(config.method, 0.08) * harder * (1.1 if config.reward == "sequential" else 1)


def flawless(_):
    return 0.0


def flawless_dg(config):
    return 0.0 if config.method == "dg" else better(config)


@pytest.fixture(scope="module")
def table(runs):
    """The runs of a sweep under one of the plans, of which several claims are checked."""

    @functools.cache
    def of(sweep, plan, seeds, error=better):
        return runs(SWEEPS[sweep], error, PLANS[plan][0], seeds)

    return of


def cases():
    for plan, (_, lacking) in PLANS.items():
        for name in CLAIMS:
            if plan == "every rival" and name in OF_GRIDS:
                continue  # whether each has one config depends on the rates that were found best
            single = name == "learning-rates" and plan in ("rate", "every rival alike")
            yield pytest.param(plan, name, name in lacking, marks=SINGLE if single else ())


@pytest.mark.parametrize(("plan", "name", "lacks"), list(cases()))
def test_a_claim_is_decided_just_if_the_runs_have_what_it_compares(table, plan, name, lacks):
    rows = table(CLAIMS[name].sweep.name, plan, 4)
    if lacks:
        with pytest.raises(NotMeasuredError, match=r"^it (needs|compares) "):
            CLAIMS[name].check(rows)
    else:
        finding = CLAIMS[name].check(rows)
        assert finding.verdict in (REPRODUCED, PARTLY, NOT)
        assert math.isfinite(finding.value)
        assert finding.measures
        assert "nan" not in finding.text + finding.note


# A single seed, which has no interval

BY_VALUE = {"power-law", "tuned-dg", "tuned-ppo", "tuned-pmpo", "ppo-clip", "ppo-kl"}
BY_VALUE |= {"sequential-gap", "best-additive", "dg-beside-additive"}


@pytest.mark.parametrize("plan", ["paper", "smoke"])
@pytest.mark.parametrize("name", CLAIMS)
def test_one_seed_reproduces_nothing_that_takes_an_interval(table, name, plan):
    if name in PLANS[plan][1]:
        pytest.skip("not decided at this scale")
    finding = CLAIMS[name].check(table(CLAIMS[name].sweep.name, plan, 1))
    assert math.isfinite(finding.value)
    assert name in BY_VALUE or finding.verdict != REPRODUCED
    assert name in BY_VALUE or math.isnan(finding.low)


@pytest.mark.parametrize("gain", [0.01, -0.01])
def test_without_an_interval_the_value_says_whether_a_penalty_helps(runs, gain):
    claim = CLAIMS["ppo-kl"]
    finding = claim.check(runs(claim.sweep, lambda c: 0.2 - gain * (c.kl > 0), None, 1))
    assert finding.verdict == (NOT if gain > 0 else REPRODUCED)


def test_one_seed_shows_the_smallest_gap_too(runs):
    claim = CLAIMS["lower-error"]
    errors = {"pg": 0.3, "ppo": 0.15, "pmpo": 0.4, "dg": 0.2}
    finding = claim.check(runs(claim.sweep, lambda c: errors[c.method], None, 1))
    assert (finding.verdict, finding.value) == (NOT, pytest.approx(-0.05))


# No errors at all, and no differences

LOGARITHM = pytest.mark.xfail(
    strict=True, reason="`_slopes` and `power_law` take the logarithm of an error of 0"
)
CONSTANT = pytest.mark.xfail(
    strict=True, reason="`power_law` correlates with errors that do not differ"
)
OF_LOGARITHMS = {"exponent-length", "exponent-vocabulary", "power-law"}
RATIO = "ppo-clip"


@pytest.mark.parametrize("seeds", [1, 4])
@pytest.mark.parametrize("error", [flawless, flawless_dg])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=LOGARITHM if n in OF_LOGARITHMS else ()) for n in CLAIMS]
)
def test_runs_without_any_error_are_decided_too(table, name, error, seeds):
    rows = table(CLAIMS[name].sweep.name, "paper", seeds, error)
    try:
        finding = CLAIMS[name].check(rows)
    except NotMeasuredError:
        return
    assert finding.verdict in (REPRODUCED, PARTLY, NOT)
    if name != RATIO or error is flawless_dg:  # 0/0 is no number
        assert math.isfinite(finding.value)
    if error is flawless:
        assert finding.verdict != REPRODUCED or name in BY_VALUE


@CONSTANT
def test_an_error_that_does_not_depend_on_the_size_is_no_crash(runs):
    table = runs(SCALING, lambda _: 0.25, None, 1)
    with contextlib.suppress(NotMeasuredError):
        assert math.isfinite(CLAIMS["power-law"].check(table).value)


# Values of one config only


@pytest.mark.xfail(strict=True, reason="`ppo_clip` compares clips of different passes per batch")
def test_the_clip_is_judged_with_equally_many_passes(runs):
    # Each clip is run with one pass and with four: what differs is due to the passes alone.
    plan = changed("ppo:clip=0.1", "ppo:clip=0.4", "dg", learning_rate=3e-4)
    rows = runs(CLAIMS["ppo-clip"].sweep, lambda c: 0.1 if c.epochs == 4 else 0.3, plan)
    with contextlib.suppress(NotMeasuredError):
        assert CLAIMS["ppo-clip"].check(rows).value == pytest.approx(1, abs=0.01)


def windows(config):
    """An error of 0.5 that falls to 0 in 1000 gradient steps, whoever makes them; the mean over
    the batches of each record."""
    per_record = config.steps * config.epochs / config.records
    middle = (np.arange(config.records) + 0.5) * per_record
    return 0.5 * np.clip(1 - middle / 1000, 0, None) if config.method in ("ppo", "dg") else 0.5


def test_learners_alike_per_gradient_step_are_equally_fast(runs):
    finding = CLAIMS["faster"].check(runs(CURVES, windows))
    assert finding.value == pytest.approx(0, abs=1e-6)
    assert (finding.verdict, finding.measures[-8:]) == (NOT, "PPO − DG")


@pytest.mark.xfail(
    strict=True, reason="PPO's last record within DG's 1000 gradient steps is at 960 of them"
)
def test_learners_alike_per_gradient_step_are_equally_fast_whatever_the_records(runs):
    finding = CLAIMS["faster"].check(runs(CURVES, windows, records=None))
    assert finding.value == pytest.approx(0, abs=1e-6)
    assert finding.verdict == NOT


def test_without_a_record_at_as_many_gradient_steps_nothing_is_compared(runs):
    with pytest.raises(NotMeasuredError, match="ppo"):
        CLAIMS["faster"].check(runs(CURVES, better, records=2))


def test_the_tables_of_these_tests_are_such_as_a_store_gives(runs, tmp_path):
    store, plan = Store(tmp_path), changed(scale="smoke")
    store.prepare()
    cells = VARIANTS.cells(plan)
    for cell in cells:
        steps = np.arange(2, 9, 2, dtype=np.int32)
        curves = {name: np.full((2, 4), 0.25, np.float32) for name in MEASURED}
        store.write(cell, {"step": steps, **curves}, 1.0)
    stored, made = store.table(cells), runs(VARIANTS, better, plan, 2)
    assert dict(stored.schema) == dict(made.schema)
    measured = ["error", "gate_good", "gate_bad", "surprisal"]
    assert stored.drop(measured).sort(pl.all()).equals(made.drop(measured).sort(pl.all()))
