"""The benchmarks run, and the ratio they print is one."""

import time

import pytest

from delightful.benchmarks import estimator, mnist
from delightful.benchmarks.timing import ratio


def test_the_ratio_of_two_sleeps_is_that_of_their_lengths() -> None:
    found = ratio(lambda: time.sleep(0.010), lambda: time.sleep(0.005), rounds=10)
    assert found.value == pytest.approx(2.0, rel=0.25)
    assert found.low <= found.value <= found.high


def test_bench_estimator_measures_both_libraries() -> None:
    figures = estimator.measure(step_rounds=3, loss_rounds=3)
    for part in ("step", "loss", "log_prob"):
        for name in ("torch", "jax"):
            low, high = figures[f"{part}_ratio_{name}_interval"]
            assert 0 < low <= figures[f"{part}_ratio_{name}"] <= high
    text = estimator.describe(figures)
    assert text.count("[") == 6


def test_bench_mnist_measures_the_whole_machine_and_pytorch() -> None:
    figures = mnist.measure(steps=40, rounds=2)
    assert figures["seed_steps_per_second"] > 0
    assert 0 < figures["fraction_of_matmul_peak"] < 1
    for name in mnist.GOALS:
        low, high = figures[f"{name}_interval"]
        assert 0 < low <= figures[name] <= high
    figures |= {"ratio_to_torch": 3.9, "fraction_of_matmul_peak": 0.71}
    text = mnist.describe(figures)
    assert "goal 4: missed" in text
    assert "goal 0.7: held" in text
