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

from delightful.agents.tokens.training import MEASURED
from delightful.lab.cells import Plan
from delightful.lab.store import Store
from delightful.lab.verdicts import NotMeasuredError, headline
from delightful.paper.tokens import EXPERIMENT
from delightful.paper.tokens.sweep import FRESH, WITH_FRESH

CLAIMS = {claim.id.removeprefix("tokens/"): claim for claim in EXPERIMENT.claims}
SWEEPS = {sweep.name: sweep for sweep in EXPERIMENT.sweeps}
REPRODUCED, NOT, OPEN = "reproduced", "not reproduced", "inconclusive"


def changed(*methods, scale="paper", **fields):
    changes = {name: str(value) for name, value in fields.items()}
    return Plan(scale, methods=methods, changes=changes)


OF_LENGTHS, OF_VOCABULARIES = (
    {f"graceful-{field}", f"exponent-{field}"} for field in ("length", "vocabulary")
)
OF_VALUES = {"tuned-dg", "tuned-ppo", "tuned-pmpo", "best-additive", "dg-beside-additive"}
OF_MIXTURES = {"best-additive", "additive-beats-pg", "additive-below-dg"}
# Whether each of these has one config per setting depends on the rates that were found best.
OF_GRIDS = {"tuned-ppo", "tuned-pmpo", "ppo-clip", "ppo-kl", "tuning-does-not-help"}
OF_RATIOS = {"ppo-clip", "ppo-kl", "graceful-length", "graceful-vocabulary"}
TUNED = {"tuned-dg", "tuned-ppo", "tuned-pmpo"}  # with fresh actors the quick runs are shorter
SHORT = {"ppo-clip", "extended"}  # clips too close, and less than 10,000 batches
PLANS = {  # with the claims that cannot be decided on its runs
    "paper": (changed(), set()),
    "quick": (changed(scale="quick"), SHORT),
    # A power law takes three sizes, and a value of the paper's as many batches.
    "smoke": (changed(scale="smoke"), OF_VALUES | SHORT | {"power-law"}),
    "dg alone": (changed("dg"), set(CLAIMS) - {"tuned-dg", "dg-beside-additive"}),
    "pg and awr": (changed("pg", "awr"), set(CLAIMS)),
    "every rival": (changed(*WITH_FRESH.settings), OF_MIXTURES | {"pmpo-boundary"}),
    "every rival alike": (
        changed(*WITH_FRESH.settings, learning_rate=1e-3, epochs=1),
        OF_MIXTURES | {"ppo-clip", "pmpo-boundary", "learning-rates"},
    ),
    "steps": (changed(steps=500), OF_VALUES | {"extended"}),
    "rate": (changed(learning_rate=1e-3), {"learning-rates"}),
    "one pass": (changed(epochs=1), set()),
    "minibatches": (changed(minibatches=2), set()),
    "penalty": (changed(kl=0.1), {"ppo-clip", "ppo-kl"}),
    "task": (changed(task="copy"), set()),
    "reward": (changed(reward="all"), {"sequential-gap"}),
    "length": (changed(length=10), OF_LENGTHS | {"power-law"}),
    "vocabulary": (changed(vocabulary=4), OF_VOCABULARIES | {"power-law"}),
}
SOME = {  # plans that matter to the claims of these sweeps alone
    "quick": {"scaling", "tuning", "extended", "variants"},
    "every rival alike": {"curves", "scaling", "tuning", "learning-rate", "additive"},
    "one pass": {"curves", "scaling", "tuning"},
    "steps": {"curves", "extended"},
    "rate": {"curves", "tuning", "learning-rate"},
    "minibatches": {"curves", "tuning"},
    "penalty": {"tuning"},
    "task": {"variants"},
    "reward": {"variants"},
    "length": {"scaling"},
    "vocabulary": {"scaling"},
}
CASES = [
    (plan, name, name in lacking)
    for plan, (_, lacking) in PLANS.items()
    for name, claim in CLAIMS.items()
    if plan not in SOME or claim.readings[1].sweep.name.removeprefix("tokens/") in SOME[plan]
]


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


def readings(decided, name, rows):
    """What is decided under each reading, in words and numbers that can be shown."""
    claim = CLAIMS[name]
    found = [decided(claim, rows, reading) for reading in range(len(claim.readings) - 1)]
    for _, outcomes, note in found:
        assert all(math.isfinite(outcome.estimate.value) for outcome in outcomes)
        assert "nan" not in note
    return found


@pytest.mark.parametrize(("plan", "name", "lacks"), CASES)
def test_a_claim_is_decided_just_if_the_runs_have_what_it_compares(
    table, decided, plan, name, lacks
):
    rows = table(CLAIMS[name].readings[1].sweep.name, plan, 4)
    if plan == "every rival" and name in OF_GRIDS:
        with contextlib.suppress(NotMeasuredError):
            readings(decided, name, rows)
    elif lacks:
        for reading in range(len(CLAIMS[name].readings) - 1):
            with pytest.raises(NotMeasuredError, match=r"^[a-z].+[^.]$"):
                decided(CLAIMS[name], rows, reading)
    else:
        readings(decided, name, rows)


