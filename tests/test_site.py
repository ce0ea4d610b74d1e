"""The docs site is strict, whole and offline; the package's metadata and its archive are sound."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import delightful as dg

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PHONE = 390


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """What `make docs` does."""
    options = ["--fail-on-warning", "--keep-going", "--fresh-env", "--quiet"]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(source), str(out)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources of the site."""
    root = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "CHANGELOG.md", root)
    shutil.copytree(ROOT / "docs", root / "docs", ignore=shutil.ignore_patterns("_build", "cells"))
    return root / "docs"


@pytest.fixture(scope="module")
def site(pages: Path) -> Path:
    out = pages.parent / "html"
    built = build(pages, out)
    assert built.returncode == 0, built.stderr
    return out


class Page(HTMLParser):
    """The links, the loaded resources and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.resources: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag == "link" and given["rel"] in ("stylesheet", "preload", "icon"):
            self.resources.add(given["href"])
        elif "src" in given:
            self.resources.add(given["src"])


@pytest.fixture(scope="module")
def parsed(site: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


def test_notebook_is_shown_as_it_was_executed(site: Path) -> None:
    page = (site / "notebooks" / "dg-in-ten-minutes.html").read_text("utf-8")
    assert 'src="data:image/png;base64,' in page
    assert 'class="output highlight-text' in page


def test_notebook_whose_cell_failed_is_refused(pages: Path, tmp_path: Path) -> None:
    failed = {"output_type": "error", "ename": "NameError", "evalue": "gone"}
    cells = [
        {"cell_type": "markdown", "source": ["# Notebook"]},
        {"cell_type": "code", "source": ["gone"], "outputs": [failed]},
    ]
    (tmp_path / "notebook.ipynb").write_text(json.dumps({"cells": cells}), "utf-8")
    built = build_small(pages, tmp_path, "[Notebook](notebook.ipynb)")
    assert built.returncode != 0
    assert "NameError: gone" in built.stderr


def is_elsewhere(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def test_links_and_resources_resolve(parsed: dict[Path, Page]) -> None:
    assert len(parsed) > 20
    broken = []
    for path, page in parsed.items():
        for address in page.links | page.resources:
            parts = urlsplit(address)
            if parts.scheme == "data" or is_elsewhere(address):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = parsed[target].anchors if target in parsed else {parts.fragment}
            if not target.is_file() or unquote(parts.fragment) not in known:
                broken.append(f"{path.name}: {address}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site: Path, parsed: dict[Path, Page]) -> None:
    assert not [a for page in parsed.values() for a in page.resources if is_elsewhere(a)]
    for path in site.rglob("*.css"):
        assert not re.search(
            r"(url\(\s*['\"]?|@import\s+['\"])(https?:)?//", path.read_text("utf-8")
        )


def test_every_page_is_reached_from_the_first(site: Path, parsed: dict[Path, Page]) -> None:
    """By the navigation, which the first page has whole."""
    first = site.resolve() / "index.html"
    reached = {(first.parent / urlsplit(link).path).resolve() for link in parsed[first].links}
    extra = {first, first.parent / "search.html", first.parent / "py-modindex.html"}
    assert not parsed.keys() - reached - extra - {first.parent / "genindex.html"}


def build_small(pages: Path, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """A site of two pages, `text` being on the first, with the settings of ours."""
    for name in ("conf.py", "_ext", "_static"):
        (folder / name).symlink_to(pages / name)
    (folder / "faq.md").write_text("---\norphan: true\n---\n# FAQ\n", "utf-8")
    (folder / "index.md").write_text(f"# First\n\n{text}\n", "utf-8")
    return build(folder, folder / "html")


def test_formulas_are_mathml(pages: Path, tmp_path: Path) -> None:
    built = build_small(pages, tmp_path, r"[FAQ](faq.md#faq) and $w = \sigma(\chi/\eta)$")
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "html" / "index.html").read_text("utf-8")
    assert "<mi>σ</mi>" in page
    assert "mathjax@" not in page.lower()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[gone](gone.md)", "gone.md"),
        ("[gone](faq.md#gone)", "gone"),
        ("![gone](results/figures/gone.png)", "gone.png"),
        ("{py:func}`delightful.gone`", "delightful.gone"),
        (r"$\gone$", "gone"),
    ],
)
def test_what_is_broken_fails(pages: Path, tmp_path: Path, text: str, complaint: str) -> None:
    built = build_small(pages, tmp_path, text)
    assert built.returncode != 0
    assert complaint in built.stderr


def test_no_page_scrolls_sideways_on_a_phone(parsed: dict[Path, Page]) -> None:
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        decide = pytest.fail if os.environ.get("DELIGHTFUL_REQUIRE_CHROMIUM") else pytest.skip
        decide(f"the site is read in Chromium, and none of {', '.join(names)} is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": PHONE, "height": 800})
        for file in parsed:
            page.goto(file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE, file.name
        browser.close()


def test_archive_is_small_and_without_results(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (archive,) = tmp_path.iterdir()
    assert archive.stat().st_size < 1_000_000
    with tarfile.open(archive) as opened:
        names = [name.partition("/")[2] for name in opened.getnames()]
    assert {"src/delightful/gate.py", "README.md", "LICENSE", "CITATION.cff"} <= set(names)
    assert not [name for name in names if name.startswith(("docs/", "tests/", "results/"))]


def test_citation_names_the_paper_and_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == dg.__version__
    assert "2603.14608" in cited["preferred-citation"]["url"]


def test_workflow_calls_ci_run() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    assert "bash .ci/run" in [step.get("run") for step in job["steps"]]
    assert job["timeout-minutes"] == 90
    assert "3.11" in job["container"]["image"]


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")), ids=str)
def test_issue_forms_are_complete(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"]
    assert form["description"]
    assert all(part["attributes"]["label"] for part in form["body"])


def test_hooks_need_no_download() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert {repository["repo"] for repository in config["repos"]} == {"local"}
    hooks = config["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert [hook["id"] for hook in hooks] == ["ruff-check", "ruff-format", "mypy"]
