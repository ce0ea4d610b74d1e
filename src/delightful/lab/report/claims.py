"""Claims of the report: the sentence, its rule, and what was measured under each reading."""

from collections.abc import Sequence
from html import escape

from delightful.lab.decisions import Decision, short
from delightful.lab.rendering import outlook, rule_in_words, runs
from delightful.lab.report.arranging import Checked
from delightful.lab.report.markup import chip, command, kind, paragraph
from delightful.lab.report.plots import Range, plot, shared_range
from delightful.lab.verdicts import Outcome, Status, headline
from delightful.lab.wording import expected, minus

MOST_ROWS, FIRST_ROWS = 4, 3  # with more than MOST_ROWS, those after FIRST_ROWS are folded away
_ORDER: dict[Status, int] = {"fails": 0, "open": 1, "holds": 2}


def article(checked: Checked) -> str:
    """A claim with the decision under the reading that stands for the paper, and a line that opens
    for each other one; one that is exact and reproduced is a line as a whole."""
    claim = checked.claim
    ran = [decision for decision in checked.decisions if decision.verdict != "not run"]
    columns = "\n".join(_reading(decision, checked) for decision in ran)
    lacking = "".join(_lacking(d) for d in checked.decisions if d.verdict == "not run")
    inside = (
        f'<div class="about">{paragraph(expected(claim), start="Expected:")}'
        f"{paragraph(rule_in_words(checked.first), start='Rule:')}</div>\n"
        f'{lacking}<div class="readings">{columns}</div>'
    )
    exact = all(decision.reading.sweep is None for decision in checked.decisions)
    if exact and checked.verdict == "reproduced":
        sentence = f'<span class="sentence">{escape(claim.sentence)}</span>'
        line = f"<summary>{chip(checked.verdict)} {sentence}</summary>"
        inside = f"<details>{line}{_source(checked)}{inside}</details>"
    else:
        inside = f"{_header(checked)}\n{inside}"
    return (
        f'<article class="claim {kind(checked.verdict)}" id="{escape(claim.id)}" '
        f'data-item data-verdict="{checked.verdict}">\n{inside}</article>'
    )


def absent(checked: Checked) -> str:
    """A claim that is not run: why, if that is known, and the command that would decide it."""
    claim, first = checked.claim, checked.first
    return (
        f'<article class="claim not-run" id="{escape(claim.id)}" data-item '
        f'data-verdict="{checked.verdict}">\n{_header(checked)}\n'
        f"{paragraph(expected(claim), start='Expected:')}"
        f"{paragraph(rule_in_words(first), start='Rule:')}{paragraph(_sentence(first.note))}"
        f"{paragraph(_sentence(outlook(first)), 'outlook')}{command(first.command)}</article>"
    )


def _header(checked: Checked) -> str:
    sentence = paragraph(checked.claim.sentence, "sentence")
    return f"<header>{chip(checked.verdict)}{sentence}{_source(checked)}</header>"


def _source(checked: Checked) -> str:
    """Where the sentence stands in the paper, and a link to the claim."""
    name = escape(checked.claim.id)
    where = escape(checked.claim.where)
    return f'<span class="dim">{where} · <a href="#{name}">{name}</a></span>'


def _lacking(decision: Decision) -> str:
    """A reading that was not run, beside others that were: a line with the reason."""
    name = f"<b>{escape(str(decision.reading) or 'as it is written')}</b>"
    reason = escape(decision.note or "none of its runs are stored")
    return (
        f'<div class="lacking"><p>{name}: {chip(decision.verdict)} {reason}</p>'
        f"{_stands(decision)}{command(decision.command)}</div>"
    )


def _stands(decision: Decision) -> str:
    """Why a reading stands for the paper, folded away; empty for the others."""
    if not decision.standing:
        return ""
    why = paragraph(_sentence(decision.reading.stands), "dim")
    return f'<details class="stands"><summary>stands for the paper</summary>{why}</details>'


def _reading(decision: Decision, checked: Checked) -> str:
    """What was measured under one reading; with several, its name and verdict, and what was
    measured is folded away unless it stands for the paper."""
    name, several = str(decision.reading), len(checked.decisions) > 1
    inside = _measured(decision)
    if not several:
        meaning = checked.meanings.get(name, "")
        about = paragraph(f"{name}: {meaning}" if meaning else name, start="Reading:")
        return f'<div class="reading">{about}\n{inside}</div>'
    about = f"<b>{escape(name or 'as it is written')}</b> {chip(decision.verdict)}"
    if decision.standing:
        return f'<div class="reading standing">{about}{_stands(decision)}\n{inside}</div>'
    case = headline(decision.outcomes).case
    text = minus(f"{case}: {decision.text}" if case else decision.text)
    value = f'<span class="dim">{escape(text)}</span>'
    return f'<details class="reading"><summary>{about} {value}</summary>{inside}</details>'


def _measured(decision: Decision) -> str:
    """The values under one reading, what is to be said of them, and what they rest on."""
    notes = (decision.too_few, decision.note, outlook(decision))
    return (
        f"{_tables(decision)}{paragraph(' '.join(filter(None, map(_sentence, notes))))}"
        f'<div class="basis">{paragraph(runs(decision), "dim")}'
        f"{command(decision.command)}</div>"
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
        several = len(decision.claim.rule.criteria) > 1
        if several and any(outcome.case for outcome in mine):
            name = escape(minus(f"{criterion.quantity}: {criterion.side}"))
            head = f'<tr><th colspan="4" scope="rowgroup" class="quantity">{name}</th></tr>'
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
        f'<tr class="{outcome.status}"><th scope="row">{escape(minus(name))}</th>'
        f'<td class="value">{short(estimate.value)}{interval}</td>'
        f"<td>{plot(outcome, span, confidence)}</td>"
        f'<td class="status">{outcome.status}</td></tr>'
    )
