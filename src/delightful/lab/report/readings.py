"""The readings of a claim side by side: a row for each, which opens to all that was measured."""

from collections.abc import Sequence
from html import escape

from delightful.lab.decisions import Decision, short
from delightful.lab.rendering import outlook, runs
from delightful.lab.report.arranging import Checked
from delightful.lab.report.markup import chip, command, paragraph, sentence
from delightful.lab.report.outcomes import in_short, outcomes_table
from delightful.lab.verdicts import Outcome, headline
from delightful.lab.wording import minus

COLUMNS, LONGEST = 3, 24  # cases that have columns of their own, and characters of their names
DIGITS = 3  # of numbers side by side


def readings_table(checked: Checked) -> str:
    """A row for each reading: its name, verdict, values and seeds; or why it was not run."""
    decisions = checked.decisions
    cases = _cases(decisions)
    heads = ["reading", "verdict", *(cases or ["value"]), "seeds"]
    head = "".join(f"<span>{escape(minus(name))}</span>" for name in heads)
    style = f"--values:{max(1, len(cases))}"
    return (
        f'<div class="readings" style="{style}"><div class="row heads" aria-hidden="true">{head}'
        f"</div>{''.join(_row(decision, cases) for decision in decisions)}</div>"
    )


def rests_on(decision: Decision) -> str:
    """The runs of a verdict, or that it is exact; and what would decide it if nothing does yet."""
    words = (runs(decision), decision.too_few, outlook(decision))
    return " ".join(filter(None, map(sentence, words)))


def basis(decision: Decision) -> str:
    """What a verdict rests on, with notes and commands."""
    return (
        f"{paragraph(rests_on(decision))}{paragraph(sentence(decision.note))}{commands(decision)}"
    )


def commands(decision: Decision) -> str:
    """The command that repeats a decision; of an open one, also that which runs what it needs."""
    words = "To run and check it:" if decision.verdict == "not run" else "To repeat it:"
    found = paragraph(words, "dim") + command(decision.command)
    if decision.verdict == "inconclusive" and decision.next_command:
        found += paragraph("To run these seeds:", "dim") + command(decision.next_command)
    return found


def _cases(decisions: Sequence[Decision]) -> list[str]:
    """The cases that have a column each; none where they are many, or of several quantities."""
    outcomes = [outcome for decision in decisions for outcome in decision.outcomes]
    cases = list(dict.fromkeys(outcome.case for outcome in outcomes))
    criteria = {id(outcome.criterion) for outcome in outcomes}
    short_ = all(0 < len(case) <= LONGEST for case in cases)
    return cases if len(criteria) == 1 and len(cases) <= COLUMNS and short_ else []


def _row(decision: Decision, cases: Sequence[str]) -> str:
    name = escape(str(decision.reading) or "as it is written")
    stands = ' <span class="dim">stands for the paper</span>' if decision.standing else ""
    why = ""
    if decision.standing and decision.reading.stands:
        why = paragraph(sentence(decision.reading.stands), start="Why it stands for the paper:")
    seeds = f"{decision.seeds}<i> seeds</i>" if decision.seeds else ""
    if decision.verdict == "not run":
        reason = escape(decision.note or "none of its runs are stored")
        values, seeds = f'<span class="reason">{reason}</span>', ""
        inside = f"{paragraph(sentence(outlook(decision)))}{commands(decision)}"
    else:
        values, inside = _values(decision, cases), f"{outcomes_table(decision)}{basis(decision)}"
    kind = "reading standing" if decision.standing else "reading"
    return (
        f'<details class="{kind}"><summary class="row"><span class="name"><b>{name}</b>{stands}'
        f"</span><span>{chip(decision.verdict)}</span>{values}"
        f'<span class="seeds">{seeds or "–"}</span></summary>'
        f'<div class="inside">{why}{inside}</div></details>'
    )


def _values(decision: Decision, cases: Sequence[str]) -> str:
    """The value of each case; without columns for them, the one to show first."""
    outcomes = {outcome.case: outcome for outcome in decision.outcomes}
    if cases:
        return "".join(_value(outcomes.get(case), case) for case in cases)
    first = headline(decision.outcomes)
    several = len(decision.outcomes) > 1
    label = first.case or first.criterion.quantity
    beside = f"{label} ({len(decision.outcomes)} values: {in_short(decision.outcomes)})"
    return _value(first, "", beside if several else "")


def _value(outcome: Outcome | None, case: str, beside: str = "") -> str:
    """A value and its interval, in the colour of its status."""
    label = f"<i>{escape(minus(case))} </i>" if case else ""
    if outcome is None:
        return f'<span class="measured">{label}–</span>'
    estimate, ends = outcome.estimate, ""
    if not estimate.low == estimate.value == estimate.high:
        low, high = short(estimate.low, DIGITS), short(estimate.high, DIGITS)
        ends = f' <span class="dim">[{low}, {high}]</span>'
    more = f' <span class="dim">{escape(minus(beside))}</span>' if beside else ""
    return (
        f'<span class="measured {outcome.status}" title="{outcome.status}">{label}'
        f"<b>{short(estimate.value, DIGITS)}</b>{ends}{more}</span>"
    )
