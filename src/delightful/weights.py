"""Every method as a score weight ω: Δθ ∝ Σ ω ∇log π (Section 7 of the paper).

A method is one function of a batch and one `@method` line. It then trains in every experiment,
shows in every figure that compares methods, and is an option of every command, named by a spec
such as "dg" or "dg:temperature=0.5". Keyword arguments are its hyperparameters.

The loss is −mean(ω·log π), so a batch-wise method scales its ω to a sum over n samples.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from delightful.arrays import Array, is_number, stop_gradient
from delightful.gate import Level, Whiten, gate_of_batch, surprisal_of_batch
from delightful.precise import product, sigmoid_of_delight
from delightful.validation import Batch, admit, check_number, check_values

_WORDS = ("level", "whiten")  # options whose value is a word; all others are numbers
_MAX_LOG_RATIO = 80.0  # beyond it float32 overflows, and ∞·0 would make NaN of U = 0
_EPSILON = 1e-8  # keeps a group of equal advantages from dividing by zero


@dataclass(frozen=True)
class Method:
    """A registered score weight: its function and the defaults of its hyperparameters."""

    name: str
    label: str  # as figures and tables print it
    weight: Callable[..., Array]
    defaults: Mapping[str, Any]
    batchwise: bool  # whether one sample's weight depends on the others'


METHODS: dict[str, Method] = {}


def method(
    name: str, label: str, *, batchwise: bool = False
) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Register a function of a batch as the score weight called `name`."""

    def register(weight: Callable[..., Array]) -> Callable[..., Array]:
        parameters = list(inspect.signature(weight).parameters.values())[1:]
        defaults = {p.name: p.default for p in parameters}
        METHODS[name] = Method(name, label, weight, defaults, batchwise)
        return weight

    return register


def find_method(name: str) -> Method:
    if name not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {name!r}")
    return METHODS[name]


def parse_method(spec: str) -> tuple[Method, dict[str, Any]]:
    """The method and hyperparameters, defaults included, of a spec like "dg:temperature=0.5"."""
    name, _, rest = spec.partition(":")
    found = find_method(name)
    options = dict(found.defaults)
    for item in filter(None, rest.split(",")):
        key, equals, text = item.partition("=")
        if key not in options:
            known = ", ".join(options) or "no options"
            raise ValueError(f"method {name} takes {known}, got {key!r}")
        if not equals or not text:
            raise ValueError(f"method option {item!r} must read {key}=value")
        try:
            options[key] = float(text)
        except ValueError:
            if key not in _WORDS:
                raise ValueError(f"method option {key} must be a number, got {text!r}") from None
            options[key] = text
    return found, options


def weighs_batches(spec: str, **options: Any) -> bool:
    """Whether a sample's weight depends on the others': by the method, or by its options."""
    found, in_spec = parse_method(spec)
    options = in_spec | options
    return found.batchwise or bool(options.get("whiten")) or options.get("level") == "sequence"


def canonical_method(spec: str) -> str:
    """The one spelling of a spec: options in the method's order, defaults left out.

    The options are tried on a tiny batch, so that a senseless value is refused here.
    """
    found, options = parse_method(spec)
    score_weight(np.array([-1.0, -1.0]), np.array([1.0, -1.0]), method=found.name, **options)
    changed = [f"{k}={v}" for k, v in options.items() if v != found.defaults[k]]
    return ":".join([found.name, ",".join(changed)] if changed else [found.name])


def score_weight(
    log_prob: Array,
    advantage: Array,
    *,
    method: str = "dg",
    mask: Array | None = None,
    old_log_prob: Array | None = None,
    mode_log_prob: Array | None = None,
    gate_advantage: Array | None = None,
    axis: int | None = None,
    **hyperparameters: Any,
) -> Array:
    """ω of the registered `method`, without a gradient; 0 where masked out.

    old_log_prob: log π of the policy that acted, for ratios; by default the current policy did.
    axis: along which the samples of one prompt or state lie, for methods that compare samples of
        one context (GRPO, MPO); by default the whole batch is one context.
    """
    batch = admit(
        advantage,
        log_prob,
        mask,
        axis,
        old_log_prob=old_log_prob,
        mode_log_prob=mode_log_prob,
        gate_advantage=gate_advantage,
    )
    check_values(batch)
    return weight_of_batch(method, batch, hyperparameters)


def weight_of_batch(method: str, batch: Batch, hyperparameters: Mapping[str, Any]) -> Array:
    """`score_weight`, for a batch already past the edge."""
    found = find_method(method)
    for name in hyperparameters:
        if name not in found.defaults:
            known = ", ".join(found.defaults) or "no options"
            raise TypeError(f"method {method} takes {known}, got {name!r}")
    return stop_gradient(batch.blank(found.weight(batch, **hyperparameters)))


@method("pg", "PG")
def pg(batch: Batch) -> Array:
    """ω = U: REINFORCE."""
    return batch.advantage


@method("dg", "DG")
def dg(
    batch: Batch,
    temperature: float | Array = 1.0,
    level: Level = "token",
    max_surprisal: float | None = None,
    whiten: Whiten | None = None,
) -> Array:
    """ω = σ(U·ℓ/η)·U: equation (1)."""
    return gate_of_batch(batch, temperature, level, max_surprisal, whiten) * batch.advantage


