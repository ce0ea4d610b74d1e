"""Rules that are data, and the verdicts that follow from them."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delightful.lab.conditions import Condition
from delightful.lab.errors import LabError
from delightful.lab.quantities import Exact, Greatest, Least, Mean, Ratio
from delightful.lab.statistics import Estimate
from delightful.lab.verdicts import (
    VERDICTS,
    NotMeasuredError,
    Rule,
    above,
    at_least,
    at_most,
    below,
    between,
    confidence_of,
    headline,
    judge,
    looks,
    may_turn,
    measured,
    seeds_needed,
    verdict_of,
)

HOLDS, FAILS, OPEN = (np.array([1.0, 1.1, 0.9]) + shift for shift in (0, -2, -1))


def verdict(rule: Rule, *quantities, enough: bool = True) -> str:
    return verdict_of(rule, judge(rule, measured(*quantities), 0.95, enough))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [(HOLDS, "reproduced"), (FAILS, "not reproduced"), (OPEN, "inconclusive")],
)
def test_an_interval_decides_by_its_side_of_the_threshold(scores, expected):
    assert verdict(Rule(above(0, "x")), Mean(scores)) == expected
    assert verdict(Rule(below(0, "x")), Mean(-scores)) == expected


@pytest.mark.parametrize(
    ("cases", "whole", "in_parts"),
    [
        ((HOLDS, HOLDS), "reproduced", "reproduced"),
        ((HOLDS, FAILS), "not reproduced", "partly"),
        ((FAILS, FAILS), "not reproduced", "not reproduced"),
        ((HOLDS, OPEN), "inconclusive", "inconclusive"),
        ((FAILS, OPEN), "not reproduced", "inconclusive"),
        ((HOLDS, FAILS, OPEN), "not reproduced", "partly"),
    ],
)
def test_partly_is_for_sentences_with_parts(cases, whole, in_parts):
    by_case = {str(i): Mean(scores) for i, scores in enumerate(cases)}
    assert verdict(Rule(above(0, "x")), by_case) == whole
    assert verdict(Rule(above(0, "x"), parts=True), by_case) == in_parts
    separate = Rule(*(above(0, f"x{i}") for i in range(len(cases))), parts=True)
    assert verdict(separate, *by_case.values()) == in_parts


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ((HOLDS, HOLDS, FAILS), "reproduced"),
        ((HOLDS, FAILS), "not reproduced"),
        ((HOLDS, OPEN, FAILS), "inconclusive"),
        ((OPEN, FAILS, FAILS, HOLDS), "not reproduced"),
    ],
)
def test_most_cases_are_enough_for_a_majority(cases, expected):
    by_case = {str(i): Mean(scores) for i, scores in enumerate(cases)}
    assert verdict(Rule(above(0, "x", most=True)), by_case) == expected


@given(st.floats(-10, 10), st.floats(-10, 10))
def test_an_exact_value_is_never_inconclusive(value, threshold):
    strict, weak = Rule(above(threshold, "x")), Rule(at_least(threshold, "x"))
    assert verdict(strict, Exact(value)) == (
        "reproduced" if value > threshold else "not reproduced"
    )
    assert verdict(weak, Exact(value)) == ("reproduced" if value >= threshold else "not reproduced")


@given(st.floats(-3, 3), st.floats(0, 3), st.floats(-3, 3), st.floats(0, 3))
def test_within_a_range_is_within_both_bounds(value, half, low, width):
    criterion = between(low, low + width, "x")
    status = criterion.judge(Estimate(value, value - half, value + half))
    if status == "holds":
        assert low <= value - half
        assert value + half <= low + width
    elif status == "fails":
        assert value + half < low or value - half > low + width


def test_too_few_seeds_decide_nothing_but_exact_values_do():
    rule = Rule(above(0, "sampled"), above(0, "exact"))
    assert verdict(rule, Mean(HOLDS), Exact(1.0), enough=False) == "inconclusive"
    assert verdict(rule, Mean(HOLDS), Exact(-1.0), enough=False) == "not reproduced"
    assert verdict(Rule(above(0, "x")), Mean(np.array([5.0]))) == "inconclusive"


def test_a_rule_that_nothing_could_decide_is_refused():
    with pytest.raises(LabError, match="no value could decide"):
        Rule(between(2, 1, "x"))
    with pytest.raises(LabError, match="no value could decide"):
        Rule(above(-math.inf, "x"))
    with pytest.raises(LabError, match="no value could decide"):
        Rule(above(math.nan, "x"))
    with pytest.raises(LabError, match="at least 3 seeds for an interval, got 0"):
        Rule(above(0, "x"), seeds=0)
    with pytest.raises(LabError, match="no interval could decide"):
        verdict(Rule(between(1, 1, "x")), Mean(HOLDS))
    assert verdict(Rule(between(1, 1, "x")), Exact(1.0)) == "reproduced"


def test_a_rule_may_ask_for_more_seeds():
    assert verdict(Rule(above(0, "x"), seeds=4), Mean(HOLDS)) == "inconclusive"
    assert Rule(above(0, "x"), seeds=4).row()["seeds"] == 4


def test_nothing_measured_is_no_verdict():
    with pytest.raises(NotMeasuredError, match="nothing was run of x"):
        verdict(Rule(above(0, "x")), {})


def test_a_rule_reads_as_words_and_as_data():
    rule = Rule(
        above(0, "error, PG − DG", ours="the paper gives none"),
        between(0.4, 0.6, "share"),
        at_most(1, "ratio", most=True),
        parts=True,
    )
    assert rule.words == (
        "error, PG − DG: above 0 (our threshold: the paper gives none); and share: between 0.4 and "
        "0.6; and ratio: at most 1 in most cases. Partly if some of these hold and others fail"
    )
    assert rule.row()["criteria"][0]["high"] is None
    assert set(VERDICTS) == {"reproduced", "partly", "not reproduced", "inconclusive", "not run"}


@pytest.mark.parametrize(
    ("paper", "expected"),
    [
        (3, [3, 6, 12]),
        (5, [5, 10, 20]),
        (30, [3, 7, 15, 30, 60, 120]),
        (100, [3, 6, 12, 25, 50, 100, 200, 400]),
    ],
)
def test_verdicts_are_given_at_doubling_numbers_of_seeds(paper, expected):
    assert looks(paper) == expected
    assert confidence_of(paper) == pytest.approx(1 - 0.05 / len(expected))


def _mean(noise: np.ndarray) -> Mean:
    """Of a true mean of 0."""
    return Mean(noise[0])


def _ratio(noise: np.ndarray) -> Ratio:
    """Of a true ratio of a half, of runs that share a part of their noise."""
    return Ratio(1 + 0.2 * noise[0] + 0.1 * noise[1], 2 + 0.4 * noise[1])


@pytest.mark.parametrize(("quantity", "truth"), [(_mean, 0), (_ratio, 0.5)])
@pytest.mark.parametrize("paper", [3, 30, 100])
def test_over_all_looks_a_true_null_is_rejected_at_most_5_percent_of_the_time(
    paper, quantity, truth
):
    """Seeds arrive and the interval is looked at each time, where the threshold is the truth."""
    rng, draws = np.random.default_rng(paper), 4000
    criterion, confidence = above(truth, "x"), confidence_of(paper)
    rejected = np.zeros(draws, bool)
    for i in range(draws):
        noise = rng.normal(size=(2, looks(paper)[-1]))
        for seeds in looks(paper):
            if criterion.judge(quantity(noise[:, :seeds]).estimate(confidence)) != "open":
                rejected[i] = True
                break
    assert rejected.mean() <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / draws)
    assert rejected.mean() > 0.02  # it is spent, not saved


def test_many_true_cases_are_refuted_by_one_at_most_5_percent_of_the_time():
    """Forty baselines that are all exactly at the threshold's right side, by nothing."""
    rng, rule = np.random.default_rng(0), Rule(at_least(0, "x"))
    found = []
    for _ in range(1000):
        cases = {str(i): Mean(scores) for i, scores in enumerate(rng.normal(size=(40, 6)))}
        found.append(verdict(rule, cases))
    assert found.count("not reproduced") / len(found) <= 0.05
    assert "reproduced" not in found


