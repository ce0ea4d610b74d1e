"""What the report says and where: figures found for claims, computed sentences, interval plots."""

import dataclasses
import math
import re
from pathlib import Path

import pytest

from delightful.lab.cells import Plan, Program, Sweep
from delightful.lab.decisions import Decision
from delightful.lab.drawing import Drawn
from delightful.lab.experiment import Claim, Experiment, Figure, Reading
from delightful.lab.quantities import Exact
from delightful.lab.report.arranging import Checked, Group, Part, arrange, figure_of
from delightful.lab.report.plots import WIDTH, plot, shared_range
from delightful.lab.report.readings import readings_table
from delightful.lab.report.summary import by_reading, in_words
from delightful.lab.statistics import Estimate
from delightful.lab.verdicts import Criterion, Outcome, Rule, above, below, between, judge, measured


def sweep(name: str) -> Sweep:
    program = Program(name, 1, "nowhere:none", 3, 1.0, lambda _: 1.0)
    return Sweep(name, program, lambda _: [], {"smoke": 1, "quick": 3, "paper": 12})


ONE, OTHER, THIRD = sweep("alpha/one"), sweep("alpha/other"), sweep("alpha/third")


def claim(where: str, its: Sweep | None = None) -> Claim:
    return Claim(
        "alpha/x", where, "It is.", "1", Rule(above(0, "x")), measured, (Reading("", its),)
    )


def drawn(number: str, its: Sweep | None = None) -> Drawn:
    figure = Figure(f"alpha/{number}", number, "Title", "Caption.", measured, its)
    return Drawn(figure, Plan(), {"png": Path("x.png"), "csv": Path("x.csv")}, "")


FIGURES = [
    drawn("beyond the paper"),
    drawn("Figure 20", ONE),
    drawn("Figure 2", OTHER),
    drawn("Figure 5"),
    drawn("Figure 5", OTHER),
    drawn("Figure 26a", ONE),
]


@pytest.mark.parametrize(
    ("where", "its", "index"),
    [
        ("Section 3, Figure 2", None, 2),
        ("Appendix D.1, Figure 20", None, 1),
        ("Appendix D.1, Figure 20a", OTHER, 1),
        ("Section 5, Figure 2c–d", ONE, 2),
        ("Figure 26a", OTHER, 5),
        ("Figure 5b", OTHER, 4),  # of two, the one of the claim's runs
        ("Figure 5b", THIRD, 3),
        ("Section 3", OTHER, 2),  # the first of the same runs
        ("Figure 200", ONE, 1),
        ("Section 3", THIRD, None),
        ("Section 3", None, None),
        ("beyond the paper", None, None),
    ],
)
def test_a_claim_goes_to_the_figure_it_names_else_to_its_runs(
    where: str, its: Sweep | None, index: int | None
) -> None:
    expected = None if index is None else FIGURES[index]
    assert figure_of(claim(where, its), FIGURES) is expected


def checked(verdict: str, *need: float | None, its: Sweep = ONE) -> Checked:
    one = claim("Section 1", its)
    needed, seconds = need or (None, None)
    decision = Decision(
        one,
        one.readings[0],
        Plan(),
        verdict,
        needed=needed,
        seconds=seconds,  # type: ignore[arg-type]
    )
    return Checked(one, [decision])


GOOD, PARTLY, BAD, ABSENT = map(checked, ("reproduced", "partly", "not reproduced", "not run"))
OPEN = "inconclusive"


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ([], "Figures only: nothing is claimed."),
        ([ABSENT] * 2, "2 claims: 2 not run."),
        ([ABSENT], "1 claim: 1 not run."),
        ([GOOD], "1 claim: 1 reproduced."),
        ([GOOD] * 11 + [PARTLY], "12 claims: 11 reproduced, 1 partly."),
        ([PARTLY, BAD, ABSENT], "3 claims: 1 partly, 1 not reproduced, 1 not run."),
        (
            [GOOD, checked(OPEN, 15, 1200.0)],
            "2 claims: 1 reproduced, 1 inconclusive. "
            "15 seeds would probably decide what is inconclusive, about 20 min of one core.",
        ),
        (  # two claims on the same runs need them once
            [
                checked(OPEN, 15, 1200.0),
                checked(OPEN, 30, 2400.0),
                checked(OPEN, 30, 60.0, its=OTHER),
            ],
            "3 claims: 3 inconclusive. "
            "Up to 30 seeds would probably decide what is inconclusive, about 41 min of one core.",
        ),
        (
            [checked(OPEN, 15, 1200.0), checked(OPEN)],
            "2 claims: 2 inconclusive. 15 seeds would probably decide 1 of the 2 that are "
            "inconclusive, about 20 min of one core.",
        ),
        (
            [checked(OPEN), checked(OPEN)],
            "2 claims: 2 inconclusive. "
            "48 seeds, four times the paper's, would probably not decide them.",
        ),
    ],
)
def test_the_sentence_on_a_section_is_computed(claims: list[Checked], words: str) -> None:
    assert in_words(claims) == words


