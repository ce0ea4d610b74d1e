"""Vectorised environments: the Control Suite by EnvPool or dm_control, and Gymnasium's tasks."""

from importlib.util import find_spec

import numpy as np

from delightful.agents.control.environments.gym import GymTask
from delightful.agents.control.environments.suite import SuiteTask
from delightful.agents.control.environments.vector import EnvPoolSuite, Sequential
from delightful.agents.control.tasks import GYM

Task = GymTask | SuiteTask
VectorEnvironment = EnvPoolSuite | Sequential


def make(task: str, count: int, seed: int, *, engine: str = "") -> VectorEnvironment:
    """Environments of one task, not yet reset; `engine` is "envpool" or "dm_control"."""
    if (engine or default_engine(task)) == "envpool":
        return EnvPoolSuite(task, count, seed)
    return Sequential([make_task(task, task_seed(seed, i)) for i in range(count)])


def make_task(task: str, seed: int, *, render: bool = False) -> Task:
    """One environment, not yet reset; `render` if it will be asked for images."""
    if task.startswith(GYM):
        return GymTask(task.removeprefix(GYM), seed, render=render)
    return SuiteTask(task, seed)


def default_engine(task: str) -> str:
    """The simulator that steps a task here; runs of different engines have different numbers."""
    if task.startswith(GYM):
        return "gymnasium"
    # EnvPool 1.2.5 takes a wrong geom for the ball: it rewards 0.042 from the target, not 0.025.
    trusted = find_spec("envpool") and task != "ball_in_cup:catch"
    return "envpool" if trusted else "dm_control"


def task_seed(seed: int, index: int) -> int:
    """The seed of one of several environments."""
    return int(np.random.SeedSequence([seed, index]).generate_state(1)[0] >> 1)
