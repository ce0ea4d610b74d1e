"""What a user brings: an actor that samples and a learner that updates.

Both speak NumPy arrays by name, whatever they compute with: arrays travel between processes
without a copy, and a checkpoint of them is a safetensors file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

Arrays = Mapping[str, np.ndarray]


class Spec(NamedTuple):
    """What an array of a batch looks like; a size of None may be any."""

    shape: tuple[int | None, ...]
    dtype: Any


class Actor(Protocol):
    """Samples trajectories; it lives in a process of its own."""

    def sample(self, parameters: Arrays, rng: np.random.Generator) -> Arrays:
        """Sample one batch of trajectories.

        Args:
            parameters: of the policy that acts, as `Learner.parameters` gave them; read-only.
            rng: random numbers that no other batch of the run has.

        Returns:
            The batch, with the log-probabilities of its actions if the method needs them.
        """


class Learner(Protocol):
    """Updates the policy; it lives in the process that calls `train`."""

    @property
    def layout(self) -> Mapping[str, Spec]:
        """The arrays of a batch, by name: a batch that is not like this is dropped and counted."""

    def parameters(self) -> Arrays:
        """The newest parameters, as actors need them.

        They are copied once per version, so `update` may change these arrays in place.
        """

    def update(self, batches: Sequence[Arrays]) -> dict[str, float]:
        """Take one gradient step.

        Args:
            batches: as many as the config says, in the order in which they arrived.

        Returns:
            What to log of this step, by name.
        """

    def state(self) -> Arrays:
        """All that a checkpoint must hold: parameters, the optimiser's state, random numbers."""

    def restore(self, state: Arrays) -> None:
        """Go on from a checkpoint.

        Args:
            state: what `state` gave.
        """
