"""The greatest and the least of several quantities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from delightful.lab.quantities import Censored, Greatest, Least, Mean, Ratio, seeds_to_trust
from delightful.lab.statistics import Estimate
from delightful.lab.verdicts import Criterion

SEVERAL = arrays(float, (4, 5), elements=st.floats(-10, 10)).filter(
    lambda scores: (np.ptp(scores, axis=1) > 0).all()  # equal scores have no bounds
)


@given(SEVERAL, st.floats(0.5, 0.99))
def test_the_least_is_the_greatest_mirrored(scores, confidence):
    least = Least([Mean(x) for x in scores]).estimate(confidence)
    greatest = Greatest([Mean(-x) for x in scores]).estimate(confidence)
    assert (least.value, least.low, least.high) == (
        -greatest.value,
        -greatest.high,
        -greatest.low,
    )


@given(SEVERAL)
def test_of_one_quantity_it_is_that_quantity(scores):
    one = Mean(scores[0])
    for found in (Greatest([one]), Least([one])):
        assert found.estimate(0.9) == one.estimate(0.9)
        assert found.seeds == 5


@given(SEVERAL)
def test_its_interval_holds_the_value_and_ends_with_the_greatest_high(scores):
    means = [Mean(x) for x in scores]
    found = Greatest(means).estimate(0.9)
    assert found.low <= found.value <= found.high
    assert found.high == max(mean.estimate(0.9).high for mean in means)
    assert found.low == max(mean.estimate(1 - 0.1 / 4).low for mean in means)


@pytest.mark.parametrize("truth", [(0.0,) * 8, (0.0, -1, -2, -3, -4, -5, -6, -7)])
@pytest.mark.parametrize("seeds", [3, 10])
def test_it_holds_the_true_greatest_at_least_as_often_as_it_says(truth, seeds):
    rng, draws = np.random.default_rng(seeds), 2000
    hits = 0
    for _ in range(draws):
        scores = rng.normal(np.array(truth)[:, None], 1.0, (8, seeds))
        found = Greatest([Mean(x) for x in scores]).estimate(0.95)
        hits += found.low <= max(truth) <= found.high
    assert hits / draws >= 0.95 - 2 * math.sqrt(0.05 * 0.95 / draws)


def test_of_positive_ratios_the_least_has_a_low_end_too():
    """Even where the denominators may be 0, as the returns of what has learned nothing."""
    some = Ratio(np.array([9.0, 10.0, 11.0]), np.array([0.0, 0.0, 1.0]), positive=True)
    found = Least([some, some]).estimate(0.95)
    assert (found.low, found.high) == (some.estimate(0.95).low, math.inf)
    assert found.low > 2


def test_ratios_are_compared_too():
    ones = np.array([1.0, 1.1, 0.9])
    ratios = [Ratio(2 * ones, ones), Ratio(3 * ones, ones)]
    assert Greatest(ratios).estimate(0.95).value == pytest.approx(3)
    assert Least(ratios).estimate(0.95).value == pytest.approx(2)


def test_one_must_be_above_to_tell_or_all_below():
    far, near = (Mean(np.array([-1.0, 0.0, 1.0]) + shift) for shift in (3.0, 0.1))
    assert Greatest([far, near]).tells(0.0, 12, 0.95)
    assert not Greatest([near, near]).tells(0.0, 12, 0.95)
    below = Mean(-far.scores)
    assert Greatest([below, below]).tells(0.0, 12, 0.95)
    assert not Greatest([below, near]).tells(0.0, 12, 0.95)
    assert Least([far, far]).tells(0.0, 12, 0.95)


@pytest.mark.parametrize(
    "of", [Mean, lambda x: Ratio(x, np.ones_like(x)), lambda x: Least([Mean(x)])]
)
def test_few_equal_scores_bound_nothing(of):
    """An error of 0 in 3 runs is not known to be 0: a run in ten may fail."""
    for value in (0.0, 0.25):
        few, enough = of(np.full(43, value)), of(np.full(44, value))
        assert math.isnan(few.estimate(0.99).low)
        assert math.isnan(few.estimate(0.99).high)
        assert enough.estimate(0.99).low == enough.estimate(0.99).high == value
        assert not few.tells(0.1, 43, 0.99)
        assert few.tells(0.1, 44, 0.99)


def test_a_few_ratios_of_something_to_itself_bound_nothing_either():
    rng = np.random.default_rng(0)
    few, enough = (Ratio(x, x) for x in (rng.normal(5, 1, 43), rng.normal(5, 1, 44)))
    assert few.estimate(0.99).value == 1
    assert math.isnan(few.estimate(0.99).low)
    assert (enough.estimate(0.99).low, enough.estimate(0.99).high) == pytest.approx((1, 1))
    assert (few.tells(2.0, 43, 0.99), few.tells(2.0, 44, 0.99)) == (False, True)


def test_with_that_many_seeds_a_rare_value_would_have_been_seen():
    for confidence in (0.95, 0.99, 0.994):
        n = seeds_to_trust(confidence)
        assert 0.9**n <= 1 - confidence < 0.9 ** (n - 1)


def test_one_without_bounds_leaves_those_of_several_open():
    known, equal = Mean(np.array([1.0, 1.1, 0.9])), Mean(np.zeros(3))
    found = Greatest([known, equal]).estimate(0.95)
    assert found.low == known.estimate(1 - 0.05 / 2).low
    assert found.high == math.inf


@given(SEVERAL, st.floats(0.5, 0.99))
def test_the_least_of_greatest_is_the_greatest_of_least_mirrored(scores, confidence):
    first, second = scores[:2], scores[2:]
    found = Least([Greatest([Mean(x) for x in part]) for part in (first, second)])
    mirrored = Greatest([Least([Mean(-x) for x in part]) for part in (first, second)])
    ours, theirs = found.estimate(confidence), mirrored.estimate(confidence)
    assert (ours.value, ours.low, ours.high) == (-theirs.value, -theirs.high, -theirs.low)
    assert found.tells(0.0, 9, confidence) == mirrored.tells(0.0, 9, confidence)


def test_of_runs_that_were_stopped_one_end_is_known():
    ones = np.array([1.0, 1.1, 0.9])
    ratio = Ratio(5 * ones, ones[::-1])
    whole = ratio.estimate(0.95)
    more = Censored(ratio, at_least=True)
    assert more.estimate(0.95) == Estimate(whole.value, whole.low, math.inf)
    assert Censored(ratio, at_most=True).estimate(0.95).low == -math.inf
    assert more.seeds == 3
    assert more.tells(1.0, 12, 0.95)
    assert not more.tells(20.0, 12, 0.95)  # it may be above
    less = Least([more]).estimate(0.95)  # mirrored twice
    assert less.low == pytest.approx(whole.low)
    assert less.high == math.inf


@pytest.mark.parametrize("strict", [True, False])
def test_an_open_end_is_on_the_side_that_has_no_bound(strict):
    rule = Criterion("lead", low=2.0, strict=strict)
    assert rule.judge(Estimate(5.0, 3.0, math.inf)) == "holds"
    assert rule.judge(Estimate(5.0, -math.inf, math.inf)) == "open"
    assert rule.judge(Estimate(1.0, 0.5, math.inf)) == "open"
    assert rule.judge(Estimate(1.0, -math.inf, 1.5)) == "fails"
