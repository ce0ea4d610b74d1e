"""The sigmoid of a product, right to the last place or two.

A closed gate is σ(x) ≈ eˣ, so a rounding error of one part in 2⁵³ in x = U·ℓ/η grows |x|-fold in
the gate: at x = −30 the plain formula is thirty units off in its last place. Where a wider float
exists the product is formed there; where none does, its rounding error is recovered (Dekker's
two-product) and applied to first order.
"""

import math
from typing import Any

import numpy as np

from delightful.arrays import Array, has_float64, is_number, library, stop_gradient

_SPLITTER = {32: 4097.0, 64: 134217729.0}  # 2^ceil(p/2) + 1, p the significand's bits


def sigmoid(xp: Any, x: Array, error: Array) -> Array:
    """σ(x + error), to first order in `error`, without overflow: exp only ever sees −|x|."""
    small = xp.exp(-xp.abs(x))
    below = 1 + small
    w = xp.where(x >= 0, xp.ones_like(small), small) / below
    lost = small - (below - 1)  # what rounding took from the denominator
    return w * (1 + ((1 - w) * error - lost / below))


def sigmoid_of_delight(xp: Any, advantage: Array, surprisal: Array, temperature: Any) -> Array:
    """w = σ(U·ℓ/η) for η > 0, with its limits 1[χ>0] at η = 0 and exactly ½ at η = ∞."""
    if library(advantage) == "numpy":  # ±∞ is meant, and NumPy alone would warn of it
        with np.errstate(over="ignore", invalid="ignore"):
            return _sigmoid_of_delight(xp, advantage, surprisal, temperature)
    return _sigmoid_of_delight(xp, advantage, surprisal, temperature)


def _sigmoid_of_delight(xp: Any, advantage: Array, surprisal: Array, temperature: Any) -> Array:
    if is_number(temperature):
        if temperature == 0:
            return xp.astype(product(xp, advantage, surprisal) > 0, advantage.dtype)
        if math.isinf(temperature):
            return xp.full_like(advantage, 0.5)
        return _sigmoid_of_ratio(xp, advantage, surprisal, temperature)
    eta = xp.astype(xp.asarray(stop_gradient(temperature)), advantage.dtype)
    if len(eta.shape) > 0 and tuple(eta.shape) != tuple(advantage.shape):
        raise ValueError(
            f"temperature must be one number, or have log_prob's shape {tuple(advantage.shape)}, "
            f"got shape {tuple(eta.shape)}"
        )
    hard, flat = eta == 0, xp.isinf(eta)
    soft = _sigmoid_of_ratio(
        xp, advantage, surprisal, xp.where(hard | flat, xp.ones_like(eta), eta)
    )
    step = xp.astype(product(xp, advantage, surprisal) > 0, advantage.dtype)
    return xp.where(hard, step, xp.where(flat, xp.full_like(soft, 0.5), soft))


def product(xp: Any, advantage: Array, surprisal: Array) -> Array:
    """χ = U·ℓ, with 0·∞ = 0: no advantage is no delight, however rare the action."""
    return advantage * xp.where(advantage == 0, xp.zeros_like(surprisal), surprisal)


def _sigmoid_of_ratio(xp: Any, a: Array, b: Array, c: Any) -> Array:
    narrow = a.dtype
    if xp.finfo(narrow).bits == 32 and has_float64(a):
        # A finite stand-in for ∞ makes 0·∞ = 0; σ below float32's range may round to 0.
        wide = xp.astype(a, xp.float64) * xp.clip(xp.astype(b, xp.float64), None, 1e300)
        wide = wide if is_number(c) and c == 1 else wide / c
        return xp.astype(xp.reciprocal(1 + xp.exp(-wide)), narrow)
    x = p = product(xp, a, b)
    error = _product_error(xp, a, b, p)
    if not (is_number(c) and c == 1):
        divisor = c * xp.ones_like(p)
        # A Python temperature such as 0.3 loses digits on its way to float32.
        lost = c - float(np.float32(c)) if is_number(c) and xp.finfo(narrow).bits == 32 else 0.0
        x = p / divisor
        back = x * divisor
        error = ((p - back) - _product_error(xp, x, divisor, back) + error - x * lost) / divisor
    # At ±∞ there is no error term: the gate is saturated.
    return sigmoid(xp, x, xp.where(xp.isfinite(error), error, xp.zeros_like(error)))


def _product_error(xp: Any, a: Array, b: Array, p: Array) -> Array:
    """a·b − p exactly, where p is the rounded product (Dekker 1971)."""
    a_high, a_low = _split(xp, a)
    b_high, b_low = _split(xp, b)
    error = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low
    # Beyond this the split could overflow; so large a factor needs no such care.
    return xp.where((xp.abs(a) < 1e30) & (xp.abs(b) < 1e30), error, xp.zeros_like(error))


def _split(xp: Any, a: Array) -> tuple[Array, Array]:
    scaled = a * _SPLITTER[xp.finfo(a.dtype).bits]
    high = scaled - (scaled - a)
    return high, a - high
