"""What the report shows: each claim once, with its figure, its rule and what was measured."""

import dataclasses
import hashlib
import sys
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
from sample_report import (
    CLAIMS,
    DECISIONS,
    DESKTOP,
    EXPERIMENTS,
    FIGURES,
    NAMES,
    PHONE,
    PLACES,
    PLAN,
    VERDICT,
    Settings,
    build,
    visible,
)

from delightful.lab.cells import Plan
from delightful.lab.config import choices
from delightful.lab.decisions import decide_all, shown
from delightful.lab.findings import finding
from delightful.lab.report import write_report
from delightful.lab.report.outcomes import FIRST_ROWS
from delightful.lab.store import Store
from delightful.lab.verdicts import VERDICTS, confidence_of
from delightful.paper.contexts import EXPERIMENT as CONTEXTS


def test_each_claim_is_on_the_page_once_with_its_sentence_and_verdict(page):
    found = page.eval_on_selector_all(
        ".claim",
        "all => all.map(c => [c.id, c.querySelector('.chip').textContent,"
        " c.querySelector('.sentence').textContent])",
    )
    assert Counter(name for name, _, _ in found) == Counter(CLAIMS)
    sentences = {d.claim.id: d.claim.sentence for d in DECISIONS}
    for name, verdict, sentence in found:
        assert (verdict, sentence) == (VERDICT[name], sentences[name])


def test_the_data_has_every_verdict():
    assert set(VERDICT.values()) == set(VERDICTS)


def test_each_claim_stands_under_the_figure_that_shows_it(page):
    groups = page.eval_on_selector_all(
        ".group",
        "all => all.map(g => [g.querySelector('figure')?.id ?? '',"
        " [...g.querySelectorAll('.claim')].map(c => c.id)])",
    )
    expected = {f"figure-{name}" if name else "": claims for name, claims in PLACES.items()}
    assert [name for name, _ in groups] == [*expected, "figure-gamma/more"]  # figures first
    assert dict(groups) == expected | {"figure-gamma/more": []}
    assert page.locator(".group h3").all_inner_texts()[2] == "Claims without a figure"


def test_it_opens_with_what_was_found(page):
    cards = page.locator(".card")
    assert [h.inner_text().split("\n")[0] for h in cards.locator("h3 a").all()] == [*NAMES.values()]
    first, second, third = cards.all()
    words = "5 claims: 2 reproduced, 1 partly, 1 not reproduced, 1 not run."
    assert words in first.inner_text()
    assert first.locator(".findings .words").all_inner_texts() == [finding(DECISIONS[:1])]
    assert first.locator(".findings .dim").all_inner_texts() == ["The paper: A < B & all."]
    assert finding(DECISIONS[:1]).startswith("B's error is below A's <error> (1.5 [1.47")
    assert "Per step: it cannot be told yet whether B's error" in second.inner_text()
    other = second.locator(".other").first
    assert other.inner_text() == "Per episode: B's error is below A's <error>."  # numbers inside
    other.locator("summary").click()
    assert "Per episode: B's error is below A's <error> (3 [" in other.inner_text()
    counted = [row.inner_text().split() for row in second.locator(".counts tr").all()]
    assert counted[0] == ["reading", "reproduced", "inconclusive", "not", "run"]
    assert counted[1:] == [["per", "step", "1", "1"], ["per", "episode", "2"]]
    assert first.locator("figcaption a").inner_text() == "Figure 2"
    links = [a.get_attribute("href") for a in first.locator(".lines a").all()]
    assert links == ["#alpha/faster", "#alpha/parts", "#alpha/exact"]  # none of an appendix
    words = "24 seeds would probably decide what is inconclusive, about 20 min of one core."
    assert words in second.inner_text()
    assert third.locator("figure").count() == 0
    box = page.locator("#found").bounding_box()
    assert box["y"] < page.locator(".part").first.bounding_box()["y"]


def test_the_bars_and_the_legend_count_the_verdicts(page):
    counts = Counter(VERDICT.values())
    rows = page.locator(".legend li").all()
    for row, (verdict, meaning) in zip(rows, VERDICTS.items(), strict=True):
        assert row.locator(".chip").inner_text() == verdict
        assert row.locator("b").inner_text() == str(counts[verdict])
        assert meaning in row.inner_text()
    bar = "#section-alpha > [data-total] > .bar"
    label = page.locator(bar).get_attribute("aria-label")
    assert label == "2 reproduced, 1 partly, 1 not reproduced, 1 not run"
    widths = page.eval_on_selector_all(f"{bar} span", "all => all.map(s => s.offsetWidth)")
    assert widths[0] > 1.8 * widths[1]


