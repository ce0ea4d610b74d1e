"""The diagnosis of a small batch, by hand."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from delightful import Diagnosis, diagnose, gate

# Delights 4, -4, 0.1, 0.5 and, the surprisal 12 clipped to 10, 5.
ADVANTAGE = np.array([2.0, -2.0, 1.0, -1.0, 0.5])
LOG_PROB = np.array([-2.0, -2.0, -0.1, 0.5, -12.0])
GATES = 1 / (1 + np.exp(-np.array([4, -4, 0.1, 0.5, 5])))
OMEGA = GATES * abs(ADVANTAGE)
EXPECTED = {
    "entries": 5,
    "gate_mean_positive": GATES[[0, 2, 4]].mean(),
    "gate_mean_negative": GATES[[1, 3]].mean(),
    "gate_std": GATES.std(),
    "breakthroughs": 2 / 5,
    "blunders": 1 / 5,
    "suppressed": 1 / 5,
    "neutral": 1 / 5,
    "dead": 1 / 5,
    "dead_advantage": abs(ADVANTAGE[2]) / abs(ADVANTAGE).sum(),
    "open": 2 / 5,
    "effective_sample_size": OMEGA.sum() ** 2 / (OMEGA**2).sum(),
    "surprisal_mean": (2 + 2 + 0.1 - 0.5 + 12) / 5,
    "negative_surprisal": 1 / 5,
    "clipped_surprisal": 1 / 5,
    "delight_q05": -4.0,
    "delight_median": 0.5,
    "delight_q95": 5.0,
}


def test_a_small_batch_by_hand(lib: Any) -> None:
    found = diagnose(lib.array(LOG_PROB), lib.array(ADVANTAGE), max_surprisal=10)
    assert asdict(found) == pytest.approx(EXPECTED, rel=1e-5)
    assert all(type(value) in (int, float) for value in asdict(found).values())


def test_masked_out_entries_do_not_count(lib: Any) -> None:
    junk = np.array([np.nan, np.inf, -np.inf])
    U, log_prob = (lib.array(np.concatenate([a, junk])) for a in (ADVANTAGE, LOG_PROB))
    mask = lib.array([True] * 5 + [False] * 3, "bool")
    found = diagnose(log_prob, U, mask=mask, max_surprisal=10)
    assert asdict(found) == pytest.approx(EXPECTED, rel=1e-5)


def test_a_batch_of_sequences_is_diagnosed_as_its_gate(lib: Any, rng: np.random.Generator) -> None:
    U, log_prob = lib.array(rng.normal(size=3)), lib.array(-rng.exponential(size=(3, 4)))
    seen = lib.array(rng.normal(size=(3, 4)))
    options = {"level": "sequence", "temperature": 0.5, "gate_advantage": seen}
    found = diagnose(log_prob, U, **options, whiten="scale")
    w = lib.numpy(gate(log_prob, U, **options, whiten="scale"))
    assert found.entries == 12
    assert found.gate_std == pytest.approx(w.std(), rel=1e-5)
    assert found.open == pytest.approx((w > 0.8).mean())


@pytest.mark.parametrize("n", range(1, 60))
def test_quantiles_are_numpys_nearest(n: int) -> None:
    U, log_prob = np.random.default_rng(n).normal(size=(2, n))
    found = diagnose(log_prob, U)
    expected = np.quantile(-U * log_prob, [0.05, 0.5, 0.95], method="nearest")
    assert (found.delight_q05, found.delight_median, found.delight_q95) == tuple(expected)


def test_one_sign_of_advantage_leaves_the_other_mean_undefined() -> None:
    found = diagnose(-np.ones(3), np.ones(3))
    assert math.isnan(found.gate_mean_negative)
    assert diagnose(-np.ones(3), np.zeros(3)).effective_sample_size == 0


def test_temperature_infinity_is_neutral_everywhere() -> None:
    assert diagnose(LOG_PROB, ADVANTAGE, temperature=math.inf).neutral == 1


def test_a_single_entry_is_diagnosed() -> None:
    assert diagnose(np.float64(-1.0), np.float64(1.0)).entries == 1


def test_an_impossible_action_is_diagnosed(lib: Any) -> None:
    found = diagnose(lib.array([-np.inf, -1.0, -2.0]), lib.array([-1.0, 1.0, 1.0]))
    assert found.blunders == pytest.approx(1 / 3)
    assert found.delight_q05 == -math.inf


def test_printing_gives_a_table_of_every_figure() -> None:
    title, *rows, _ = str(diagnose(LOG_PROB, ADVANTAGE)).splitlines()
    assert title == "what the gate did"
    assert [row.split("  ")[1] for row in rows] == [
        name.replace("_", " ") for name in Diagnosis.__dataclass_fields__
    ]
    assert len({len(row) for row in rows}) == 1  # the numbers line up on the right


def test_nothing_to_diagnose_is_refused(lib: Any) -> None:
    U, log_prob = lib.array(ADVANTAGE), lib.array(LOG_PROB)
    with pytest.raises(ValueError, match="mask leaves no entry"):
        diagnose(log_prob, U, mask=lib.array([False] * 5, "bool"))


def reading(U: list[float], log_prob: list[float], **options: Any) -> str:
    return diagnose(np.array(log_prob), np.array(U), **options).reading


def test_the_reading_says_what_the_gate_does() -> None:
    neutral = reading([1.0, -1.0] * 5, [-0.01, -0.02] * 5)
    assert neutral.startswith("100% of gates lie within 0.05 of ½, with 100% of the advantage")
    assert "DG is nearly PG/2 here" in neutral
    rare = reading([0.01] * 9 + [-1.0], [-0.01] * 9 + [-4.0])
    assert rare.startswith("the gate is alive")  # what is dead carries no advantage
    assert "smaller temperature" in neutral
    alive = reading([1.0, -1.0], [-4.0, -4.0])
    assert alive.startswith("the gate is alive: mean 0.98 where U > 0 and 0.02 where U < 0")
    assert "50% of entries are rare successes let through" in alive
    assert "densities exceed 1" in reading([1.0, -1.0], [2.0, 2.0])
    assert "learns from its successes alone" in reading([100.0, -100.0], [-4.0, -4.0])
    assert str(diagnose(np.array([-4.0]), np.array([1.0]))).endswith("rare failures held back.")


def test_unit_gain_changes_no_diagnosis() -> None:
    plain, doubled = (diagnose(LOG_PROB, ADVANTAGE, unit_gain=on) for on in (False, True))
    assert str(plain) == str(doubled)
