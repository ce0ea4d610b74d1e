"""Policy files: they act as the trained actor does, and damaged or crafted ones are refused."""

import dataclasses
import json
import subprocess
import sys

import jax
import numpy as np
import pytest

from delightful.agents.control import ActionScaling, Policy, environments, load_policy, networks
from delightful.agents.control.gaussian import policy as network
from delightful.agents.control.policy import policy_bytes, shapes
from delightful.agents.serialization import flatten, from_bytes, to_bytes
from delightful.lab.errors import LabError


@pytest.fixture
def path(small, weights, tmp_path):
    path = tmp_path / "policy.safetensors"
    path.write_bytes(policy_bytes(Policy(small, weights)))
    return path


def test_it_acts_as_the_network_does(small, weights, path):
    policy = load_policy(path)
    assert policy.task == small.task
    assert policy.config == small
    assert (policy.observation_size, policy.action_size) == (2, 1)
    seen = np.random.default_rng(0).normal(size=(5, 2))
    expected = network(small, weights, seen.astype(np.float32))
    action = policy.act(seen)
    assert action.dtype == np.float32
    np.testing.assert_array_equal(action, expected.mean)
    for one, vector in zip(action, seen, strict=True):
        np.testing.assert_allclose(policy.act(vector), one, rtol=1e-6)
    many = policy.act(np.repeat(seen[:1], 10_000, axis=0), np.random.default_rng(1))
    assert np.abs(many).max() == 1  # clipped
    inside = np.abs(many) < 1
    assert many[inside].std() > 0.8 * float(expected.deviation[0, 0]) * inside.mean()
    again = policy.act(np.repeat(seen[:1], 10_000, axis=0), np.random.default_rng(1))
    np.testing.assert_array_equal(many, again)
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.config = small


def test_a_file_from_before_a_field_existed_has_the_value_of_then(path):
    arrays, metadata = from_bytes(path.read_bytes())
    del metadata["config"]["reading"]
    path.write_bytes(to_bytes(arrays, metadata))
    assert load_policy(path).config.reading == "fresh"


def test_parts_of_an_observation_are_joined_by_name(path):
    policy = load_policy(path)
    parts = {"b": np.array([[0.5]]), "a": 0.25}
    np.testing.assert_array_equal(policy.act(parts), policy.act([0.25, 0.5]))


@pytest.mark.parametrize("task", ["cartpole:swingup", "reacher:easy"])
def test_the_suites_parts_are_joined_as_in_training(small, task):
    envs = environments.make(task, 1, 0, engine="dm_control")
    flat = envs.reset()[0]
    own = envs._tasks[0]._environment
    parts = own.task.get_observation(own.physics)
    actor = networks.initial_actor(jax.random.key(0), small, envs.observed, envs.actions)
    policy = Policy(dataclasses.replace(small, task=task), jax.tree.map(np.asarray, actor))
    np.testing.assert_array_equal(policy.act(parts), policy.act(flat))


def test_actions_can_be_scaled_to_the_tasks_bounds(path):
    import gymnasium

    scale = ActionScaling(gymnasium.make("misbehaving:Toy-v0").action_space)
    action = load_policy(path).act([0.1, 0.2])
    np.testing.assert_allclose(scale(action), 2 * action, rtol=1e-6)


@pytest.mark.parametrize(
    ("observation", "sentence"),
    [
        (np.zeros(3), r"must have 2 numbers on the last axis, got shape \(3,\)"),
        (np.zeros((2, 5)), r"got shape \(2, 5\)"),
        (1.0, r"got shape \(\)"),
        ({}, r"got shape \(0,\)"),
        ({"a": 1.0}, r"got shape \(1,\)"),
        ([0.0, np.nan], "NaN or infinity"),
    ],
)
def test_observations_of_another_shape_are_refused(path, observation, sentence):
    with pytest.raises(ValueError, match=sentence):
        load_policy(path).act(observation)


def test_the_shapes_are_those_of_the_actor(small):
    actor = networks.initial_actor(jax.random.key(0), small, 5, 3)
    assert shapes(small.width, 5, 3) == {n: x.shape for n, x in flatten(actor).items()}


def refused(path, sentence):
    with pytest.raises(LabError, match=sentence) as error:
        load_policy(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_missing_or_no_policy_is_named(path, tmp_path):
    refused(tmp_path / "none.safetensors", "cannot read .*: No such file")
    refused(tmp_path, "cannot read .*: Is a directory")
    whole = path.read_bytes()
    for data in (b"", b"{}", whole[:-1], whole + b"x", whole[: len(whole) // 2], b"\xff" * 64):
        path.write_bytes(data)
        refused(path, "is not a policy of `delightful train`, or is damaged: not a file of")
    path.write_bytes(to_bytes({}, {"chunk": 3}))
    refused(path, "it is a file of another kind")


def test_every_flipped_byte_of_the_header_is_refused_or_harmless(path):
    """Whatever it says then, no other exception than LabError comes of it."""
    whole = path.read_bytes()
    size = 8 + int.from_bytes(whole[:8], "little")
    for at in range(0, size, 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x11]) + whole[at + 1 :])
        try:
            load_policy(path).act([0.0, 0.0])
        except LabError as error:
            assert str(path) in str(error)  # noqa: PT017


def crafted(path, config=None, **arrays):
    found, metadata = from_bytes(path.read_bytes())
    found |= {name: array for name, array in arrays.items() if array is not None}
    for name in (name for name, array in arrays.items() if array is None):
        del found[name]
    metadata["config"] = metadata["config"] | config if config is not None else None
    path.write_bytes(to_bytes(found, metadata))


@pytest.mark.parametrize(
    ("config", "arrays", "sentence"),
    [
        ({}, {"first/matrix": None}, "no matrix first/matrix"),
        ({}, {"first/matrix": np.zeros(3, np.float32)}, "no matrix first/matrix"),
        ({}, {"second/bias": None}, "missing or unknown arrays: second/bias"),
        ({}, {"more": np.zeros(2, np.float32)}, "missing or unknown arrays: more"),
        ({}, {"norm/scale": np.ones(16)}, "norm/scale must be float32 of shape"),
        ({}, {"norm/scale": np.ones(15, np.float32)}, "norm/scale must be float32 of shape"),
        ({}, {"mean/bias": np.full(1, np.nan, np.float32)}, "mean/bias has NaN or infinity"),
        ({"width": 8}, {}, "must be float32 of shape"),
        ({"width": "16"}, {}, "its config's width cannot be used"),
        ({"width": True}, {}, "its config's width cannot be used"),
        ({"most_deviation": 10**400}, {}, "its config's most_deviation cannot be used"),
        ({"deviation": 2.0}, {}, "deviation and most_deviation must rise"),
        ({"hook": "os.system"}, {}, "its config's hook cannot be used"),
        ({"task": "cheetah:fly"}, {}, "unknown task 'cheetah:fly'"),
        (None, {}, "its config's .* cannot be used"),
    ],
)
def test_a_crafted_file_is_refused(path, config, arrays, sentence):
    crafted(path, config, **arrays)
    refused(path, sentence)


def test_loading_needs_no_jax(path):
    code = (
        "import sys, json, delightful.agents.control as control; "
        "assert 'numpy' not in sys.modules or 'delightful.agents.control.policy' not in "
        "sys.modules; "
        f"policy = control.load_policy({json.dumps(str(path))}); "
        "print(policy.act([0.1, 0.2]).shape, *sorted(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shape, *modules = found.stdout.split()
    assert shape == "(1,)"
    assert not {"jax", "torch", "polars", "gymnasium", "dm_control"} & set(modules)
