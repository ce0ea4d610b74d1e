"""The report as a reader meets it: in a browser, offline, on a phone, and without JavaScript."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from delightful.lab.config import choices
from delightful.paper import EXPERIMENTS

NAMES = ("gate", "bandit", "contexts")  # the others take minutes to compile; .ci/run reports on all
SHOWN = [EXPERIMENTS[name] for name in NAMES]
CLAIMS = [claim for e in SHOWN for claim in e.claims]
FIGURES = [f for e in SHOWN for f in e.figures if not f.panel]
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    """The folder of a report on runs at smoke scale."""
    store = tmp_path_factory.mktemp("smoke")
    arguments = ["reproduce", *NAMES, "--scale", "smoke", "--store", str(store)]
    subprocess.run(
        [sys.executable, "-m", "delightful.cli", *arguments], check=True, capture_output=True
    )
    return store / "report"


@pytest.fixture(scope="session")
def source(report) -> str:
    """The page without the images inside it, whose base64 may spell anything."""
    return re.sub(r"data:image/png;base64,[\w+/=]+", "", (report / "report.html").read_text())


@pytest.fixture(scope="session")
def browser():
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        decide = pytest.fail if os.environ.get("DELIGHTFUL_REQUIRE_CHROMIUM") else pytest.skip
        decide(f"the report is read in Chromium, and none of {', '.join(names)} is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser, report):
    """Open the report; whatever the page complains of or asks the network for fails the test."""
    contexts, complaints = [], []

    def complain(request):
        if not request.url.startswith(("file://", "data:")):
            complaints.append(request.url)

    def open_(width=1100, height=800, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", complain)
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.goto((report / "report.html").as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(open_page):
    return open_page()


def visible_claims(page):
    return page.eval_on_selector_all(
        ".claim", "all => all.filter(c => c.offsetHeight > 0).map(c => c.id)"
    )


def verdicts(report):
    return {row["id"]: row["verdict"] for row in json.loads((report / "claims.json").read_text())}


def test_every_claim_is_on_the_page_once(page):
    assert visible_claims(page) == [claim.id for claim in CLAIMS]
    for claim in CLAIMS:
        assert claim.sentence in page.locator(f'[id="{claim.id}"]').inner_text()


def test_each_claim_shows_the_verdict_that_was_found(page, report):
    shown = page.eval_on_selector_all(
        ".claim", "all => all.map(c => [c.id, c.querySelector('.verdict').innerText])"
    )
    assert dict(shown) == verdicts(report)


def test_the_filter_shows_exactly_the_claims_of_a_verdict(page, report):
    found = verdicts(report)
    for verdict in set(found.values()):
        button = page.locator(f'button[data-verdict="{verdict}"]')
        button.click()
        assert visible_claims(page) == [claim for claim, v in found.items() if v == verdict]
        assert page.locator("button[aria-pressed=true]").all_inner_texts() == [button.inner_text()]
    page.locator('button[data-verdict="all"]').click()
    assert visible_claims(page) == list(found)


def test_a_button_can_be_reached_and_pressed_from_the_keyboard(page, report):
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.verdict") == "reproduced"
    page.keyboard.press("Enter")
    assert len(visible_claims(page)) == Counter(verdicts(report).values())["reproduced"]


def test_the_buttons_count_the_claims(page, report):
    counts = Counter(verdicts(report).values())
    expected = {"all": len(CLAIMS)} | counts
    shown = page.eval_on_selector_all(
        ".filter button",
        "all => all.map(b => [b.dataset.verdict, +b.querySelector('b').innerText])",
    )
    assert dict(shown) == expected


def test_every_figure_has_an_image_that_loads_and_says_what_it_is(page):
    images = page.eval_on_selector_all("img", "all => all.map(i => [i.naturalWidth, i.alt])")
    assert [alt for _, alt in images] == [f"{f.number}: {f.title}" for f in FIGURES]
    assert all(width > 0 for width, _ in images)


@pytest.mark.parametrize("width", [320, 375, 768, 1100])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_sideways(open_page, width, scheme):
    page = open_page(width=width, height=700, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


CONTRAST = """all => {
  const light = colour => {
    const parts = colour.match(/\\d+/g).slice(0, 3).map(c => c / 255)
      .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return Math.min(...all.map(e => light(getComputedStyle(e).color)).map(
    ink => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", ["p", "a", ".verdict", ".dim", "dt"])
def test_text_has_the_contrast_that_accessibility_asks_for(open_page, scheme, what):
    page = open_page(color_scheme=scheme)
    assert page.eval_on_selector_all(what, CONTRAST) >= 4.5


def test_all_is_visible_without_javascript(open_page):
    # Playwright's own evaluation still works: what is off is the page's script.
    page = open_page(java_script_enabled=False)
    assert visible_claims(page) == [claim.id for claim in CLAIMS]
    assert page.locator("figure img").count() == len(FIGURES)
    assert all(image.is_visible() for image in page.locator("figure img").all())
    assert page.locator("#choices").is_visible()


class _Links(HTMLParser):
    """(href, printed SHA-256) of each link to data."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.found.append([dict(attributes)["href"], None])

    def handle_data(self, data):
        if re.fullmatch(r"[0-9a-f]{64}", data):
            self.found[-1][1] = data


def test_each_link_leads_to_a_file_with_the_printed_hash(report, source):
    links = _Links()
    links.feed(source)
    assert len(links.found) == len(FIGURES)
    for href, printed in links.found:
        assert hashlib.sha256((report / href).read_bytes()).hexdigest() == printed


def test_the_page_names_no_address_and_no_path_of_this_machine(report, source):
    assert "http" not in source
    assert "://" not in source
    for place in {str(report), str(Path.home()), sys.prefix, str(Path.cwd()), "/tmp/"}:
        assert place not in source


def test_the_page_says_how_to_repeat_each_claim_and_figure(source):
    commands = re.findall(r"<code>(delightful .*?)</code>", unescape(source))
    assert len(commands) == len(CLAIMS) + len(FIGURES)
    last = {command.split(" && ")[-1].split()[2] for command in commands}
    assert last == {c.id for c in CLAIMS} | {f.id for f in FIGURES}
    sweeps = {s.name for e in SHOWN for s in e.sweeps}
    assert {c.split()[2] for c in commands if " && " in c} <= sweeps


def test_a_report_on_smoke_runs_says_that_its_verdicts_mean_nothing(page):
    assert "smoke scale" in page.locator(".warning").inner_text()


def test_every_choice_of_ours_is_listed_with_its_reason(source):
    text = unescape(source)
    for experiment in SHOWN:
        for config in experiment.configs:
            for name, default, reason in choices(config):
                assert f"<dt>{name} = {default}</dt><dd>{reason}</dd>" in text
        for remark in experiment.remarks:
            assert f"<p>{remark}</p>" in text