def test_the_seeds_that_are_needed_are_a_later_look():
    scores = np.random.default_rng(1).normal(0.5, 1.0, 7)
    rule = Rule(above(0, "x"))
    outcomes = judge(rule, measured(Mean(scores)), confidence_of(30))
    assert outcomes[0].status == "open"
    needed = seeds_needed(rule, outcomes, 7, 30)
    assert needed in looks(30)
    assert needed > 7
    assert rule.criteria[0].tells(Mean(scores), needed, confidence_of(30))
    hopeless = judge(rule, measured(Mean(scores - scores.mean())), confidence_of(30))
    assert seeds_needed(rule, hopeless, 7, 30) is None


def _open(mean: float) -> Mean:
    """Scores with that mean and a spread of 1, whose interval at 7 seeds holds 0."""
    scores = np.arange(7.0)
    return Mean((scores - scores.mean()) / scores.std(ddof=1) + mean)


def _needed(rule: Rule, **cases: Mean) -> int | None:
    outcomes = judge(rule, measured(cases), confidence_of(30))
    assert verdict_of(rule, outcomes) == "inconclusive"
    return seeds_needed(rule, outcomes, 7, 30)


def test_one_case_that_would_fail_is_enough_unless_the_sentence_has_parts():
    whole, parts = Rule(above(0, "x")), Rule(above(0, "x"), parts=True)
    assert _needed(whole, undecidable=_open(0.0)) is None
    assert _needed(whole, undecidable=_open(0.0), wrong=_open(-0.8)) == 30
    assert _needed(parts, undecidable=_open(0.0), wrong=_open(-0.8)) is None
    assert _needed(whole, surer=_open(1.0), less_sure=_open(0.3)) == 120


