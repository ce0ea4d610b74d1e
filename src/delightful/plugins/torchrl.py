"""DG in torchrl's REINFORCE and A2C losses.

    loss = DelightA2CLoss(actor, critic, delight=DelightConfig(max_surprisal=10))

Everything else is torchrl's. What the gate did is in the loss's output, under "delight_...".
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

from tensordict import TensorDictBase, is_tensor_collection
from tensordict.nn import dispatch
from torchrl.objectives import A2CLoss, ReinforceLoss

from delightful.plugins.gating import DelightConfig, Gating, for_transitions, scale_lost
from delightful.plugins.versions import guard

__all__ = ["DelightA2CLoss", "DelightConfig", "DelightReinforceLoss"]


class _Delight:
    """Mixed into a loss of torchrl's that is −log π · advantage."""

    tensor_keys: Any
    _loss_mask_keys: Callable[[], Any]
    _expand_loss_mask: Callable[[Any, Any], Any]

    def __init__(self, *args: Any, delight: DelightConfig | None = None, **kwargs: Any) -> None:
        guard("torchrl")
        gating = Gating(for_transitions(delight))
        super().__init__(*args, **kwargs)
        self._gating = gating

    def _gated(self, log_prob: Any, tensordict: TensorDictBase) -> Any:
        """w·log π: its product with the advantage is the gated term."""
        unscaled = tensordict.get(self.tensor_keys.advantage)
        mask = self._mask(tensordict, log_prob)
        return log_prob * self._gating(
            log_prob,
            self._as_used(unscaled),
            mask=mask,
            gate_advantage=unscaled * self._scale(unscaled, tensordict, mask),
        ).to(log_prob.dtype)

    def _mask(self, tensordict: TensorDictBase, like: Any) -> Any:
        """True where torchrl's loss counts an entry; None if it counts all."""
        found = (tensordict.get(key, None) for key in self._loss_mask_keys())
        masks = [self._expand_loss_mask(mask, like) for mask in found if mask is not None]
        return functools.reduce(operator.and_, masks) if masks else None

    def _as_used(self, advantage: Any) -> Any:
        """The advantage that the loss multiplies log π by."""
        return advantage

    def _scale(self, advantage: Any, tensordict: TensorDictBase, mask: Any) -> Any:
        """What the advantage module divided by (GAE's `average_gae`); 1 if that cannot be told."""
        target = tensordict.get(self.tensor_keys.value_target, None)
        value = tensordict.get(self.tensor_keys.value, None)
        if target is None or value is None:
            return 1.0
        unscaled = (target - value).detach()
        if mask is not None:
            unscaled, advantage = unscaled[mask], advantage[mask]
        return scale_lost(unscaled, advantage)

    def _report(self, td_out: TensorDictBase, like: Any) -> TensorDictBase:
        for name, value in self._gating.numbers().items():
            td_out.set(f"delight_{name}", like.new_tensor(value))
        return td_out


class DelightA2CLoss(_Delight, A2CLoss):  # type: ignore[misc]
    """`A2CLoss` with a gated objective; critic and entropy terms as they are."""

    @dispatch()  # type: ignore[untyped-decorator]
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        td_out = super().forward(tensordict)
        return self._report(td_out, td_out.get("loss_objective"))

    def _log_probs(self, tensordict: TensorDictBase) -> tuple[Any, Any]:
        log_prob, dist = super()._log_probs(tensordict)
        return self._gated(log_prob, tensordict), dist

    def _as_used(self, advantage: Any) -> Any:
        norm = self.advantage_norm
        return advantage if norm is None else advantage / norm.scale()


class DelightReinforceLoss(_Delight, ReinforceLoss):  # type: ignore[misc]
    """`ReinforceLoss` with a gated objective; the critic's term as it is."""

    @dispatch()  # type: ignore[untyped-decorator]
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        get_dist = self.actor_network.get_dist

        def gating(tensordict: TensorDictBase) -> Any:
            dist = get_dist(tensordict)
            log_prob_of = dist.log_prob

            def gated(action: Any) -> Any:
                log_prob = log_prob_of(action)
                if is_tensor_collection(log_prob):  # of an action with several parts
                    log_prob = log_prob.sum(dim="feature", reduce=True)
                if log_prob.dim() < tensordict.get(self.tensor_keys.advantage).dim():
                    log_prob = log_prob.unsqueeze(-1)
                return self._gated(log_prob, tensordict)

            dist.log_prob = gated
            return dist

        # torchrl's forward asks the actor for its distribution, and that for log π: in between.
        self.actor_network.get_dist = gating
        try:
            td_out = super().forward(tensordict)
        finally:
            del self.actor_network.get_dist
        return self._report(td_out, td_out.get("loss_actor"))
