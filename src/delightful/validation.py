"""Validation at the public functions: shapes, dtypes, masks, options and finiteness, once.

Shapes and dtypes are always checked. Values are checked in eager mode only, and not after
`set_validation(False)`: inside jit, vmap and torch.compile there is nothing to look at.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from delightful.arrays import (
    at_least_float32,
    is_number,
    library,
    namespace,
    plain_torch,
    stop_gradient,
    values_are_visible,
)

_validates = True


def set_validation(enabled: bool) -> None:
    """Turn the value checks of eager mode on (the default) or off, for this process.

    A check reads one number, for which a GPU waits. Off, no call makes a GPU wait, and NaN or ∞ in
    an argument is not reported. Shapes and dtypes are checked either way.

    Args:
        enabled: whether values are checked.
    """
    global _validates  # noqa: PLW0603 (one switch for the process, as in torch.distributions)
    _validates = bool(enabled)


def is_on() -> bool:
    """Whether values are checked."""
    return _validates


class Batch(NamedTuple):
    """A validated batch: one library, one shape, float32 or wider, zero where masked out.

    This is what a method's function takes. Only `log_prob` carries a gradient.

    Attributes:
        xp: the array-API namespace of the arrays.
        log_prob: log π(a).
        surprisal: −log π(a), without a gradient.
        advantage: U, in log_prob's shape.
        mask: boolean, true where an entry counts; None if all do.
        finite: whether every value was seen to be finite. False if values were not looked at.
        delight: U·ℓ of the gate's advantage, if validation has computed it.
        gate_advantage: the advantage that the gate sees, if not `advantage`.
        old_log_prob: log π(a) of the policy that acted; None if it is the current one.
        mode_log_prob: log-density at the policy's mode.
        axis: the axis along which the samples of one context lie; None: all are of one.
        sequence_advantage: `advantage` as given, if it had one value per sequence.
    """

    xp: Any
    log_prob: Any
    surprisal: Any
    advantage: Any = None
    mask: Any = None
    finite: bool = False
    delight: Any = None
    gate_advantage: Any = None
    old_log_prob: Any = None
    mode_log_prob: Any = None
    axis: int | None = None
    sequence_advantage: Any = None

    @property
    def seen(self) -> Any:
        """The advantage that the gate sees."""
        return self.advantage if self.gate_advantage is None else self.gate_advantage

    def samples(self) -> "Batch":
        """One entry for each advantage as given: a long sequence counts once in its group.

        Returns:
            A batch of one entry per sequence if U had one value per sequence; else this batch.
        """
        U = self.sequence_advantage
        if U is None:
            return self
        mask = None if self.mask is None else self.xp.any(self.mask, axis=-1)
        nothing = self.xp.zeros_like(U)
        return Batch(self.xp, nothing, nothing, U, mask, axis=self.axis)

    def over_tokens(self, array: Any) -> Any:
        """What was computed on `samples()`, for each entry of this batch.

        Args:
            array: one value for each entry of `samples()`.

        Returns:
            The values in log_prob's shape: every token has its sequence's.
        """
        return over_tokens(self.xp, "weight", array, tuple(self.log_prob.shape))

    def count(self, axis: int | None = None) -> Any:
        """How many entries count, in all or along `axis`; at least 1, to divide by.

        Args:
            axis: the axis to count along, kept with length 1. None: all of them.

        Returns:
            The count; an int where there is no mask.
        """
        if self.mask is None:
            shape = self.log_prob.shape
            return max(1, math.prod(shape) if axis is None else shape[axis])
        ones = self.xp.astype(self.mask, self.log_prob.dtype)
        return self.xp.clip(self.sum(ones, axis), 1, None)

    def sum(self, array: Any, axis: int | None = None) -> Any:
        """Sum of an array that is zero where masked out, in all or along `axis`.

        Args:
            array: log_prob's shape, 0 where masked out.
            axis: the axis to sum along, kept with length 1. None: all of them.

        Returns:
            The sum, a scalar if `axis` is None.
        """
        if axis is None:
            return self.xp.sum(array)
        return self.xp.sum(array, axis=axis, keepdims=True)

    def deviations(self, array: Any, axis: int | None = None) -> tuple[Any, Any]:
        """x − mean(x) and std(x), over the entries that count, in all or along `axis`.

        The largest entry is taken off first: the mean of equal float32 numbers is not exactly that
        number, and dividing such a rounding error by its own size would make a signal of it.

        Args:
            array: x, in log_prob's shape.
            axis: the axis of mean and std, kept with length 1. None: all of them.

        Returns:
            x − mean(x), 0 where masked out, and std(x), of divisor n.
        """
        xp, n = self.xp, self.count(axis)
        seen = array
        if self.mask is not None:
            seen = xp.where(self.mask, array, xp.full_like(array, -xp.inf))
        top = xp.max(seen) if axis is None else xp.max(seen, axis=axis, keepdims=True)
        shifted = self.blank(array - xp.where(xp.isfinite(top), top, xp.zeros_like(top)))
        centred = self.blank(shifted - self.sum(shifted, axis) / n)
        return centred, xp.sqrt(self.sum(centred**2, axis) / n)

    def blank(self, array: Any) -> Any:
        """x with 0 where masked out, so that a NaN in padding cannot spread.

        Args:
            array: x, in log_prob's shape.

        Returns:
            1[mask]·x, with 0·NaN = 0; x itself if there is no mask.
        """
        if self.mask is None:
            return array
        return self.xp.where(self.mask, array, self.xp.zeros_like(array))


def admit(
    log_prob: Any,
    advantage: Any = None,
    mask: Any = None,
    axis: int | None = None,
    old_log_prob: Any = None,
    mode_log_prob: Any = None,
    gate_advantage: Any = None,
    check: bool = True,
) -> Batch:
    """The batch that the caller's arrays describe, or an error naming what is wrong with them.

    The arrays are those of `Batch`; `check` is whether values are checked, if validation is on.
    """
    if mask is None and axis is None and old_log_prob is None and mode_log_prob is None:
        xp = plain_torch(log_prob, advantage)
        if gate_advantage is not None and xp is not None:
            xp = plain_torch(log_prob, gate_advantage)
        if xp is not None:
            ell = -log_prob.detach()
            if not (check and _validates):
                return Batch(xp, log_prob, ell, advantage, gate_advantage=gate_advantage)
            chi = ell * (advantage if gate_advantage is None else gate_advantage)
            if _all_finite(chi) if gate_advantage is None else _all_finite(chi, advantage):
                return Batch(xp, log_prob, ell, advantage, None, True, chi, gate_advantage)
    others = {
        "advantage": advantage,
        "old_log_prob": old_log_prob,
        "mode_log_prob": mode_log_prob,
        "gate_advantage": gate_advantage,
    }
    others = {name: array for name, array in others.items() if array is not None}
    return _admit(log_prob, others, mask, axis, check)


def _admit(
    log_prob: Any, others: dict[str, Any], mask: Any, axis: int | None, check: bool
) -> Batch:
    """`admit`, in full: any library, dtype and mask."""
    xp = namespace(log_prob=log_prob, mask=mask, **others)
    advantage = others.get("advantage")
    _refuse_swapped(log_prob, advantage)
    log_prob = at_least_float32(xp, "log_prob", log_prob)
    shape = tuple(log_prob.shape)
    if mask is not None:
        if tuple(mask.shape) != shape:
            raise ValueError(f"mask must have log_prob's shape {shape}, got {tuple(mask.shape)}")
        mask = mask != 0
        log_prob = xp.where(mask, log_prob, xp.zeros_like(log_prob))
    if axis is not None:
        axis = _positive_axis(axis, shape, advantage)
    given = {}
    for name, array in others.items():
        plain = stop_gradient(at_least_float32(xp, name, array))
        spread = over_tokens(xp, name, plain, shape)
        given[name] = spread if mask is None else xp.where(mask, spread, xp.zeros_like(spread))
    ell = -stop_gradient(log_prob)
    finite = check and _validates and _check_values(xp, ell, given)
    if advantage is not None and len(advantage.shape) < len(shape):
        plain = stop_gradient(at_least_float32(xp, "advantage", advantage))
        given["sequence_advantage"] = _of_sequences(xp, plain, mask)
    return Batch(xp, log_prob, ell, mask=mask, finite=finite, axis=axis, **given)


def _refuse_swapped(log_prob: Any, advantage: Any) -> None:
    """In torch a swap can be seen: the loss would have no gradient, or a wrong one."""
    if getattr(advantage, "requires_grad", False) and not getattr(log_prob, "requires_grad", True):
        raise ValueError(
            "advantage carries a gradient and log_prob carries none: pass (log_prob, advantage) in "
            "this order, and detach the advantage"
        )


def _positive_axis(axis: int, shape: tuple[int, ...], advantage: Any) -> int:
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"axis must be an axis of log_prob's shape {shape}, got {axis}")
    axis %= len(shape)
    if advantage is not None and axis >= len(advantage.shape):
        raise ValueError("axis is the token axis, but advantage has one value per sequence")
    return axis


def _of_sequences(xp: Any, advantage: Any, mask: Any) -> Any:
    """The advantage of each sequence, 0 where the whole sequence is masked out."""
    if mask is None:
        return advantage
    return xp.where(xp.any(mask, axis=-1), advantage, xp.zeros_like(advantage))


def over_tokens(xp: Any, name: str, array: Any, shape: tuple[int, ...]) -> Any:
    """`array` of log_prob's shape, or of that shape without its last axis (one per sequence)."""
    if tuple(array.shape) == shape:
        return array
    if len(shape) > 1 and tuple(array.shape) == shape[:-1]:
        return xp.broadcast_to(array[..., None], shape)
    per_sequence = f" or {shape[:-1]}" if len(shape) > 1 else ""
    raise ValueError(
        f"{name} must have log_prob's shape {shape}{per_sequence}, got {tuple(array.shape)}"
    )