def test_what_is_not_run_is_folded_away_with_its_reason_and_command(page):
    fold = page.locator("#absent-alpha")
    assert fold.locator("summary").inner_text() == "1 claim not run"
    assert not page.locator('[id="alpha/absent"]').is_visible()
    fold.locator("summary").click()
    assert "The network is missing." in fold.inner_text()
    run, check = fold.locator("code").inner_text().split(" && ")
    assert run == "delightful run alpha/training --scale quick"
    assert check == "delightful claims alpha/absent --scale quick"


def test_what_was_found_leaves_out_claims_that_were_not_run_and_counts_them(page):
    first, second, _ = page.locator(".card").all()
    assert page.locator(".card li[data-verdict='not run']").count() == 0
    assert first.locator(".lacking").inner_text() == "1 claim not run."
    assert first.locator(".lacking a").get_attribute("href") == "#absent-alpha"
    assert second.locator(".lacking").inner_text() == (
        "1 claim not run. The reading that stands for the paper has not been run, but another has "
        "(per episode): beta/half-run."
    )
    links = [a.get_attribute("href") for a in second.locator(".lacking a").all()]
    assert links == ["#section-beta", "#beta/half-run"]
    words = "The reading that stands for the paper has not been run; another has."
    assert words in page.locator('[id="beta/half-run"]').inner_text()
    assert words not in page.locator('[id="beta/two-ways"]').inner_text()


def test_sentences_are_of_the_source_that_the_section_names(tmp_path, open_page):
    elsewhere = [dataclasses.replace(EXPERIMENTS[0], source="arXiv 1"), EXPERIMENTS[1]]
    page = open_page(path=write_report(tmp_path, elsewhere, DECISIONS, []))
    first, second = page.locator(".card").all()
    assert first.locator(".findings .dim").all_inner_texts() == ["arXiv 1: A < B & all."]
    assert "The paper: It depends" in second.locator(".findings").inner_text()


def test_a_reading_that_was_not_run_is_one_line_with_its_reason_and_command(page):
    half = page.locator('[id="beta/half-run"]')
    line, other = half.locator(".reading").all()
    words = ["per step", "stands for the paper", "not run", "the queue is full", "–"]
    assert line.inner_text().split("\n") == words
    assert line.bounding_box()["height"] < 80
    line.locator("summary").click()
    run, check = line.locator("code").inner_text().split(" && ")
    assert run == "delightful run beta/training --scale quick"
    assert check == "delightful claims beta/half-run --scale quick"
    assert "per episode" in other.inner_text()
    assert other.locator(".chip").inner_text() == "reproduced"


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_readings_are_side_by_side_and_open_on_a_click(open_page, width):
    page = open_page(width=width)
    page.locator('[id="beta/two-ways"] .line').click()
    one, other = page.locator('[id="beta/two-ways"] .reading').all()
    for reading, decision in ((one, DECISIONS[5]), (other, DECISIONS[6])):
        assert shown(decision.outcomes[0], 3) in reading.inner_text()
        assert "12" in reading.locator(".seeds").inner_text()
        assert not reading.locator(".plot").is_visible()
    assert page.locator('[id="beta/two-ways"] .heads').is_visible() == (width == DESKTOP)
    for what in (".chip", ".measured", ".seeds"):  # in columns, or one below the other
        places = [reading.locator(what).first.bounding_box() for reading in (one, other)]
        assert places[0]["y"] < places[1]["y"]
        if width == DESKTOP and what != ".seeds":
            assert places[0]["x"] == places[1]["x"]
    other.locator("summary").first.click()
    assert other.locator(".plot").is_visible()
    assert "stands for the paper" in one.inner_text()
    assert "The caption counts steps." not in one.inner_text()
    one.locator("summary").first.click()
    assert "The caption counts steps." in one.inner_text()
    assert "stands for the paper" not in other.inner_text()
    assert one.locator(".chip").inner_text() == "inconclusive"
    assert other.locator(".chip").inner_text() == "reproduced"
    words = "12 more seeds, 24 in all, would probably decide it: 20 min of one core"
    assert words in one.inner_text()


