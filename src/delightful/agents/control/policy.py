"""Policy files: the actor that `delightful train` ends with, to act with anywhere. NumPy only."""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from delightful.agents.control import gaussian
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.gaussian import Weights
from delightful.agents.serialization import flatten, from_bytes, to_bytes, unflatten
from delightful.lab.errors import LabError

FORMAT = "delightful control policy 1"


@dataclass(frozen=True)
class Policy:
    """A trained Gaussian policy."""

    config: ControlConfig  # what it was trained with
    weights: Weights  # of the actor network, by layer

    @property
    def task(self) -> str:
        """The task's name, such as cheetah:run."""
        return self.config.task

    @property
    def observation_size(self) -> int:
        """Length of the observation vector."""
        return int(self.weights["first"]["matrix"].shape[0])

    @property
    def action_size(self) -> int:
        """Length of the action vector."""
        return int(self.weights["mean"]["matrix"].shape[1])

    def act(
        self, observation: np.ndarray | Mapping[str, Any], rng: np.random.Generator | None = None
    ) -> np.ndarray:
        """The policy's action.

        Args:
            observation: one vector; a batch, its vectors on the last axis; or the parts of one
                observation by name, as dm_control gives them, which are flattened and joined in
                the order of their names. That is also the order of a Gymnasium Dict space made
                from a dict; `gymnasium.spaces.flatten` serves every other space.
            rng: samples the action; without it, the action is the policy's mean.

        Returns:
            Actions in [−1, 1], float32. `ActionScaling(env.action_space)(action)` maps them to
            the bounds of an environment's own action space, as in training.

        Raises:
            ValueError: if the observation has another size, or is not finite.
        """
        if isinstance(observation, Mapping):
            parts = [np.ravel(observation[name]) for name in sorted(observation)]
            observation = np.concatenate(parts) if parts else np.zeros(0)
        vector = np.asarray(observation, np.float32)
        if vector.ndim == 0 or vector.shape[-1] != self.observation_size:
            raise ValueError(
                f"observations of {self.task} must have {self.observation_size} numbers on the "
                f"last axis, got shape {vector.shape}"
            )
        if not np.isfinite(vector).all():
            raise ValueError(f"the observation of {self.task} has NaN or infinity in it")
        policy = gaussian.policy(self.config, self.weights, vector)
        action = policy.mean
        if rng is not None:
            noise = rng.standard_normal(action.shape, dtype=np.float32)
            action = action + policy.deviation * noise
        return np.asarray(np.clip(action, -1, 1))


def policy_bytes(policy: Policy) -> bytes:
    """A policy file's bytes: safetensors, with the config as metadata."""
    return to_bytes(flatten(policy.weights), {"format": FORMAT, "config": asdict(policy.config)})


def load_policy(path: Path | str) -> Policy:
    """Read a policy file.

    The file is data alone: nothing in it is executed, and everything in it is validated.

    Args:
        path: `policy.safetensors` of a run.

    Returns:
        The policy, ready to `act`.

    Raises:
        LabError: if the file cannot be read, is damaged, or is not a policy.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}.") from None
    try:
        arrays, metadata = from_bytes(data)
        if metadata.get("format") != FORMAT:
            raise ValueError("it is a file of another kind")
        config = _config(metadata.get("config"))
        _check_arrays(config, arrays)
    except (ValueError, LabError) as error:
        problem = f"is not a policy of `delightful train`, or is damaged: {str(error).rstrip('.')}"
        raise LabError(f"{path} {problem}.") from None
    return Policy(config, unflatten(arrays))


def _config(values: Any) -> ControlConfig:
    kinds = {field.name: type(field.default) for field in fields(ControlConfig)}
    older = {
        f.name: f.metadata["before"] for f in fields(ControlConfig) if f.metadata.get("before")
    }
    values = older | values if isinstance(values, dict) else {}
    odd = values.keys() ^ kinds.keys()
    odd |= {name for name in values.keys() - odd if not _is(kinds[name], values[name])}
    if odd:
        raise ValueError(f"its config's {', '.join(sorted(odd))} cannot be used")
    config = ControlConfig(**values)
    config.check()
    return config


def _is(kind: type, value: Any) -> bool:
    """Whether a value from JSON is of the kind, and finite."""
    if kind is float:
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return type(value) is kind


def _check_arrays(config: ControlConfig, arrays: Mapping[str, np.ndarray]) -> None:
    """Every layer of the actor that the config describes, of finite float32, and nothing else."""
    try:
        (observed, _), (actions,) = arrays["first/matrix"].shape, arrays["mean/bias"].shape
    except (KeyError, ValueError):
        raise ValueError("it has no matrix first/matrix or no vector mean/bias") from None
    expected = shapes(config.width, observed, actions)
    if arrays.keys() != expected.keys():
        odd = ", ".join(sorted(arrays.keys() ^ expected.keys()))
        raise ValueError(f"it has missing or unknown arrays: {odd}")
    for name, array in arrays.items():
        if array.shape != expected[name] or array.dtype != np.float32:
            rule = f"{name} must be float32 of shape {expected[name]}"
            raise ValueError(f"{rule}, got {array.dtype} of {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} has NaN or infinity in it")


def shapes(width: int, observed: int, actions: int) -> dict[str, tuple[int, ...]]:
    """The shape of every array of an actor with two hidden layers of `width` units."""
    layers = {"first": (observed, width), "second": (width, width)}
    layers |= {"mean": (width, actions), "spread": (width, actions)}
    found: dict[str, tuple[int, ...]] = {"norm/scale": (width,), "norm/offset": (width,)}
    for name, (inputs, outputs) in layers.items():
        found |= {f"{name}/matrix": (inputs, outputs), f"{name}/bias": (outputs,)}
    return found
