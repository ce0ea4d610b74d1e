"""The warning of a dead gate, and the settings of readings and methods."""

import pytest

from delightful.agents.control.config import READINGS, ControlConfig
from delightful.agents.control.settings import KL, configured
from delightful.agents.control.warning import PATIENCE, advice_if_dead


def records(dead, inverted=0.0, count=PATIENCE):
    one = {"dead": dead, "inverted": inverted, "surprisal": 0.2, "advantage": 0.1}
    return [dict(one) for _ in range(count)]


def test_a_dead_gate_is_said_with_what_to_try():
    fresh, replayed = (ControlConfig(reading=reading) for reading in ("fresh", "replayed"))
    said = advice_if_dead(fresh, records(0.99))
    assert "nearly dead" in said
    assert "--set reading=replayed" in said
    assert "dg:temperature=0.1" in said
    assert "reading=" not in advice_if_dead(replayed, records(0.99))
    assert "--set surprisal=mode" in advice_if_dead(replayed, records(0.99, inverted=0.9))


def test_nothing_is_said_of_a_gate_that_lives_or_is_not_there():
    config = ControlConfig()
    assert not advice_if_dead(config, [])
    assert not advice_if_dead(config, records(0.99, count=PATIENCE - 1))
    assert not advice_if_dead(config, [*records(0.99), *records(0.5, count=1)])
    assert not advice_if_dead(ControlConfig(method="pg"), records(0.99))


@pytest.mark.parametrize("reading", READINGS)
def test_every_method_has_settings_under_each_reading(reading):
    for method in (*KL, "dg:temperature=0.5", "awr"):
        config = configured(method, reading, width=8)
        config.check()
        assert (config.method, config.reading, config.width) == (method, reading, 8)
    assert configured("dg:temperature=0.5", reading).kl == configured("dg", reading).kl
