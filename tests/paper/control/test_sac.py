"""SAC of others as the lab runs it: stopped and gone on with, it ends with the same bytes."""

import dataclasses
import json

import numpy as np
import pytest

from delightful.agents.control.checkpoints import share
from delightful.agents.control.config import ControlConfig
from delightful.lab.cells import Plan
from delightful.lab.errors import LabError
from delightful.paper.control import sac
from delightful.paper.control.config import SHARED, SacConfig
from delightful.paper.control.sweep import EXTERNAL

TASKS = (
    "cartpole:swingup",
    "cheetah:run",
    "walker:walk",
    "hopper:hop",
    "finger:turn_hard",  # which moves its target in the model
    "reacher:easy",
    "acrobot:swingup",
    "humanoid:run",
)


@pytest.mark.parametrize("name", TASKS)
def test_an_episode_comes_about_again_to_the_byte(name):
    chance = np.random.default_rng(0)
    first, again = sac.Task(name, 0), sac.Task(name, 1)
    for length in (1000, 60):  # a whole episode, whose traces must not matter, and a part
        first.reset()
        for _ in range(length):
            first.step(chance.uniform(-1, 1, first.action_space.shape).astype(np.float32))
    actions = np.array(first.actions)
    assert len(actions) == 60
    again.go_on(json.loads(json.dumps(sac.as_json(first.chance))), actions)
    for _ in range(1000):  # into the next episode
        action = chance.uniform(-1, 1, first.action_space.shape).astype(np.float32)
        one, other = first.step(action), again.step(action)
        assert one[0].tobytes() == other[0].tobytes()
        assert one[1:4] == other[1:4]
        if one[2] or one[3]:
            assert first.reset()[0].tobytes() == again.reset()[0].tobytes()


def test_what_it_takes_of_ours_cannot_be_changed_for_ours_alone():
    taken = {field.name for field in dataclasses.fields(sac.Settings)} - {"task", "every", "replay"}
    assert taken == set(SHARED)
    for name in sorted(taken):
        assert getattr(sac.Settings, name) == getattr(ControlConfig(), name)
        with pytest.raises(LabError, match=f"{name} cannot be changed in control/external"):
            EXTERNAL.cells(Plan("smoke", changes={name: "1"}))
    cells = EXTERNAL.cells(Plan("smoke", changes={"kl": "3", "episodes": "2"}))
    assert {cell.config.episodes for cell in cells} == {2}


class KilledError(Exception):
    pass


@pytest.fixture
def sac_runs():
    pytest.importorskip("sbx", reason="needs the sac extra")
    from delightful.paper.control import sac_runs

    return sac_runs


# Of 4 records of 2,200 steps, learning begins in the third. The small ring is full then, and holds
# three pieces, of which the oldest in part.
@pytest.mark.parametrize("replay", [1_000_000, 5_000])
def test_a_run_that_is_killed_ends_as_if_it_had_not_been(sac_runs, monkeypatch, tmp_path, replay):
    config = SacConfig(task="reacher:easy", steps=8800, records=4, episodes=1)
    settings = dataclasses.replace(sac_runs.settings(config), replay=replay, random_steps=5000)
    monkeypatch.setattr(sac_runs, "settings", lambda _: settings)
    whole = sac_runs.run(config, np.array([3]))
    assert len(set(whole["deterministic"][0])) > 1
    evaluate = sac_runs.evaluate
    for last in (2, 4):  # it is killed before what that evaluation found is kept

        def killed(agent, config, seed, number, last=last):
            if number == last:
                raise KilledError
            return evaluate(agent, config, seed, number)

        monkeypatch.setattr(sac_runs, "evaluate", killed)
        with pytest.raises(KilledError):
            sac_runs.run(config, np.array([3]), tmp_path)
        assert share(config, np.array([3]), tmp_path) == (last - 1) / 4
    monkeypatch.setattr(sac_runs, "evaluate", evaluate)
    again = sac_runs.run(config, np.array([3]), tmp_path)
    assert {name: values.tobytes() for name, values in again.items()} == {
        name: values.tobytes() for name, values in whole.items()
    }


def test_a_damaged_checkpoint_is_put_aside_and_the_run_begun_anew(sac_runs, tmp_path, capsys):
    config = SacConfig(task="cartpole:swingup", steps=800, records=2, episodes=1)
    assert sac_runs.settings(config).random_steps == 160  # or else it would learn nothing
    whole = sac_runs.run(config, np.array([0]), tmp_path)
    (state,) = (tmp_path / "0").glob("state-*.bin")
    state.write_bytes(state.read_bytes()[:-1] + b"x")
    again = sac_runs.run(config, np.array([0]), tmp_path)
    assert again["deterministic"].tobytes() == whole["deterministic"].tobytes()
    assert f"{state} is damaged" in capsys.readouterr().err
    assert (tmp_path / "0.aside-1" / state.name).exists()
