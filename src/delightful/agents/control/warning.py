"""Whether DG's gate does anything in a run, and what to try if it does not."""

from collections.abc import Mapping, Sequence

from delightful.agents.control.config import ControlConfig
from delightful.registry import parse_method

DEAD = 0.95  # a gate is dead if this share of the advantage has a gate within 0.05 of ½
PATIENCE = 3  # evaluations in a row


def advice_if_dead(config: ControlConfig, records: Sequence[Mapping[str, float]]) -> str:
    """A sentence if the gate of a run with DG has been dead lately; else empty."""
    method, options = parse_method(config.method)
    late = records[-PATIENCE:]
    if method.name != "dg" or len(late) < PATIENCE or min(r["dead"] for r in late) <= DEAD:
        return ""
    means = {name: sum(record[name] for record in late) / PATIENCE for name in late[0]}
    inverted = means["inverted"] > 0.5 and config.surprisal == "density"
    tries = "--set surprisal=mode, " if inverted else ""
    if config.reading == "fresh":
        tries += "--set reading=replayed, whose advantages are larger, "
    temperature = options["temperature"]
    tries = f"{tries}or " if tries else ""
    return (
        f"the gate is nearly dead: at the last {PATIENCE} evaluations over {DEAD:.0%} of the "
        "advantage had a gate within 0.05 of 1/2, so this is the plain policy gradient; mean "
        f"surprisal is {means['surprisal']:.3g}, the size of advantages "
        f"{means['advantage']:.3g}; try {tries}--method dg:temperature={temperature / 10:g}"
    )
