"""Losses: a score weight times log π, reduced over tokens and sequences; entropy and KL apart.

    loss = −mean(stop_gradient(ω)·log π)

Its gradient is the method's update; its value is not an objective. Entropy bonus and KL penalty
are not score weights, so they are terms of their own, to be added with a coefficient.
"""

from typing import Any, Literal

from delightful import validation
from delightful.arrays import (
    Array,
    ArrayT,
    at_least_float32,
    namespace,
    stop_gradient,
    values_are_visible,
)
from delightful.validation import Batch, admit, check_choice
from delightful.weights import weight_of

Reduction = Literal["mean", "sequence-mean", "sum", "none"]


def policy_loss(
    log_prob: ArrayT,
    advantage: Array,
    *,
    method: str = "dg",
    mask: Array | None = None,
    old_log_prob: Array | None = None,
    mode_log_prob: Array | None = None,
    gate_advantage: Array | None = None,
    axis: int | None = None,
    reduction: Reduction = "mean",
    **hyperparameters: Any,
) -> ArrayT:
    """−mean(ω·log π) with the score weight ω of a method: equation (1) for the default, DG.

    DG's gate is ½ where an action is expected, so its steps are half of PG's there;
    `unit_gain=True` multiplies the gate by 2.

    Args:
        log_prob: log π(a) of the actions taken. The loss is differentiable in it alone.
        advantage: U, in log_prob's shape or with one value per sequence.
        method: a registered name, or a spec such as "dg:temperature=0.5".
        mask: log_prob's shape, true or not 0 where an entry counts.
        old_log_prob: log π(a) of the policy that acted, for ratios; by default the current one.
        mode_log_prob: as in `surprisal`.
        gate_advantage: as in `gate`.
        axis: as in `score_weight`.
        reduction: "mean" over all unmasked entries; "sequence-mean" over the unmasked tokens of
            each sequence (the last axis), then over sequences; "sum"; "none" for unreduced terms.
        **hyperparameters: the method's own; for DG the fields of `GateConfig`.

    Returns:
        A scalar, or the terms in log_prob's shape for reduction "none".
    """
    batch = admit(log_prob, advantage, mask, axis, old_log_prob, mode_log_prob, gate_advantage)
    omega = weight_of(batch, method, hyperparameters)
    if batch.finite:
        return -reduce(batch, omega * batch.log_prob, reduction)
    loss = -reduce(batch, _with_limits(batch, omega), reduction)
    seen = validation.is_on() and values_are_visible(loss)
    if seen and not bool(batch.xp.all(batch.xp.isfinite(loss))):
        raise ValueError(
            "the loss is not finite: log_prob is -inf where the weight is not 0, "
            "or the terms overflow; mask those entries out or bound log_prob"
        )
    return loss


def _with_limits(batch: Batch, omega: Any) -> Any:
    """ω·log π, 0 where a closed gate meets an impossible action, which would be 0·(−∞) = NaN.

    That is the limit, and the gradient is ω = 0 there; wherever ω is not exactly 0 the term is left
    as it is, infinite loss included.
    """
    xp = batch.xp
    return omega * xp.where(omega == 0, xp.zeros_like(batch.log_prob), batch.log_prob)


def reduce(batch: Batch, terms: Any, reduction: Reduction) -> Any:
    """Per-element `terms`, zero where masked out, reduced."""
    if reduction == "mean":
        whole = batch.mask is None and 0 not in batch.log_prob.shape
        return terms.mean() if whole else batch.sum(terms) / batch.count()
    check_choice("reduction", reduction, ("mean", "sequence-mean", "sum", "none"))
    if reduction == "none":
        return terms
    if reduction == "sum":
        return batch.sum(terms)
    means = batch.sum(terms, axis=-1) / batch.count(axis=-1)
    if batch.mask is None:
        return batch.xp.mean(means)
    counted = batch.xp.any(batch.mask, axis=-1)  # a fully masked sequence does not count
    sequences = batch.xp.sum(batch.xp.astype(counted, terms.dtype))
    return batch.xp.sum(means) / batch.xp.clip(sequences, 1, None)


def entropy_bonus(logits: ArrayT, *, mask: Array | None = None) -> ArrayT:
    """−mean H(π), H(π) = −Σ π log π: add it to the loss, times a coefficient.

    Args:
        logits: of categorical policies, actions along the last axis.
        mask: logits' shape without its last axis, true or not 0 where a state counts.

    Returns:
        Minus the mean entropy, a scalar.
    """
    xp, log_p = _admit_logits(mask=mask, logits=logits)
    return _mean_over_states(xp, xp.sum(_p_times(xp, log_p, log_p), axis=-1), mask)


def kl_penalty(logits: ArrayT, reference_logits: Array, *, mask: Array | None = None) -> ArrayT:
    """mean KL(π ‖ π_ref), KL = Σ π (log π − log π_ref): add it to the loss, times a coefficient.

    Args:
        logits: of categorical policies, actions along the last axis.
        reference_logits: of the reference policies, in logits' shape; they carry no gradient.
        mask: logits' shape without its last axis, true or not 0 where a state counts.

    Returns:
        The mean divergence, a scalar.
    """
    xp, log_p = _admit_logits(mask=mask, logits=logits, reference_logits=reference_logits)
    if tuple(logits.shape) != tuple(reference_logits.shape):
        raise ValueError(
            f"reference_logits must have logits' shape {tuple(logits.shape)}, "
            f"got {tuple(reference_logits.shape)}"
        )
    _, log_reference = _admit_logits(mask=mask, reference_logits=stop_gradient(reference_logits))
    # Where neither policy can go, −∞ − (−∞) is kept from arising.
    both = xp.where(log_p > -xp.inf, log_reference, xp.zeros_like(log_p))
    return _mean_over_states(xp, xp.sum(_p_times(xp, log_p, log_p - both), axis=-1), mask)


def _admit_logits(*, mask: Any, **named: Any) -> tuple[Any, Any]:
    """The namespace, and the log-probabilities of the first of the `named` logits."""
    xp = namespace(mask=mask, **named)
    name, logits = next(iter(named.items()))
    logits = at_least_float32(xp, name, logits)
    if mask is not None:
        if tuple(mask.shape) != tuple(logits.shape[:-1]):
            raise ValueError(
                f"mask must have {name}' shape without its last axis, {tuple(logits.shape[:-1])}, "
                f"got {tuple(mask.shape)}"
            )
        logits = xp.where((mask != 0)[..., None], logits, xp.zeros_like(logits))
    if validation.is_on() and values_are_visible(logits):
        good = xp.any(logits > -xp.inf, axis=-1) & xp.all(logits < xp.inf, axis=-1)
        if not bool(xp.all(good)):
            raise ValueError(f"{name} must be finite, or -inf for some but not all actions")
    return xp, _log_softmax(xp, logits)


def _mean_over_states(xp: Any, values: Any, mask: Any) -> Any:
    if mask is None:
        return xp.mean(values)
    counts = xp.astype(mask != 0, values.dtype)
    return xp.sum(counts * values) / xp.clip(xp.sum(counts), 1, None)


def _log_softmax(xp: Any, logits: Any) -> Any:
    shifted = logits - stop_gradient(xp.max(logits, axis=-1, keepdims=True))
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))


def _p_times(xp: Any, log_p: Any, values: Any) -> Any:
    """p·values, 0 where p is 0; the inner `where` keeps ∞ out of the backward pass too."""
    possible = log_p > -xp.inf
    return xp.exp(log_p) * xp.where(possible, values, xp.zeros_like(values))
