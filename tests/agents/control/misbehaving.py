"""Tasks for tests, by Gymnasium's names: `gym:misbehaving:Toy-v0` and worse ones."""

import os
import signal
from pathlib import Path

import gymnasium
import numpy as np


class Toy(gymnasium.Env):
    """Be near 0.5: a point that moves as it is pushed, for 30 steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,))
    length = 30

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.at, self.time = self.np_random.uniform(-1, 1), 0
        return self._seen(), {}

    def step(self, action):
        self.time += 1
        self.at += 0.1 * float(np.clip(action[0], -2, 2))
        reward = float(np.exp(-10 * (self.at - 0.5) ** 2))
        return self._seen(), reward, False, self.time >= self.length, {}

    def _seen(self):
        return np.array([self.at, self.time / self.length], np.float32)


class Exploding(Toy):
    """Now and then the simulator gives NaN, and would give nothing else until it is reset."""

    def step(self, action):
        observation, reward, ended, cut, info = super().step(action)
        if self.at > 0.9:
            return observation * np.nan, np.nan, ended, cut, info
        return observation, reward, ended, cut, info


class Deadly(Toy):
    """Kills its process in the 40th step, if no process was killed before."""

    steps = 0

    def step(self, action):
        self.steps += 1
        mark = Path(os.environ["DEADLY"])
        if self.steps == 40 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class Ending(Toy):
    """Ends for good where the point leaves [−1, 1]."""

    def step(self, action):
        observation, reward, _, cut, info = super().step(action)
        return observation, reward, abs(self.at) > 1, cut, info


class Discrete(Toy):
    action_space = gymnasium.spaces.Discrete(3)


class InParts(Toy):
    """Sees its place, as a vector, and whether half of its time is over."""

    observation_space = gymnasium.spaces.Dict(
        late=gymnasium.spaces.Discrete(2), place=gymnasium.spaces.Box(-np.inf, np.inf, (1, 1))
    )

    def _seen(self):
        late = int(self.time >= self.length // 2)
        return {"late": late, "place": np.array([[self.at]], np.float32)}


class OfAnyLength(Toy):
    observation_space = gymnasium.spaces.Sequence(gymnasium.spaces.Box(-1, 1, (1,)))


for kind in (Toy, Exploding, Deadly, Ending, Discrete, InParts, OfAnyLength):
    gymnasium.register(f"{kind.__name__}-v0", entry_point=kind)
