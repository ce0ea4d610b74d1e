"""Experiments, figures and claims: what the lab is given to run, draw and check."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import polars as pl

from delightful.lab.cells import Plan, Sweep
from delightful.lab.statistics import Estimate

Verdict = Literal["reproduced", "partly", "not reproduced", "not run"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "partly", "not reproduced", "not run")

Draw = Callable[..., "Drawing"]
Item = TypeVar("Item", "Figure", "Claim")


@dataclass(frozen=True)
class Drawing:
    """A drawn figure and the numbers that it shows."""

    figure: Any  # matplotlib.figure.Figure
    numbers: pl.DataFrame


@dataclass(frozen=True)
class Figure:
    """A figure: of the paper, or beyond it."""

    id: str
    number: str  # "Figure 5", or "beyond the paper"
    title: str
    caption: str
    draw: Draw  # draw(table) -> Drawing; draw() if there is no sweep
    sweep: Sweep | None = None
    panel: bool = False  # whether it is a part of another figure, which the report shows whole


@dataclass(frozen=True)
class Finding:
    """What a check found: a value, its 95% interval if it is an estimate, and the verdict."""

    measures: str  # what the value is
    value: float
    verdict: Verdict
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def text(self) -> str:
        interval = "" if self.low is None else f" [{_short(self.low)}, {_short(self.high)}]"
        return f"{_short(self.value)}{interval}"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that can be true or false, and how it is checked."""

    id: str
    where: str  # section of the paper
    sentence: str
    paper: str  # the value that the paper gives or implies
    check: Callable[..., Finding]  # check(table) -> Finding; check() if there is no sweep
    sweep: Sweep | None = None


class NotMeasuredError(Exception):
    """The runs lack what a check compares; the message says what."""


class Book(list[Item]):
    """The figures or the claims of one experiment."""

    def __init__(self, experiment: str) -> None:
        super().__init__()
        self.experiment = experiment

    def _id(self, function: Callable[..., Any], name: str) -> str:
        return f"{self.experiment}/{name or function.__name__.replace('_', '-')}"


class FigureBook(Book[Figure]):
    """The figures of one experiment."""

    def add(
        self,
        number: str,
        title: str,
        *,
        sweep: Sweep | None = None,
        caption: str = "",
        name: str = "",
        panel: bool = False,
    ) -> Callable[[Draw], Draw]:
        """Decorate the function that draws a figure, whose docstring begins with its caption.

        Args:
            number: "Figure 5", or "beyond the paper".
            title: Of the figure.
            sweep: The runs that it shows; None if it needs none.
            caption: In place of the docstring, if it holds values.
            name: Of the figure; by default the function's, with hyphens.
            panel: Whether it is a part of another figure.

        Returns:
            A decorator that adds the figure and returns the function.
        """

        def register(draw: Draw) -> Draw:
            text = caption or _first_paragraph(draw)
            self.append(Figure(self._id(draw, name), number, title, text, draw, sweep, panel))
            return draw

        return register


class ClaimBook(Book[Claim]):
    """The claims of one experiment."""

    def add(
        self, where: str, *, paper: str, sweep: Sweep | None = None, name: str = ""
    ) -> Callable[[Callable[..., Finding]], Callable[..., Finding]]:
        """Decorate the check of a claim, whose docstring begins with the claim's sentence.

        Args:
            where: The section of the paper.
            paper: The value that the paper gives or implies.
            sweep: The runs that it is checked on; None if it is exact.
            name: Of the claim; by default the function's, with hyphens.

        Returns:
            A decorator that adds the claim and returns the check.
        """

        def register(check: Callable[..., Finding]) -> Callable[..., Finding]:
            sentence = _first_paragraph(check)
            self.append(Claim(self._id(check, name), where, sentence, paper, check, sweep))
            return check

        return register


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    section: str
    configs: Sequence[type] = ()
    sweeps: Sequence[Sweep] = ()
    figures: Sequence[Figure] = ()
    claims: Sequence[Claim] = ()
    remarks: Sequence[str] = field(default=())  # choices that no config field holds


def found(
    measures: str, value: float | Estimate, holds: bool, *, partly: bool = False, note: str = ""
) -> Finding:
    """A finding whose verdict follows from whether the claim `holds`, or does `partly`."""
    verdict: Verdict = "reproduced" if holds else "partly" if partly else "not reproduced"
    if isinstance(value, Estimate):
        return Finding(measures, value.value, verdict, value.low, value.high, note)
    return Finding(measures, float(value), verdict, note=note)


def command(verb: str, target: str, plan: Plan) -> str:
    """The command line that does this."""
    return f"delightful {verb} {target} {plan.options}"


def _first_paragraph(function: Callable[..., Any]) -> str:
    return " ".join((function.__doc__ or "").partition("\n\n")[0].split())


def _short(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return str(value)
    return "0" if value == 0 else f"{value:.4g}".replace("-", "−")
