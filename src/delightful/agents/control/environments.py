"""Environments in step: EnvPool where it is installed, else dm_control; Gymnasium for its own.

All give the same: float32 observations in one vector, actions in [−1, 1], and after an episode's
end one step that does nothing but begin the next.
"""

import functools
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np

from delightful.agents.control.tasks import GYM, envpool_name
from delightful.lab.errors import LabError, unknown

# EnvPool 1.2.5 takes a wrong geom for the ball's size: it rewards 0.042 from the target, not 0.025.
REWARDED_OTHERWISE = ("ball_in_cup:catch",)
UNBOUNDED = 1e3  # bounds beyond it, as lqr's 10¹⁰, are none: actions then are taken as they are


class Step(NamedTuple):
    observation: np.ndarray
    reward: np.ndarray
    ended: np.ndarray  # by the task: nothing follows
    cut: np.ndarray  # by a time limit: more would have followed


class Pool(Protocol):
    observed: int
    actions: int

    def reset(self) -> np.ndarray: ...
    def step(self, action: np.ndarray) -> Step: ...
    def reset_one(self, index: int) -> np.ndarray: ...


def make(task: str, count: int, seed: int, *, engine: str = "") -> Pool:
    """`count` environments of a task, their chance given by `seed`.

    engine: "envpool" or "dm_control", for a task of the suite; by default the first that is here.
    """
    if task.startswith(GYM):
        return Separate([_Gym(task.removeprefix(GYM), _seed(seed, i)) for i in range(count)])
    if (engine or default_engine(task)) == "envpool":
        return _EnvPool(task, count, seed)
    return Separate([SuiteTask(task, _seed(seed, i)) for i in range(count)])


def default_engine(task: str) -> str:
    """What steps a task here: runs of different engines are not the same runs."""
    if task.startswith(GYM):
        return "gymnasium"
    trusted = find_spec("envpool") and task not in REWARDED_OTHERWISE
    return "envpool" if trusted else "dm_control"


def _seed(seed: int, index: int) -> int:
    return int(np.random.SeedSequence([seed, index]).generate_state(1)[0] >> 1)


def load_suite(task: str, seed: int = 0) -> Any:
    """A task of the suite as dm_control makes it."""
    os.environ.setdefault("MUJOCO_GL", "disabled")  # no window is opened by looking for one
    if find_spec("dm_control") is None:
        raise LabError(
            f"{task} needs dm_control: pip install 'delightful-rl[control]', "
            "or choose a task of Gymnasium's, such as gym:Pendulum-v1."
        )
    import absl.logging
    from dm_control import suite

    absl.logging.set_verbosity(absl.logging.ERROR)  # the models' own deprecations
    domain, _, name = task.partition(":")
    return suite.load(domain, name, task_kwargs={"random": seed})


@functools.cache
def suite_keys(task: str) -> tuple[str, ...]:
    """The parts of a suite task's observation, in the order in which they are joined."""
    return tuple(sorted(load_suite(task).observation_spec()))


class _EnvPool:
    """Environments in C++; all other keys of its observations are zeros of sibling tasks."""

    def __init__(self, task: str, count: int, seed: int) -> None:
        import envpool

        self._keys = suite_keys(task)
        self._pool = envpool.make(
            envpool_name(task),
            env_type="gymnasium",
            num_envs=count,
            num_threads=1,  # one process per core
            seed=seed % 2**31,
        )
        self._scale = _Bounds(self._pool.action_space)
        self.actions = self._pool.action_space.shape[0]
        shapes = (self._pool.observation_space[key].shape for key in self._keys)
        self.observed = sum(int(np.prod(shape)) for shape in shapes)

    def reset(self) -> np.ndarray:
        return self._joined(self._pool.reset()[0])

    def step(self, action: np.ndarray) -> Step:
        found, reward, ended, cut, _ = self._pool.step(self._scale(action))
        return Step(self._joined(found), reward.astype(np.float32), ended, cut)

    def reset_one(self, index: int) -> np.ndarray:
        first: np.ndarray = self._joined(self._pool.reset(np.array([index]))[0])[0]
        return first

    def _joined(self, found: dict[str, np.ndarray]) -> np.ndarray:
        parts = [found[key].reshape(len(found[key]), -1) for key in self._keys]
        return np.concatenate(parts, axis=1).astype(np.float32)


