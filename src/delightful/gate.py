"""Surprisal, delight and the gate: Section 2 of the paper, Algorithms 1 and 2.

    ℓ = −log π(a)      surprisal
    χ = U·ℓ            delight, U the advantage
    w = σ(χ/η)         the gate, η the temperature

None of these carries a gradient. Arrays have any shape; tokens lie along the last axis. An
advantage may have one value per sequence (log_prob's shape without its last axis). Half-precision
inputs are computed, and returned, in float32. Masked-out entries may hold anything, NaN included;
they have surprisal 0, delight 0, and the gate of delight 0.
"""

import math
import operator
from dataclasses import dataclass
from typing import Any, Literal

from delightful.arrays import (
    Array,
    ArrayT,
    is_number,
    plain_torch,
    saturating,
    sigmoid,
    stop_gradient,
    values_are_visible,
)
from delightful.validation import Batch, admit, check_choice, check_number, fit_option, is_on

Level = Literal["token", "sequence"]
Whiten = Literal["standard", "scale"]

_LARGEST = 3.4e38  # of float32, rounded down
_EPSILON = 1e-8  # the paper's ε of whitening; its value is not stated there


@dataclass(frozen=True)
class GateConfig:
    """The options of the gate, the same in `gate`, `diagnose`, the method "dg" and every plug-in.

    Attributes:
        temperature: η ≥ 0, a number or an array of log_prob's shape. At 0 the gate is hard,
            1[χ > 0]; at infinity it is exactly ½.
        level: "token" takes each entry's own surprisal; "sequence" gives every token the surprisal
            of its whole sequence, −Σ log π over unmasked tokens (the last axis).
        max_surprisal: C > 0 clips surprisal to [−C, C] (Algorithm 2; the paper uses 10 for
            densities). None: no clip.
        whiten: "standard" is the paper's (χ − mean)/(std + ε) over the batch, which can flip a
            sign; "scale" divides by the same standard deviation and cannot. None: neither.
        unit_gain: return 2w instead of w. A neutral gate, ½, then leaves the step size as it was.
    """

    temperature: float | Array = 1.0
    level: Level = "token"
    max_surprisal: float | Array | None = None
    whiten: Whiten | None = None
    unit_gain: bool = False

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature)
        check_choice("level", self.level, ("token", "sequence"))
        if self.max_surprisal is not None:
            check_number("max_surprisal", self.max_surprisal, strictly=True)
        check_choice("whiten", self.whiten, (None, "standard", "scale"))
        check_choice("unit_gain", self.unit_gain, (True, False))


def gate_of(batch: Batch, options: GateConfig) -> Any:
    """`gate`, for a batch that has been validated: all there is to DG."""
    U, ell, eta = batch.seen, surprisal_of(batch, options), options.temperature
    chi = batch.delight if ell is batch.surprisal else None
    if chi is None:
        chi = product(batch, U, ell)
    if options.whiten is not None:
        chi = whitened(batch, chi, options.whiten)
    w = sigmoid_of_ratio(batch, chi, eta)  # σ(U · ℓ / η)
    return 2 * w if options.unit_gain else w


def eager_gate(log_prob: Any, U: Any) -> Any:
    """`gate_of` with the default options for float32 tensors in eager mode, else None.

    The updates of small networks wait for every operation and every line of Python, so these are
    the fewest. Surprisal is bounded by the largest float32, so that 0·∞ = 0.
    """
    if U.shape != log_prob.shape and U.shape == log_prob.shape[:-1]:
        U = U[..., None].expand(log_prob.shape)
    if plain_torch(log_prob, U) is None:
        return None
    return log_prob.detach().neg().clamp_max_(_LARGEST).mul_(U).sigmoid_()  # σ(U · ℓ)


def surprisal_of(batch: Batch, options: GateConfig) -> Any:
    """ℓ = −log π(a), or log π(mode) − log π(a); summed over the sequence and clipped if asked."""
    ell = batch.surprisal
    if batch.mode_log_prob is not None:
        ell = batch.mode_log_prob + ell
    if options.level == "sequence":
        ell = batch.blank(batch.xp.broadcast_to(batch.sum(ell, axis=-1), ell.shape))
    if options.max_surprisal is not None:
        bound = fit_option(batch, "max_surprisal", options.max_surprisal)
        ell = batch.xp.clip(ell, -bound, bound)
    return ell


def product(batch: Batch, U: Any, ell: Any) -> Any:
    """χ = U·ℓ, with 0·∞ = 0: no advantage is no delight, however rare the action."""
    if batch.finite:
        return U * ell
    return saturating(operator.mul, U, batch.xp.where(U == 0, U, ell))


