"""Verdicts: a rule that is data, applied to measured quantities in one place.

An interval on the right side of its threshold holds; one wholly on the wrong side fails; one on
both sides is open. Verdicts are given at a few numbers of seeds, each about twice the last. The 5%
by which intervals may be wrong are spent over these looks in equal parts, so that over all of them
a false sentence is called reproduced, or a true one not reproduced, at most 5% of the time. A
sentence holds only if all of its cases do, but one failing case of many would refute it: so a case
fails only if it does so at the confidence that is left when the error is shared among the cases.
The same goes for the cases of a majority, where one more can make it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from delightful.lab.conditions import Condition, with_reason
from delightful.lab.errors import LabError
from delightful.lab.quantities import Exact, Greatest, Least, Quantity
from delightful.lab.statistics import Estimate

Verdict = Literal["reproduced", "partly", "not reproduced", "inconclusive", "not run"]
Status = Literal["holds", "fails", "open"]

LEAST = 3  # seeds: of fewer, intervals say next to nothing
BEYOND = 2  # doublings beyond the paper's number of seeds
ERROR = 0.05  # over all looks

VERDICTS: dict[Verdict, str] = {
    "reproduced": "every interval lies on the sentence's side of its threshold; or most of them, "
    "if the sentence is about most",
    "partly": "the sentence has parts: some hold, others fail",
    "not reproduced": "an interval (Bonferroni-corrected over cases) lies wholly on the wrong side",
    "inconclusive": "an interval contains the threshold or is unbounded, or there are fewer than "
    f"{LEAST} seeds",
    "not run": "what it needs has not been run, nothing was learned in these runs, or a file is "
    "damaged",
}


def looks(paper: int) -> list[int]:
    """The numbers of seeds at which verdicts are given: the paper's, halved down to LEAST, and
    doubled twice."""
    found = [paper * 2**k for k in range(BEYOND, -1, -1)]
    while found[-1] // 2 >= LEAST:
        found.append(found[-1] // 2)
    return sorted(n for n in found if n >= LEAST)


def confidence_of(paper: int) -> float:
    """The confidence of each look's interval: 1 − 5%/looks."""
    return 1 - ERROR / len(looks(paper))


@dataclass(frozen=True)
class Criterion:
    """What a measured quantity must be: within [low, high], or strictly between the two."""

    quantity: str  # what is measured, in words
    low: float = -math.inf
    high: float = math.inf
    strict: bool = True
    most: bool = False  # whether more than half of the cases are enough
    grid: bool = False  # whether it is about every setting of the paper's grid, or the best of all
    ours: str = ""  # the reason for a threshold that the paper does not give

    @property
    def words(self) -> str:
        """The criterion as a phrase."""
        grid = ", on the paper's whole grid" if self.grid else ""
        return f"{self.quantity}: {self.side}{grid}{with_reason(self.ours)}"

    @property
    def side(self) -> str:
        """Where the quantity must lie, as a phrase."""
        if math.isinf(self.high):
            side = f"{'above' if self.strict else 'at least'} {self.low:g}"
        elif math.isinf(self.low):
            side = f"{'below' if self.strict else 'at most'} {self.high:g}"
        elif self.low == self.high:
            side = f"exactly {self.low:g}"
        else:
            side = f"between {self.low:g} and {self.high:g}"
        cases = " in most cases" if self.most else ""
        return side + cases

    def judge(self, estimate: Estimate) -> Status:
        """Whether the whole interval is within, wholly outside, or neither."""
        low, high = estimate.low, estimate.high
        if math.isnan(low) or math.isnan(high):
            return "open"
        if self.holds(low) and self.holds(high):
            return "holds"
        out = high <= self.low or low >= self.high if self.strict else False
        return "fails" if out or high < self.low or low > self.high else "open"

    def holds(self, value: float) -> bool:
        """Whether the value itself is within; an infinite one is where there is no bound."""
        if self.strict and math.isfinite(value):
            return self.low < value < self.high
        return self.low <= value <= self.high

    def tells(self, quantity: Quantity, seeds: int, confidence: float) -> bool:
        """Whether that many seeds would probably judge the quantity."""
        if isinstance(quantity, Exact):
            return False
        if quantity.seeds < 2:  # it may: nothing speaks against it
            return True
        value = quantity.estimate(confidence).value
        bounds = [b for b in (self.low, self.high) if math.isfinite(b)]
        if not self.low < value < self.high:
            bounds = [min(bounds, key=lambda bound: abs(bound - value))]
        return all(quantity.tells(bound, seeds, confidence) for bound in bounds)


