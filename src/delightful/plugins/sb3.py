"""DG in Stable-Baselines3's A2C and PPO.

    model = DelightPPO("MlpPolicy", env, delight=DelightConfig(max_surprisal=10))

Everything else is SB3's. Its `train` draws a minibatch from the rollout buffer, evaluates the
policy on it, and only then reads the minibatch's advantages: the gate goes in between.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stable_baselines3 import A2C, PPO

from delightful.plugins.gating import DelightConfig, Gating, for_transitions
from delightful.plugins.versions import guard

__all__ = ["DelightA2C", "DelightConfig", "DelightPPO"]

_DIAGNOSE_EVERY = 64  # minibatches: diagnosing each would cost as much as a small network


class _Delight:
    """Mixed into an on-policy algorithm of SB3's."""

    rollout_buffer: Any
    policy: Any
    logger: Any
    normalize_advantage: bool

    def __init__(self, *args: Any, delight: DelightConfig | None = None, **kwargs: Any) -> None:
        guard("stable-baselines3")
        self.delight = for_transitions(delight)
        super().__init__(*args, **kwargs)

    def _setup_model(self) -> None:
        """Also at the end of `load`, which may have been given other options."""
        super()._setup_model()  # type: ignore[misc]
        self._gating = Gating(for_transitions(self.delight))
        self._minibatches = 0

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_gating", "_minibatches"]  # type: ignore[misc]

    def train(self) -> None:
        before = self._minibatches
        with self._gated():
            super().train()  # type: ignore[misc]
        if before // _DIAGNOSE_EVERY < -(-self._minibatches // _DIAGNOSE_EVERY):
            for name, value in self._gating.numbers().items():
                self.logger.record(f"delight/{name}", value)

    @contextmanager
    def _gated(self) -> Iterator[None]:
        """SB3's minibatches with standardised advantages, if it would have made them so, gated as
        soon as the policy has been evaluated on them."""
        get, evaluate = self.rollout_buffer.get, self.policy.evaluate_actions
        normalize, gating = self.normalize_advantage, self._gating
        advantage: Any = None
        centred: Any = None

        def minibatches(batch_size: int | None = None) -> Iterator[Any]:
            nonlocal advantage, centred
            for samples in get(batch_size):
                advantage = centred = samples.advantages
                if normalize and len(advantage) > 1:
                    centred = advantage - advantage.mean()
                    advantage = centred / (advantage.std() + 1e-8)
                yield samples._replace(advantages=advantage)

        def evaluated(*args: Any, **kwargs: Any) -> Any:
            values, log_prob, entropy = evaluate(*args, **kwargs)
            diagnose = self._minibatches % _DIAGNOSE_EVERY == 0
            self._minibatches += 1
            w = gating(log_prob, advantage, gate_advantage=centred, diagnose=diagnose)
            advantage.mul_(w)
            return values, log_prob, entropy

        self.rollout_buffer.get, self.policy.evaluate_actions = minibatches, evaluated
        self.normalize_advantage = False
        try:
            yield
        finally:
            del self.rollout_buffer.get, self.policy.evaluate_actions
            self.normalize_advantage = normalize


class DelightA2C(_Delight, A2C):  # type: ignore[misc]
    """`A2C` with gated advantages."""


class DelightPPO(_Delight, PPO):  # type: ignore[misc]
    """`PPO` with gated advantages: the gate multiplies the clipped surrogate."""
