"""What a page shows when a pointer is over a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Series:
    """The values of one line, set of bars or map of cells."""

    name: str
    labels: tuple[str, ...]  # what the texts of a point are, such as "step" and "error"
    points: Sequence[tuple[int, int, *tuple[str, ...]]]  # from the left and the top, then texts

    def row(self) -> dict[str, Any]:
        """The series as data, for JSON."""
        return {"name": self.name, "labels": self.labels, "points": self.points}