@method("ce", "CE")
def ce(batch: Batch) -> Array:
    """ω = 1[U>0]/π(a), whose expectation is the cross-entropy gradient Σ ∇log π(y): Section 4.2.

    Exact under population gradients; on samples it is unbiased and of unbounded variance.
    """
    xp, U = batch.xp, batch.advantage
    return xp.where(U > 0, xp.exp(-stop_gradient(batch.log_prob)), xp.zeros_like(U))


@method("ppo", "PPO")
def ppo(batch: Batch, clip: float | Array = 0.2, max_ratio: float | None = None) -> Array:
    """ω = r·U, and 0 where the clip is active: the gradient of min(r·U, clip(r, 1±ε)·U).

    max_ratio: also 0 where U < 0 and r exceeds it, which nothing else bounds: the dual clip of Ye
        et al. 2020, whose value is 3.
    """
    check_number("clip", clip)
    weight = _clipped(batch, batch.advantage, clip)
    if max_ratio is None:
        return weight
    check_number("max_ratio", max_ratio, strictly=True)
    # In terms of the weight itself: r > max_ratio means r·U < max_ratio·U where U < 0.
    xp, U = batch.xp, batch.advantage
    return xp.where((U < 0) & (weight < max_ratio * U), xp.zeros_like(U), weight)


@method("grpo", "GRPO", batchwise=True)
def grpo(batch: Batch, clip: float | Array = 0.2) -> Array:
    """PPO on the advantage standardised within its group (`axis`): Shao et al. 2024."""
    check_number("clip", clip)
    samples = batch.samples()
    centred, deviation = samples.deviations(samples.advantage, samples.axis)
    return _clipped(batch, batch.over_tokens(centred / (deviation + _EPSILON)), clip)


@method("pmpo", "PMPO", batchwise=True)
def pmpo(batch: Batch, preference: float | Array = 0.5) -> Array:
    """α on the mean log π of preferred samples (U > 0), α−1 on that of dispreferred (U < 0).

    U = 0 is neither: a batch in which every sample did equally well says nothing.
    """
    check_number("preference", preference)
    if is_number(preference) and preference > 1:
        raise ValueError(f"preference must lie between 0 and 1, got {preference!r}")
    xp, U = batch.xp, batch.advantage
    good, bad = xp.astype(U > 0, U.dtype), xp.astype(U < 0, U.dtype)
    good_share = good / xp.clip(batch.sum(good), 1, None)
    bad_share = bad / xp.clip(batch.sum(bad), 1, None)
    return batch.count() * (preference * good_share - (1 - preference) * bad_share)


@method("awr", "AWR")
def awr(batch: Batch, temperature: float | Array = 1.0, max_weight: float | Array = 20.0) -> Array:
    """ω = min(exp(U/β), ω_max): Peng et al. 2019, whose cap is 20."""
    check_number("temperature", temperature, strictly=True)
    check_number("max_weight", max_weight, strictly=True)
    xp = batch.xp
    log_cap = xp.log(xp.asarray(max_weight, dtype=batch.advantage.dtype))
    scaled = batch.advantage / temperature
    return xp.exp(xp.where(scaled < log_cap, scaled, log_cap * xp.ones_like(scaled)))


@method("mpo", "MPO", batchwise=True)
def mpo(batch: Batch, temperature: float | Array = 1.0) -> Array:
    """ω = n·softmax(U/η) over the samples of one context (`axis`): Abdolmaleki et al. 2018."""
    check_number("temperature", temperature, strictly=True)
    xp, samples = batch.xp, batch.samples()
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


@method("additive", "Additive")
def additive(batch: Batch, alpha: float | Array = 0.5, temperature: float | Array = 1.0) -> Array:
    """ω = σ(((1−α)U + αℓ)/η)·U: the paper's UCB-style mixture in place of delight (App. B, D)."""
    check_number("alpha", alpha)
    check_number("temperature", temperature)
    xp, U, ell = batch.xp, batch.advantage, surprisal_of_batch(batch)
    share = product(xp, alpha * xp.ones_like(ell), ell)  # 0·∞ = 0: at α = 0 surprisal is no part
    mixture = (1 - alpha) * batch.seen + share
    return sigmoid_of_delight(xp, mixture, xp.ones_like(mixture), temperature) * U


@method("exponent", "Exponent")
def exponent(batch: Batch, beta: float | Array = 1.0, temperature: float | Array = 1.0) -> Array:
    """ω = σ(U·ℓ^β/η)·U: the paper's surprisal exponent (App. B); a negative ℓ keeps its sign."""
    check_number("beta", beta)
    check_number("temperature", temperature)
    xp, ell = batch.xp, surprisal_of_batch(batch)
    power = xp.where(ell < 0, -xp.ones_like(ell), xp.ones_like(ell)) * xp.abs(ell) ** beta
    return sigmoid_of_delight(xp, batch.seen, power, temperature) * batch.advantage


def _clipped(batch: Batch, advantage: Array, clip: float | Array) -> Array:
    if batch.old_log_prob is None:
        return advantage
    xp = batch.xp
    log_ratio = stop_gradient(batch.log_prob) - batch.old_log_prob
    ratio = xp.exp(xp.clip(log_ratio, None, _MAX_LOG_RATIO))
    active = ((advantage > 0) & (ratio > 1 + clip)) | ((advantage < 0) & (ratio < 1 - clip))
    return xp.where(active, xp.zeros_like(ratio), ratio * advantage)
