"""The public edge: shapes, dtypes, masks and finiteness are checked here, once.

Shapes and dtypes are always checked. Values are checked in eager mode only: inside jit, vmap and
torch.compile there is nothing to look at, and nothing is checked.
"""

import functools
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from delightful.arrays import (
    Array,
    at_least_float32,
    is_number,
    library,
    namespace,
    stop_gradient,
    values_are_visible,
)


class Batch(NamedTuple):
    """A batch past the edge: one library, one shape, float32 or wider, zero where masked out.

    Only `log_prob` carries a gradient; whatever computes a weight from it must stop it.
    """

    xp: Any
    advantage: Array
    log_prob: Array
    mask: Array | None = None  # boolean, true where an entry counts
    old_log_prob: Array | None = None  # under the policy that acted; None: the current one did
    mode_log_prob: Array | None = None  # log-density at the policy's mode
    gate_advantage: Array | None = None  # what the gate sees, if not `advantage`
    axis: int | None = None  # along which the samples of one context lie; None: all are of one
    sequence_advantage: Array | None = None  # `advantage` as given, if it was one per sequence

    @property
    def seen(self) -> Array:
        """The advantage that the gate sees."""
        return self.advantage if self.gate_advantage is None else self.gate_advantage

    def samples(self) -> "Batch":
        """One entry for each advantage as given: a long sequence counts once in its group."""
        U = self.sequence_advantage
        if U is None:
            return self
        mask = None if self.mask is None else self.xp.any(self.mask, axis=-1)
        return Batch(self.xp, U, self.xp.zeros_like(U), mask, axis=self.axis)

    def over_tokens(self, array: Array) -> Array:
        """What was computed on `samples()`, for each entry of this batch."""
        return over_tokens(self.xp, "weight", array, tuple(self.log_prob.shape))

    def count(self, axis: int | None = None) -> Any:
        """How many entries count, in all or along `axis` (kept); at least 1, to divide by."""
        if self.mask is None:
            shape = self.log_prob.shape
            return max(1, math.prod(shape) if axis is None else shape[axis])
        ones = self.xp.astype(self.mask, self.log_prob.dtype)
        return self.xp.clip(self.sum(ones, axis), 1, None)

    def sum(self, array: Array, axis: int | None = None) -> Array:
        """Sum of an array that is zero where masked out, in all or along `axis` (kept)."""
        if axis is None:
            return self.xp.sum(array)
        return self.xp.sum(array, axis=axis, keepdims=True)

    def deviations(self, array: Array, axis: int | None = None) -> tuple[Array, Array]:
        """`array` less its mean over what counts, and its standard deviation (both along `axis`).

        The largest entry is taken off first: the mean of equal float32 numbers is not exactly that
        number, and dividing such a rounding error by its own size would make a signal of it.
        """
        xp, n = self.xp, self.count(axis)
        seen = array
        if self.mask is not None:
            seen = xp.where(self.mask, array, xp.full_like(array, -xp.inf))
        top = xp.max(seen) if axis is None else xp.max(seen, axis=axis, keepdims=True)
        shifted = self.blank(array - xp.where(xp.isfinite(top), top, xp.zeros_like(top)))
        centred = self.blank(shifted - self.sum(shifted, axis) / n)
        return centred, xp.sqrt(self.sum(centred**2, axis) / n)

    def blank(self, array: Array) -> Array:
        """`array` with 0 where masked out, so that a NaN in padding cannot spread."""
        if self.mask is None:
            return array
        return self.xp.where(self.mask, array, self.xp.zeros_like(array))


def admit(
    advantage: Array | None,
    log_prob: Array,
    mask: Array | None = None,
    axis: int | None = None,
    **others: Array | None,
) -> Batch:
    """The batch that the caller's arrays describe, or an error naming what is wrong with them."""
    xp = namespace(log_prob=log_prob, advantage=advantage, mask=mask, **others)
    log_prob = at_least_float32(xp, "log_prob", log_prob)
    shape = tuple(log_prob.shape)
    if mask is not None:
        if tuple(mask.shape) != shape:
            raise ValueError(f"mask must have log_prob's shape {shape}, got {tuple(mask.shape)}")
        mask = mask != 0
    if axis is not None:
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"axis must be an axis of log_prob's shape {shape}, got {axis}")
        axis %= len(shape)
        if advantage is not None and axis >= len(advantage.shape):
            raise ValueError("axis is the token axis, but advantage has one value per sequence")
    empty = Batch(xp, None, None, mask, axis=axis)

    def lay(name: str, array: Array | None) -> Array | None:
        if array is None:
            return None
        array = stop_gradient(at_least_float32(xp, name, array))
        return empty.blank(over_tokens(xp, name, array, shape))

    one_each = None
    if advantage is not None and len(advantage.shape) < len(shape):
        one_each = stop_gradient(at_least_float32(xp, "advantage", advantage))
        if mask is not None:
            one_each = xp.where(xp.any(mask, axis=-1), one_each, xp.zeros_like(one_each))
    return empty._replace(
        log_prob=empty.blank(log_prob),
        sequence_advantage=one_each,
        advantage=lay("advantage", advantage),
        **{name: lay(name, array) for name, array in others.items()},
    )


def over_tokens(xp: Any, name: str, array: Array, shape: tuple[int, ...]) -> Array:
    """`array` of log_prob's shape, or of that shape without its last axis (one per sequence)."""
    if tuple(array.shape) == shape:
        return array
    if len(shape) > 1 and tuple(array.shape) == shape[:-1]:
        return xp.broadcast_to(array[..., None], shape)
    per_sequence = f" or {shape[:-1]}" if len(shape) > 1 else ""
    raise ValueError(
        f"{name} must have log_prob's shape {shape}{per_sequence}, got {tuple(array.shape)}"
    )


def check_values(batch: Batch) -> bool:
    """In eager mode, refuse NaN and ∞; log_prob = −∞, an impossible action, has a limit and passes.

    Returns whether every value was seen to be finite (under tracing, none is seen). A sum is finite
    only if its terms are, and a product only if its factors are: one number to read, so that a GPU
    waits once. Only if it is not finite is a culprit sought.
    """
    names = ("advantage", "log_prob", "old_log_prob", "mode_log_prob", "gate_advantage")
    arrays = {name: getattr(batch, name) for name in names if getattr(batch, name) is not None}
    if not values_are_visible(*arrays.values()):
        return False
    xp = batch.xp
    with np.errstate(invalid="ignore", over="ignore"):  # NumPy would warn of what is sought here
        everything = functools.reduce(operator.mul, map(stop_gradient, arrays.values()))
        if math.isfinite(float(xp.sum(everything))):
            return True
    for name, array in arrays.items():
        good = array < xp.inf if name == "log_prob" else xp.isfinite(array)
        if not bool(xp.all(good)):
            index = tuple(int(along[0]) for along in xp.nonzero(~good))
            raise ValueError(f"{name}{list(index)} must be finite, got {float(array[index])}")
    return False


def check_number(name: str, value: Any, *, strictly: bool = False) -> None:
    """Refuse what is no number, NaN or negative (or 0, `strictly`); a traced one passes unseen."""
    if not is_number(value) and library(value) is None:
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not values_are_visible(value):
        return
    good = value > 0 if strictly else value >= 0
    if not (good if is_number(value) else bool(good.all())):
        raise ValueError(f"{name} must be {'> 0' if strictly else '>= 0'}, got {value!r}")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