def test_of_a_majority_no_more_is_needed_than_what_is_missing():
    rule = Rule(above(0, "x", most=True))
    assert _needed(rule, a=_open(0.8), b=_open(0.8), c=_open(0.0)) == 30
    assert _needed(rule, a=_open(0.8), b=_open(0.0), c=_open(0.0)) is None


def test_the_best_of_several_is_not_judged_by_the_seeds_that_chose_it():
    """Twenty settings that are all exactly as good as the rival: picking one would find a lead."""
    rng, rule = np.random.default_rng(0), Rule(above(0, "x"))
    picked, shared = 0, 0
    for scores in rng.normal(size=(1000, 20, 6)):
        best = max(scores, key=np.mean)
        picked += verdict(rule, Mean(best)) == "reproduced"
        shared += verdict(rule, Greatest([Mean(x) for x in scores])) == "reproduced"
    assert picked > 200
    assert shared <= 50


def test_the_headline_is_what_fails_then_what_is_open_then_the_closest_call():
    rule = Rule(above(0, "x"))
    cases = {"sure": HOLDS + 5, "close": HOLDS, "open": OPEN, "fails": FAILS}

    def first(*names):
        found = measured({name: Mean(cases[name]) for name in names})
        return headline(judge(rule, found, 0.95)).case

    assert first("sure", "close", "open", "fails") == "fails"
    assert first("sure", "close", "open") == "open"
    assert first("sure", "close") == "close"


@pytest.mark.parametrize(
    ("criterion", "quantity", "turns"),
    [
        (above(0, "x", grid=True), Mean(HOLDS), True),  # the next setting may fail
        (above(0, "x", grid=True), Mean(FAILS), False),
        (above(0, "x", grid=True), Mean(OPEN), False),
        (above(0, "x"), Mean(HOLDS), False),
        (above(0, "x", grid=True), Greatest([Mean(HOLDS), Mean(FAILS)]), False),
        (above(0, "x", grid=True), Greatest([Mean(FAILS), Mean(FAILS)]), True),
        (below(0, "x", grid=True), Least([Mean(HOLDS), Mean(FAILS)]), False),
        (below(0, "x", grid=True), Least([Mean(HOLDS), Mean(HOLDS)]), True),
        (between(0.5, 1.5, "x", grid=True), Least([Mean(HOLDS), Mean(HOLDS)]), True),
    ],
)
def test_settings_that_were_not_run_may_turn_a_verdict_on_all_of_them(criterion, quantity, turns):
    rule = Rule(criterion)
    assert may_turn(rule, judge(rule, measured(quantity), 0.95)) == turns


def test_a_condition_is_data_of_the_rule_that_its_words_and_its_check_share():
    half = Condition("at η from {:g} to {:g}", (0.5, 2.0), ours="the paper says η ≈ 1")
    rule = Rule(above(0, "x"), conditions=(half, Condition("if {:g} tasks were run", (7,))))
    assert rule.words == (
        "x: above 0; at η from 0.5 to 2 (our threshold: the paper says η ≈ 1); if 7 tasks were run"
    )
    first, second = rule.row()["conditions"]
    assert (first["values"], first["ours"]) == ((0.5, 2.0), "the paper says η ≈ 1")
    assert second["words"] == "if 7 tasks were run"
    json.dumps(rule.row())
    with pytest.raises(ValueError, match="a place for each"):
        Condition("at η from {:g}", (0.5, 2.0))


def test_a_rule_on_a_whole_grid_says_so():
    assert Rule(above(0, "x", grid=True)).words == "x: above 0, on the paper's whole grid"
