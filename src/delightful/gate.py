"""Surprisal, delight and the gate: Section 2 of the paper, Algorithms 1 and 2.

Notation, as in the paper: `advantage` U, `log_prob` log π(a), `surprisal` ℓ = −log π(a),
`delight` χ = U·ℓ, `temperature` η, `gate` w = σ(χ/η). None of these ever carries a gradient.

Arrays have any shape; where there are tokens they lie along the last axis. An advantage may come
with one value per sequence (log_prob's shape without its last axis). Half-precision inputs are
computed, and returned, in float32. Masked-out entries may hold anything, NaN included, and come
back as 0 surprisal and 0 delight, and with the gate of 0 delight.
"""

from typing import Literal

from delightful.arrays import Array, stop_gradient, values_are_visible
from delightful.precise import product, sigmoid_of_delight
from delightful.validation import Batch, admit, check_choice, check_number, check_values

Level = Literal["token", "sequence"]
Whiten = Literal["standard", "scale"]

_WHITEN_EPSILON = 1e-8  # the paper's ε; its value is not stated there


def surprisal(
    log_prob: Array,
    *,
    mask: Array | None = None,
    level: Level = "token",
    max_surprisal: float | None = None,
    mode_log_prob: Array | None = None,
) -> Array:
    """ℓ = −log π(a) (Section 2.1), as Algorithm 2 clips it when `max_surprisal` C is given.

    level: "token" keeps one surprisal per entry; "sequence" gives every token of a sequence the
        surprisal of the whole, −Σ log π over its unmasked tokens (the last axis).
    max_surprisal: clip ℓ to [−C, C]; the paper uses C = 10 for densities.
    mode_log_prob: log-density at the policy's mode; surprisal is then log π(mode) − log π(a),
        never negative. Plain surprisal is negative where a density exceeds 1: the gate inverts.
    """
    batch = admit(None, log_prob, mask, mode_log_prob=mode_log_prob)
    check_values(batch)
    return surprisal_of_batch(batch, level, max_surprisal)


def delight(
    log_prob: Array,
    advantage: Array,
    *,
    mask: Array | None = None,
    level: Level = "token",
    max_surprisal: float | None = None,
    mode_log_prob: Array | None = None,
    whiten: Whiten | None = None,
) -> Array:
    """χ = U·ℓ (Section 2.1), with 0·∞ = 0; optionally whitened over the batch (end of Section 2.2).

    whiten: "standard" is the paper's (χ − mean)/(std + ε), which can flip a sign; "scale" divides
        by the same std and cannot.
    """
    batch = admit(advantage, log_prob, mask, mode_log_prob=mode_log_prob)
    check_values(batch)
    chi = product(batch.xp, batch.advantage, surprisal_of_batch(batch, level, max_surprisal))
    return _whitened(batch, chi, whiten)


def gate(
    log_prob: Array,
    advantage: Array,
    *,
    temperature: float | Array = 1.0,
    mask: Array | None = None,
    level: Level = "token",
    max_surprisal: float | None = None,
    mode_log_prob: Array | None = None,
    whiten: Whiten | None = None,
    gate_advantage: Array | None = None,
) -> Array:
    """w = σ(χ/η): Algorithm 1, or Algorithm 2 with `max_surprisal=10`.

    temperature: η ≥ 0. At 0 the gate is hard, 1[χ > 0]; at ∞ it is exactly ½.
    gate_advantage: the advantage that the gate sees, if not `advantage`. Give the centred one
        here when `advantage` was divided by a standard deviation.
    The other options are those of `surprisal` and `delight`.
    """
    batch = admit(
        advantage, log_prob, mask, mode_log_prob=mode_log_prob, gate_advantage=gate_advantage
    )
    check_values(batch)
    return stop_gradient(gate_of_batch(batch, temperature, level, max_surprisal, whiten))


def gate_of_batch(
    batch: Batch,
    temperature: float | Array = 1.0,
    level: Level = "token",
    max_surprisal: float | None = None,
    whiten: Whiten | None = None,
) -> Array:
    """`gate`, for a batch already past the edge."""
    check_number("temperature", temperature)
    xp = batch.xp
    U = batch.seen
    ell = surprisal_of_batch(batch, level, max_surprisal)
    if whiten is not None:
        U = _whitened(batch, product(xp, U, ell), whiten)
        ell = xp.ones_like(U)
    if U.dtype != ell.dtype:
        dtype = xp.result_type(U, ell)
        U, ell = xp.astype(U, dtype), xp.astype(ell, dtype)
    return sigmoid_of_delight(xp, U, ell, temperature)


def surprisal_of_batch(
    batch: Batch, level: Level = "token", max_surprisal: float | None = None
) -> Array:
    """`surprisal`, for a batch already past the edge."""
    check_choice("level", level, ("token", "sequence"))
    xp, log_prob = batch.xp, stop_gradient(batch.log_prob)
    ell = -log_prob if batch.mode_log_prob is None else batch.mode_log_prob - log_prob
    if level == "sequence":
        ell = batch.blank(xp.broadcast_to(batch.sum(ell, axis=-1), ell.shape))
    if max_surprisal is not None:
        check_number("max_surprisal", max_surprisal, strictly=True)
        ell = xp.clip(ell, -max_surprisal, max_surprisal)
    return ell


def _whitened(batch: Batch, chi: Array, whiten: Whiten | None) -> Array:
    check_choice("whiten", whiten, (None, "standard", "scale"))
    if whiten is None:
        return chi
    centred, deviation = batch.deviations(chi)
    if values_are_visible(deviation) and not bool(batch.xp.isfinite(deviation)):
        raise ValueError(
            "whiten needs finite delight: log_prob is -inf somewhere, give max_surprisal"
        )
    return (centred if whiten == "standard" else chi) / (deviation + _WHITEN_EPSILON)