def _check_values(xp: Any, surprisal: Any, given: dict[str, Any]) -> bool:
    """In eager mode, refuse NaN and ∞; log_prob = −∞, an impossible action, has a limit and passes.

    Returns whether every value was seen to be finite (under tracing, none is seen).
    """
    if not values_are_visible(surprisal, *given.values()):
        return False
    if _all_finite(surprisal, *given.values()):
        return True
    for name, array in {"log_prob": -surprisal, **given}.items():
        good = array < xp.inf if name == "log_prob" else xp.isfinite(array)
        if not bool(xp.all(good)):
            index = tuple(int(along[0]) for along in xp.nonzero(~good))
            raise ValueError(f"{name}{list(index)} must be finite, got {float(array[index])}")
    return False


def _all_finite(*arrays: Any) -> bool:
    """Whether all values are seen to be finite; false where none can be seen.

    A sum is finite only if its terms are, and a product only if its factors are: one number to
    read, so that a GPU waits once.
    """
    if not values_are_visible(*arrays):
        return False
    if isinstance(arrays[0], (np.ndarray, np.generic)):
        with np.errstate(over="ignore", invalid="ignore"):  # it would warn of what is looked for
            return math.isfinite(np.sum(math.prod(arrays)))
    total = arrays[0]
    for array in arrays[1:]:
        total = total * array
    return math.isfinite(total.sum())