def test_every_outcome_is_a_row_with_its_interval_and_the_numbers_on_hover(page):
    (outcome,) = DECISIONS[0].outcomes
    page.locator('[id="alpha/faster"] summary').click()
    row = page.locator('[id="alpha/faster"] tbody tr')
    assert row.locator(".value").inner_text() == shown(outcome)
    assert row.locator(".status").inner_text() == "holds"
    title = row.locator("svg title").text_content()
    assert title.startswith(f"error, A − B: 1.5; {100 * confidence_of(12):.3g}% interval [1.46")
    assert title.endswith("asked: above 0: holds")
    rows = page.locator('[id="beta/many"] tr:has(.plot)')
    assert rows.count() == 12
    page.locator('[id="beta/many"] summary').first.click()
    assert sum(one.is_visible() for one in rows.all()) == FIRST_ROWS
    more = page.locator('[id="beta/many"] summary').nth(1)
    assert more.inner_text() == "9 more values: 9 hold"
    more.click()
    assert all(one.is_visible() for one in rows.all())


def test_the_rule_is_in_words_and_what_the_paper_gives_beside_it(page):
    for decision in DECISIONS:
        text = page.locator(f'[id="{decision.claim.id}"]').text_content()
        assert f"Expected: {decision.claim.paper}" in text
        if decision.verdict != "not run":
            assert f"Rule: {decision.claim.rule.words}" in text


def test_figures_have_their_captions_and_lead_to_the_data(page, report):
    for one in FIGURES:
        on_page = page.locator(f'figure[id="figure-{one.id}"]')
        assert on_page.locator("h3").text_content() == f"{one.number}: {one.title}"
        assert on_page.locator("figcaption > p").first.text_content() == one.caption
        file = report.parent / on_page.locator("a").first.get_attribute("href")
        printed = on_page.locator("code").last.text_content()
        assert hashlib.sha256(file.read_bytes()).hexdigest() == printed
        commands = on_page.locator(".command code").all_text_contents()
        assert commands[0].startswith(f"delightful figure {one.id}")
        if one.sweep:
            name = one.sweep.name
            out = name.replace("/", "-")
            assert commands[1] == f"delightful export {name} --scale quick --out {out}.csv"


def test_every_choice_of_ours_is_listed_with_its_reason(page, source):
    for name, default, reason in choices(Settings):
        assert f"<dt>{name} = {default}</dt><dd>{reason}</dd>" in unescape(source)
    assert "<p data-item>A remark &amp; more.</p>" in source
    assert not page.locator("#choices-alpha dl").is_visible()
    page.locator("#choices-alpha summary").click()
    assert page.locator("#choices-alpha dl").is_visible()
    assert page.locator("#choices-gamma").count() == 0


def test_text_is_escaped(source):
    assert "<section>" not in source.replace("<section ", "")
    assert "First &lt;section&gt;" in source
    assert "A &lt; B &amp; all." in source
    assert "the smallest &lt;that&gt; learns" in source


def test_the_page_names_no_address_and_no_path_of_this_machine(report, source):
    assert "http" not in source
    assert "://" not in source
    for place in {str(report.parent), str(Path.home()), sys.prefix, str(Path.cwd()), "/tmp/"}:
        assert place not in source


def test_smoke_runs_are_warned_of(tmp_path, source):
    smoke = [dataclasses.replace(d, plan=Plan("smoke")) for d in DECISIONS]
    assert "This is the smoke scale" in build(tmp_path, decisions=smoke).read_text()
    assert "This is the smoke scale" not in source


def test_a_report_before_any_run_has_the_exact_claims_of_a_real_experiment(tmp_path, open_page):
    found = decide_all(CONTEXTS.claims, Store(tmp_path / "store"), PLAN)
    page = open_page(path=write_report(tmp_path, [CONTEXTS], found, []))
    counts = Counter(decision.verdict for decision in found)
    assert counts["not run"] > 0
    assert len(visible(page)) == len(found) - counts["not run"]
    assert page.locator("details .claim").count() == counts["not run"]


def test_the_title_is_the_callers(tmp_path, open_page):
    page = open_page(path=write_report(tmp_path, [], [], [], title="A < B, checked"))
    assert page.title() == page.locator("h1").inner_text() == "A < B, checked"


def test_a_report_on_nothing_says_so(tmp_path, open_page):
    page = open_page(path=write_report(tmp_path, [], [], []))
    assert page.title() == page.locator("h1").inner_text() == "Report"
    assert "There is nothing to show yet." in page.locator("main").inner_text()