class Separate:
    """Environments of one kind, stepped one after the other in Python."""

    def __init__(self, environments: list[Any]) -> None:
        self._environments = environments
        self._over = [False] * len(environments)
        self.observed: int = environments[0].observed
        self.actions: int = environments[0].actions

    def reset(self) -> np.ndarray:
        self._over = [False] * len(self._over)
        return np.stack([environment.reset() for environment in self._environments])

    def step(self, action: np.ndarray) -> Step:
        steps = [self._step(i, one) for i, one in enumerate(action)]
        observation, reward, ended, cut = map(np.array, zip(*steps, strict=True))
        return Step(observation, reward.astype(np.float32), ended, cut)

    def reset_one(self, index: int) -> np.ndarray:
        self._over[index] = False
        first: np.ndarray = self._environments[index].reset()
        return first

    def _step(self, index: int, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool]:
        if self._over[index]:
            return self.reset_one(index), 0.0, False, False
        step: tuple[np.ndarray, float, bool, bool] = self._environments[index].step(action)
        self._over[index] = step[2] or step[3]
        return step


class SuiteTask:
    def __init__(self, task: str, seed: int) -> None:
        self._keys = suite_keys(task)
        self._environment = load_suite(task, seed)
        bounds = self._environment.action_spec()
        self._scale = _Bounds(bounds)
        self.actions = bounds.shape[0]
        spec = self._environment.observation_spec()
        self.observed = sum(int(np.prod(spec[key].shape)) for key in self._keys)

    def reset(self) -> np.ndarray:
        return self._joined(self._environment.reset().observation)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool]:
        from dm_control.rl.control import PhysicsError

        try:
            step = self._environment.step(self._scale(action))
        except PhysicsError:  # the simulation went wrong: NaN says so, as other engines do
            return np.full(self.observed, np.nan, np.float32), np.nan, False, False
        over = step.last()
        ended = over and step.discount == 0
        return self._joined(step.observation), step.reward, ended, over and not ended

    @property
    def chance(self) -> np.random.RandomState:
        """What episodes begin with; nothing else is carried from one to the next."""
        source: np.random.RandomState = self._environment.task.random
        return source

    @property
    def steps_per_second(self) -> float:
        return 1 / float(self._environment.control_timestep())

    def picture(self, size: tuple[int, int]) -> np.ndarray:
        drawn: np.ndarray = self._environment.physics.render(*size, camera_id=0)
        return drawn

    def _joined(self, found: dict[str, np.ndarray]) -> np.ndarray:
        return np.concatenate([np.ravel(found[key]) for key in self._keys]).astype(np.float32)


class _Gym:
    def __init__(self, name: str, seed: int, *, film: bool = False) -> None:
        if find_spec("gymnasium") is None:
            raise LabError(f"gym:{name} needs gymnasium: pip install 'delightful-rl[control]'.")
        import gymnasium

        try:
            self._environment = gymnasium.make(
                name, **({"render_mode": "rgb_array"} if film else {})
            )
        except gymnasium.error.NameNotFound:
            raise unknown("Gymnasium task", name, gymnasium.registry) from None
        except (gymnasium.error.Error, ImportError) as error:
            raise LabError(f"gym:{name} cannot be made: {error}") from None
        space, seen = self._environment.action_space, self._environment.observation_space
        if not isinstance(space, gymnasium.spaces.Box):
            raise LabError(
                f"gym:{name} has {type(space).__name__} actions; only continuous (Box) ones "
                "can be trained on, as in gym:Pendulum-v1."
            )
        if not seen.is_np_flattenable:
            raise LabError(
                f"gym:{name} has {type(seen).__name__} observations; only such of one length "
                "can be trained on, as in gym:Pendulum-v1."
            )
        self._shape = space.shape
        self._scale = _Bounds(space)
        self.actions = int(np.prod(space.shape))
        self.observed = gymnasium.spaces.flatdim(seen)
        # Parts are joined, and choices one-hot.
        self._flat = functools.partial(gymnasium.spaces.flatten, seen)
        self._seed: int | None = seed

    def reset(self) -> np.ndarray:
        observation, _ = self._environment.reset(seed=self._seed)
        self._seed = None  # given once: later episodes go on with the same chance
        flat: np.ndarray = self._flat(observation).astype(np.float32)
        return flat

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool]:
        scaled = self._scale(action.reshape(self._shape))
        observation, reward, ended, cut, _ = self._environment.step(scaled)
        flat = self._flat(observation).astype(np.float32)
        return flat, float(reward), ended, cut and not ended

    @property
    def steps_per_second(self) -> float:
        return float(self._environment.metadata.get("render_fps", 30))

    def picture(self, _: tuple[int, int]) -> np.ndarray:
        """As large as the task itself draws it."""
        drawn: np.ndarray = self._environment.render()
        return drawn