def whitened(batch: Batch, chi: Any, whiten: Whiten) -> Any:
    """(χ − mean)/(std + ε), or χ/(std + ε), over the unmasked entries."""
    centred, deviation = batch.deviations(chi)
    looks = is_on() and not batch.finite and values_are_visible(deviation)
    if looks and not math.isfinite(deviation):
        raise ValueError(
            "whiten needs finite delight: log_prob is -inf somewhere, give max_surprisal"
        )
    return (centred if whiten == "standard" else chi) / (deviation + _EPSILON)


def sigmoid_of_ratio(batch: Batch, chi: Any, eta: Any) -> Any:
    """σ(χ/η), and its limits: 1[χ > 0] at η = 0, exactly ½ at η = ∞."""
    if eta.__class__ is float and eta == 1:
        return sigmoid(chi)
    xp = batch.xp
    if is_number(eta):
        if eta < xp.finfo(chi.dtype).smallest_normal:
            return xp.astype(chi > 0, chi.dtype)
        return (
            xp.full_like(chi, 0.5)
            if math.isinf(eta)
            else sigmoid(saturating(operator.truediv, chi, eta))
        )
    eta = fit_option(batch, "temperature", eta)
    zero, infinite = eta == 0, xp.isinf(eta)
    safe = xp.where(zero | infinite, xp.ones_like(eta), eta)
    soft = sigmoid(saturating(operator.truediv, chi, safe))
    hard = xp.astype(chi > 0, soft.dtype)
    return xp.where(zero, hard, xp.where(infinite, xp.full_like(soft, 0.5), soft))


def surprisal(
    log_prob: ArrayT,
    *,
    mask: Array | None = None,
    mode_log_prob: Array | None = None,
    level: Level = "token",
    max_surprisal: float | Array | None = None,
) -> ArrayT:
    """ℓ = −log π(a) (Section 2.1).

    Args:
        log_prob: log π(a) of the actions taken.
        mask: log_prob's shape, true or not 0 where an entry counts.
        mode_log_prob: log-density at the policy's mode. Surprisal is then log π(mode) − log π(a),
            never negative. Plain surprisal is negative where a density exceeds 1.
        level: as in `GateConfig`.
        max_surprisal: as in `GateConfig`.

    Returns:
        The surprisals, in log_prob's shape.
    """
    batch = admit(log_prob, mask=mask, mode_log_prob=mode_log_prob)
    return surprisal_of(batch, GateConfig(level=level, max_surprisal=max_surprisal))


def delight(
    log_prob: ArrayT,
    advantage: Array,
    *,
    mask: Array | None = None,
    mode_log_prob: Array | None = None,
    level: Level = "token",
    max_surprisal: float | Array | None = None,
    whiten: Whiten | None = None,
) -> ArrayT:
    """χ = U·ℓ (Section 2.1), with 0·∞ = 0.

    Args:
        log_prob: log π(a) of the actions taken.
        advantage: U, in log_prob's shape or with one value per sequence.
        mask: log_prob's shape, true or not 0 where an entry counts.
        mode_log_prob: as in `surprisal`.
        level: as in `GateConfig`.
        max_surprisal: as in `GateConfig`.
        whiten: as in `GateConfig` (end of Section 2.2).

    Returns:
        The delights, in log_prob's shape.
    """
    batch = admit(log_prob, advantage, mask=mask, mode_log_prob=mode_log_prob)
    options = GateConfig(level=level, max_surprisal=max_surprisal, whiten=whiten)
    chi = product(batch, batch.advantage, surprisal_of(batch, options))
    return chi if whiten is None else whitened(batch, chi, whiten)


def gate(
    log_prob: ArrayT,
    advantage: Array,
    *,
    mask: Array | None = None,
    mode_log_prob: Array | None = None,
    gate_advantage: Array | None = None,
    **options: Any,
) -> ArrayT:
    """w = σ(χ/η) (Algorithm 1; Algorithm 2 with `max_surprisal=10`).

    Args:
        log_prob: log π(a) of the actions taken.
        advantage: U, in log_prob's shape or with one value per sequence.
        mask: log_prob's shape, true or not 0 where an entry counts.
        mode_log_prob: as in `surprisal`.
        gate_advantage: the advantage that the gate sees, if not `advantage`. Give the centred one
            here if `advantage` was divided by a standard deviation.
        **options: the fields of `GateConfig`.

    Returns:
        The gates, in log_prob's shape: multiply them into your own loss's terms.
    """
    batch = admit(
        log_prob, advantage, mask=mask, mode_log_prob=mode_log_prob, gate_advantage=gate_advantage
    )
    return stop_gradient(gate_of(batch, gate_config(options)))


_DEFAULT = GateConfig()  # made once: eager mode pays for every check


def gate_config(options: dict[str, Any]) -> GateConfig:
    """The `GateConfig` of some keyword arguments, or an error that names the wrong one."""
    if not options:
        return _DEFAULT
    known = vars(_DEFAULT)
    for name in options:
        if name not in known:
            raise TypeError(f"the gate takes {', '.join(known)}, got {name!r}")
    return GateConfig(**options)
