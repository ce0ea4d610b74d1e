"""What was measured: a row for each outcome, with its interval drawn against its threshold."""

from collections.abc import Sequence
from html import escape

from delightful.lab.decisions import Decision, short
from delightful.lab.report.plots import Range, plot, shared_range
from delightful.lab.verdicts import Outcome, Status, headline
from delightful.lab.wording import minus

FIRST_ROWS = 3  # of many outcomes, those after the first are folded away
_ORDER: dict[Status, int] = {"fails": 0, "open": 1, "holds": 2}


def outcomes_table(decision: Decision) -> str:
    """A row for each outcome, by criterion; many are folded away, the worst first."""
    first, others = split(decision.outcomes, FIRST_ROWS)
    more = ""
    if others:
        summary = f"<summary>{more_values(others)}</summary>"
        more = f'<details class="more">{summary}{rows(decision, others)}</details>'
    return rows(decision, first) + more


def split(outcomes: Sequence[Outcome], count: int) -> tuple[list[Outcome], list[Outcome]]:
    """The outcomes to show first, and the others: none if that is only one."""
    if len(outcomes) <= count + 1:
        return list(outcomes), []
    first = headline(outcomes)
    found = sorted(outcomes, key=lambda o: (o is not first, _ORDER[o.status]))
    return found[:count], found[count:]


def more_values(outcomes: Sequence[Outcome]) -> str:
    """Such as "5 more values: 3 open, 2 hold"."""
    return f"{len(outcomes)} more values: {in_short(outcomes)}"


def in_short(outcomes: Sequence[Outcome]) -> str:
    """How many outcomes have each status, such as "2 fail, 1 holds"."""
    statuses = [outcome.status for outcome in outcomes]
    words = []
    for status in _ORDER:
        if count := statuses.count(status):
            verb = status.removesuffix("s") if count > 1 else status
            words.append(f"{count} {'open' if status == 'open' else verb}")
    return ", ".join(words)


def rows(decision: Decision, outcomes: Sequence[Outcome]) -> str:
    """Some of a decision's outcomes as a table, by criterion."""
    criteria = list({id(outcome.criterion): outcome.criterion for outcome in outcomes}.values())
    bodies = []
    for criterion in criteria:
        mine = [outcome for outcome in outcomes if outcome.criterion is criterion]
        span = shared_range([o for o in decision.outcomes if o.criterion is criterion])
        head = ""
        several = len(decision.claim.rule.criteria) > 1
        if several and len(outcomes) > 1 and any(outcome.case for outcome in mine):
            name = escape(minus(f"{criterion.quantity}: {criterion.side}"))
            head = f'<tr><th colspan="4" scope="rowgroup" class="quantity">{name}</th></tr>'
        whole = several and not head  # the name says what is measured
        lines = (_row(outcome, span, decision.confidence, whole) for outcome in mine)
        bodies.append(f"<tbody>{head}{''.join(lines)}</tbody>")
    return f"<table>{''.join(bodies)}</table>" if bodies else ""


def _row(outcome: Outcome, span: Range, confidence: float | None, whole: bool) -> str:
    estimate = outcome.estimate
    name = outcome.measures if whole else outcome.case or "Measured"
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
