"""Put what docs/results holds into README.md and the docs.

README.md and the pages on plug-ins, control, Token Reversal, frictions, Ray and the actor–learner
have markers between which a table is put; the pages on when not to use DG and of frequent
questions, between which a value is put. The pages of docs/paper are written whole.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import benchmarks
from control import amount, control, inversion
from frameworks import stacks, staleness
from friction_errors import errors
from stored import RESULTS, ROOT
from token_reversal import author, learning_rates, stale_actors

from delightful.lab.cells import Plan
from delightful.lab.experiment import Experiment, Figure
from delightful.lab.selection import plan_for, runs_shown
from delightful.lab.store import Store
from delightful.lab.verdicts import VERDICTS
from delightful.paper import EXPERIMENTS


def counts(rows: list[dict]) -> str:
    """How many claims of each section came out how, under the reading that stands for the paper."""
    lines = [f"| section | {' | '.join(VERDICTS)} | seeds |", f"|---|{'---|' * len(VERDICTS)}---|"]
    for experiment in EXPERIMENTS.values():
        mine = [row for row in _of(experiment, rows) if row["stands_for_the_paper"]]
        if not mine or experiment.name == "frictions":  # beyond the paper
            continue
        found = [sum(row["verdict"] == verdict for row in mine) for verdict in VERDICTS]
        seeds = sorted({row["seeds"] for row in mine if row["seeds"]})
        words = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(*seeds) or "exact"
        title = f"[{experiment.title}](docs/paper/{experiment.name}.md)"
        lines.append(f"| {title} | {' | '.join(map(str, found))} | {words} |")
    return "\n".join([*lines, "", amount(_of(EXPERIMENTS["control"], rows))]) + "\n"


def _of(experiment: Experiment, rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["id"].startswith(f"{experiment.name}/")]


def section(experiment: Experiment, rows: list[dict]) -> str:
    """A page: each figure, and below it the claims that it shows."""
    results = f"results{'/control' if experiment.name == 'control' else ''}/figures"
    rest = _of(experiment, rows)
    lines = [
        f"# {experiment.title}",
        "",
        f"{experiment.section} of the paper. Run, draw and check it:",
    ]
    lines += ["", f"    delightful reproduce {experiment.name}", ""]
    for figure in (f for f in experiment.figures if not f.panel):
        name = f"{figure.id.replace('/', '-')}.png"
        if not (ROOT / "docs" / results / name).exists():
            continue
        lines += [
            f"## {figure.number}: {figure.title}",
            "",
            f"![{figure.title}](../{results}/{name})",
        ]
        lines += ["", f"{figure.caption}{_runs(experiment, figure)}", ""]
        shown = [row for row in rest if _shows(experiment, figure, row)]
        rest = [row for row in rest if row not in shown]
        lines += _table(shown)
    if rest:
        lines += ["## Other claims", "", *_table(rest)]
    if experiment.remarks:
        lines += ["## Choices that no config field holds", ""]
        lines += [f"- {remark}" for remark in experiment.remarks]
    return "\n".join(lines).rstrip() + "\n"


def _runs(experiment: Experiment, figure: Figure) -> str:
    """What a figure shows of the runs that are kept, as a sentence."""
    if figure.sweep is None:
        return ""
    store = Store(RESULTS / ("control" if experiment.name == "control" else "runs"))
    plan = plan_for(figure.sweep, store, Plan(), None)
    return f" Shown: {runs_shown(figure.sweep, plan, store)}."


def _shows(experiment: Experiment, figure: Figure, row: dict) -> bool:
    """Whether a claim is about a figure: it names it, or names none and rests on the same sweep."""
    named = re.search(r"Figure (\d+)[a-z]?", row["where"])
    if named:  # Figure 20a is a panel of Figure 20, and Figure 21a a figure here
        return figure.number in (named[0], f"Figure {named[1]}")
    (claim,) = (claim for claim in experiment.claims if claim.id == row["id"])
    return claim.sweep is not None and claim.sweep is figure.sweep


def _table(rows: list[dict], runs: bool = False) -> list[str]:
    """Claims, a line each; with `runs`, also how the runs differ from those of --scale paper."""
    if not rows:
        return []
    names = ["the paper says", "paper", "here, with interval", "verdict", *(["runs"] * runs)]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    for row in rows:
        here = f"{row['measures']}: {row['text']}" if row["measures"] else row["note"]
        needed = f"; {row['seeds_needed']} would probably decide it" if row["seeds_needed"] else ""
        seeds = f" ({row['seeds']} seeds{needed})" if row["seeds"] else ""
        reading = f"{row['reading']}: " if row["reading"] else ""
        verdict = f"{reading}{row['verdict']}"
        cells = [f"{row['sentence']} ({row['where']})", row["paper"], here + seeds, verdict]
        cells += [row["differs_from_paper"]] * runs
        texts = [re.sub(r"([|*<$])", r"\\\1", cell) for cell in cells]
        lines.append(f"| {' | '.join(texts)} |")
    return [*lines, ""]


def frictions(rows: list[dict]) -> str:
    """Every claim on frictions with its verdict, each method's errors, and the figures."""
    experiment = EXPERIMENTS["frictions"]
    lines = [*_table(_of(experiment, rows), runs=True), *errors()]
    for figure in experiment.figures:
        name = f"results/figures/{figure.id.replace('/', '-')}.png"
        if (ROOT / "docs" / name).exists():
            shown = f"{figure.caption}{_runs(experiment, figure)}"
            lines += [f"![{figure.title}]({name})", "", shown, ""]
    return "\n".join(lines)


