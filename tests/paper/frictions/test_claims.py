"""The claims on frictions on runs whose outcome is known: each verdict occurs, with its value."""

import math

import numpy as np
import polars as pl
import pytest

from delightful.lab.cells import Plan
from delightful.lab.verdicts import NotMeasuredError, confidence_of, headline, judge, verdict_of
from delightful.paper.frictions.claims import CLAIMS
from delightful.paper.frictions.runs import REACHED, final_errors, reached, settings
from delightful.paper.frictions.sweep import DIFFICULTY, MNIST_SWEEP, TOKENS_SWEEP

BY_ID = {claim.id.removeprefix("frictions/"): claim for claim in CLAIMS}
REPRODUCED, NOT, OPEN = "reproduced", "not reproduced", "inconclusive"
PLAN = Plan("quick")


def decided(name, table):
    claim = BY_ID[name]
    found = claim.check(table)
    outcomes = judge(claim.rule, found, confidence_of(claim.sweep.seeds["paper"]))
    return verdict_of(claim.rule, outcomes), outcomes, found.note


ENOUGH = 100  # seeds, so that counts of batches that are all the same are certain


def falling(**first):
    """Errors that reach the bound at one of ten records: by method, from 0; 10 for never. A pair is
    for the short and for the long prompts."""

    def error(config):
        at = first.get(config.method, first["rest"])
        at = at if isinstance(at, int) else at[config.length == 10]
        late = config.learning_rate == 3e-3  # the worse of the rates
        return np.where(np.arange(10) < at + late, 0.4, REACHED / 2)

    return error


@pytest.mark.parametrize(
    ("iw", "dg", "verdict", "value"),
    [(0.2, 0.1, REPRODUCED, 0.1), (0.1, 0.2, NOT, -0.1), (0.2, 0.2, OPEN, 0.0)],
)
def test_stale_mnist(runs, iw, dg, verdict, value) -> None:
    # The best rates of the two differ; PG, which is better than both, takes no part.
    def error(config):
        best = {"iwpg": 3e-4, "dg": 1e-3}.get(config.method)
        own = {"iwpg": iw, "dg": dg}.get(config.method, 0.01)
        worse = 1.5 if config.learning_rate != best else 1
        return own * worse if config.delay else 0.3

    found, outcomes, note = decided("stale-mnist", runs(MNIST_SWEEP, error, PLAN))
    assert found == verdict
    assert headline(outcomes).estimate.value == pytest.approx(value, abs=1e-9)
    assert note == f"D = 100: IW-PG {iw}, DG {dg}"


def test_stale_mnist_needs_importance_weights(runs) -> None:
    table = runs(MNIST_SWEEP, lambda _: 0.1, PLAN)
    with pytest.raises(NotMeasuredError, match="method=iwpg"):
        BY_ID["stale-mnist"].check(table.filter(pl.col("method") != "iwpg"))


@pytest.mark.parametrize(
    ("weak", "factor", "verdict"),
    [((), 0.1, REPRODUCED), (("bugs", "delay"), 0.1, REPRODUCED), ((), 0.5, NOT)],
)
def test_lower_error_in_most_settings(runs, weak, factor, verdict) -> None:
    def error(config):
        alone = [n for n in ("delay", "bugs", "corruption", "discovery") if getattr(config, n)]
        lead = 1.0 if alone and alone[0] in weak and len(alone) == 1 else factor
        rate = 2 if config.learning_rate == 3e-3 else 1
        return rate * {"dg": lead * 0.1, "ppo": 0.1}.get(config.method, 0.3)

    found, outcomes, note = decided("lower-error", runs(TOKENS_SWEEP, error, PLAN))
    assert found == verdict
    assert len(outcomes) == 5
    values = [outcome.estimate.value for outcome in outcomes]
    assert sorted(values)[2] == pytest.approx(factor)  # over PPO, the best of the others
    assert "all at once: " in note


def test_lower_error_is_open_where_nobody_errs(runs) -> None:
    table = runs(TOKENS_SWEEP, lambda _: 0.0, PLAN)
    assert decided("lower-error", table)[0] == OPEN


