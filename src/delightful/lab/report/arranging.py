"""What stands where in the report: each claim once, with the figure that shows it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from delightful.lab.decisions import Decision
from delightful.lab.drawing import Drawn
from delightful.lab.experiment import Claim, Experiment
from delightful.lab.findings import Told, told
from delightful.lab.verdicts import Verdict

HEADLINES = 4  # claims of a section that are shown first


@dataclass(frozen=True)
class Checked:
    """A claim with its decisions, one for each reading."""

    claim: Claim
    decisions: Sequence[Decision]
    meanings: Mapping[str, str] = field(default_factory=dict)  # of the names of readings

    @property
    def first(self) -> Decision:
        """The decision under the reading that stands for the paper."""
        return next((d for d in self.decisions if d.standing), self.decisions[0])

    @property
    def verdict(self) -> Verdict:
        return self.first.verdict

    @property
    def told(self) -> list[Told]:
        """What was found, under each reading; empty if it has no words for that or was not run."""
        return told(self.decisions)

    @property
    def ran(self) -> bool:
        """Whether there is something to show, under any reading."""
        return any(decision.verdict != "not run" for decision in self.decisions)


@dataclass(frozen=True)
class Group:
    """A figure, or none, and the claims that it shows."""

    drawn: Drawn | None
    claims: Sequence[Checked]


@dataclass(frozen=True)
class Part:
    """What the report shows of one experiment."""

    experiment: Experiment
    groups: Sequence[Group]
    absent: Sequence[Checked]  # claims that are not run

    @property
    def claims(self) -> list[Checked]:
        return [claim for group in self.groups for claim in group.claims] + list(self.absent)

    @property
    def main(self) -> Drawn | None:
        """The figure to show first, which stands in no appendix: that of the first claim with words
        for what was found; else the first."""
        drawn = [g.drawn for g in self.groups if g.drawn and not g.drawn.figure.appendix]
        shown = {c.claim.id: g.drawn for g in self.groups if g.drawn in drawn for c in g.claims}
        found = [c for c in self._in_order(self.claims) if c.told and not c.claim.appendix]
        found.sort(key=lambda c: c.verdict == "not run")  # of which another reading was run
        of_claims = [shown[c.claim.id] for c in found if c.claim.id in shown]
        return next(iter([*of_claims, *drawn]), None)

    @property
    def headlines(self) -> list[Checked]:
        """The claims to show first, in the paper's order: some of the main text that were run under
        the reading that stands for the paper, if possible those with words for what was found, and
        those that the main figure shows."""
        shown = [c.claim.id for g in self.groups if g.drawn is self.main for c in g.claims]
        found = [c for c in self.claims if c.verdict != "not run" and not c.claim.appendix]
        found.sort(key=lambda c: (not c.told, c.claim.id not in shown))
        return self._in_order(found[:HEADLINES])

    def _in_order(self, claims: Sequence[Checked]) -> list[Checked]:
        """Claims in the paper's order."""
        order = [claim.id for claim in self.experiment.claims]
        return sorted(claims, key=lambda c: order.index(c.claim.id) if c.claim.id in order else 0)


def arrange(experiment: Experiment, decisions: Sequence[Decision], drawn: Sequence[Drawn]) -> Part:
    """The claims of an experiment, each under the figure that shows it, else after all figures."""
    mine = f"{experiment.name}/"
    figures = [d for d in drawn if d.figure.id.startswith(mine) and not d.figure.panel]
    by_claim: dict[str, list[Decision]] = {}
    for decision in decisions:
        if decision.claim.id.startswith(mine):
            by_claim.setdefault(decision.claim.id, []).append(decision)
    claims = [Checked(found[0].claim, found, experiment.readings) for found in by_claim.values()]
    claims.sort(key=lambda c: c.verdict == "not run")  # of which another reading may have been run
    placed = [(_figure_of(c, figures), c) for c in claims if c.ran]
    groups = [Group(at, [c for place, c in placed if place is at]) for at in (*figures, None)]
    groups = [group for group in groups if group.drawn or group.claims]
    part = Part(experiment, groups, [c for c in claims if not c.ran])
    main = part.main
    if main is None:
        return part
    return replace(part, groups=sorted(groups, key=lambda group: group.drawn is not main))


def _figure_of(checked: Checked, drawn: Sequence[Drawn]) -> Drawn | None:
    """The figure of a claim; else the first of the runs of another reading; else none."""
    sweeps = [decision.reading.sweep for decision in checked.decisions]
    others = (d for d in drawn if d.figure.sweep and d.figure.sweep in sweeps)
    return figure_of(checked.claim, drawn) or next(others, None)


def figure_of(claim: Claim, drawn: Sequence[Drawn]) -> Drawn | None:
    """The figure that a claim names; else the first of the same runs; else none."""
    same = [d for d in drawn if d.figure.sweep and d.figure.sweep is claim.sweep]
    named = [d for d in drawn if _names(claim.where, d.figure.number)]
    both = [d for d in named if d in same]
    return next(iter([*both, *named, *same]), None)


def _names(where: str, number: str) -> bool:
    """Whether "Section 5, Figure 9c" names "Figure 9": the number is not the start of another."""
    numbered = re.search(r"\d", number)  # not "beyond the paper"
    return bool(numbered and re.search(rf"{re.escape(number)}(?!\d)", where))