def outcome(criterion: Criterion, value: float, low: float, high: float) -> Outcome:
    estimate = Estimate(value, low, high)
    return Outcome(criterion, "a <case>", Exact(value), estimate, criterion.judge(estimate))


@pytest.mark.parametrize("criterion", [above(1, "x"), below(1, "x"), between(1, 2, "x")])
@pytest.mark.parametrize(
    "numbers",
    [
        (1.5, 1.2, 1.8),
        (1.5, 1.5, 1.5),
        (1.0, 1.0, 1.0),
        (1.5, -math.inf, math.inf),
        (1.5, -1e9, 1e9),
        (1.5, math.nan, math.nan),
        (math.nan, math.nan, math.nan),
        (1e-300, 0, 1e300),
    ],
)
def test_a_plot_stays_inside_its_box(
    criterion: Criterion, numbers: tuple[float, float, float]
) -> None:
    one = outcome(criterion, *numbers)
    svg = plot(one, shared_range([one]), 0.95)
    places = [float(x) for x in re.findall(r'(?: x="|cx="|M|H)(-?[\d.]+|nan)', svg)]
    assert places
    assert all(0 <= x <= WIDTH for x in places)
    assert ("<circle" in svg) == math.isfinite(numbers[0])
    assert "a &lt;case&gt;" in svg


def test_plots_of_one_criterion_share_their_range_and_keep_the_order_of_values() -> None:
    criterion = above(0, "x")
    outcomes = [outcome(criterion, v, v - 0.5, v + 0.5) for v in (-1.0, 2.0, 5.0)]
    span = shared_range(outcomes)
    dots = [float(re.findall(r'cx="([\d.]+)"', plot(o, span, 0.95))[0]) for o in outcomes]
    assert dots == sorted(dots)
    assert dots[1] - dots[0] == pytest.approx(dots[2] - dots[1], abs=0.11)
    bound = float(re.findall(r'class="bound" d="M([\d.]+)', plot(outcomes[0], span, 0.95))[0])
    assert dots[0] < bound < dots[1]


def test_a_section_opens_with_few_claims_those_of_its_main_figure_first():
    def made(i: int) -> Checked:
        one = Claim(f"alpha/{i}", "Section 1", "", "", Rule(above(0, "x")), measured)
        return Checked(one, [Decision(one, Reading(), Plan(), "reproduced")])

    claims = [made(i) for i in range(9)]
    main = Drawn(Figure("alpha/main", "Figure 1", "", "", lambda: None), Plan(), {}, "")
    groups = [Group(None, claims[:7]), Group(main, claims[7:])]
    experiment = Experiment("alpha", "", "", claims=[checked.claim for checked in claims])
    first = [checked.claim.id for checked in Part(experiment, groups, []).headlines]
    assert first == [f"alpha/{i}" for i in (0, 1, 7, 8)]


def test_verdicts_are_counted_under_each_reading_where_there_are_several():
    ways = (Reading("per step"), Reading("per episode"))
    two = Claim("alpha/x", "Section 1", "", "", Rule(above(0, "x")), measured, ways)
    verdicts = ("reproduced", "inconclusive")
    both = Checked(two, [Decision(two, w, Plan(), v) for w, v in zip(ways, verdicts, strict=True)])
    once = claim("Section 1")
    alone = Checked(once, [Decision(once, Reading(), Plan(), "partly")])
    assert by_reading([alone]) == ""
    rows = re.findall(r"<tr>(.*?)</tr>", by_reading([both, alone, both]))
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    assert cells == [
        ["reading", "reproduced", "inconclusive"],
        ["per step", "2", ""],
        ["per episode", "", "2"],
    ]


