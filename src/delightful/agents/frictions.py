"""The settings of what can go wrong between actors and the learner; `distortion` does it.

Each is a probability that an answer, or action, is hit, independently of the others. Old
parameters, the fourth friction, are in `staleness`.
"""

from dataclasses import dataclass

from delightful.lab.config import chosen, require


@dataclass(frozen=True)
class Frictions:
    """The fields that a config with frictions has beside its own."""

    bugs: float = chosen(
        0.0, "probability that an answer is replaced by zeros, as a broken actor would send them"
    )
    corruption: float = chosen(
        0.0, "probability that a reward is replaced by 0 or 1, each as likely as the other"
    )
    discovery: float = chosen(
        0.0,
        "probability that the correct answer is put in; it also takes the place of a bug, as the "
        "order of the two is not stated",
    )


def check_frictions(frictions: Frictions) -> None:
    """Refuse what is not a probability.

    Args:
        frictions: a config with these fields.

    Raises:
        ValueError: with the field and its value.
    """
    for name in ("bugs", "corruption", "discovery"):
        value = getattr(frictions, name)
        require(0 <= value <= 1, f"{name} must be a probability, from 0 to 1", value)
