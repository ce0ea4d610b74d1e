"""Claims in words: one minus sign, what is expected, and why a case is open."""

import dataclasses

import numpy as np
import pytest
from sample_report import ALPHA, decided

from delightful.lab.experiment import Claim, Reading
from delightful.lab.quantities import Mean
from delightful.lab.rendering import claim_paragraphs, found
from delightful.lab.verdicts import Rule, above, at_least, at_most, below, between, measured
from delightful.lab.wording import expected, minus


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the smallest is -0.117", "the smallest is −0.117"),
        ("[-2, -.5]", "[−2, −.5]"),
        ("rate = 1e-05", "rate = 1e−05"),
        ("above -1; below -∞", "above −1; below −∞"),
        ("tokens/top-3, pages 3-5, off-policy", "tokens/top-3, pages 3-5, off-policy"),
        (
            "`delightful run a --set x=-1 --seeds -3`: -3",
            "`delightful run a --set x=-1 --seeds -3`: −3",
        ),
    ],
)
def test_a_number_has_a_minus_sign_and_a_command_keeps_its_hyphens(text: str, shown: str) -> None:
    assert minus(text) == shown


@pytest.mark.parametrize(
    ("paper", "criteria", "shown"),
    [
        ("> 0", [above(0, "x")], ""),
        ("< 1", [below(1, "x")], ""),
        ("≥ 2", [at_least(2, "x")], ""),
        ("≤ 2", [at_most(2, "x")], ""),
        ("0", [between(0, 0, "x")], ""),
        ("> 0", [above(0, "x"), above(0, "y")], ""),
        ("> 0", [above(0, "x"), below(0, "y")], "> 0"),
        ("> 0", [above(0, "x", most=True)], "> 0"),
        ("0", [at_most(1e-9, "x")], "0"),
        ("about -2", [below(0, "x")], "about −2"),
    ],
)
def test_what_the_rule_says_is_not_said_twice(paper: str, criteria: list, shown: str) -> None:
    claim = Claim("a/x", "", "", paper, Rule(*criteria), measured)
    assert expected(claim) == shown


def _of(seeds: int) -> Mean:
    return Mean(1.0 + 0.01 * np.arange(seeds))


def _claim(*readings: Reading) -> Claim:
    return Claim("a/x", "", "It is.", "", Rule(above(0, "gain")), measured, readings)


@pytest.mark.parametrize(("seeds", "words"), [(1, "1 seed"), (2, "2 seeds"), (3, "")])
def test_with_too_few_seeds_it_is_said_how_many_a_verdict_needs(seeds: int, words: str) -> None:
    (decision,) = decided(
        _claim(Reading("", ALPHA)), [measured({"a": _of(seeds), "b": _of(seeds)})]
    )
    decision = dataclasses.replace(decision, seeds=seeds)
    text = found(decision)
    assert (f"{words}: a verdict needs 3. run 3 seeds first" in text) == bool(words)
    assert text.count("a verdict needs 3") == bool(words)


def test_a_case_with_fewer_seeds_than_others_says_so() -> None:
    (decision,) = decided(_claim(Reading("", ALPHA)), [measured({"a": _of(12), "b": _of(2)})])
    assert decision.verdict == "inconclusive"
    assert found(decision).startswith("gain, b: 1.005 [")
    assert "] (2 seeds: a verdict needs 3). a: " in found(decision)


def test_the_argument_for_a_reading_is_given_once() -> None:
    ways = (Reading("per step", ALPHA, stands="The caption counts steps."), Reading("ever", ALPHA))
    decisions = decided(_claim(*ways), [measured(_of(12))] * 2)
    one, other = (dict(claim_paragraphs(decision, explain=True)) for decision in decisions)
    assert one["which reading stands for the paper: "] == "The caption counts steps."
    assert "The caption counts steps." not in other.values()
