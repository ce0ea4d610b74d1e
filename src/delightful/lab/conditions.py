"""Conditions of a rule, as data: which cases count, and what must have been run."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Condition:
    """What a rule is applied to, or what must have been run, with its numbers.

    The check of a claim reads the numbers here, and the rule prints them.
    """

    phrase: str  # with a place for each number, such as "at η from {:g} to {:g}"
    values: tuple[float, ...]
    ours: str = ""  # the reason for numbers that the paper does not give

    def __post_init__(self) -> None:
        if self.phrase.count("{") != len(self.values):
            raise ValueError(f"{self.phrase!r} has not a place for each of {self.values}")

    @property
    def words(self) -> str:
        """The condition as a phrase."""
        return f"{self.phrase.format(*self.values)}{with_reason(self.ours)}"

    def row(self) -> dict[str, Any]:
        """The condition as data, for JSON."""
        return asdict(self) | {"words": self.words}


def with_reason(ours: str) -> str:
    """What stands after a threshold that the paper does not give; empty without a reason."""
    return f" (our threshold: {ours})" if ours else ""
