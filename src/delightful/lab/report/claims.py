"""Claims of the report: the sentence, its rule, and what was measured under each reading."""

from collections.abc import Sequence
from html import escape

from delightful.lab.decisions import Decision, short
from delightful.lab.rendering import outlook, rule_in_words, runs
from delightful.lab.report.arranging import Checked
from delightful.lab.report.markup import chip, command, kind, paragraph
from delightful.lab.report.plots import Range, plot, shared_range
from delightful.lab.verdicts import Outcome, Status

MOST_ROWS, FIRST_ROWS = 8, 6  # with more than MOST_ROWS, those after FIRST_ROWS are folded away
_ORDER: dict[Status, int] = {"fails": 0, "open": 1, "holds": 2}


def article(checked: Checked) -> str:
    """A claim with the decisions under its readings side by side."""
    claim, several = checked.claim, len(checked.decisions) > 1
    columns = "\n".join(_reading(decision, several) for decision in checked.decisions)
    return (
        f'<article class="claim {kind(checked.verdict)}" id="{escape(claim.id)}" '
        f'data-item data-verdict="{checked.verdict}">\n'
        f"{_header(checked)}\n{paragraph(claim.sentence, 'sentence')}\n"
        f'<div class="about">{paragraph(claim.paper, start="Paper:")}'
        f"{paragraph(rule_in_words(checked.first), start='Rule:')}</div>\n"
        f'<div class="readings">{columns}</div></article>'
    )


def absent(checked: Checked) -> str:
    """A claim that is not run: why, if that is known, and the command that would decide it."""
    claim, first = checked.claim, checked.first
    return (
        f'<article class="claim not-run" id="{escape(claim.id)}" data-item '
        f'data-verdict="{checked.verdict}">\n{_header(checked)}\n'
        f"{paragraph(claim.sentence, 'sentence')}{paragraph(claim.paper, start='Paper:')}"
        f"{paragraph(rule_in_words(first), start='Rule:')}{paragraph(_sentence(first.note))}"
        f"{paragraph(_sentence(outlook(first)), 'outlook')}{command(first.command)}</article>"
    )


def _header(checked: Checked) -> str:
    name = escape(checked.claim.id)
    return (
        f'<header>{chip(checked.verdict)}<span class="dim">{escape(checked.claim.where)} · '
        f'<a href="#{name}">{name}</a></span></header>'
    )


def _reading(decision: Decision, several: bool) -> str:
    """What was measured under one reading; its name and verdict only if there are several."""
    heading, name = "", str(decision.reading)
    if several:
        heading = f"<h4>{escape(name or 'as it is written')}</h4>{chip(decision.verdict)}"
        if decision.standing:
            why = paragraph(_sentence(decision.reading.stands), "dim")
            heading += (
                f'<details class="stands"><summary>stands for the paper</summary>{why}</details>'
            )
    elif name:
        heading = paragraph(name, start="Reading:")
    return (
        f'<div class="reading{" standing" if several and decision.standing else ""}">{heading}\n'
        f"{_tables(decision)}{paragraph(_sentence(decision.note))}"
        f"{paragraph(_sentence(outlook(decision)), 'outlook')}"
        f'<div class="basis">{paragraph(runs(decision), "dim")}'
        f"{command(decision.command)}</div></div>"
    )


def _sentence(text: str) -> str:
    """A note as a sentence."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") or not text else ".")


def _tables(decision: Decision) -> str:
    """A row for each outcome, by criterion; many are folded away, the worst first."""
    outcomes = list(decision.outcomes)
    ranges: dict[int, Range] = {}
    for outcome in outcomes:
        same = [o for o in outcomes if o.criterion is outcome.criterion]
        ranges[id(outcome.criterion)] = shared_range(same)
    folded: list[Outcome] = []
    if len(outcomes) > MOST_ROWS:
        outcomes.sort(key=lambda outcome: _ORDER[outcome.status])
        outcomes, folded = outcomes[:FIRST_ROWS], outcomes[FIRST_ROWS:]
    html = _table(outcomes, decision, ranges)
    if folded:
        more = _table(folded, decision, ranges)
        summary = f"<summary>{len(folded)} more values</summary>"
        html += f'<details class="more">{summary}{more}</details>'
    return html


def _table(outcomes: Sequence[Outcome], decision: Decision, ranges: dict[int, Range]) -> str:
    criteria = list({id(outcome.criterion): outcome.criterion for outcome in outcomes}.values())
    bodies = []
    for criterion in criteria:
        mine = [outcome for outcome in outcomes if outcome.criterion is criterion]
        head = ""
        if any(outcome.case for outcome in mine):
            name = f"{escape(criterion.quantity)}: {escape(criterion.side)}"
            head = f'<tr><th colspan="4" scope="rowgroup" class="quantity">{name}</th></tr>'
        several = len(decision.claim.rule.criteria) > 1
        rows = (_row(o, ranges[id(criterion)], decision.confidence, several) for o in mine)
        bodies.append(f"<tbody>{head}{''.join(rows)}</tbody>")
    return f"<table>{''.join(bodies)}</table>" if bodies else ""


def _row(outcome: Outcome, span: Range, confidence: float | None, several: bool) -> str:
    estimate = outcome.estimate
    name = outcome.case or (outcome.criterion.quantity if several else "Here")
    interval = ""
    if not estimate.low == estimate.value == estimate.high:
        ends = f"[{short(estimate.low)}, {short(estimate.high)}]"
        interval = f' <span class="dim">{ends}</span>'
    return (
        f'<tr class="{outcome.status}"><th scope="row">{escape(name)}</th>'
        f'<td class="value">{short(estimate.value)}{interval}</td>'
        f"<td>{plot(outcome, span, confidence)}</td>"
        f'<td class="status">{outcome.status}</td></tr>'
    )
