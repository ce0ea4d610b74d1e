"""DG in TRL's GRPO trainer.

    trainer = DelightGRPOTrainer(model=..., args=GRPOConfig(...), delight=DelightConfig(), ...)

Everything else is TRL's. The trainer's loss asks for the log-probabilities before it reads the
advantages of its batch: the gate goes in between, with no further forward pass.
"""

from typing import Any

import torch
from trl import GRPOTrainer

from delightful.plugins.gating import DelightConfig, Gating
from delightful.plugins.versions import guard

__all__ = ["DelightConfig", "DelightGRPOTrainer"]

_CENTRED = "centred_advantages"
_DIAGNOSE_EVERY = 4  # losses of training


class DelightGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """`GRPOTrainer` with gated advantages; all loss types and all its options as they are."""

    def __init__(self, *args: Any, delight: DelightConfig | None = None, **kwargs: Any) -> None:
        guard("trl")
        self._gating = Gating(delight or DelightConfig(), of_sequences=True)
        self._ungated: dict[str, Any] | None = None
        self._losses = 0
        super().__init__(*args, **kwargs)
        if self._gating.config.centred and self.multi_objective_aggregation != "sum_then_normalize":
            raise ValueError(
                'gate_advantage must be "raw" with multi_objective_aggregation='
                f"{self.multi_objective_aggregation!r}: rewards are divided before they are added, "
                "so there is no centred advantage"
            )

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        self._rewards = super()._calculate_rewards(*args, **kwargs)
        return self._rewards

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        """TRL's batch, and beside its advantages those that were divided by nothing."""
        output = super()._generate_and_score_completions(inputs)
        of_all = self._centred(self._rewards)
        here = len(output["advantages"])
        start = self.accelerator.process_index * here
        output[_CENTRED] = of_all[start : start + here]
        return output

    def _centred(self, rewards_per_function: Any) -> Any:
        """Each completion's weighted reward, less the mean of its prompt's completions."""
        training = self.model.training
        group = self.num_generations if training else self.num_generations_eval
        weights = self.reward_weights.to(rewards_per_function.device)
        rewards = (rewards_per_function * weights).nansum(dim=1)
        # What no reward function could score has no advantage, and no part in the mean.
        rewards[rewards_per_function.isnan().all(dim=1)] = torch.nan
        rewards = rewards.view(-1, group)
        return torch.nan_to_num(rewards - rewards.nanmean(dim=1, keepdim=True)).flatten()

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        # A copy: TRL keeps the batch for its further passes, and each of them gates it again.
        self._ungated = gated = dict(inputs)
        try:
            return super()._compute_loss(model, gated)
        finally:
            self._ungated = None

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        found = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        if self._ungated is not None:
            self._gate(self._ungated, found[0])
        return found

    def _gate(self, inputs: dict[str, Any], log_prob: Any) -> None:
        advantage, mask = inputs["advantages"], inputs["completion_mask"]
        if "tool_mask" in inputs:
            mask = mask * inputs["tool_mask"]
        of_tokens = advantage.dim() == 2  # a subclass's own; what was divided out is not known
        training = self.model.training
        diagnose = not training or self._losses % _DIAGNOSE_EVERY == 0
        self._losses += training
        w = self._gating(
            log_prob,
            advantage,
            mask=mask,
            gate_advantage=None if of_tokens else inputs.get(_CENTRED),
            diagnose=diagnose,
        )
        inputs["advantages"] = (advantage if of_tokens else advantage.unsqueeze(1)) * w
        if diagnose:
            metrics = self._metrics["train" if training else "eval"]
            for name, value in self._gating.numbers().items():
                metrics[f"delight/{name}"].append(value)
