"""What the gate did to a batch, in numbers and in a sentence."""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from delightful.arrays import Array
from delightful.gate import GateConfig, gate_config, gate_of, product, surprisal_of
from delightful.validation import Batch, admit

SUPPRESSED, NEUTRAL, OPEN = 0.2, (0.4, 0.6), 0.8
DEAD = 0.05  # a gate this near to ½ does nothing


@dataclass(frozen=True)
class Diagnosis:
    """What the gate did to a batch, as plain numbers; printing it gives a table and a reading.

    The mean gate alone says little (for advantages of mean zero it is near ½), hence the split by
    the sign of U. Fractions are of the unmasked entries. Gates are w, without unit gain.

    Attributes:
        entries: unmasked entries.
        gate_mean_positive: mean gate where U > 0; NaN if there are none.
        gate_mean_negative: mean gate where U < 0; NaN if there are none.
        gate_std: standard deviation of the gate.
        breakthroughs: fraction with U > 0 and a gate above 0.8: rare successes let through.
        blunders: fraction with U < 0 and a gate below 0.2: rare failures held back.
        suppressed: fraction with a gate below 0.2.
        neutral: fraction with a gate from 0.4 to 0.6.
        dead: fraction with a gate within 0.05 of ½.
        dead_advantage: the same as a share of Σ|U|. If it is nearly all, DG is PG/2.
        open: fraction with a gate above 0.8.
        effective_sample_size: (Σ|ω|)² / Σω² of the weights ω = w·U, in entries.
        surprisal_mean: mean of ℓ before any clip.
        negative_surprisal: fraction with ℓ < 0: densities above 1, where the gate inverts.
        clipped_surprisal: fraction that `max_surprisal` clipped.
        delight_q05: 5% quantile of delight, before any whitening.
        delight_median: median of delight.
        delight_q95: 95% quantile of delight.
    """

    entries: int
    gate_mean_positive: float
    gate_mean_negative: float
    gate_std: float
    breakthroughs: float
    blunders: float
    suppressed: float
    neutral: float
    dead: float
    dead_advantage: float
    open: float
    effective_sample_size: float
    surprisal_mean: float
    negative_surprisal: float
    clipped_surprisal: float
    delight_q05: float
    delight_median: float
    delight_q95: float

    @property
    def reading(self) -> str:
        """The numbers in a sentence: what the gate does here, and what to try if it does little."""
        if self.negative_surprisal > 0.2:
            return (
                f"{self.negative_surprisal:.0%} of surprisals are negative: densities exceed 1 and "
                "the gate inverts there; give mode_log_prob, or keep the policy's deviation up."
            )
        apart = self.gate_mean_positive - self.gate_mean_negative
        if self.dead_advantage > 0.5 and not abs(apart) > 0.2:
            return (
                f"{self.dead:.0%} of gates lie within {DEAD} of ½, with {self.dead_advantage:.0%} "
                "of the advantage: DG is nearly PG/2 here; mean surprisal is "
                f'{self.surprisal_mean:.2g}: try a smaller temperature, level="sequence" for '
                'tokens, or whiten="scale".'
            )
        if self.gate_mean_negative < 0.01:
            return (
                f"failures are shut out (mean gate {self.gate_mean_negative:.2g} where U < 0), so "
                "that this batch learns from its successes alone; try a larger temperature or "
                'whiten="scale".'
            )
        means = {"U > 0": self.gate_mean_positive, "U < 0": self.gate_mean_negative}
        by_sign = " and ".join(f"{m:.2f} where {s}" for s, m in means.items() if not math.isnan(m))
        return (
            f"the gate is alive: mean {by_sign or '½, no advantage'}; {self.breakthroughs:.0%} of "
            f"entries are rare successes let through, {self.blunders:.0%} rare failures held back."
        )

    def __str__(self) -> str:
        rows = [
            f"  {f.name.replace('_', ' '):<22}{getattr(self, f.name):>10.4g}" for f in fields(self)
        ]
        return "\n".join(["what the gate did", *rows, self.reading])


def diagnose(
    log_prob: Array,
    advantage: Array,
    *,
    mask: Array | None = None,
    mode_log_prob: Array | None = None,
    gate_advantage: Array | None = None,
    **options: Any,
) -> Diagnosis:
    """What `gate` with the same arguments does to this batch. Eager mode only.

    Args:
        log_prob: log π(a) of the actions taken.
        advantage: U, in log_prob's shape or with one value per sequence.
        mask: log_prob's shape, true or not 0 where an entry counts.
        mode_log_prob: as in `surprisal`.
        gate_advantage: as in `gate`.
        **options: the fields of `GateConfig`.

    Returns:
        A `Diagnosis`: print it, or log its fields.
    """
    batch = admit(
        log_prob, advantage, mask=mask, mode_log_prob=mode_log_prob, gate_advantage=gate_advantage
    )
    config = gate_config({**options, "unit_gain": False})
    return diagnosis_of(batch, gate_of(batch, config), config)


def diagnosis_of(batch: Batch, w: Any, options: GateConfig) -> Diagnosis:
    """`diagnose`, for a batch that has been validated and its gate."""
    ell = clipped = surprisal_of(batch, GateConfig(level=options.level))
    if options.max_surprisal is not None:
        clipped = surprisal_of(batch, options)
    keep = ... if batch.mask is None else _numpy(batch.mask)
    columns = (w, batch.advantage, ell, clipped, product(batch, batch.seen, clipped))
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

    success, failure, low, high = U > 0, U < 0, w < SUPPRESSED, w > OPEN
    size, dead = np.abs(U), np.abs(w - 0.5) <= DEAD
    omega = w * size
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
        neutral=share((w >= NEUTRAL[0]) & (w <= NEUTRAL[1])),
        dead=share(dead),
        dead_advantage=float(size[dead].sum() / size.sum()) if size.any() else 1.0,
        open=share(high),
        effective_sample_size=float(omega.sum()) ** 2 / total if total > 0 else 0.0,
        surprisal_mean=float(ell.sum()) / n,
        negative_surprisal=share(ell < 0),
        clipped_surprisal=share(ell != clipped),
        delight_q05=q05,
        delight_median=median,
        delight_q95=q95,
    )


def _numpy(array: Any) -> Any:
    """A NumPy copy, from any device."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    return np.asarray(array)
