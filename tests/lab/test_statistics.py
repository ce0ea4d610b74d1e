"""The lab's statistics against SciPy, against theory, and against what they must refuse."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import delightful.lab.statistics as module
from delightful.lab.statistics import (
    Estimate,
    bootstrap,
    bootstrap_difference,
    bootstrap_ratio,
    iqm,
    mean,
    power_law,
    probability_of_improvement,
    standard_error,
    t_interval,
)

NORMAL = 1.959964  # the 97.5% quantile

tables = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=3, max_side=9), elements=st.floats(-1e6, 1e6)
)


def width(estimate: Estimate) -> float:
    return estimate.high - estimate.low


# Estimates on paper


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.123, 0.1, 0.15), "0.123 [0.100, 0.150]"),
        (Estimate(123.4, 99.96, 150.0), "123 [100, 150]"),
        (Estimate(0.0, -1.0, 12345.0), "0.00 [-1.00, 1.23e+04]"),
        (Estimate(2.0, math.nan, math.nan), "2.00 [nan, nan]"),
    ],
)
def test_an_estimate_prints_three_significant_digits(estimate, text):
    assert str(estimate) == text


# Reductions


@given(tables, st.data())
def test_reductions_agree_with_scipy_on_any_axis(x, data):
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    n = x.size if axis is None else x.shape[axis]
    close = {"rtol": 1e-9, "atol": 1e-9 * (1 + np.max(np.abs(x)))}
    np.testing.assert_allclose(mean(x, axis=axis), np.mean(x, axis=axis), **close)
    np.testing.assert_allclose(iqm(x, axis=axis), scipy.stats.trim_mean(x, 0.25, axis), **close)
    if n > 1:
        sem = scipy.stats.sem(x, axis=axis, ddof=1)
        np.testing.assert_allclose(standard_error(x, axis=axis), sem, **close)


@given(tables)
def test_two_axes_reduce_as_their_flattening_does(x):
    flat = x.reshape(*x.shape[:-2], -1)
    for reduction in (mean, iqm, standard_error):
        np.testing.assert_array_equal(reduction(x, axis=(-2, -1)), reduction(flat, axis=-1))


@pytest.mark.parametrize("n", range(1, 14))
def test_iqm_cuts_where_scipy_cuts(n):
    x = np.random.default_rng(n).permutation(2.0 ** np.arange(n))
    assert iqm(x) == scipy.stats.trim_mean(x, 0.25)


def test_iqm_pools_the_tasks_by_default():
    assert iqm([[0.0, 1.0], [2.0, 100.0]]) == 1.5


def test_defaults_reduce_over_the_runs():
    x = [[1.0, 10.0], [3.0, 30.0]]
    np.testing.assert_array_equal(mean(x), [2.0, 20.0])
    np.testing.assert_allclose(standard_error(x), [1.0, 10.0])
    assert isinstance(mean([1.0, 3.0]), float)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9), st.floats(0.01, 0.99))
def test_students_interval_is_scipys(x, confidence):
    found = t_interval(x, confidence)
    low, high = scipy.stats.t.interval(
        confidence, len(x) - 1, np.mean(x), max(scipy.stats.sem(x), 1e-300)
    )
    expected, got = (np.mean(x), low, high), (found.value, found.low, found.high)
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-7)


def test_students_interval_of_five_normal_runs_covers_as_often_as_it_says():
    runs = np.random.default_rng(0).normal(size=(4000, 5))
    found = [t_interval(row) for row in runs]
    covered = np.mean([e.low <= 0 <= e.high for e in found])
    assert covered == pytest.approx(0.95, abs=0.012)  # 3.5 standard errors of 4000 trials


def test_students_interval_of_one_run_is_nan_and_nonsense_is_refused():
    assert math.isnan(t_interval([3.0]).low)
    with pytest.raises(ValueError, match="confidence must be within"):
        t_interval([1.0, 2.0], 1.0)


def test_the_standard_error_of_one_run_is_nan():
    assert math.isnan(standard_error([3.0]))
    np.testing.assert_array_equal(standard_error([[3.0, 4.0]]), [np.nan, np.nan])


# The bootstrap


def test_bootstrap_covers_the_mean_as_often_as_it_claims():
    data = np.random.default_rng(1).normal(5.0, 2.0, size=(300, 30))
    estimates = [bootstrap(x, seed=i) for i, x in enumerate(data)]
    assert 0.90 <= np.mean([e.low <= 5.0 <= e.high for e in estimates]) <= 0.98


@pytest.mark.parametrize("statistic", [mean, iqm, np.median, standard_error])
def test_bootstrap_agrees_with_scipy(statistic):
    x = np.random.default_rng(2).exponential(size=40)
    ours = bootstrap(x, statistic, resamples=20_000, confidence=0.9)
    theirs = scipy.stats.bootstrap(
        (x,), statistic, n_resamples=20_000, confidence_level=0.9, method="percentile", rng=3
    ).confidence_interval
    assert ours.value == pytest.approx(float(statistic(x, axis=0)))
    assert ours.low == pytest.approx(theirs.low, abs=0.04 * width(ours))
    assert ours.high == pytest.approx(theirs.high, abs=0.04 * width(ours))


def test_the_interval_comes_from_the_variance_within_tasks():
    # Pooling the tasks would make the interval as wide as their scales are apart, some 10⁵ here.
    rng, scale, runs = np.random.default_rng(3), np.array([1e-3, 1.0, 50.0]), 40
    scores = np.array([-7.0, 1e3, 1e6]) + scale * rng.normal(size=(runs, 3))
    error = np.sqrt(np.sum(np.var(scores, axis=0) / runs)) / 3
    found = bootstrap(scores, resamples=20_000)
    assert found.value == pytest.approx(np.mean(scores))
    assert width(found) == pytest.approx(2 * NORMAL * error, rel=0.05)


def test_tasks_are_drawn_independently_of_each_other():
    # Were whole rows drawn, the two tasks would cancel in every resample.
    x = np.random.default_rng(4).normal(size=50)
    found = bootstrap(np.stack([x, -x], axis=1), resamples=20_000)
    expected = 2 * NORMAL * np.std(x) / np.sqrt(50) / np.sqrt(2)
    assert width(found) == pytest.approx(expected, rel=0.05)


def test_one_column_is_no_different_from_none():
    x = np.random.default_rng(5).normal(size=12)
    assert bootstrap(x, iqm) == bootstrap(x[:, None], iqm)


def test_blocks_cover_all_resamples(monkeypatch):
    x = np.random.default_rng(6).normal(size=(10, 2))
    whole = bootstrap(x, resamples=4001)
    seen = []

    def counting(scores, axis):
        seen.append(len(scores))
        return np.mean(scores, axis=axis)

    monkeypatch.setattr(module, "BLOCK", 2000)
    blocks = bootstrap(x, counting, resamples=4001)
    assert seen == [1, *[100] * 40, 1]  # the first for the value itself
    assert blocks.low == pytest.approx(whole.low, abs=0.1 * width(whole))
    assert blocks.high == pytest.approx(whole.high, abs=0.1 * width(whole))


def test_more_confidence_is_a_wider_interval():
    x = np.random.default_rng(7).normal(size=20)
    widths = [width(bootstrap(x, confidence=c)) for c in (0.5, 0.9, 0.99)]
    assert widths == sorted(widths)
    assert widths[0] == pytest.approx(2 * 0.6745 * np.std(x) / np.sqrt(20), rel=0.1)


def test_equal_runs_leave_no_doubt():
    assert bootstrap(np.full((5, 2), 3.0)) == Estimate(3.0, 3.0, 3.0)


def test_one_run_has_a_value_and_no_interval():
    one, many = [[1.0, 2.0]], [[0.0, 0.0], [1.0, 1.0]]
    for found, value in [
        (bootstrap(one), 1.5),
        (bootstrap_difference(one, many), 1.0),
        (bootstrap_difference(one, one, paired=True), 0.0),
        (bootstrap_ratio(one, [[4.0, 4.0]]), 0.375),
        (probability_of_improvement(one, many), 0.875),
    ]:
        assert found.value == value
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_a_seed_determines_everything():
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 10, 3))
    x, y = [1.0, 2.0, 4.0], np.exp(a)
    for of in (
        lambda seed: bootstrap(a, iqm, seed=seed),
        lambda seed: bootstrap_difference(a, b, seed=seed),
        lambda seed: bootstrap_difference(a, b, paired=True, seed=seed),
        lambda seed: bootstrap_ratio(a, y, seed=seed),
        lambda seed: probability_of_improvement(a, b, seed=seed),
        lambda seed: power_law(x, y, seed=seed),
    ):
        assert of(1) == of(1)
        assert of(1) != of(2)


# Differences


def test_an_unpaired_difference_adds_the_variances():
    rng = np.random.default_rng(9)
    a, b = rng.normal(3.0, 1.0, size=40), rng.normal(1.0, 2.0, size=60)
    found = bootstrap_difference(a, b, resamples=20_000)
    expected = 2 * NORMAL * np.sqrt(np.var(a) / 40 + np.var(b) / 60)
    assert found.value == pytest.approx(np.mean(a) - np.mean(b))
    assert width(found) == pytest.approx(expected, rel=0.05)


def test_a_paired_difference_of_means_is_the_mean_of_differences():
    rng = np.random.default_rng(10)
    b = rng.normal(scale=[1.0, 100.0], size=(40, 2))
    a = b + 0.3 + 0.01 * rng.normal(size=(40, 2))
    found, expected = bootstrap_difference(a, b, paired=True), bootstrap(a - b)
    assert found.value == pytest.approx(expected.value)
    assert found.low == pytest.approx(expected.low)
    assert found.high == pytest.approx(expected.high)
    assert width(bootstrap_difference(a, b)) > 100 * width(found)


def test_the_difference_is_of_any_statistic():
    rng = np.random.default_rng(11)
    a, b = rng.normal(size=(9, 2)), rng.normal(size=(7, 2))
    assert bootstrap_difference(a, b, iqm).value == pytest.approx(iqm(a) - iqm(b))


# Ratios


def test_a_ratio_is_that_of_the_means_and_within_its_interval():
    rng = np.random.default_rng(15)
    a, b = rng.exponential(2.0, size=(30, 2)), rng.exponential(1.0, size=(30, 2)) + 0.1
    found = bootstrap_ratio(a, b)
    assert found.value == pytest.approx(np.mean(a) / np.mean(b))  # not the mean of the ratios
    assert found.value != pytest.approx(np.mean(a / b), rel=0.1)
    assert found.low < found.value < found.high


def test_runs_that_share_a_seed_are_drawn_together():
    b = np.random.default_rng(16).exponential(size=20) + 1
    found = bootstrap_ratio(2 * b, b)
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0), abs=1e-12)


def test_a_ratio_of_means_is_covered():
    rng = np.random.default_rng(17)
    shared = rng.normal(size=(300, 30))
    a, b = 3 + shared + 0.3 * rng.normal(size=(300, 30)), 6 + 2 * shared
    found = [bootstrap_ratio(x, y, resamples=500) for x, y in zip(a, b, strict=True)]
    assert 0.90 <= np.mean([e.low <= 0.5 <= e.high for e in found]) <= 0.98


# The probability of improvement


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 3), st.integers(0, 1000))
def test_probability_of_improvement_is_mann_whitney(n, m, tasks, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(5, size=(n, tasks)), rng.integers(5, size=(m, tasks))  # with ties
    u = [scipy.stats.mannwhitneyu(x[:, t], y[:, t]).statistic / (n * m) for t in range(tasks)]
    found = probability_of_improvement(x, y, resamples=20)
    assert found.value == pytest.approx(np.mean(u))


def test_probability_of_improvement_of_the_separate_and_the_same():
    low, high = np.arange(5.0), np.arange(5.0) + 10
    assert probability_of_improvement(high, low) == Estimate(1.0, 1.0, 1.0)
    assert probability_of_improvement(low, high) == Estimate(0.0, 0.0, 0.0)
    same = probability_of_improvement(low, low)
    assert same.value == 0.5
    assert same.low < 0.5 < same.high


def test_probability_of_improvement_is_covered():
    rng, truth = np.random.default_rng(12), scipy.stats.norm.cdf(0.5 / np.sqrt(2))
    data = ((rng.normal(0.5, size=(20, 2)), rng.normal(size=(20, 2))) for _ in range(200))
    found = [probability_of_improvement(x, y, resamples=500) for x, y in data]
    assert 0.89 <= np.mean([e.low <= truth <= e.high for e in found]) <= 0.99


# Power laws


@given(st.floats(-3, 3), st.floats(-5, 5), st.integers(2, 8))
def test_an_exact_power_law_is_recovered(exponent, log_coefficient, n):
    x = 2.0 ** np.arange(n)
    law = power_law(x, np.tile(np.exp(log_coefficient) * x**exponent, (3, 1)), resamples=10)
    for found, truth in ((law.exponent, exponent), (law.coefficient, np.exp(log_coefficient))):
        for v in (found.value, found.low, found.high):
            assert v == pytest.approx(truth, rel=1e-9, abs=1e-9)


def test_the_fit_is_the_regression_through_all_the_points():
    rng, x = np.random.default_rng(13), np.array([1.0, 3.0, 7.0, 40.0])
    y = 2.0 * x**-0.5 * np.exp(rng.normal(size=(5, 4)))
    line = scipy.stats.linregress(np.log(np.tile(x, 5)), np.log(y.ravel()))
    law = power_law(x, y)
    assert law.exponent.value == pytest.approx(line.slope)
    assert law.coefficient.value == pytest.approx(np.exp(line.intercept))


def test_a_noisy_power_law_is_covered():
    rng, x = np.random.default_rng(14), np.array([10.0, 20.0, 40.0, 80.0, 160.0])
    noise = np.exp(0.3 * rng.normal(size=(200, 20, 5)))
    laws = [power_law(x, 3.0 * x**-0.7 * e, resamples=1000) for e in noise]
    exponents, coefficients = [w.exponent for w in laws], [w.coefficient for w in laws]
    assert 0.89 <= np.mean([e.low <= -0.7 <= e.high for e in exponents]) <= 0.99
    assert 0.89 <= np.mean([e.low <= 3.0 <= e.high for e in coefficients]) <= 0.99


# Refusals


@pytest.mark.parametrize("of", [mean, standard_error, iqm, bootstrap])
def test_empty_and_nan_scores_are_refused(of):
    with pytest.raises(ValueError, match=r"must not be empty, got shape \(0,\)"):
        of([])
    with pytest.raises(ValueError, match="must be finite, got nan"):
        of([1.0, math.nan])
    with pytest.raises(ValueError, match="must be finite, got inf"):
        of([1.0, math.inf])


@pytest.mark.parametrize("of", [bootstrap_difference, probability_of_improvement])
def test_comparisons_refuse_bad_scores_by_name(of):
    first, second = ("a", "b") if of is bootstrap_difference else ("x", "y")
    with pytest.raises(ValueError, match=f"^{first} must not be empty"):
        of([], [1.0])
    with pytest.raises(ValueError, match=f"^{second} must be finite, got nan"):
        of([1.0], [math.nan])
    with pytest.raises(ValueError, match=rf"tasks.*'{first}': \(4, 2\), '{second}': \(4, 3\)"):
        of(np.ones((4, 2)), np.ones((4, 3)))


def test_pairs_must_be_as_many():
    with pytest.raises(ValueError, match=r"runs if paired.*'a': \(4,\), 'b': \(5,\)"):
        bootstrap_difference(np.ones(4), np.ones(5), paired=True)
    with pytest.raises(ValueError, match=r"runs if paired.*'a': \(4,\), 'b': \(5,\)"):
        bootstrap_ratio(np.ones(4), np.ones(5))


def test_bootstrap_refuses_other_shapes_and_options():
    with pytest.raises(ValueError, match=r"^scores must have shape .* got \(\)"):
        bootstrap(1.0)
    with pytest.raises(ValueError, match=r"^scores must have shape .* got \(2, 2, 2\)"):
        bootstrap(np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match=r"^statistic must reduce .* got \(1, 3\)"):
        bootstrap(np.ones((4, 3)), lambda x, axis: np.mean(x, axis=axis[0]))
    with pytest.raises(ValueError, match=r"^resamples must be positive .* got resamples=0"):
        bootstrap([1.0, 2.0], resamples=0)
    with pytest.raises(ValueError, match=r"confidence within \(0, 1\), got .*confidence=95"):
        bootstrap([1.0, 2.0], confidence=95)
    with pytest.raises(TypeError, match="resample"):
        bootstrap([1.0, 2.0], resample=10)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([], [[1.0], [1.0]], "^x must not be empty"),
        ([1.0, 2.0], [[1.0, math.nan]] * 2, "^y must be finite, got nan"),
        ([0.0, 2.0], [[1.0, 1.0]] * 2, "^x must be positive for a power law, got 0.0"),
        ([1.0, 2.0], [[1.0, -2.0]] * 2, "^y must be positive for a power law, got -2.0"),
        ([2.0, 2.0], [[1.0, 1.0]] * 2, "^x must hold at least two distinct values, got only 2.0"),
        ([1.0, 2.0], [1.0, 2.0], r"^y must be \(runs >= 2, len\(x\)\), got \(2,\)"),
        ([1.0, 2.0], [[1.0, 2.0]], r"^y must be \(runs >= 2, len\(x\)\), got \(1, 2\)"),
        ([1.0, 2.0], [[1.0] * 3] * 2, r"got \(2, 3\) for x of \(2,\)"),
        ([[1.0, 2.0]], [[1.0, 2.0]] * 2, r"for x of \(1, 2\)"),
    ],
)
def test_power_law_refuses_what_it_cannot_fit(x, y, message):
    with pytest.raises(ValueError, match=message):
        power_law(x, y)
