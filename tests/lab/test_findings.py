"""Sentences on what was found: computed, and true under every verdict."""

import dataclasses
import re
from collections.abc import Mapping

import numpy as np
import pytest
from sample_report import ALPHA, SEEDS, decided

from delightful.lab.experiment import Claim, ClaimBook, Reading
from delightful.lab.findings import NAMED, finding, findings, told
from delightful.lab.quantities import Exact, Mean
from delightful.lab.rendering import claims_markdown
from delightful.lab.verdicts import VERDICTS, Rule, above, below, measured
from delightful.paper import EXPERIMENTS

LOWER = Rule(above(0, "error, A − B"))
WORDS = ("B's error {is} below A's",)
ONE = (Reading("", ALPHA),)


def claim(words=WORDS, rule=LOWER, readings=ONE) -> Claim:
    return Claim("alpha/x", "Section 1", "B is lower.", "", rule, measured, readings, words)


def gap(value: float, spread: float = 0.01) -> Mean:
    """The difference of two means over twelve seeds."""
    return Mean(value + spread * SEEDS, (1.5 + value, 1.5))


UP, DOWN, OPEN = gap(0.5), gap(-0.5), gap(0.5, spread=1.0)


@pytest.mark.parametrize(
    ("quantity", "verdict", "sentence"),
    [
        (
            UP,
            "reproduced",
            "B's error is below A's (2 − 1.5 = 0.5 [0.46, 0.54], 12 seeds).",
        ),
        (
            DOWN,
            "not reproduced",
            "B's error is not below A's (1 − 1.5 = −0.5 [−0.54, −0.46], 12 seeds).",
        ),
        (
            OPEN,
            "inconclusive",
            "It cannot be told yet whether B's error is below A's "
            "(2 − 1.5 = 0.5 [−2.65, 3.65], 12 seeds); 24 seeds would probably decide it.",
        ),
        (None, "not run", ""),
    ],
)
def test_a_sentence_for_each_verdict(quantity, verdict, sentence):
    decisions = decided(claim(), [quantity and measured(quantity)], need=(24, 60.0))
    assert decisions[0].verdict == verdict
    said = re.sub(r"\[.*\]", "[]", finding(decisions))
    assert said == re.sub(r"\[.*\]", "[]", sentence)
    if quantity:
        low, high = (f"{x:.3g}".replace("-", "−") for x in _interval(decisions))
        assert f"[{low}, {high}]" in finding(decisions)


def _interval(decisions):
    estimate = decisions[0].outcomes[0].estimate
    return estimate.low, estimate.high


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        (2, "run 3 seeds first"),
        (12, "48 seeds, four times the paper's, would probably not decide it"),
        (48, "48 seeds, four times the paper's, do not decide it"),
    ],
)
def test_what_four_times_the_papers_seeds_would_not_decide_is_said(seeds, words):
    (decision,) = decided(claim(), [measured(OPEN)])
    assert finding([dataclasses.replace(decision, seeds=seeds)]).endswith(f"; {words}.")


@pytest.mark.parametrize(
    ("rule", "words", "cases", "said"),
    [
        (
            Rule(above(0, "x", most=True)),
            "A's return {is} above B's on {case:tasks}",
            {f"task {i}": OPEN for i in range(6)},
            "whether A's return is above B's on most of the 6 tasks (",
        ),
        (
            LOWER,
            "A's regret {is} below that of {case:baselines × quarters}",
            {f"{b}, quarter {k}": UP for b in ("PG", "PPO", "MPO") for k in range(4)},
            "A's regret is below that of each of 3 baselines in each of 4 quarters (",
        ),
        (
            LOWER,
            "A's regret {is} below that of {case:baselines × quarters}",
            {f"B{i}, quarter {k}": UP if i else OPEN for i in range(3) for k in range(4)},
            "A's regret is below that of 8 of the 12 pairs of baselines and quarters (",
        ),
    ],
)
def test_many_cases_are_counted_as_the_rule_asks_for_them(rule, words, cases, said):
    assert said in finding(decided(claim((words,), rule), [measured(cases)]))