@pytest.mark.parametrize(
    "name",
    [n for p, n, lacks in CASES if p == "every rival" and not lacks and n not in OF_GRIDS],
)
def test_no_config_of_a_method_is_mixed_with_another(runs, table, decided, name):
    sweep = CLAIMS[name].readings[1].sweep

    def error(config):
        """Nothing like it, if a method's settings are not those it is compared with."""
        own = dict(WITH_FRESH.settings[config.method])
        if sweep is FRESH.rate:
            del own["learning_rate"]
        mine = all(getattr(config, field) == value for field, value in own.items())
        return better(config) if mine else 0.001

    seeds = 1 if name == "power-law" else 4  # R² is not linear: it depends on how seeds differ
    found = readings(decided, name, runs(sweep, error, PLANS["every rival"][0], seeds))
    expected = readings(decided, name, table(sweep.name, "paper", seeds))
    for (verdict, outcomes, _), (same, others, _) in zip(found, expected, strict=True):
        assert verdict == same
        values, known = (
            {outcome.case: outcome.estimate.value for outcome in each}
            for each in (outcomes, others)
        )
        assert values == pytest.approx(known, abs=1e-6)


# A single seed, which has no interval


@pytest.mark.parametrize("name", CLAIMS)
def test_one_seed_decides_nothing(table, decided, name):
    plan = "paper" if name in PLANS["smoke"][1] else "smoke"
    for verdict, outcomes, _ in readings(
        decided, name, table(CLAIMS[name].readings[1].sweep.name, plan, 1)
    ):
        assert verdict == OPEN
        assert all(math.isnan(outcome.estimate.low) for outcome in outcomes)


# No errors at all, and no differences


@pytest.mark.parametrize(("error", "seeds"), [(flawless, 4), (flawless_dg, 1)])
@pytest.mark.parametrize("name", CLAIMS)
def test_runs_without_any_error_are_decided_too(table, decided, name, error, seeds):
    plan = "paper" if name in SHORT | TUNED else "quick"
    rows = table(CLAIMS[name].readings[1].sweep.name, plan, seeds, error)
    if name in ("power-law", "exponent-length", "exponent-vocabulary"):
        with pytest.raises(NotMeasuredError, match="errors above 0"):
            readings(decided, name, rows)
    elif error is flawless_dg:
        assert {verdict for verdict, *_ in readings(decided, name, rows)} == {OPEN}
    elif name in OF_RATIOS:  # 0/0 is no number
        assert decided(CLAIMS[name], rows)[0] == OPEN
    else:  # a few runs without an error do not show that there is none
        assert {verdict for verdict, *_ in readings(decided, name, rows)} == {OPEN}


def test_a_line_through_errors_that_do_not_differ_is_perfect(runs, decided):
    _, outcomes, _ = decided(CLAIMS["power-law"], runs(FRESH.scaling, lambda _: 0.25, None, 1))
    assert {outcome.estimate.value for outcome in outcomes} == {1.0}


# Values of one config only


PASSES = changed("ppo:clip=0.1", "ppo:clip=0.4", "dg", learning_rate=3e-4)


@pytest.mark.parametrize("name", ["ppo-clip", "ppo-kl"])
def test_settings_of_ppo_are_compared_with_equally_many_passes(runs, decided, name):
    # Each clip is run with one pass and with four: what differs is due to the passes alone.
    rows = runs(CLAIMS[name].readings[1].sweep, lambda c: 0.1 if c.epochs == 4 else 0.3, PASSES)
    _, outcomes, _ = decided(CLAIMS[name], rows)
    values = [outcome.estimate.value for outcome in outcomes]
    assert values == pytest.approx([1.0] * len(values), abs=0.01)


def windows(config):
    """An error of 0.5 that falls to 0 in 1000 gradient steps, whoever makes them; the mean over
    the batches of each record."""
    per_record = config.steps * config.epochs / config.records
    middle = (np.arange(config.records) + 0.5) * per_record
    return 0.5 * np.clip(1 - middle / 1000, 0, None) if config.method in ("ppo", "dg") else 0.5


@pytest.mark.parametrize("records", [4, None])
def test_learners_alike_per_gradient_step_are_equally_fast(runs, decided, records):
    # Per episode PPO, which makes four times as many, is the faster.
    found = readings(decided, "faster", runs(FRESH.curves, windows, records=records))
    assert [verdict for verdict, *_ in found] == [OPEN, NOT]
    by_update, by_episode = (headline(outcomes) for _, outcomes, _ in found)
    assert (by_update.case, by_update.status) == (by_episode.case, "open") == ("PPO", "open")
    assert by_update.estimate.value == pytest.approx(0, abs=1e-6)
    assert by_episode.estimate.high < 0


def test_without_a_record_at_as_many_gradient_steps_nothing_is_compared(runs, decided):
    rows = runs(FRESH.curves, better, records=2)
    with pytest.raises(NotMeasuredError, match="records after as many"):
        decided(CLAIMS["faster"], rows)
    assert decided(CLAIMS["faster"], rows, 1)[0] == REPRODUCED
    # Of methods with as many passes each has them all.
    readings(decided, "faster", runs(FRESH.curves, better, PLANS["one pass"][0], records=2))


def test_the_tables_of_these_tests_are_such_as_a_store_gives(runs, tmp_path):
    store, plan = Store(tmp_path), changed(scale="smoke")
    store.prepare()
    cells = FRESH.variants.cells(plan)
    for cell in cells:
        steps = np.arange(2, 9, 2, dtype=np.int32)
        curves = {name: np.full((2, 4), 0.25, np.float32) for name in MEASURED}
        store.write(cell, {"step": steps, **curves}, 1.0)
    stored, made = store.table(cells), runs(FRESH.variants, better, plan, 2)
    assert dict(stored.schema) == dict(made.schema)
    measured = ["error", "measured_reward", "gate_good", "gate_bad", "surprisal"]
    assert stored.drop(measured).sort(pl.all()).equals(made.drop(measured).sort(pl.all()))
