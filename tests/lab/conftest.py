"""The report of `sample_report`, and the browser that reads it."""

import os
import re
import shutil
from pathlib import Path

import pytest
import sample_report

QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    return sample_report.build(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def source(report) -> str:
    """The page without the images inside it, whose base64 may spell anything."""
    return re.sub(r"data:image/png;base64,[\w+/=]+", "", report.read_text())


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

    def open_(
        width=sample_report.DESKTOP, height=800, path=report, clock=False, hash_="", **options
    ):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        if clock:
            page.clock.install()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", complain)
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.goto(path.as_uri() + hash_)
        if not clock and options.get("java_script_enabled", True):
            page.wait_for_selector("html.whole", state="attached")  # all is laid out
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(open_page):
    return open_page()