def refreshed(text: str, name: str, content: str) -> str:
    """`text` with `content` between the markers of `name`."""
    start, end = f"<!-- {name}: start -->\n", f"<!-- {name}: end -->"
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}{content}{end}{after}"


VALUE = re.compile(r"(<!-- value: (.+?) -->).*?(<!-- end -->)", re.DOTALL)


def with_values(text: str, rows: list[dict]) -> str:
    """`text` with measured values between its markers: a claim's id, and if it has several, words
    of the reading and the name of the case, between bars."""

    def value(marker: re.Match[str]) -> str:
        name, *words = (part.strip() for part in marker[2].split("|"))
        reading, case = [*words, "", ""][:2]
        (row,) = (
            row
            for row in rows
            if row["id"] == name and (reading in row["reading"] if reading else _stands(row))
        )
        part = next(part for part in row["parts"] if part["case"] == case)
        return f"{marker[1]}{_few_digits(part)}{marker[3]}"

    return VALUE.sub(value, text)


def _stands(row: dict) -> bool:
    return bool(row["stands_for_the_paper"])


def _few_digits(part: dict) -> str:
    value, low, high = (f"{part[name]:.3g}" for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]".replace("-", "−")


def measured(name: str, table: Callable[[dict], str]) -> dict[str, str]:
    """The table of a benchmark whose JSON is kept; the page stays as it is where none is."""
    file = RESULTS / name / "bench.json"
    return {"bench": table(json.loads(file.read_text("utf-8")))} if file.exists() else {}


def _actor_learner(figures: dict) -> str:
    summary = json.loads((RESULTS / "actor-learner" / "summary.json").read_text("utf-8"))
    return benchmarks.actor_learner(figures, summary)


def pages() -> dict[Path, str]:
    """Every page that is refreshed, as it should be."""
    files = (RESULTS / "claims.json", RESULTS / "control" / "claims.json")
    rows = [row for path in files for row in json.loads(path.read_text("utf-8"))]
    given = {
        "README.md": {"counts": counts(rows)},
        "docs/plugins.md": {"staleness": staleness(), "stacks": stacks()},
        "docs/control.md": {"control": control(), "inversion": inversion()},
        "docs/tokens.md": {
            "learning-rates": learning_rates(),
            "stale-actors": stale_actors(),
            "author": author(),
        },
        "docs/frictions.md": {"frictions": frictions(rows)},
        "docs/ray.md": measured("ray", benchmarks.ray),
        "docs/actor-learner.md": measured("actor-learner", _actor_learner),
    }
    found = {}
    for path, parts in given.items():
        text = (ROOT / path).read_text("utf-8")
        for name, content in parts.items():
            text = refreshed(text, name, content)
        found[ROOT / path] = text
    for path in ("docs/when-not-to-use.md", "docs/faq.md"):
        found[ROOT / path] = with_values((ROOT / path).read_text("utf-8"), rows)
    for experiment in EXPERIMENTS.values():
        if _of(experiment, rows) and experiment.name != "frictions":  # it has a page of its own
            found[ROOT / f"docs/paper/{experiment.name}.md"] = section(experiment, rows)
    return found


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, "utf-8")