def test_the_first_reading_has_numbers_and_the_others_a_short_line():
    ways = tuple(Reading(name, ALPHA) for name in ("per step", "per episode", "per day", "ever"))
    quantities = [measured(one) for one in (UP, UP, DOWN, OPEN)]
    found = told(decided(claim(readings=ways), quantities))
    assert found[0].sentence.startswith("Per step: B's error is below A's (2 − 1.5 = 0.5 [")
    assert [one.short for one in found[1:]] == [
        "Per episode: the same.",
        "Per day: B's error is not below A's.",
        "Ever: it cannot be told yet.",
    ]
    assert all(re.search(r"\(.*\[.*, 12 seeds\)", one.sentence) for one in found)


def test_an_exact_value_has_no_interval_and_no_seeds():
    exact = claim(readings=(Reading(),))
    assert finding(decided(exact, [measured(Exact(0.25))])) == (
        "B's error is below A's (0.25, exact)."
    )


def test_runs_that_differ_from_the_papers_are_said_to():
    (decision,) = decided(claim(), [measured(UP)])

    class Shorter(type(decision)):  # type: ignore[misc]
        differs = "shorter than the paper's"

    shorter = Shorter(**{f.name: getattr(decision, f.name) for f in dataclasses.fields(decision)})
    assert "12 seeds, shorter than the paper's)" in finding([shorter])


PARTS = Rule(above(0, "gain at first"), below(0, "gain at last"), parts=True)


@pytest.mark.parametrize(
    ("words", "last", "verdict", "pieces"),
    [
        (("the first gain {is} {side}", "the last {is} {side}"), DOWN, "reproduced", 2),
        (("the first gain {is} {side}", "the last {is} {side}"), UP, "partly", 2),
        (("the first gain {is} {side}",), DOWN, "reproduced", 1),
        (("the first gain {is} {side}",), UP, "partly", 2),
        (("the first gain {is} {side}",), OPEN, "inconclusive", 3),
    ],
)
def test_a_criterion_that_does_not_hold_is_said_even_without_words(words, last, verdict, pieces):
    decisions = decided(claim(words, PARTS), [measured(UP, last)], need=(24, 60.0))
    assert decisions[0].verdict == verdict
    clauses = finding(decisions).split("; ")
    assert len(clauses) == pieces
    assert clauses[0].startswith("The first gain is above 0 (")
    if len(words) == 1 and last is UP:
        assert clauses[1].startswith("gain at last is not below 0 (")
    if last is OPEN:
        assert clauses[1].startswith("it cannot be told yet whether gain at last is below 0 (")


CASES = ("B's error {is} below that of {case:rivals}",)


def test_each_case_is_said_under_its_own_status():
    cases = {"C": UP, "D": gap(0.2), "E": DOWN, "F": OPEN}
    (decision,) = decided(claim(CASES), [measured(cases)])
    assert decision.verdict == "not reproduced"
    holds, fails, open_ = finding([decision]).split("; ")
    assert holds.startswith("B's error is below that of C and D (closest: D, 1.7 − 1.5 = 0.2 [")
    assert fails.startswith("for E it is not (1 − 1.5 = −0.5 [")
    assert open_.startswith("for F it cannot be told yet (")


def test_many_cases_are_counted_and_cases_are_never_left_out():
    many = {f"case {i}": UP for i in range(NAMED + 1)}
    (decision,) = decided(claim(CASES), [measured(many)])
    assert "below that of each of the 5 rivals (" in finding([decision])
    (decision,) = decided(claim(CASES), [measured(many | {"last": DOWN})])
    assert "below that of 5 of the 6 rivals (" in finding([decision])
    assert "for last it is not (" in finding([decision])
    (decision,) = decided(claim(), [measured({"C": UP, "D": DOWN})])
    assert finding([decision]).startswith("B's error is below A's for C (")


READINGS = (Reading("per step", ALPHA), Reading("per episode", ALPHA))


