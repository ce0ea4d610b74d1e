"""DG as a policy loss of verl, which finds this module through its entry point.

    actor_rollout_ref.actor.policy_loss.loss_mode=delight

verl's configuration takes no further keys for a loss, so the gate's options come from the
environment of every worker: DELIGHT_TEMPERATURE, DELIGHT_LEVEL, DELIGHT_MAX_SURPRISAL,
DELIGHT_UNIT_GAIN, DELIGHT_WHITEN. verl hands a loss the advantages it trains on and no others: for
a gate on the centred ones, set algorithm.norm_adv_by_std_in_grpo=False. verl calls a loss once per
micro-batch, so that is what whitening and the metrics are over.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from verl.trainer.ppo.core_algos import compute_policy_loss_vanilla, register_policy_loss

from delightful.plugins.gating import LOGGED, DelightConfig, Gating
from delightful.plugins.versions import guard

__all__ = ["DelightConfig", "config_from", "configure", "delight_policy_loss"]

_PREFIX = "DELIGHT_"
_NEUTRAL = dict.fromkeys(LOGGED, 0.0) | {"gate_mean_positive": 0.5, "gate_mean_negative": 0.5}
_latest = dict(_NEUTRAL)
_now: dict[str, Gating] = {}
_RAW = (
    "verl's loss sees advantages only as they are trained on: if they are divided by a standard "
    "deviation (GRPO unless algorithm.norm_adv_by_std_in_grpo=False, GAE and REINFORCE++ always), "
    "so is what the gate sees; DELIGHT_GATE_ADVANTAGE=raw says that this is known"
)


def config_from(environment: Mapping[str, str]) -> DelightConfig:
    """The gate's options, read from DELIGHT_... variables.

    Args:
        environment: variables by name, such as `os.environ`; those of other names are ignored.

    Returns:
        The options; `gate_advantage` is "raw" unless given.
    """
    given = {
        name.removeprefix(_PREFIX).lower(): text
        for name, text in environment.items()
        if name.startswith(_PREFIX)
    }
    readers: dict[str, Callable[[str, str], Any]] = {
        "temperature": _number,
        "level": _word,
        "max_surprisal": _number,
        "unit_gain": _switch,
        "whiten": _word,
        "gate_advantage": _word,
    }
    for name in given:
        if name not in readers:
            known = ", ".join(_PREFIX + option.upper() for option in readers)
            raise ValueError(f"unknown gate option {_PREFIX}{name.upper()}; known are {known}")
    options: dict[str, Any] = {name: readers[name](name, text) for name, text in given.items()}
    return DelightConfig(**{"gate_advantage": "raw"} | options)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{_PREFIX}{name.upper()} must be a number, got {text!r}") from None


def _switch(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise ValueError(f"{_PREFIX}{name.upper()} must be true or false, got {text!r}")
    return text.lower() in ("true", "1")


def _word(_: str, text: str) -> str:
    return text


def configure(config: DelightConfig) -> None:
    """Set the gate's options from code, for this process: the environment is then not read.

    Args:
        config: the options; `gate_advantage` must be "raw".
    """
    if config.centred:
        raise ValueError(
            'gate_advantage can only be "raw" in verl, got "centred"; to gate on centred '
            "advantages set algorithm.norm_adv_by_std_in_grpo=False"
        )
    guard("verl")
    _now["gating"] = Gating(config, of_sequences=True)
    _latest.update(_NEUTRAL)


@register_policy_loss("delight")  # type: ignore[untyped-decorator]
def delight_policy_loss(
    old_log_prob: Any,
    log_prob: Any,
    advantages: Any,
    response_mask: Any,
    loss_agg_mode: str = "token-mean",
    config: Any = None,
    rollout_is_weights: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """verl's clipped surrogate, on gated advantages: w·U, or 2w·U with `unit_gain`.

    Args:
        old_log_prob: log π(a) of the policy that acted, (responses, tokens).
        log_prob: log π(a) of the policy in training, in the same shape.
        advantages: U, in the same shape.
        response_mask: not 0 where a token counts, in the same shape.
        loss_agg_mode: how verl reduces the terms.
        config: verl's of the actor, with the clip range.
        rollout_is_weights: verl's correction for the rollout policy, in the same shape, or None.

    Returns:
        The loss, and verl's metrics with those of the gate, "delight/...".
    """
    if not _now:
        configure(config_from(os.environ))
        if f"{_PREFIX}GATE_ADVANTAGE" not in os.environ:
            warnings.warn(_RAW, RuntimeWarning, stacklevel=2)
    gating = _now["gating"]
    w = gating(log_prob, advantages, mask=response_mask)
    loss, metrics = compute_policy_loss_vanilla(
        old_log_prob=old_log_prob,
        log_prob=log_prob,
        advantages=advantages * w,
        response_mask=response_mask,
        loss_agg_mode=loss_agg_mode,
        config=config,
        rollout_is_weights=rollout_is_weights,
    )
    # verl wants the same keys from every micro-batch of every rank: what this one has no value for,
    # such as the mean gate of U > 0 where no U is, keeps its last.
    _latest.update(gating.numbers())
    return loss, metrics | {f"delight/{name}": value for name, value in _latest.items()}
