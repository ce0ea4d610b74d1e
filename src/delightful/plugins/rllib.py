"""DG in RLlib's PPO (new API stack, torch).

    config = DelightPPOConfig().environment("CartPole-v1").delight(temperature=1.0)

Everything else is RLlib's. The loss of each module sees gated advantages; RLlib standardises its
advantages, so what it divided by is kept, for a gate on the centred ones.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.learner import GeneralAdvantageEstimation
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing

from delightful.plugins.gating import DelightConfig, Gating, for_transitions, scale_lost
from delightful.plugins.versions import guard

__all__ = ["DelightConfig", "DelightPPOConfig", "DelightPPOTorchLearner"]

_DIAGNOSE_EVERY = 64  # minibatches: diagnosing each would cost as much as a small network


class DelightPPOConfig(PPOConfig):  # type: ignore[misc]
    """`PPOConfig` with the options of the gate."""

    def __init__(self, algo_class: Any = None) -> None:
        guard("ray")
        super().__init__(algo_class=algo_class)
        self.delight_options: dict[str, Any] = {}

    def delight(self, **options: Any) -> "DelightPPOConfig":
        """Set options of the gate.

        Args:
            **options: the fields of `DelightConfig`; those not given stay as they are.

        Returns:
            This config, to chain calls.
        """
        for_transitions(DelightConfig(**{**self.delight_options, **options}))
        self.delight_options = {**self.delight_options, **options}
        return self

    def validate(self) -> None:
        super().validate()
        if not (
            self.enable_rl_module_and_learner
            and issubclass(self.learner_class, DelightPPOTorchLearner)
        ):
            raise ValueError(
                "DelightPPOConfig needs RLlib's new API stack and a learner_class that is a "
                f"DelightPPOTorchLearner, got {self.learner_class}: else nothing would be gated"
            )

    def get_default_learner_class(self) -> type:
        super().get_default_learner_class()  # refuses any framework but torch
        return DelightPPOTorchLearner


class DelightPPOTorchLearner(PPOTorchLearner):  # type: ignore[misc]
    """`PPOTorchLearner` with gated advantages: the gate multiplies the clipped surrogate."""

    def build(self) -> None:
        super().build()
        self._gatings: dict[str, Gating] = {}
        self._minibatches: dict[str, int] = defaultdict(int)
        self._scales: dict[str, Any] = {}
        pipeline = self._learner_connector
        for piece in () if pipeline is None else pipeline.connectors:
            if type(piece) is GeneralAdvantageEstimation:
                keeping = _KeepingScale(gamma=piece.gamma, lambda_=piece.lambda_)
                keeping.scales = self._scales
                pipeline.insert_after(GeneralAdvantageEstimation, keeping)
                pipeline.remove(GeneralAdvantageEstimation)

    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Any:
        if module_id not in self._gatings:
            self._gatings[module_id] = Gating(DelightConfig(**config.delight_options))
        gating = self._gatings[module_id]
        ungated = batch[Postprocessing.ADVANTAGES]
        scale = self._scales.get(module_id)
        if gating.config.centred and scale is None:
            raise ValueError(
                'gate_advantage must be "raw" without RLlib\'s own GeneralAdvantageEstimation in '
                "the learner connector: what the advantages were divided by is not known"
            )
        diagnose = self._minibatches[module_id] % _DIAGNOSE_EVERY == 0
        self._minibatches[module_id] += 1

        def gate(log_prob: Any) -> None:
            w = gating(
                log_prob,
                ungated,
                # RLlib leaves masked entries out itself.
                mask=batch.get(Columns.LOSS_MASK) if diagnose or gating.config.whiten else None,
                gate_advantage=ungated * scale if gating.config.centred else None,
                diagnose=diagnose,
            )
            batch[Postprocessing.ADVANTAGES] = ungated * w

        # RLlib's loss asks the distribution for log π, and only then reads the advantages.
        module = self.module[module_id].unwrapped()
        distribution = module.get_train_action_dist_cls()
        module.get_train_action_dist_cls = lambda: _Reporting(distribution, gate)
        try:
            loss = super().compute_loss_for_module(
                module_id=module_id, config=config, batch=batch, fwd_out=fwd_out
            )
        finally:
            del module.get_train_action_dist_cls
            batch[Postprocessing.ADVANTAGES] = ungated
        if diagnose:
            numbers = {f"delight_{name}": value for name, value in gating.numbers().items()}
            self.metrics.log_dict(numbers, key=module_id, window=1)
        return loss


class _Reporting:
    """A distribution class whose distributions report each log π that they are asked for."""

    def __init__(self, distribution: Any, report: Callable[[Any], None]) -> None:
        self._distribution, self._report = distribution, report

    def from_logits(self, logits: Any) -> Any:
        made = self._distribution.from_logits(logits)
        log_prob_of = made.logp

        def logp(action: Any) -> Any:
            log_prob = log_prob_of(action)
            self._report(log_prob)
            return log_prob

        made.logp = logp
        return made


class _KeepingScale(GeneralAdvantageEstimation):  # type: ignore[misc]
    """RLlib's advantages, and for each module the deviation that they were divided by."""

    scales: dict[str, Any]

    def __call__(self, *, rl_module: Any, episodes: Any, batch: Any, **kwargs: Any) -> Any:
        values: dict[str, Any] = {}
        self.scales.clear()
        of_each = rl_module.foreach_module

        def recorded(*args: Any, **options: Any) -> Any:
            values.update(of_each(*args, **options))
            return values

        # RLlib's own values, recorded: computing them again would be a second forward pass.
        rl_module.foreach_module = recorded
        try:
            batch = super().__call__(rl_module=rl_module, episodes=episodes, batch=batch, **kwargs)
        finally:
            del rl_module.foreach_module
        for module_id, value in values.items():
            if value is not None:
                of_module = batch[module_id]
                standardised = of_module[Postprocessing.ADVANTAGES]
                unscaled = of_module[Postprocessing.VALUE_TARGETS] - value.detach()
                mask = of_module.get(Columns.LOSS_MASK, torch.ones_like(standardised)).bool()
                self.scales[module_id] = scale_lost(unscaled[mask], standardised[mask])
        return batch
