"""Third-party SAC as a program of the lab."""

import dataclasses

import numpy as np
import pytest

from delightful.agents.control.config import ControlConfig
from delightful.lab.cells import Plan
from delightful.lab.errors import LabError
from delightful.paper.control import sac
from delightful.paper.control.config import SHARED, SacConfig
from delightful.paper.control.sweep import OF_REPLAYED


def test_what_it_takes_of_ours_cannot_be_changed_for_ours_alone():
    taken = {field.name for field in dataclasses.fields(sac.Settings)} - {"task", "every"}
    assert taken == set(SHARED)
    for name in sorted(taken):
        assert getattr(sac.Settings, name) == getattr(ControlConfig(), name)
        with pytest.raises(LabError, match=f"{name} cannot be changed in control/external"):
            OF_REPLAYED.external.cells(Plan("smoke", changes={name: "1"}))
    cells = OF_REPLAYED.external.cells(Plan("smoke", changes={"kl": "3", "episodes": "2"}))
    assert {cell.config.episodes for cell in cells} == {2}


def test_a_run_repeats_to_the_byte_and_learns_from_the_start():
    pytest.importorskip("sbx", reason="needs the sac extra")
    config = SacConfig(task="cartpole:swingup", steps=800, records=2, episodes=1)
    assert sac.settings_of(config).random_steps == 160  # or else it would learn nothing
    first = sac.run(config, np.array([0]))
    assert list(first["step"]) == [400, 800]
    assert first["deterministic"].shape == (1, 2)
    again = sac.run(config, np.array([0]))
    assert {name: values.tobytes() for name, values in again.items()} == {
        name: values.tobytes() for name, values in first.items()
    }


def test_an_episode_with_nan_is_truncated(monkeypatch):
    task = sac.Task("cartpole:swingup", 0)
    task.reset()
    before = task.step(np.zeros(1))[0]
    for wrong in ((np.full(5, np.nan), 0.0, False, False), (np.zeros(5), np.nan, False, False)):
        monkeypatch.setattr(task._task, "step", lambda _, wrong=wrong: wrong)
        observation, reward, ended, cut, _ = task.step(np.zeros(1))
        np.testing.assert_array_equal(observation, before)
        assert (reward, ended, cut) == (0.0, False, True)
    assert task.dropped == 2
