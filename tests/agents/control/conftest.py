"""Small runs, and tasks that misbehave."""

import os

import pytest

os.environ.setdefault("MUJOCO_GL", "disabled")

gymnasium = pytest.importorskip("gymnasium", reason="needs the control extra")

import misbehaving  # noqa: E402, F401 (registers its tasks)

from delightful.agents.control.config import ControlConfig  # noqa: E402
from delightful.agents.control.learner import initial  # noqa: E402
from delightful.agents.control.training import weights as numpy_weights  # noqa: E402


@pytest.fixture(scope="session")
def small():
    """A run of a few seconds: a toy task, small networks, every part of the machinery."""
    return ControlConfig(
        task="gym:misbehaving:Toy-v0",
        steps=4000,
        random_steps=728,
        width=16,
        batch=32,
        records=4,
        episodes=2,
        target_period=10,
        every=16,
    )


@pytest.fixture
def weights(small):
    """Of the small run's untrained actor."""
    return numpy_weights(initial(small, 0, 2, 1))