@pytest.mark.parametrize(
    ("first", "second", "starts"),
    [
        (UP, UP, ["Per step: B's error is below", "Per episode: the same ("]),
        (UP, DOWN, ["Per step: B's error is below", "Per episode: B's error is not below"]),
        (UP, OPEN, ["Per step: B's error is below", "Per episode: it cannot be told yet"]),
        (UP, None, ["Per step: B's error is below"]),
        (None, UP, ["Per episode: B's error is below"]),
        (None, None, []),
    ],
)
def test_every_reading_that_was_run_is_named_the_papers_first(first, second, starts):
    found = [quantity and measured(quantity) for quantity in (first, second)]
    decisions = decided(claim(readings=READINGS), found)
    sentences = re.findall(r"Per .*?\)[^.]*\.(?= |$)", finding(decisions[::-1]))
    assert len(sentences) == len(starts)
    assert all(said.startswith(start) for said, start in zip(sentences, starts, strict=True))


@pytest.mark.parametrize("words", [("B's error is lower",), ("{is} it {is}",), ("", "", "{is}")])
def test_words_that_could_not_be_turned_round_are_refused(words):
    with pytest.raises(ValueError, match="finding"):
        claim(words)


def test_words_stand_beside_the_claim():
    book = ClaimBook("alpha")

    @book.add("Section 1", paper="", rule=LOWER, finding="B's error {is} below A's")
    def lower():
        """B is lower."""
        return measured(Exact(1.0))

    assert book[0].finding == WORDS
    assert findings(decided(book[0], [lower()])) == {
        "alpha/lower": "B's error is below A's (1, exact)."
    }


# The paper's claims, on made-up numbers

HEADLINES = [c for e in EXPERIMENTS.values() for c in e.claims if c.finding]


def test_every_section_of_the_paper_has_findings_of_its_main_text():
    sections = {name for name, e in EXPERIMENTS.items() if e.claims}
    assert {c.id.split("/")[0] for c in HEADLINES} == sections
    assert not any(c.appendix for c in HEADLINES)


def _value(criterion, holds: bool) -> float:
    """A number well on one side of the criterion's thresholds."""
    low, high = criterion.low, criterion.high
    if holds:
        if np.isinf(low) or np.isinf(high):
            return high - 1 if np.isinf(low) else low + 1
        return (low + high) / 2
    return low - 1 if np.isfinite(low) else high + 1


@pytest.mark.parametrize("one", HEADLINES, ids=lambda c: c.id)
@pytest.mark.parametrize("status", ["holds", "fails", "open"])
def test_no_sentence_of_the_paper_says_what_its_verdict_denies(one, status):
    exact = one.sweep is None
    if exact and status == "open":
        return
    made: list[Mapping[str, Exact | Mean]] = []
    for criterion in one.rule.criteria:
        value = _value(criterion, status != "fails")
        spread = {"open": 100.0}.get(status, 1e-4)
        made.append({"some case": Exact(value) if exact else Mean(value + spread * SEEDS)})
    decisions = decided(one, [measured(*made)] * len(one.readings))
    text, verdict = finding(decisions), decisions[0].verdict
    expected = {"holds": "reproduced", "fails": "not reproduced", "open": "inconclusive"}
    assert verdict == expected[status]
    assert (" is not " in text) == (verdict == "not reproduced")
    assert ("cannot be told yet" in text) == (verdict == "inconclusive")
    assert not any(word in text for word in VERDICTS)  # it speaks of what was measured
    assert not re.search(r"[{}]", text)


def test_the_table_of_claims_opens_with_what_was_found():
    decisions = decided(claim(("|B| {is} below |A|*",)), [measured(UP)])
    counted, _, sentence, _, legend, *_ = claims_markdown(decisions).splitlines()
    assert "1 reproduced" in counted
    assert sentence.startswith(r"- \|B\| is below \|A\|\* (2 − 1.5 = 0.5 [")
    assert legend.startswith("reproduced: ")
