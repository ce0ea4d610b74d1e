"""What was found on a claim, in a sentence computed from its outcomes.

A claim gives words for its criteria, such as "A's error {is} below that of {case}": a statement
that is true where the criterion holds. Here "{is}" becomes "is" or "is not", "{case}" the cases of
which that is so, and "{side}" where the quantity must lie; where it is open, the sentence says that
it cannot be told yet. A criterion that has no words is named by what it measures, unless it holds.
So a sentence cannot say more than its verdict.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from delightful.lab.decisions import Decision, short, shown
from delightful.lab.quantities import Mean
from delightful.lab.verdicts import Criterion, Outcome, Status, headline
from delightful.lab.wording import minus

NAMED = 4  # cases at most that are named; more are counted
DIGITS = 3  # of numbers
_IS: dict[Status, str] = {"holds": "is", "fails": "is not", "open": "is"}
_BESIDE: dict[Status, str] = {"holds": "is", "fails": "is not", "open": "cannot be told yet"}


def findings(decisions: Iterable[Decision]) -> dict[str, str]:
    """What was found, by the id of the claim: of those that have words for it and were run.

    Args:
        decisions: On any claims, one for each reading.

    Returns:
        One or more sentences for each claim; see `finding`.
    """
    by_claim: dict[str, list[Decision]] = {}
    for decision in decisions:
        by_claim.setdefault(decision.claim.id, []).append(decision)
    found = {name: finding(mine) for name, mine in by_claim.items()}
    return {name: text for name, text in found.items() if text}


def finding(decisions: Sequence[Decision]) -> str:
    """What was found on one claim: a sentence for each reading that was run.

    Args:
        decisions: On the claim, one for each reading.

    Returns:
        The sentences, that of the reading which stands for the paper first; "" if the claim has no
        words for it, or nothing was run.
    """
    return " ".join(one.sentence for one in told(decisions))


class Told(NamedTuple):
    """What was found under one reading."""

    sentence: str  # with numbers
    short: str  # without


def told(decisions: Sequence[Decision]) -> list[Told]:
    """What was found on one claim under each reading that was run, as `finding` has it."""
    found, before = [], None
    for decision in sorted(decisions, key=lambda d: not d.standing):
        if not decision.claim.finding or not decision.outcomes:
            continue
        now = [(outcome.measures, outcome.status) for outcome in decision.outcomes]
        if now == before:
            words = f"the same ({_numbers(decision.outcomes)}, {_runs(decision)})"
            short_ = "the same"
        else:
            words, short_ = _sentence(decision), _sentence(decision, numbers=False)
        before = now
        found.append(Told(_of(decision, words), _of(decision, short_)))
    return found


def _of(decision: Decision, words: str) -> str:
    """A sentence that begins with the name of the reading, if it has one."""
    reading = str(decision.reading)
    text = minus(f"{reading}: {words}" if reading else words)
    return f"{text[:1].upper()}{text[1:]}."


def _sentence(decision: Decision, numbers: bool = True) -> str:
    criteria, words = decision.claim.rule.criteria, decision.claim.finding
    if not numbers and all(outcome.status == "open" for outcome in decision.outcomes):
        return "it cannot be told yet"
    clauses, runs = [], f", {_runs(decision)}"
    for i, criterion in enumerate(criteria):
        mine = [outcome for outcome in decision.outcomes if outcome.criterion is criterion]
        template = words[i] if i < len(words) else ""
        if not template and all(outcome.status == "holds" for outcome in mine):
            continue
        clauses += _clauses(template or _plain(criterion), mine, runs if numbers else None)
        runs = ""  # the runs are those of all numbers
    if decision.verdict == "inconclusive" and numbers:
        decides = f"{decision.needed} seeds would probably decide it"
        known = decision.needed and not decision.first
        clauses.append(decides if known else decision.unlikely())
    return "; ".join(clauses)


def _plain(criterion: Criterion) -> str:
    """The statement of a criterion that was given none."""
    quantity = criterion.quantity.replace("{", "{{").replace("}", "}}")
    return f"{quantity} {{is}} {{side}}"


def _clauses(template: str, outcomes: Sequence[Outcome], runs: str | None) -> list[str]:
    """The statement for the cases of the first status that occurs; then the other cases; with
    numbers unless `runs` is None."""
    place = re.search(r"{case[^}]*}", template)
    if outcomes[0].case and not place:
        template += " for {case}"
    others = f"for {place[0] if place else '{case}'} it "
    found: list[str] = []
    for status, verb in _IS.items():
        group = [outcome for outcome in outcomes if outcome.status == status]
        if not group:
            continue
        slots = {"is": verb, "side": group[0].criterion.side}
        words = (others + _BESIDE[status] if found else template).format_map(
            slots | {"case": _Cases(group, len(outcomes))}
        )
        if status == "open" and not found:
            words = f"it cannot be told yet whether {words}"
        if runs is not None:
            words += f" ({_numbers(group)}{'' if found else runs})"
        found.append(words)
    return found


class _Cases:
    """Cases as text: their names, or how many of all; `{case:tasks}` says of what.

    `{case:baselines × quarters}` is of cases that are named "baseline, quarter". Where a majority
    is asked for and none of the cases is decided, it is most of them.
    """

    def __init__(self, group: Sequence[Outcome], total: int) -> None:
        self._names, self._total = [outcome.case for outcome in group], total
        self._most = group[0].criterion.most and group[0].status == "open"

    def __format__(self, noun: str) -> str:
        count, (kind, _, beside) = len(self._names), noun.partition(" × ")
        if self._most and count == self._total > 1:
            return f"most of the {count} {noun or 'cases'}"
        if count > NAMED and beside:
            pairs = [name.rpartition(", ") for name in self._names]
            if count == self._total:
                ones, others = len({one for one, *_ in pairs}), len({other for *_, other in pairs})
                return f"each of {ones} {kind} in each of {others} {beside}"
            return f"{count} of the {self._total} pairs of {kind} and {beside}"
        if count > NAMED:
            part = "each" if count == self._total else str(count)
            return f"{part} of the {self._total} {noun or 'cases'}"
        *first, last = self._names
        return f"{', '.join(first)} and {last}" if first else last


def _numbers(outcomes: Sequence[Outcome]) -> str:
    """The value and interval to show first, with its case if there are others."""
    first = headline(outcomes)
    text, quantity = shown(first, DIGITS), first.quantity
    if isinstance(quantity, Mean) and quantity.sides is not None:
        above, below = (short(side, DIGITS) for side in quantity.sides)
        text = f"{above} − {below} = {text}"
    if len(outcomes) == 1 or not first.case:
        return text
    return f"{'closest: ' if first.status == 'holds' else ''}{first.case}, {text}"


def _runs(decision: Decision) -> str:
    """How many seeds the numbers are of, and how their runs differ from the paper's."""
    if decision.seeds is None:
        return "exact"
    return ", ".join(filter(None, (f"{decision.seeds} seeds", decision.differs)))
