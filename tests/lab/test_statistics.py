"""Intervals: against scipy, and as often right as they say, at few seeds too."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

from delightful.lab.quantities import Mean, Ratio
from delightful.lab.statistics import (
    Estimate,
    fieller,
    median_interval,
    t_half_width,
    t_interval,
)

SEEDS = [3, 5, 10, 30]
floats = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.5, 0.25, 0.75), "0.500 [0.250, 0.750]"),
        (Estimate(123.4, -1.0, 1e9), "123 [-1.00, 1.00e+09]"),
    ],
)
def test_an_estimate_prints_three_significant_digits(estimate, text):
    assert str(estimate) == text


@given(st.lists(floats, min_size=2, max_size=20), st.floats(0.5, 0.999))
def test_students_interval_is_scipys(x, confidence):
    found, n = t_interval(x, confidence), len(x)
    error = scipy.stats.sem(x)
    half = scipy.stats.t.ppf((1 + confidence) / 2, n - 1) * error
    expected = np.mean(x) + np.array([0, -half, half])
    scale = 1 + np.abs(x).max() + half
    assert np.allclose([found.value, found.low, found.high], expected, rtol=0, atol=1e-9 * scale)
    assert t_half_width(float(np.std(x, ddof=1)), n, confidence) == pytest.approx(half, abs=1e-6)


def coverage(interval, truth: float, seeds: int, draws: int = 4000) -> float:
    rng = np.random.default_rng(seeds)
    found = [interval(rng, seeds) for _ in range(draws)]
    return float(np.mean([low <= truth <= high for low, high in found]))


def ends(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_interval_of_a_mean_covers_95_percent(seeds):
    found = coverage(lambda rng, n: ends(t_interval(rng.normal(3, 2, n))), 3.0, seeds)
    assert abs(found - 0.95) < 0.02


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_interval_of_a_paired_ratio_covers_95_percent(seeds):
    def interval(rng, n):
        shared = rng.normal(0, 1, n)
        return ends(fieller(2 + 0.3 * shared + rng.normal(0, 0.2, n), 4 + shared))

    assert abs(coverage(interval, 0.5, seeds) - 0.95) < 0.02


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_interval_of_skewed_errors_covers_nearly_95_percent(seeds):
    """Error rates are skewed: log-normal scores of a spread as MNIST's errors have it."""
    found = coverage(
        lambda rng, n: ends(t_interval(rng.lognormal(0, 0.2, n))), math.exp(0.02), seeds
    )
    assert abs(found - 0.95) < 0.02


@given(st.lists(st.tuples(floats, st.floats(1, 1e3)), min_size=2, max_size=20), floats)
def test_fiellers_interval_holds_the_ratios_that_students_does_not_refute(pairs, r):
    a, b = np.array(pairs).T
    found, rest = fieller(a, b), t_interval(a - r * b)
    if math.isfinite(found.low) and min(abs(r - found.low), abs(r - found.high)) > 1e-3 * (
        1 + abs(r)
    ):
        inside = rest.low <= 0 <= rest.high
        assert inside == (found.low <= r <= found.high) or rest.high - rest.low < 1e-6


def test_a_ratio_to_what_may_be_zero_is_unbounded():
    assert fieller([1.0, 1.1, 0.9], [0.1, -0.1, 0.2]).high == math.inf


positives = st.floats(0, 1e3)


@given(st.lists(st.tuples(positives, positives), min_size=2, max_size=20), st.floats(0, 1e3))
@example([(1.0, 5e-324), (1.0, 5e-324)], 0.0)  # a mean that overflows what it divides
def test_of_positive_means_a_ratio_holds_what_students_interval_does_not_refute(pairs, r):
    a, b = np.array(pairs).T
    found, rest = fieller(a, b, positive=True), t_interval(a - r * b)
    if found.high < math.inf:
        assert found == fieller(a, b)
    elif r < found.low - 1e-3 * (1 + r):
        assert rest.low > -1e-6


def test_a_positive_ratio_to_what_may_be_zero_has_a_low_end():
    found = fieller([9.0, 10.0, 11.0], [0.0, 0.0, 1.0], positive=True)
    assert found.value == pytest.approx(30)
    assert 2 < found.low < 30
    assert found.high == math.inf
    assert fieller([1.0, 2.0], [0.0, 0.0], positive=True).value == math.inf
    assert fieller([-1.0, 1.0], [0.0, 0.5], positive=True).low == 0


def test_one_run_has_a_value_and_no_interval():
    for found in (t_interval([2.0]), fieller([2.0], [1.0]), median_interval([2.0])):
        assert found.value == 2.0
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_the_interval_of_a_median_is_of_order_statistics_and_agrees_with_scipys():
    x = np.random.default_rng(0).normal(size=60)
    theirs = scipy.stats.quantile_test(x, p=0.5).confidence_interval(0.95)
    assert ends(median_interval(x)) == pytest.approx((theirs.low, theirs.high))
    assert ends(median_interval([3, 1, 2, 6, 5, 4])) == (1, 6)  # sure by 1 − 2/2⁶
    assert ends(median_interval([1, 2, 3, 4, 5])) == (-math.inf, math.inf)


@pytest.mark.parametrize("n", [6, 9, 20])
def test_the_interval_of_a_median_covers_95_percent_of_a_skewed_distribution(n):
    rng = np.random.default_rng(n)
    found = [median_interval(x) for x in rng.exponential(size=(2000, n))]
    assert np.mean([one.low <= math.log(2) <= one.high for one in found]) > 0.94


@pytest.mark.parametrize(
    "of", [t_interval, median_interval, lambda x: fieller(x, [1.0]), lambda x: fieller([1.0], x)]
)
@pytest.mark.parametrize("x", [[], [1.0, math.nan], [math.inf]])
def test_empty_and_nan_scores_are_refused(of, x):
    with pytest.raises(ValueError, match=r"must (not be empty|be finite|be equally long)"):
        of(x)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 2.0])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        t_interval([1.0, 2.0], confidence)


def test_more_seeds_tell_smaller_differences():
    scores = np.random.default_rng(0).normal(0.3, 1.0, 12)
    few, many = (Mean(scores).tells(0.0, n, 0.99) for n in (12, 2000))
    assert (few, many) == (False, True)
    assert Ratio(scores + 5, np.full(12, 5.0)).tells(1.0, 2000, 0.99)
    assert not Mean(np.array([1.0])).tells(0.0, 100, 0.95)