@pytest.mark.parametrize(
    ("first", "verdict", "value", "ends"),
    [
        ({"dg": 0, "rest": 9}, REPRODUCED, 10, (10, 10)),
        ({"dg": 0, "rest": 10}, REPRODUCED, 10, (10, math.inf)),  # at least
        ({"dg": 0, "rest": 3}, NOT, 4, (4, 4)),
        ({"dg": 1, "rest": 10}, OPEN, 5, (5, math.inf)),  # five times at least, maybe ten
        ({"dg": 10, "rest": 10}, OPEN, 1, (-math.inf, math.inf)),
        ({"dg": 10, "rest": 3}, NOT, 0.4, (-math.inf, 0.4)),
    ],
)
def test_sample_efficiency(runs, first, verdict, value, ends) -> None:
    found, outcomes, note = decided(
        "sample-efficiency", runs(DIFFICULTY, falling(**first), PLAN, ENOUGH)
    )
    assert found == verdict
    estimate = headline(outcomes).estimate
    assert estimate.value == pytest.approx(value)
    assert (estimate.low, estimate.high) == pytest.approx(ends)
    assert ("PG ≥ 400" in note) == (first["rest"] == 10)


@pytest.mark.parametrize(
    ("first", "verdict", "value"),
    [
        ({"dg": (0, 0), "rest": (3, 7)}, REPRODUCED, np.log10(2)),
        ({"dg": (0, 0), "rest": (3, 10)}, REPRODUCED, np.log10(2.5)),
        ({"dg": (0, 1), "rest": (3, 3)}, NOT, -np.log10(2)),
        ({"dg": (0, 1), "rest": (9, 10)}, OPEN, -np.log10(2)),
        ({"dg": (0, 0), "rest": (10, 10)}, OPEN, 0),
    ],
)
def test_grows_with_difficulty(runs, first, verdict, value) -> None:
    table = runs(DIFFICULTY, falling(**first), PLAN, ENOUGH)
    found, outcomes, _ = decided("grows-with-difficulty", table)
    assert found == verdict
    assert headline(outcomes).estimate.value == pytest.approx(value)


def test_difficulties_must_differ(runs) -> None:
    table = runs(DIFFICULTY, lambda _: 0.1, PLAN).filter(pl.col("length") == 5)
    with pytest.raises(NotMeasuredError, match="several lengths"):
        BY_ID["grows-with-difficulty"].check(table)
    with pytest.raises(NotMeasuredError, match="length=10"):
        BY_ID["sample-efficiency"].check(table)
    with pytest.raises(NotMeasuredError, match="not enough"):
        BY_ID["grows-with-difficulty"].check(
            runs(DIFFICULTY, lambda _: 0.1, PLAN).filter(pl.col("method") == "dg")
        )


def test_when_the_bound_is_reached() -> None:
    error = np.array([[0.3, REACHED, 0.3, 0.0], [0.2, 0.2, 0.2, 0.2], [0.0, 1.0, 1.0, 1.0]])
    found = reached(error, np.array([5, 10, 15, 20]))
    assert found.steps.tolist() == [10, 20, 5]
    assert found.censored
    assert not reached(error[:1], np.array([5, 10, 15, 20])).censored


def test_the_final_error_is_that_of_the_last_tenth(runs) -> None:
    table = runs(MNIST_SWEEP, lambda _: np.arange(10.0), PLAN)
    rows = final_errors(table)
    np.testing.assert_allclose(rows["final"].mean(), 9)
    assert rows.height * 10 == table.height


def test_settings_in_words(runs) -> None:
    found = settings(runs(TOKENS_SWEEP, lambda _: 0.1, Plan("paper"), 1))
    assert list(found)[:3] == [f"actors up to {d} updates old" for d in (1, 3, 10)]
    assert list(found)[-3:] == [
        "all at once, 0.3 times as strong",
        "all at once",
        "all at once, 3 times as strong",
    ]
    assert found["30% bugs"] == {"delay": 0, "bugs": 0.3, "corruption": 0, "discovery": 0}