def check_number(name: str, value: Any, *, strictly: bool = False, most: float = math.inf) -> None:
    """Refuse what is not a number, NaN, negative (or 0, `strictly`) or above `most`.

    The entries of an array are checked as a number is, unless it is traced or validation is off.
    """
    if not is_number(value):
        if library(value) is None:
            raise TypeError(f"{name} must be a number, got {value!r}")
        if not (_validates and values_are_visible(value)):
            return
    good = (value > 0 if strictly else value >= 0) & (value <= most)
    if not (good if is_number(value) else bool(good.all())):
        range_ = f"between 0 and {most:g}" if most < math.inf else "> 0" if strictly else ">= 0"
        raise ValueError(f"{name} must be {range_}, got {value!r}")


def fit_option(batch: Batch, name: str, value: Any) -> Any:
    """An option for arithmetic with the batch: one number, or an array of log_prob's shape."""
    if is_number(value):
        return value
    xp = batch.xp
    value = xp.astype(xp.asarray(stop_gradient(value)), batch.log_prob.dtype)
    shape = tuple(batch.log_prob.shape)
    if len(value.shape) > 0 and tuple(value.shape) != shape:
        raise ValueError(
            f"{name} must be one number, or have log_prob's shape {shape}, "
            f"got shape {tuple(value.shape)}"
        )
    return value


def read_option(batch: Batch, name: str, value: Any, **limits: Any) -> Any:
    """`check_number` and `fit_option` in one: what a method does with each of its options."""
    check_number(name, value, **limits)
    return fit_option(batch, name, value)


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse what is not one of `choices`."""
    if not isinstance(value, str | bool | None) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
