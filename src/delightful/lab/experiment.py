"""Experiments, figures and claims: what the lab is given to run, draw and check."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import polars as pl

from delightful.lab.cells import Plan, Sweep
from delightful.lab.errors import LabError
from delightful.lab.verdicts import Criterion, Measurement, Rule, looks

Draw = Callable[..., "Drawing"]
Check = Callable[..., Measurement]
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
    appendix: bool = False  # whether it stands in an appendix, or beyond the paper


@dataclass(frozen=True)
class Reading:
    """A way to understand what the paper leaves open: the runs, and what of them is compared."""

    name: str = ""
    sweep: Sweep | None = None  # None if nothing is sampled
    prepare: Callable[[pl.DataFrame], pl.DataFrame] = lambda table: table
    stands: str = ""  # the argument that it is the paper's, for the first of several

    def __str__(self) -> str:
        ours = self.sweep.reading if self.sweep else ""
        return ", ".join(filter(None, (ours, self.name)))


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that can be true or false, and how it is checked."""

    id: str
    where: str  # section of the paper
    sentence: str
    paper: str  # the value that the paper gives or implies
    rule: Rule
    check: Check  # check(table) -> Measurement; check() if there is no sweep
    readings: tuple[Reading, ...] = (Reading(),)  # the first stands for the paper
    finding: tuple[str, ...] = ()  # for the rule's criteria, what is said if they hold

    def __post_init__(self) -> None:
        if len(self.finding) > len(self.rule.criteria):
            raise ValueError(f"{self.id} has findings for more criteria than its rule has")
        for words in self.finding:
            if words and words.count("{is}") != 1:
                raise ValueError(f'a finding says "{{is}}" once, in place of its verb: {words!r}')
        for sweep in (reading.sweep for reading in self.readings if reading.sweep):
            most = looks(sweep.seeds["paper"])[-1]
            if self.rule.seeds > most:
                asked = f"{self.rule.seeds} seeds, and verdicts on {sweep.name} are given up to"
                raise LabError(f"{self.id} can never be decided: its rule asks for {asked} {most}.")

    @property
    def sweep(self) -> Sweep | None:
        """The runs of the reading that stands for the paper."""
        return self.readings[0].sweep

    @property
    def appendix(self) -> bool:
        """Whether the sentence stands in an appendix only."""
        return self.where.startswith("Appendix")


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
        appendix: bool = False,
    ) -> Callable[[Draw], Draw]:
        """Decorate the function that draws a figure, whose docstring begins with its caption.

        Args:
            number: "Figure 5", or "beyond the paper".
            title: Of the figure.
            sweep: The runs that it shows; None if it needs none.
            caption: In place of the docstring, if it holds values.
            name: Of the figure; by default the function's, with hyphens.
            panel: Whether it is a part of another figure.
            appendix: Whether it stands in an appendix, or beyond the paper.

        Returns:
            A decorator that adds the figure and returns the function.
        """

        def register(draw: Draw) -> Draw:
            text = caption or _first_paragraph(draw)
            ours = self._id(draw, name)
            self.append(Figure(ours, number, title, text, draw, sweep, panel, appendix))
            return draw

        return register


class ClaimBook(Book[Claim]):
    """The claims of one experiment."""

    def add(
        self,
        where: str,
        *,
        paper: str,
        rule: Rule | Criterion,
        sweep: Sweep | None = None,
        readings: Sequence[Reading] = (),
        finding: str | Sequence[str] = (),
        name: str = "",
    ) -> Callable[[Check], Check]:
        """Decorate the check of a claim, whose docstring begins with the claim's sentence.

        Args:
            where: The section of the paper.
            paper: The value that the paper gives or implies.
            rule: What decides it, on the quantities that the check returns.
            sweep: The runs that it is checked on; None if it is exact.
            readings: In place of `sweep`, if the paper can be read in several ways; the one that
                stands for the paper first.
            finding: For a claim that the report opens with: a statement for each of the rule's
                criteria, true where that holds, with "{is}" for its verb and "{case}" where it
                speaks of a case; see `lab.findings`. Without it the report does not open with it.
            name: Of the claim; by default the function's, with hyphens.

        Returns:
            A decorator that adds the claim and returns the check.
        """
        ways = tuple(readings) or (Reading(sweep=sweep),)
        rule = Rule(rule) if isinstance(rule, Criterion) else rule
        words = (finding,) if isinstance(finding, str) else tuple(finding)

        def register(check: Check) -> Check:
            ours, sentence = self._id(check, name), _first_paragraph(check)
            self.append(Claim(ours, where, sentence, paper, rule, check, ways, words))
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
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # named config fields
    readings: Mapping[str, str] = field(default_factory=dict)  # what their names mean
    source: str = "The paper"  # what its claims are sentences of


def command(verb: str, target: str, plan: Plan, store: str = "") -> str:
    """The command line that does this; `store` is the options that name the store."""
    return " ".join(filter(None, ("delightful", verb, target, plan.options, store)))


def _first_paragraph(function: Callable[..., Any]) -> str:
    return " ".join((function.__doc__ or "").partition("\n\n")[0].split())
