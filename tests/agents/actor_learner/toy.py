"""A Gaussian bandit in NumPy: an actor, a learner, and actors that misbehave."""

import os
import signal
import time

import numpy as np

from delightful.agents.actor_learner import Spec

SAMPLES = 8


class ToyActor:
    """Draws actions around the parameter; the reward is highest at 1."""

    def sample(self, parameters, rng):
        action = parameters["mean"] + rng.standard_normal(SAMPLES).astype(np.float32)
        return {"action": action, "reward": -((action - 1) ** 2)}


class ToyLearner:
    """REINFORCE on the mean; it keeps the last batches that it saw."""

    def __init__(self):
        self.layout = {"action": Spec((SAMPLES,), np.float32), "reward": Spec((None,), np.float32)}
        self.mean, self.seen = np.zeros((), np.float32), []

    def parameters(self):
        return {"mean": self.mean}

    def update(self, batches):
        self.seen = batches
        action, reward = (np.concatenate([b[name] for b in batches]) for name in self.layout)
        advantage = reward - reward.mean()
        self.mean = np.float32(self.mean + 0.05 * np.mean(advantage * (action - self.mean)))
        return {"reward": float(reward.mean())}

    def state(self):
        return {"mean": np.asarray(self.mean)}

    def restore(self, state):
        self.mean = state["mean"]


class MortalActor(ToyActor):
    """Its process is killed, with the signal that nobody can handle, while a file is there."""

    def __init__(self, path):
        self.path = path

    def sample(self, parameters, rng):
        time.sleep(0.01)
        if parameters["mean"] != 0:  # not while it warms up
            try:
                os.unlink(self.path)
            except FileNotFoundError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().sample(parameters, rng)


class SloppyActor(ToyActor):
    """Now and then a batch is too short, and now and then it has a NaN."""

    def sample(self, parameters, rng):
        batch = super().sample(parameters, rng)
        kind = rng.integers(4)
        if kind == 0:
            batch["action"] = batch["action"][:-1]
        if kind == 1:
            batch["reward"][0] = np.nan
        return batch


class BrokenActor(ToyActor):
    def sample(self, parameters, rng):  # noqa: ARG002
        raise RuntimeError("no such room")


class UselessActor(ToyActor):
    def sample(self, parameters, rng):  # noqa: ARG002
        return {"action": np.zeros(3, np.float32)}


class ListActor(ToyActor):
    def sample(self, parameters, rng):  # noqa: ARG002
        return [1.0]


class FlakyActor(ToyActor):
    """Raises, once it has learned something, as often as told, while a file is there."""

    def __init__(self, path, times):
        self.path, self.times = path, times

    def sample(self, parameters, rng):
        time.sleep(0.01)
        if parameters["mean"] != 0 and self.burns():
            raise RuntimeError("the room is on fire")
        return super().sample(parameters, rng)

    def burns(self):
        if self.times > 1:
            return os.path.exists(self.path)
        try:
            os.unlink(self.path)  # of several actors, one can
        except FileNotFoundError:
            return False
        return True
