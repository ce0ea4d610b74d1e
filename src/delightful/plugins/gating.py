"""What all plug-ins share: options, the gate, its numbers for a logger, the dead-gate warning."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

from delightful.arrays import is_number, stop_gradient, values_are_visible
from delightful.diagnostics import Diagnosis, diagnosis_of
from delightful.gate import GateConfig, eager_gate, gate_of
from delightful.validation import admit, check_choice

GateAdvantage = Literal["centred", "raw"]

LOGGED = (
    "gate_mean_positive",
    "gate_mean_negative",
    "suppressed",
    "neutral",
    "breakthroughs",
    "effective_sample_size",
    "negative_surprisal",
    "clipped_surprisal",
)
"""The fields of a `Diagnosis` that go to the framework's logger."""

DEAD = 0.95  # a gate is dead if this share of the advantage has a gate within 0.05 of ½
PATIENCE = 100  # diagnosed batches in a row, after which a dead gate is worth a warning


@dataclass(frozen=True)
class DelightConfig(GateConfig):
    """The options of the gate, as in `GateConfig`, and which advantage it sees.

    Attributes:
        unit_gain: on by default here, so that the framework's learning rate keeps its meaning.
        gate_advantage: "centred" gates on the advantage before any division by a standard
            deviation; "raw" on the very one that the framework's loss uses.
    """

    unit_gain: bool = True
    gate_advantage: GateAdvantage = "centred"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("gate_advantage", self.gate_advantage, ("centred", "raw"))

    @property
    def centred(self) -> bool:
        return self.gate_advantage == "centred"


def for_transitions(config: DelightConfig | None) -> DelightConfig:
    """The config, where a batch is of transitions: there is no sequence to take surprisal of."""
    config = _checked(config or DelightConfig())
    if config.level != "token":
        raise ValueError(
            'level must be "token" where a batch is of single transitions, '
            f"got {config.level!r}: there is no sequence whose surprisal could be summed"
        )
    return config


def _checked(config: DelightConfig) -> DelightConfig:
    if not isinstance(config, DelightConfig):
        raise TypeError(f"delight must be a DelightConfig, got {type(config).__name__}")
    return config


class Gating:
    """The gate of a training run: what it is now, what it does, and whether it has died."""

    def __init__(self, config: DelightConfig, *, of_sequences: bool = False) -> None:
        self.config = _checked(config)
        self.of_sequences = of_sequences
        # The options with which the gate is σ(U·ℓ), entry by entry, but for its gain.
        plain = config.max_surprisal is None and config.whiten is None and config.level == "token"
        self._eager = plain and is_number(config.temperature) and config.temperature == 1
        self.diagnosis: Diagnosis | None = None
        self._dead_for = 0
        self._warned = False

    def __call__(
        self,
        log_prob: Any,
        advantage: Any,
        *,
        mask: Any = None,
        gate_advantage: Any = None,
        diagnose: bool = True,
    ) -> Any:
        """What to multiply `advantage` by. `gate_advantage` is the centred one, if that differs.

        diagnose: whether values are checked and the numbers of `numbers` are renewed.
        """
        options = self.config
        seen = gate_advantage if options.centred else None
        w = None
        if self._eager:
            w = eager_gate(log_prob, advantage if seen is None else seen)
        if w is not None:
            if options.unit_gain:
                w.mul_(2)
            if mask is not None:  # the gate of delight 0, whatever stands there
                w = w.where(mask != 0, 1.0 if options.unit_gain else 0.5)
            if not diagnose:
                return w
        batch = admit(log_prob, advantage, mask=mask, check=diagnose, gate_advantage=seen)
        if w is None:
            w = stop_gradient(gate_of(batch, options))
        if diagnose and values_are_visible(batch.log_prob):
            # A micro-batch may be masked out whole: it has a gate, and nothing to say of it.
            empty = batch.mask is not None and not bool(batch.xp.any(batch.mask))
            gain = 0.5 if options.unit_gain else 1.0
            self.diagnosis = None if empty else diagnosis_of(batch, gain * w, options)
            self._watch()
        return w

    def numbers(self) -> dict[str, float]:
        """The latest diagnosis for a logger; what is undefined (no U > 0, say) is left out."""
        if self.diagnosis is None:
            return {}
        found = {name: getattr(self.diagnosis, name) for name in LOGGED}
        return {name: value for name, value in found.items() if not math.isnan(value)}

    def _watch(self) -> None:
        if self.diagnosis is None:
            return
        self._dead_for = self._dead_for + 1 if self.diagnosis.dead_advantage > DEAD else 0
        dead = self._dead_for == PATIENCE and self.config.temperature != math.inf
        if dead and not self._warned:
            self._warned = True
            advice = _advice(self.config, self.of_sequences, self.diagnosis)
            warnings.warn(advice, RuntimeWarning, stacklevel=4)


def _advice(config: DelightConfig, of_sequences: bool, diagnosis: Diagnosis) -> str:
    sequences = ' level="sequence" or' if of_sequences and config.level == "token" else ""
    size = "" if config.unit_gain else " at half its size"
    return (
        f"the gate is nearly dead: in {PATIENCE} batches looked at, over {DEAD:.0%} of the "
        f"advantage had a gate within 0.05 of 1/2, so this is the plain policy gradient{size}; "
        f"mean surprisal is {diagnosis.surprisal_mean:.3g}; try{sequences} a temperature below "
        f"{config.temperature:g}"
    )


def scale_lost(unscaled: Any, standardised: Any) -> Any:
    """The s by which a framework divided: `standardised` = (`unscaled` − m)/s, for torch tensors.

    Exact for any subset of two or more different entries; 1 where there are none.
    """
    spread, now = unscaled.std(correction=0), standardised.std(correction=0)
    return (spread / now).where((now > 0) & (spread > 0), spread.new_ones(()))