def several(*measurements: dict[str, float] | None, criteria: int = 1) -> Checked:
    """A claim with a reading for each measurement; None for one that was not run."""
    rule = Rule(*(above(0, f"quantity {i}") for i in range(criteria)))
    ways = tuple(Reading(f"reading {i}", ONE) for i in range(len(measurements)))
    one = Claim("alpha/x", "Section 1", "It is.", "1", rule, measured, ways)
    decisions = []
    for way, values in zip(ways, measurements, strict=True):
        if values is None:
            decisions.append(Decision(one, way, Plan(), note="it takes <long>"))
            continue
        cases = {name: Exact(value) for name, value in values.items()}
        outcomes = judge(rule, measured(*[cases] * criteria), 0.95)
        decisions.append(Decision(one, way, Plan(), "partly", outcomes, seeds=7))
    return Checked(one, decisions)


def columns(checked: Checked) -> tuple[list[str], list[list[str]]]:
    """The heads of the table of readings, and the texts of each row."""
    html = readings_table(checked)
    heads = re.findall(r"<span>(.*?)</span>", html.partition("<details")[0])
    rows = re.findall(r'<summary class="row">(.*?)</summary>', html)
    cells = [re.split(r"(?<=</span>)(?=<span(?: class=\"(?:m|s|r)|>))", row) for row in rows]
    return heads, [[re.sub("<[^>]*>", "", cell).strip() for cell in row] for row in cells]


def test_few_cases_have_a_column_each_so_that_readings_can_be_compared():
    heads, rows = columns(several({"PG": 1.23456, "PPO": -2}, None, {"PG": 3}))
    assert heads == ["reading", "verdict", "PG", "PPO", "seeds"]
    assert rows == [
        ["reading 0 stands for the paper", "partly", "PG 1.23", "PPO −2", "7 seeds"],
        ["reading 1", "not run", "it takes &lt;long&gt;", "–"],
        ["reading 2", "partly", "PG 3", "PPO –", "7 seeds"],
    ]


def test_of_many_cases_or_several_quantities_one_value_is_shown_with_its_name():
    many = {f"case {i}": i - 1.5 for i in range(5)}
    heads, rows = columns(several(many, {"case 0": 2.0}))
    assert heads == ["reading", "verdict", "value", "seeds"]
    assert rows[0][2] == "−1.5 case 0 (5 values: 2 fail, 3 hold)"
    assert rows[1][2] == "2"
    heads, rows = columns(several({"": 2.0}, {"": -1.0}, criteria=2))
    assert rows[1][2] == "−1 quantity 0 (2 values: 2 fail)"


def test_what_another_reading_measured_stands_under_the_figure_of_its_runs():
    ways = (Reading("stale", ONE), Reading("fresh", OTHER))
    one = Claim("alpha/x", "Section 1", "", "", Rule(above(0, "x")), measured, ways)
    found = judge(one.rule, measured(Exact(1.0)), 0.95)
    decisions = [
        Decision(one, ways[0], Plan()),
        Decision(one, ways[1], Plan(), "reproduced", found),
    ]
    shown = [drawn("Figure 2"), drawn("Figure 3", OTHER)]
    groups = arrange(Experiment("alpha", "", "", claims=[one]), decisions, shown).groups
    found_at = {g.drawn.figure.number: len(g.claims) for g in groups if g.drawn}
    assert found_at == {"Figure 2": 0, "Figure 3": 1}


def test_a_section_opens_with_the_figure_of_its_first_headline_claim():
    """Not with the first figure, say a drawing of the task; one of an appendix never opens it."""

    def made(i: int, where: str, words: tuple[str, ...] = ()) -> Decision:
        rule = Rule(above(0, "x"))
        one = Claim(f"alpha/{i}", where, "", "", rule, measured, finding=words)
        found = judge(rule, measured(Exact(1.0)), 0.95)
        return Decision(one, one.readings[0], Plan(), "reproduced", found)

    def figure(number: int, appendix: bool = False) -> Drawn:
        return dataclasses.replace(
            drawn(f"Figure {number}"),
            figure=Figure(
                f"alpha/f{number}", f"Figure {number}", "", "", measured, None, False, appendix
            ),
        )

    words = ("it {is} so",)
    decisions = [
        made(0, "Figure 7"),
        made(1, "Figure 20", words),
        made(2, "Section 1", words),
        made(3, "Figure 8", words),
    ]
    experiment = Experiment("alpha", "", "", claims=[d.claim for d in decisions])
    shown = [figure(7), figure(8), figure(9), figure(20, appendix=True)]
    part = arrange(experiment, decisions, shown)
    numbers = [group.drawn and group.drawn.figure.number for group in part.groups]
    assert part.main is shown[1]
    assert numbers == ["Figure 8", "Figure 7", "Figure 9", "Figure 20", None]
    assert arrange(experiment, decisions[:1], shown).main is shown[0]