def returns(
    pool: Pool, count: int, act: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Of one episode of each of `count` environments, until its end or until it goes wrong; and
    which of them have not gone wrong."""
    seen, running, total = pool.reset(), np.ones(count, bool), np.zeros(count)
    sound = np.ones(count, bool)
    for _ in range(LONGEST):
        seen, reward, ended, cut = pool.step(act(seen))
        wrong = ~(np.isfinite(reward) & np.isfinite(seen).all(axis=1))
        seen = np.where(wrong[:, None], 0, seen)
        total += np.where(running & ~wrong, reward, 0)
        sound &= ~(running & wrong)
        running &= ~(ended | cut | wrong)
        if not running.any():
            break
    return total, sound


def mean_return(total: np.ndarray, sound: np.ndarray) -> float:
    """Of the episodes that have not gone wrong; if all have, of what they had come to."""
    return float(total[sound].mean() if sound.any() else total.mean())


def picture(task: str, seed: int, size: tuple[int, int]) -> np.ndarray:
    """How an episode begins, (height, width, 3)."""
    one = _drawn(task, seed)
    one.reset()
    first: np.ndarray = one.picture(size)
    return first


def _drawn(task: str, seed: int) -> Any:
    if task.startswith(GYM):
        return _Gym(task.removeprefix(GYM), seed, film=True)
    return SuiteTask(task, seed)


def filmed(
    task: str, seed: int, size: tuple[int, int], act: Callable[[np.ndarray], np.ndarray]
) -> tuple[list[np.ndarray], float]:
    """An episode's pictures, (height, width, 3) each, and how many of them make a second."""
    one = _drawn(task, seed)
    seen, frames = one.reset(), []
    each = max(1, round(one.steps_per_second / PICTURES))  # more are not seen, and drawing is slow
    for i in range(LONGEST):
        if i % each == 0:
            frames.append(one.picture(size))
        seen, _, ended, cut = one.step(act(seen))
        if ended or cut:
            break
    return frames, one.steps_per_second / each


PICTURES = 30  # per second
LONGEST = 10_000  # steps of an episode that is looked at; lqr's have no limit of their own


class _Bounds:
    """From [−1, 1] to an action space's own bounds, where it has any; as wide if it has one."""

    def __init__(self, space: Any) -> None:
        names = ("low", "high") if hasattr(space, "low") else ("minimum", "maximum")
        low, high = (np.asarray(getattr(space, name), np.float64) for name in names)
        below, above = low < -UNBOUNDED, high > UNBOUNDED  # which has no bound
        self._low = np.where(below, np.where(above, -1.0, high - 2), low)
        self._high = np.where(above, np.where(below, 1.0, low + 2), high)
        self._dtype = space.dtype

    def __call__(self, action: np.ndarray) -> np.ndarray:
        share = (np.clip(action, -1, 1) + 1) / 2
        scaled: np.ndarray = self._low + share * (self._high - self._low)
        return scaled.astype(self._dtype)
