"""Every method as a score weight ω: Δθ ∝ Σ ω ∇log π (Section 7 of the paper).

The loss is −mean(ω·log π), so a batch-wise method scales its ω to a sum over n samples.
A numeric option is one number, or an array of log_prob's shape (of U's as given, for MPO).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from delightful.arrays import Array, ArrayT, stop_gradient
from delightful.gate import (
    GateConfig,
    gate_config,
    gate_of,
    product,
    sigmoid_of_ratio,
    surprisal_of,
)
from delightful.registry import METHODS, method, parse_method
from delightful.validation import Batch, admit, check_number, read_option

_MAX_LOG_RATIO = 80.0  # beyond it float32 overflows, and ∞·0 would make NaN of U = 0
_EPSILON = 1e-8  # keeps a group of equal advantages from dividing by zero


def score_weight(
    log_prob: ArrayT,
    advantage: Array,
    *,
    method: str = "dg",
    mask: Array | None = None,
    old_log_prob: Array | None = None,
    mode_log_prob: Array | None = None,
    gate_advantage: Array | None = None,
    axis: int | None = None,
    **hyperparameters: Any,
) -> ArrayT:
    """ω, what multiplies ∇log π in the update of a method (Section 7).

    Args:
        log_prob: log π(a) of the actions taken.
        advantage: U, in log_prob's shape or with one value per sequence.
        method: a registered name, or a spec such as "dg:temperature=0.5".
        mask: log_prob's shape, true or not 0 where an entry counts.
        old_log_prob: log π(a) of the policy that acted, for ratios; by default the current one.
        mode_log_prob: as in `surprisal`.
        gate_advantage: as in `gate`.
        axis: along which the samples of one prompt or state lie, for methods that compare them
            (GRPO, MPO); by default the whole batch is one context.
        **hyperparameters: the method's own, such as `temperature`.

    Returns:
        The weights, in log_prob's shape, without a gradient; 0 where masked out.
    """
    batch = admit(log_prob, advantage, mask, axis, old_log_prob, mode_log_prob, gate_advantage)
    return weight_of(batch, method, hyperparameters)


def canonical_method(spec: str) -> str:
    """The one spelling of a spec: options in the method's order, defaults left out.

    Args:
        spec: as in `parse_method`; it is tried on a tiny batch, to refuse a senseless value here.

    Returns:
        The spec, the same for equal methods with equal hyperparameters.
    """
    found, options = parse_method(spec)
    score_weight(np.array([-1.0, -1.0]), np.array([1.0, -1.0]), method=found.name, **options)
    changed = [
        f"{k}={str(v).lower() if isinstance(v, bool) else v}"
        for k, v in options.items()
        if v != found.defaults[k]
    ]
    return ":".join([found.name, ",".join(changed)] if changed else [found.name])


def weight_of(batch: Batch, spec: str, hyperparameters: Mapping[str, Any]) -> Any:
    """`score_weight`, for a batch that has been validated."""
    found, options = METHODS.get(spec), hyperparameters
    if found is None:
        found, in_spec = parse_method(spec)
        twice = [name for name in hyperparameters if f"{name}=" in spec]
        if twice:
            raise TypeError(f"{twice[0]} is given twice: in method={spec!r} and as an argument")
        options = {**in_spec, **hyperparameters}
    for name in hyperparameters:
        if name not in found.defaults:
            known = ", ".join(found.defaults) or "no options"
            raise TypeError(f"method {found.name} takes {known}, got {name!r}")
    return stop_gradient(batch.blank(found.weight(batch, **options)))


@method("pg", "PG", colour="#1f77b4")
def pg(batch: Batch) -> Any:
    """ω = U: REINFORCE.

    Returns:
        ω, in log_prob's shape.
    """
    return batch.advantage


@method("dg", "DG", colour="#d62728", on_top=True, options=GateConfig())
def dg(batch: Batch, **options: Any) -> Any:
    """ω = σ(U·ℓ/η)·U: equation (1).

    Args:
        **options: the fields of `GateConfig`.

    Returns:
        ω, in log_prob's shape.
    """
    return gate_of(batch, gate_config(options)) * batch.advantage


@method("ce", "CE", colour="#555555")
def ce(batch: Batch) -> Any:
    """ω = 1[U>0]/π(a), whose expectation is the cross-entropy gradient Σ ∇log π(y): Section 4.2.

    Exact under population gradients; on samples it is unbiased and of unbounded variance.

    Returns:
        ω, in log_prob's shape.
    """
    xp, U = batch.xp, batch.advantage
    return xp.where(U > 0, xp.exp(batch.surprisal), xp.zeros_like(U))


@method("ppo", "PPO", colour="#17becf")
def ppo(batch: Batch, clip: float | Array = 0.2, max_ratio: float | Array | None = None) -> Any:
    """ω = r·U, and 0 where the clip is active: the gradient of min(r·U, clip(r, 1±ε)·U).

    Args:
        clip: ε ≥ 0.
        max_ratio: also 0 where U < 0 and r exceeds it, which nothing else bounds: the dual clip of
            Ye et al. 2020, whose value is 3.

    Returns:
        ω, in log_prob's shape; r = 1 without `old_log_prob`.
    """
    weight = _clipped(batch, batch.advantage, clip)
    if max_ratio is None:
        return weight
    max_ratio = read_option(batch, "max_ratio", max_ratio, strictly=True)
    # In terms of the weight itself: r > max_ratio means r·U < max_ratio·U where U < 0.
    xp, U = batch.xp, batch.advantage
    return xp.where((U < 0) & (weight < max_ratio * U), xp.zeros_like(U), weight)


@method("iwpg", "IW-PG", colour="#111111")
def iwpg(batch: Batch, max_ratio: float | Array | None = 10.0) -> Any:
    """ω = min(r, r_max)·U with r = π/π_old: PG with truncated importance weights.

    Args:
        max_ratio: r_max > 0, which bounds the variance; None for no bound.

    Returns:
        ω, in log_prob's shape; r = 1 without `old_log_prob`.
    """
    ratio = _ratio(batch)
    if max_ratio is not None:
        max_ratio = read_option(batch, "max_ratio", max_ratio, strictly=True)
        ratio = batch.xp.where(ratio < max_ratio, ratio, max_ratio * batch.xp.ones_like(ratio))
    return ratio * batch.advantage


@method("grpo", "GRPO", colour="#bcbd22", batchwise=True)
def grpo(batch: Batch, clip: float | Array = 0.2) -> Any:
    """PPO on the advantage standardised within its group (`axis`): Shao et al. 2024.

    Args:
        clip: ε ≥ 0.

    Returns:
        ω, in log_prob's shape.
    """
    samples = batch.samples()
    centred, deviation = samples.deviations(samples.advantage, samples.axis)
    return _clipped(batch, batch.over_tokens(centred / (deviation + _EPSILON)), clip)


@method("pmpo", "PMPO", colour="#9467bd", batchwise=True)
def pmpo(batch: Batch, preference: float | Array = 0.5) -> Any:
    """ω = n(α·1[U>0]/n₊ − (1−α)·1[U<0]/n₋), where n₊ samples are preferred and n₋ dispreferred.

    U = 0 is neither: a batch in which every sample did equally well says nothing.

    Args:
        preference: α, from 0 to 1.

    Returns:
        ω, in log_prob's shape.
    """
    preference = read_option(batch, "preference", preference, most=1)
    xp, U = batch.xp, batch.advantage
    good, bad = xp.astype(U > 0, U.dtype), xp.astype(U < 0, U.dtype)
    good_share = good / xp.clip(batch.sum(good), 1, None)
    bad_share = bad / xp.clip(batch.sum(bad), 1, None)
    return batch.count() * (preference * good_share - (1 - preference) * bad_share)


@method("awr", "AWR", colour="#8c564b")
def awr(batch: Batch, temperature: float | Array = 1.0, max_weight: float | Array = 20.0) -> Any:
    """ω = min(exp(U/β), ω_max): Peng et al. 2019, whose cap is 20.

    Args:
        temperature: β > 0.
        max_weight: ω_max > 0.

    Returns:
        ω, in log_prob's shape.
    """
    temperature = read_option(batch, "temperature", temperature, strictly=True)
    max_weight = read_option(batch, "max_weight", max_weight, strictly=True)
    xp = batch.xp
    log_cap = xp.log(xp.asarray(max_weight, dtype=batch.advantage.dtype))
    scaled = batch.advantage / temperature
    return xp.exp(xp.where(scaled < log_cap, scaled, log_cap * xp.ones_like(scaled)))


@method("mpo", "MPO", colour="#2ca02c", batchwise=True)
def mpo(batch: Batch, temperature: float | Array = 1.0) -> Any:
    """ω = n·softmax(U/η) over the samples of one context (`axis`): Abdolmaleki et al. 2018.

    Args:
        temperature: η > 0.

    Returns:
        ω, in log_prob's shape.
    """
    xp, samples = batch.xp, batch.samples()
    temperature = read_option(samples, "temperature", temperature, strictly=True)
    scaled = samples.advantage / temperature
    if samples.mask is not None:
        scaled = xp.where(samples.mask, scaled, xp.full_like(scaled, -xp.inf))
    axis = samples.axis
    top = xp.max(scaled) if axis is None else xp.max(scaled, axis=axis, keepdims=True)
    # A wholly masked-out context has no maximum; any finite stand-in leaves its weights at 0.
    powers = xp.exp(scaled - xp.where(xp.isfinite(top), top, xp.zeros_like(top)))
    total = samples.sum(powers, axis)
    share = powers / xp.where(total > 0, total, xp.ones_like(total))
    return batch.over_tokens(samples.count(axis) * share)


@method("additive", "Additive", colour="#ff7f0e")
def additive(batch: Batch, alpha: float | Array = 0.5, temperature: float | Array = 1.0) -> Any:
    """ω = σ(((1−α)U + αℓ)/η)·U: the paper's UCB-style mixture in place of delight (App. B, D).

    Args:
        alpha: α ≥ 0.
        temperature: η ≥ 0.

    Returns:
        ω, in log_prob's shape.
    """
    alpha = read_option(batch, "alpha", alpha)
    xp, U, ell = batch.xp, batch.advantage, surprisal_of(batch, gate_config({}))
    share = product(batch, alpha * xp.ones_like(ell), ell)  # at α = 0 surprisal has no part
    mixture = (1 - alpha) * batch.seen + share
    return _gated(batch, mixture, temperature) * U


@method("exponent", "Exponent", colour="#e377c2")
def exponent(batch: Batch, beta: float | Array = 1.0, temperature: float | Array = 1.0) -> Any:
    """ω = σ(U·ℓ^β/η)·U: the paper's surprisal exponent (App. B); a negative ℓ keeps its sign.

    Args:
        beta: β ≥ 0.
        temperature: η ≥ 0.

    Returns:
        ω, in log_prob's shape.
    """
    beta = read_option(batch, "beta", beta)
    xp, ell = batch.xp, surprisal_of(batch, gate_config({}))
    power = xp.where(ell < 0, -xp.ones_like(ell), xp.ones_like(ell)) * xp.abs(ell) ** beta
    return _gated(batch, product(batch, batch.seen, power), temperature) * batch.advantage


def _gated(batch: Batch, delight: Any, temperature: float | Array) -> Any:
    check_number("temperature", temperature)
    return sigmoid_of_ratio(batch, delight, temperature)


def _ratio(batch: Batch) -> Any:
    """r = π/π_old; 1 without the old policy."""
    xp = batch.xp
    if batch.old_log_prob is None:
        return xp.ones_like(batch.advantage)
    return xp.exp(xp.clip(-batch.surprisal - batch.old_log_prob, None, _MAX_LOG_RATIO))


def _clipped(batch: Batch, advantage: Any, clip: float | Array) -> Any:
    clip = read_option(batch, "clip", clip)
    if batch.old_log_prob is None:
        return advantage
    xp, ratio = batch.xp, _ratio(batch)
    active = ((advantage > 0) & (ratio > 1 + clip)) | ((advantage < 0) & (ratio < 1 - clip))
    return xp.where(active, xp.zeros_like(ratio), ratio * advantage)
