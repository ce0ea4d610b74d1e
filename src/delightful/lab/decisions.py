"""Claims decided on what a store holds, each with the rule that decides it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from delightful.lab import cost
from delightful.lab.cells import Cell, Plan
from delightful.lab.experiment import Claim, Reading, command
from delightful.lab.selection import (
    damage,
    from_paper,
    lacking,
    partly_stored,
    plan_for,
    table_of,
    usable,
    where,
)
from delightful.lab.store import Store
from delightful.lab.verdicts import (
    LEAST,
    VERDICTS,
    NotMeasuredError,
    Outcome,
    TooFewSeedsError,
    Verdict,
    confidence_of,
    expected,
    headline,
    judge,
    looks,
    may_turn,
    seeds_needed,
    verdict_of,
)
from delightful.lab.wording import minus, plural


@dataclass(frozen=True)
class Decision:
    """A claim under one reading: the verdict, what it rests on, and the command that repeats it."""

    claim: Claim
    reading: Reading
    plan: Plan
    verdict: Verdict = "not run"
    outcomes: Sequence[Outcome] = ()
    note: str = ""
    seeds: int | None = None  # per config; None where nothing is sampled
    needed: int | None = None  # seeds that would probably decide what is inconclusive
    first: bool = False  # whether they are only the fewest that a verdict is given on
    at: str = ""  # the scale of these seeds, if it is not that of the runs
    refused: str = ""  # why seeds alone could not decide it, in words
    seconds: float | None = None  # of one core, for these seeds on this machine
    stored: tuple[str, ...] = ()  # other stores that some of its runs come from
    store: str = ""  # the options that name the stores, for its command
    damaged: bool = False  # whether a file that it needs is; the note names it

    @property
    def standing(self) -> bool:
        """Whether its reading stands for the paper."""
        return self.reading is self.claim.readings[0]

    @property
    def confidence(self) -> float | None:
        """Of the intervals; None where nothing is sampled."""
        sweep = self.reading.sweep
        return None if sweep is None else confidence_of(sweep.seeds["paper"])

    @property
    def differs(self) -> str:
        """How its runs differ from the paper's, in words; empty if they do not."""
        return "" if self.reading.sweep is None else from_paper(self.reading.sweep, self.plan)

    @property
    def command(self) -> str:
        sweep = self.reading.sweep
        if sweep is None:
            return f"delightful claims {self.claim.id}"
        run = command("run", sweep.name, self.plan, self.store)
        return f"{run} && {command('claims', self.claim.id, self.plan, self.store)}"

    @property
    def ahead(self) -> Plan:
        """The plan with the seeds that it needs, at their scale."""
        return replace(self.plan, scale=self.at or self.plan.scale, seeds=self.needed)

    @property
    def next_command(self) -> str:
        """What runs the seeds that it needs; empty if that is not known."""
        sweep = self.reading.sweep
        if sweep is None or self.needed is None:
            return ""
        return command("run", sweep.name, self.ahead, self.store)

    @property
    def too_few(self) -> str:
        """That there are fewer seeds than a verdict needs, in words; empty if there are enough."""
        least, few = self.claim.rule.seeds, self.seeds or 0
        if not 0 < few < least:
            return ""
        return f"{plural(few, 'seed')}: a verdict needs {least}"

    def unlikely(self, what: str = "it") -> str:
        """Why it is not said how many seeds would probably decide what is inconclusive."""
        sweep = self.reading.sweep
        if self.refused:
            return f"seeds alone would not decide {what}: {self.refused}"
        if self.too_few or sweep is None:
            return f"run {self.claim.rule.seeds} seeds first"
        most, paper = looks(sweep.seeds["paper"])[-1], sweep.seeds["paper"]
        times = {4: "four"}.get(most // paper, most // paper)
        verb = "would probably not" if (self.seeds or 0) < most else "do not"
        return f"{most} seeds, {times} times the paper's, {verb} decide {what}"

    @property
    def measures(self) -> str:
        """What the value is that is shown first."""
        return headline(self.outcomes).measures if self.outcomes else ""

    @property
    def text(self) -> str:
        """The value that is shown first, with its interval."""
        return shown(headline(self.outcomes)) if self.outcomes else ""

    def row(self) -> dict[str, Any]:
        """The decision as data, for JSON."""
        parts = [_part(outcome) for outcome in self.outcomes]
        first = _part(headline(self.outcomes)) if self.outcomes else {}
        decides = self.verdict == "inconclusive" and not self.first
        return {
            "id": self.claim.id,
            "where": self.claim.where,
            "sentence": self.claim.sentence,
            "paper": self.claim.paper,
            "reading": str(self.reading),
            "stands_for_the_paper": self.standing,
            "rule": self.claim.rule.row(),
            "verdict": self.verdict,
            "measures": self.measures,
            **{name: first.get(name) for name in ("value", "low", "high")},
            "text": self.text,
            "confidence": self.confidence,
            "parts": parts,
            "note": self.note,
            "damaged": self.damaged,
            "scale": None if self.reading.sweep is None else self.plan.scale,
            "differs_from_paper": self.differs,
            "seeds": self.seeds,
            "seeds_needed": self.needed if decides else None,
            "first_verdict_seeds": self.needed if self.first else None,
            "core_seconds_needed": None if self.seconds is None else round(self.seconds),
            "command": self.command,
            "command_to_decide": self.next_command,
        }


def shown(outcome: Outcome, digits: int = 4) -> str:
    """A value and its interval, as text."""
    estimate = outcome.estimate
    value, low, high = (short(x, digits) for x in (estimate.value, estimate.low, estimate.high))
    exact = estimate.low == estimate.value == estimate.high
    return value if exact else f"{value} [{low}, {high}]"


def short(value: float, digits: int = 4) -> str:
    """A number in a few digits, with a minus sign."""
    if not math.isfinite(value):
        return str(value).replace("-", "−").replace("inf", "∞").replace("nan", "?")
    return "0" if value == 0 else minus(f"{value:.{digits}g}")


def _part(outcome: Outcome) -> dict[str, Any]:
    estimate = outcome.estimate
    numbers = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    # JSON has no NaN: an interval of one seed is null.
    finite = {name: x if math.isfinite(x) else None for name, x in numbers.items()}
    return {"measures": outcome.measures, "case": outcome.case, **finite, "status": outcome.status}


def decide(claim: Claim, store: Store, plan: Plan, scale: str | None = None) -> list[Decision]:
    """A claim checked on what a store holds, under each of its readings."""
    return [_decide(claim, reading, store, plan, scale) for reading in claim.readings]


def decide_all(
    claims: Iterable[Claim], store: Store, plan: Plan, scale: str | None = None
) -> list[Decision]:
    """The decisions on several claims."""
    return [decision for claim in claims for decision in decide(claim, store, plan, scale)]


def _decide(
    claim: Claim, reading: Reading, store: Store, plan: Plan, scale: str | None
) -> Decision:
    sweep = reading.sweep
    if sweep is None:
        found = claim.check()
        outcomes = judge(claim.rule, found, 0.95)
        return Decision(
            claim, reading, plan, verdict_of(claim.rule, outcomes), outcomes, found.note
        )
    plan = plan_for(sweep, store, plan, scale, least=LEAST)
    place = where(sweep, plan, store)
    if damaged := damage(sweep, plan, store):
        decision = Decision(claim, reading, plan, note=damaged, store=place, damaged=True)
        return _with_cost(decision, plan.seeds or sweep.seeds[plan.scale], store)
    table = table_of(sweep, plan, store)
    if table is None:
        note = partly_stored(sweep, plan, store) if scale else ""
        decision = Decision(claim, reading, plan, note=note, store=place)
        return decision if scale else _at_first_look(decision, store)
    stored = tuple(map(str, store.others(usable(sweep, plan, store))))
    paper, there = sweep.seeds["paper"], table["seed"].n_unique()
    numbers = [n for n in reversed(looks(paper)) if n <= there] or [there]
    too_few = ""
    # Of a sweep that is used in part, some configs have more seeds than others.
    for seeds in numbers if sweep.in_part else numbers[:1]:
        try:
            found = claim.check(reading.prepare(table.filter(table["seed"] < seeds)))
            outcomes = judge(claim.rule, found, confidence_of(paper), enough=seeds in looks(paper))
            _check_grid(claim, found.note, outcomes, lacking(sweep, plan))
        except TooFewSeedsError as error:
            too_few = too_few or str(error)
            continue
        except NotMeasuredError as error:
            decision = Decision(claim, reading, plan, note=str(error), stored=stored, store=place)
            return decision if scale or sweep.in_part else _at_paper_scale(decision, store)
        if seeds < numbers[0]:
            plan = replace(plan, seeds=seeds)
        verdict = verdict_of(claim.rule, outcomes)
        what = (verdict, outcomes, found.note, seeds)
        decision = Decision(claim, reading, plan, *what, stored=stored, store=place)
        return _with_need(decision, store) if verdict == "inconclusive" else decision
    return Decision(claim, reading, plan, note=too_few, stored=stored, store=place)


def _check_grid(claim: Claim, note: str, outcomes: Sequence[Outcome], some: str) -> None:
    """Refuse a verdict on every setting, or the best of all, that settings not run could turn."""
    if words := _refusal(claim, outcomes, some):
        raise NotMeasuredError(f"{words}; {note}" if note else words)


def _refusal(claim: Claim, outcomes: Sequence[Outcome], some: str) -> str:
    """Why these outcomes are no verdict, if they are not; `some` is as `lacking` has it."""
    return some if some and may_turn(claim.rule, outcomes) else ""


def _at_paper_scale(decision: Decision, store: Store) -> Decision:
    """What a smaller scale cannot decide, with the first look of the paper's and its cost."""
    plan = decision.plan
    if plan.scale == "paper" or plan.methods or plan.changes:
        return decision
    if decision.verdict == "inconclusive":  # its own command repeats what it rests on
        return _at_first_look(replace(decision, at="paper"), store)
    decision = replace(decision, plan=replace(plan, scale="paper", seeds=None))
    decision = _at_first_look(decision, store)
    return replace(decision, plan=decision.ahead)


def _with_need(decision: Decision, store: Store) -> Decision:
    """The decision with how many seeds would probably decide it, and what they cost."""
    sweep, claim, outcomes = decision.reading.sweep, decision.claim, decision.outcomes
    assert sweep is not None
    assert decision.seeds is not None
    paper = sweep.seeds["paper"]
    needed = seeds_needed(claim.rule, outcomes, decision.seeds, paper)
    if needed is None:
        return _at_first_look(decision, store) if decision.too_few else decision
    later = expected(outcomes, needed, confidence_of(paper))
    if refused := _refusal(claim, later, lacking(sweep, decision.plan)):
        return _at_paper_scale(replace(decision, refused=refused), store)
    return _with_cost(decision, needed, store)


def _at_first_look(decision: Decision, store: Store) -> Decision:
    """The decision with the fewest seeds that a verdict is given on, and what they cost."""
    sweep = decision.reading.sweep
    assert sweep is not None
    fewest = next(n for n in looks(sweep.seeds["paper"]) if n >= decision.claim.rule.seeds)
    return replace(_with_cost(decision, fewest, store), first=True)


def _with_cost(decision: Decision, needed: int, store: Store) -> Decision:
    assert decision.reading.sweep is not None
    block = decision.reading.sweep.program.block  # seeds are run and counted in whole blocks
    needed = math.ceil(needed / block) * block
    decision = replace(decision, needed=needed)
    cells = whole_blocks(decision)
    done = [cell for cell in cells if store.state(cell) == "done"]
    speed = cost.Speed(done, store)
    seconds = speed.total(cell for cell in cells if cell not in done)
    return replace(decision, seconds=seconds)


def whole_blocks(decision: Decision) -> list[Cell]:
    """The cells of the seeds that a decision needs, in blocks that later looks use too."""
    sweep = decision.reading.sweep
    assert sweep is not None
    return sweep.cells(decision.ahead)


def counts(decisions: Iterable[Decision]) -> dict[str, int]:
    """How many claims have each verdict, under the reading that stands for the paper."""
    verdicts = [decision.verdict for decision in decisions if decision.standing]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}