def above(threshold: float, quantity: str, **options: Any) -> Criterion:
    """The quantity is above the threshold."""
    return Criterion(quantity, low=threshold, **options)


def below(threshold: float, quantity: str, **options: Any) -> Criterion:
    """The quantity is below the threshold."""
    return Criterion(quantity, high=threshold, **options)


def at_least(threshold: float, quantity: str, **options: Any) -> Criterion:
    """The quantity is the threshold or above."""
    return Criterion(quantity, low=threshold, strict=False, **options)


def at_most(threshold: float, quantity: str, **options: Any) -> Criterion:
    """The quantity is the threshold or below."""
    return Criterion(quantity, high=threshold, strict=False, **options)


def between(low: float, high: float, quantity: str, **options: Any) -> Criterion:
    """The quantity is from `low` to `high`."""
    return Criterion(quantity, low, high, strict=False, **options)


class Rule:
    """What decides a claim: criteria that must all hold, each in all of its cases.

    Args:
        *criteria: one for each quantity that the claim's check returns, in the same order.
        parts: whether criteria and cases are parts of the sentence, so that it can hold in part.
        seeds: the least number of them, if any are sampled.
        conditions: which cases count, and what must have been run.
    """

    def __init__(
        self,
        *criteria: Criterion,
        parts: bool = False,
        seeds: int = LEAST,
        conditions: Sequence[Condition] = (),
    ) -> None:
        if not criteria:
            raise LabError("a rule can never be decided without a criterion: give one.")
        if seeds < LEAST:
            raise LabError(f"a rule needs at least {LEAST} seeds for an interval, got {seeds}.")
        for c in criteria:
            empty = c.low > c.high or (c.strict and c.low == c.high)
            unbounded = math.isinf(c.low) and math.isinf(c.high)
            if empty or unbounded or math.isnan(c.low) or math.isnan(c.high):
                raise LabError(f"no value could decide {c.words!r}: give low < high.")
        self.criteria, self.parts, self.seeds = criteria, parts, seeds
        self.conditions = tuple(conditions)

    @property
    def words(self) -> str:
        """The rule in a sentence."""
        text = "; and ".join(criterion.words for criterion in self.criteria)
        text = "; ".join([text, *(condition.words for condition in self.conditions)])
        return text + (". Partly if some of these hold and others fail" if self.parts else "")

    def row(self) -> dict[str, Any]:
        """The rule as data, for JSON."""
        found = [asdict(c) for c in self.criteria]
        for criterion in found:
            for name in ("low", "high"):
                criterion[name] = criterion[name] if math.isfinite(criterion[name]) else None
        return {
            "words": self.words,
            "parts": self.parts,
            "seeds": self.seeds,
            "criteria": found,
            "conditions": [condition.row() for condition in self.conditions],
        }


class NotMeasuredError(Exception):
    """The runs lack what a check compares; the message says what."""


class TooFewSeedsError(NotMeasuredError):
    """Some configs lack seeds that others have: with fewer seeds there may be a verdict."""


Cases = Quantity | Mapping[str, Quantity]
"""A quantity, or one for each case by its name."""


@dataclass(frozen=True)
class Measurement:
    """What the check of a claim returns: the quantities of the rule's criteria, and a note."""

    quantities: Sequence[Cases]
    note: str = ""


def measured(*quantities: Cases, note: str = "") -> Measurement:
    """The quantities of a rule's criteria, in their order."""
    return Measurement(quantities, note)


@dataclass(frozen=True)
class Outcome:
    """One case of one criterion: what was measured, and whether it holds."""

    criterion: Criterion
    case: str
    quantity: Quantity
    estimate: Estimate
    status: Status

    @property
    def measures(self) -> str:
        return f"{self.criterion.quantity}, {self.case}" if self.case else self.criterion.quantity


def judge(rule: Rule, found: Measurement, confidence: float, enough: bool = True) -> list[Outcome]:
    """Every case of every criterion; without `enough` seeds, what was sampled is open."""
    if len(found.quantities) != len(rule.criteria):
        raise AssertionError(f"{len(found.quantities)} quantities for {rule.words!r}")
    rows: list[tuple[Criterion, str, Quantity]] = []
    for criterion, cases in zip(rule.criteria, found.quantities, strict=True):
        by_case = cases if isinstance(cases, Mapping) else {"": cases}
        if not by_case:
            raise NotMeasuredError(f"nothing was run of {criterion.quantity}")
        rows += [(criterion, case, quantity) for case, quantity in by_case.items()]
    shared = _shared(confidence, [quantity for *_, quantity in rows])
    outcomes = []
    for criterion, case, quantity in rows:
        if criterion.low == criterion.high and not isinstance(quantity, Exact):
            raise LabError(f"no interval could decide {criterion.words!r}: give low < high.")
        estimate = quantity.estimate(confidence)
        decided = isinstance(quantity, Exact) or (enough and quantity.seeds >= rule.seeds)
        status: Status = criterion.judge(estimate) if decided else "open"
        if status == "fails" or criterion.most:  # where one case of many can turn the verdict
            status = criterion.judge(quantity.estimate(shared)) if decided else "open"
        outcomes.append(Outcome(criterion, case, quantity, estimate, status))
    return outcomes


