"""Algorithm 1 once more, for torch tensors: what the plug-ins' updates are held against."""

from collections.abc import Iterable
from typing import Any

import torch


def gate(
    advantage: Any, log_prob: Any, temperature: float = 1.0, clip: float = 1e9, gain: float = 2.0
) -> Any:
    """2σ(U·ℓ/η), ℓ clipped to ±C, in double precision: unit gain is the plug-ins' default."""
    ell = (-log_prob.detach().double()).clamp(-clip, clip)
    return gain * torch.sigmoid(advantage.double() * ell / temperature)


def gradients(loss: Any, parameters: Iterable[Any]) -> list[Any]:
    found = torch.autograd.grad(loss, list(parameters), allow_unused=True)
    return [g for g in found if g is not None]


def copies(module: Any) -> dict[str, Any]:
    return {name: p.detach().clone() for name, p in module.named_parameters()}


def difference(before: dict[str, Any], module: Any) -> float:
    """The largest change of any parameter."""
    return max(
        float((p.detach() - before[name]).abs().max()) for name, p in module.named_parameters()
    )
