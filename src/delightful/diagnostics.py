"""What the gate did to a batch."""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from delightful.arrays import Array
from delightful.gate import Level, Whiten, gate_of_batch, surprisal_of_batch
from delightful.precise import product
from delightful.validation import Batch, admit, check_values


@dataclass(frozen=True)
class Diagnosis:
    """The gate's doings, as plain numbers; printing it gives a table.

    The mean gate alone says little (for advantages of mean zero it hovers near ½), hence the
    split by sign. Fractions are of the unmasked entries.
    """

    entries: int  # unmasked entries
    gate_mean_positive: float  # mean gate where U > 0; NaN if there are none
    gate_mean_negative: float  # mean gate where U < 0; NaN if there are none
    gate_std: float
    breakthroughs: float  # fraction with U > 0 and gate above 0.8: rare successes let through
    blunders: float  # fraction with U < 0 and gate below 0.2: rare failures held back
    suppressed: float  # fraction with gate below 0.2
    neutral: float  # fraction with gate from 0.4 to 0.6
    dead: float  # fraction with gate within 0.05 of ½: if it is nearly all, DG is PG/2
    open: float  # fraction with gate above 0.8
    effective_sample_size: float  # (Σ|ω|)² / Σω², in entries
    surprisal_mean: float
    negative_surprisal: float  # fraction with ℓ < 0: densities above 1, where the gate inverts
    clipped_surprisal: float  # fraction that max_surprisal clipped
    delight_q05: float  # quantiles of delight, before any whitening
    delight_median: float
    delight_q95: float

    def __str__(self) -> str:
        rows = [
            f"  {f.name.replace('_', ' '):<22}{getattr(self, f.name):>10.4g}" for f in fields(self)
        ]
        return "\n".join(["what the gate did", *rows])


def diagnose(
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
) -> Diagnosis:
    """What `gate` with the same arguments does to this batch. Eager mode only."""
    batch = admit(
        advantage, log_prob, mask, mode_log_prob=mode_log_prob, gate_advantage=gate_advantage
    )
    check_values(batch)
    w = gate_of_batch(batch, temperature, level, max_surprisal, whiten)
    return diagnosis_of(batch, w, level, max_surprisal)


def diagnosis_of(
    batch: Batch, w: Array, level: Level = "token", max_surprisal: float | None = None
) -> Diagnosis:
    """`diagnose`, for a batch already past the edge and its gate."""
    ell = clipped = surprisal_of_batch(batch, level)
    if max_surprisal is not None:
        clipped = surprisal_of_batch(batch, level, max_surprisal)
    keep = ... if batch.mask is None else _numpy(batch.mask)
    columns = (w, batch.advantage, ell, clipped, product(batch.xp, batch.seen, clipped))
    return _summary(*(_numpy(column)[keep].ravel().astype(np.float64) for column in columns))


def _summary(w: Any, U: Any, ell: Any, clipped: Any, chi: Any) -> Diagnosis:
    """In counts and sums: NumPy's means and quantiles are slow, and training loops wait for it."""
    n = int(w.size)
    if n == 0:
        raise ValueError("mask leaves no entry to diagnose")

    def share(condition: Any) -> float:
        return float(np.count_nonzero(condition)) / n

    def mean_where(condition: Any) -> float:
        return (
            float(w[condition].sum()) / count
            if (count := int(np.count_nonzero(condition)))
            else float("nan")
        )

    success, failure, low, high = U > 0, U < 0, w < 0.2, w > 0.8
    omega = np.abs(w * U)
    total = float(omega @ omega)
    spread = w - w.sum() / n
    ordered = np.sort(chi)
    q05, median, q95 = (float(ordered[round(q * (n - 1))]) for q in (0.05, 0.5, 0.95))
    return Diagnosis(
        entries=n,
        gate_mean_positive=mean_where(success),
        gate_mean_negative=mean_where(failure),
        gate_std=math.sqrt(float(spread @ spread) / n),
        breakthroughs=share(success & high),
        blunders=share(failure & low),
        suppressed=share(low),
        neutral=share((w >= 0.4) & (w <= 0.6)),
        dead=share((w >= 0.45) & (w <= 0.55)),
        open=share(high),
        effective_sample_size=float(omega.sum()) ** 2 / total if total > 0 else 0.0,
        surprisal_mean=float(ell.sum()) / n,
        negative_surprisal=share(ell < 0),
        clipped_surprisal=share(ell != clipped),
        delight_q05=q05,
        delight_median=median,
        delight_q95=q95,
    )


def _numpy(array: Array) -> Any:
    """A NumPy copy, from any device."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    return np.asarray(array)