def _shared(confidence: float, quantities: Sequence[Quantity]) -> float:
    """The confidence that is left when the error is shared among what was sampled."""
    return 1 - (1 - confidence) / max(1, sum(not isinstance(one, Exact) for one in quantities))


def verdict_of(rule: Rule, outcomes: Sequence[Outcome]) -> Verdict:
    """The verdict on a claim from its outcomes."""
    statuses = []
    for criterion in rule.criteria:
        cases = [outcome.status for outcome in outcomes if outcome.criterion is criterion]
        statuses += [_majority(cases)] if criterion.most else cases
    if all(status == "holds" for status in statuses):
        return "reproduced"
    if "fails" not in statuses:
        return "inconclusive"
    if not rule.parts:
        return "not reproduced"
    if "holds" in statuses:
        return "partly"
    return "inconclusive" if "open" in statuses else "not reproduced"


def _majority(cases: Sequence[Status]) -> Status:
    if 2 * cases.count("holds") > len(cases):
        return "holds"
    return "fails" if 2 * cases.count("fails") >= len(cases) else "open"


def may_turn(rule: Rule, outcomes: Sequence[Outcome]) -> bool:
    """Whether settings of the paper's grid that were not run could turn the verdict."""
    reopened = [replace(outcome, status=_of_some(outcome)) for outcome in outcomes]
    return verdict_of(rule, reopened) != verdict_of(rule, outcomes)


def _of_some(outcome: Outcome) -> Status:
    """What some settings of a grid show about every setting, or about the best of all."""
    criterion, quantity, found = outcome.criterion, outcome.quantity, outcome.estimate
    if not criterion.grid or outcome.status == "open":
        return outcome.status
    if isinstance(quantity, Greatest):  # of more settings it can only be greater
        return criterion.judge(replace(found, high=math.inf))
    if isinstance(quantity, Least):
        return criterion.judge(replace(found, low=-math.inf))
    return "fails" if outcome.status == "fails" else "open"


def seeds_needed(rule: Rule, outcomes: Sequence[Outcome], seeds: int, paper: int) -> int | None:
    """The number of seeds that would probably give a verdict; None if no look would.

    That is the first look whose verdict is not inconclusive, if means and spreads stay as they are.
    """
    confidence = confidence_of(paper)
    for later in (n for n in looks(paper) if n > seeds):
        if verdict_of(rule, expected(outcomes, later, confidence)) != "inconclusive":
            return later
    return None


def expected(outcomes: Sequence[Outcome], seeds: int, confidence: float) -> list[Outcome]:
    """The outcomes that this many seeds would probably have."""
    shared = _shared(confidence, [outcome.quantity for outcome in outcomes])
    found = []
    for outcome in outcomes:
        criterion, quantity = outcome.criterion, outcome.quantity
        holds = quantity.seeds < 2 or criterion.holds(outcome.estimate.value)
        needed = confidence if holds and not criterion.most else shared  # as `judge` does
        if outcome.status == "open" and criterion.tells(quantity, seeds, needed):
            outcome = replace(outcome, status="holds" if holds else "fails")  # noqa: PLW2901
        found.append(outcome)
    return found


def headline(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome to show first: what fails, else what is open; of the first criterion that has
    any, the closest call."""
    order: dict[Status, int] = {"fails": 0, "open": 1, "holds": 2}
    criteria = list(dict.fromkeys(outcome.criterion for outcome in outcomes))
    return min(
        outcomes,
        key=lambda outcome: (
            order[outcome.status],
            criteria.index(outcome.criterion),
            _margin(outcome),
        ),
    )


def _margin(outcome: Outcome) -> float:
    """How far inside its thresholds the interval ends; NaN sorts as nothing known."""
    low, high = outcome.estimate.low, outcome.estimate.high
    margin = min(low - outcome.criterion.low, outcome.criterion.high - high)
    return margin if not math.isnan(margin) else -math.inf
