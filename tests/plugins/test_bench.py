import pytest

from delightful.benchmarks import plugins


def test_bench_plugins_measures_what_is_installed():
    present = {sweep.name.partition("/")[2] for sweep in plugins.FRESH if not sweep.missing}
    if not present:
        pytest.skip("no framework is installed")
    figures = plugins.measure(rounds=6)
    assert {
        name.removeprefix("step_seconds_") for name in figures if "step_seconds" in name
    } == present
    for stack in present:
        low, high = figures[f"step_ratio_{stack}_interval"]
        # Six rounds on a busy machine say little: the numbers must be there and in order.
        assert 0 < low <= figures[f"step_ratio_{stack}"] <= high
