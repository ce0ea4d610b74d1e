"""Put what docs/results holds into README.md and the docs.

README.md and the pages on plug-ins, control, Token Reversal and frictions have markers between
which a table is put; the pages on when not to use DG and of frequent questions, between which a
value is put. The pages of docs/paper are written whole.
"""

import json
import re
from pathlib import Path

import polars as pl

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.tasks import BENCHMARKING
from delightful.lab.experiment import Experiment, Figure
from delightful.lab.plotting import label
from delightful.lab.verdicts import VERDICTS
from delightful.paper import EXPERIMENTS
from delightful.paper.control.sweep import QUICK_STEPS, QUICK_TASKS
from delightful.paper.stacks.figures import FRESH_DATA, PLAIN, SPANS, TASK, TITLES
from delightful.paper.stacks.sweep import STALE
from delightful.registry import METHODS

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"


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
    tasks = f"{len(QUICK_TASKS)} of {len(BENCHMARKING)} tasks"
    steps = f"{QUICK_STEPS:,} of the paper's {ControlConfig().steps:,} steps"
    lines += ["", f"Control was run on {tasks}, for {steps}, with 2 seeds: too few to decide much."]
    return "\n".join(lines) + "\n"


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
        lines += ["", figure.caption, ""]
        shown = [row for row in rest if _shows(experiment, figure, row)]
        rest = [row for row in rest if row not in shown]
        lines += _table(shown)
    if rest:
        lines += ["## Other claims", "", *_table(rest)]
    if experiment.remarks:
        lines += ["## Choices that no config field holds", ""]
        lines += [f"- {remark}" for remark in experiment.remarks]
    return "\n".join(lines).rstrip() + "\n"


def _shows(experiment: Experiment, figure: Figure, row: dict) -> bool:
    """Whether a claim is about a figure: it names it, or names none and rests on the same sweep."""
    named = re.search(r"Figure (\d+)", row["where"])
    if named:
        return figure.number == f"Figure {named[1]}"
    (claim,) = (claim for claim in experiment.claims if claim.id == row["id"])
    return claim.sweep is not None and claim.sweep is figure.sweep


def _table(rows: list[dict]) -> list[str]:
    if not rows:
        return []
    lines = ["| the paper says | paper | here, with interval | verdict |", "|---|---|---|---|"]
    for row in rows:
        here = f"{row['measures']}: {row['text']}" if row["measures"] else row["note"]
        needed = f"; {row['seeds_needed']} would probably decide it" if row["seeds_needed"] else ""
        seeds = f" ({row['seeds']} seeds{needed})" if row["seeds"] else ""
        reading = f"{row['reading']}: " if row["reading"] else ""
        verdict = f"{reading}{row['verdict']}"
        cells = (f"{row['sentence']} ({row['where']})", row["paper"], here + seeds, verdict)
        texts = [re.sub(r"([|*<$])", r"\\\1", cell) for cell in cells]
        lines.append(f"| {' | '.join(texts)} |")
    return [*lines, ""]


def stacks() -> str:
    """Plain frameworks' scores, and the leads of their plug-ins."""
    lines = []
    for span in SPANS:
        lines += [f"Over the {span}:", "", "| | task | steps | plain | delightful | whitened |"]
        lines.append("|---|---|---|---|---|---|")
        for stack, title in TITLES.items():
            table = pl.read_csv(RESULTS / "figures" / f"stacks-{stack}.csv")
            for (algorithm, task), mine in table.group_by("algorithm", "task", maintain_order=True):
                over = mine.filter(pl.col("over") == span)
                plain = over.filter(pl.col("arm") == PLAIN)
                leads = over.filter(pl.col("less") == PLAIN).sort("arm")
                shown = [_interval(row) for row in plain.rows(named=True)]
                shown += [_interval(row, sign="+") for row in leads.rows(named=True)]
                name = f"{title} {algorithm.upper()}"
                lines.append(f"| {name} | {task} | {mine['step'].max():,} | {' | '.join(shown)} |")
        lines.append("")
    seeds = table["seeds"].max()
    return "\n".join(
        [*lines, f"{seeds} seeds each; delightful and whitened are leads over plain.", ""]
    )


def stale_actors() -> str:
    """The average error of every method by the actors' age, and from which age on DG leads."""
    rows = pl.read_csv(RESULTS / "figures" / "tokens-staleness.csv", infer_schema_length=None)
    errors = rows.filter(pl.col("metric") == "regret")
    leads = rows.filter(pl.col("metric") == "regret − DG's")
    methods = sorted(set(errors["method"]), key=lambda spec: (spec == "dg", spec))
    lines = [f"| actors up to | {' | '.join(map(_brief, methods))} |"]
    lines.append(f"|---|{'---|' * len(methods)}")
    for (delay,), mine in errors.sort("delay").group_by("delay", maintain_order=True):
        means = {spec: f"{mean:.3f} ({n:.0f})" for spec, mean, n in mine.select(*COLUMNS).rows()}
        shown = [means.get(spec, "") for spec in methods]
        plural = "update" if delay == 1 else "updates"
        lines.append(f"| {delay:.0f} {plural} old | {' | '.join(shown)} |")
    lines += [
        "",
        "In brackets: seeds. 95% intervals of the difference, on seeds that both have:",
        "",
    ]
    lines += [f"- {_from_delay_on(spec, leads)}" for spec in methods if spec != "dg"]
    return "\n".join([*lines, "", *_turning(), ""])


COLUMNS = ("method", "mean", "seeds")


def _brief(spec: str) -> str:
    return label(spec).replace("preference=1.0", "α = 1")


def _from_delay_on(spec: str, leads: pl.DataFrame) -> str:
    """At which delays the whole interval of a method's error less DG's is above 0."""
    mine = leads.filter(pl.col("method") == spec).sort("delay")
    cases: dict[str, list[str]] = {"ahead": [], "behind": [], "undecided": []}
    for delay, low, high in mine.select("delay", "low", "high").rows():
        cases["ahead" if low > 0 else "behind" if high < 0 else "undecided"].append(f"{delay:.0f}")
    said = [f"{word} at D = {', '.join(at)}" for word, at in cases.items() if at]
    return f"**DG against {_brief(spec)}**: {'; '.join(said) or 'fewer than 4 seeds'}."


def _turning() -> list[str]:
    """From which delay on each claim holds, that tokens/staleness can decide."""
    rows = pl.read_csv(RESULTS / "figures" / "tokens-claims-by-age.csv")
    lines = ["Claims of Section 5 by the age of the actors, as far as these runs decide them:", ""]
    for (_, sentence), mine in rows.group_by("claim", "sentence", maintain_order=True):
        by_verdict: dict[str, list[str]] = {}
        for delay, verdict in mine.sort("delay").select("delay", "verdict").rows():
            by_verdict.setdefault(verdict, []).append(str(delay))
        said = [f"{verdict} at D = {', '.join(at)}" for verdict, at in by_verdict.items()]
        lines.append(f"- {sentence} {'; '.join(said).capitalize()}.".replace("d =", "D ="))
    return lines


def staleness() -> str:
    """How the plug-ins came out on stale data: in words, and every lead over plain."""
    names = (sweep.name.replace("/", "-") for sweep in STALE)
    files = [path for name in names if (path := RESULTS / "figures" / f"{name}.csv").exists()]
    rows = pl.concat(map(pl.read_csv, files)).filter(pl.col("over") != "step")
    rows = rows.with_columns(pl.col("less").fill_null(""))
    spans = " | ".join(f"plain, {span} | lead" for span in SPANS)
    table = [f"| | task | staleness | {spans} |", f"|---|---|---|{'---|---|' * len(SPANS)}"]
    for (*_, level), mine in rows.group_by(*TASK, "staleness", maintain_order=True):
        shown = []
        for span in SPANS:
            over = mine.filter(pl.col("over") == span)
            (plain,) = over.filter(pl.col("arm") == PLAIN, pl.col("less") == "").rows(named=True)
            (lead,) = over.filter(pl.col("less") == PLAIN).rows(named=True)
            shown += [_interval(plain), _interval(lead, sign="+")]
        table.append(f"| {_algorithm(lead)} | {lead['task']} | {level} | {' | '.join(shown)} |")
    leads = rows.filter(pl.col("staleness") > 0, pl.col("less") == PLAIN)
    harm = rows.filter(pl.col("less") == FRESH_DATA, pl.col("arm") == PLAIN)
    words = [
        f"- **{who}, over the {span}**: {_outcome(found.filter(pl.col('over') == span), *sides)}."
        for who, found, *sides in (
            ("Plug-in against framework alone, stale data", leads, "ahead", "behind"),
            ("Framework alone, stale against fresh data", harm, "better", "worse"),
        )
        for span in SPANS
    ]
    fewest, most = rows["seeds"].min(), rows["seeds"].max()
    seeds = f"{fewest} seeds" if fewest == most else f"{fewest} to {most} seeds"
    return "\n".join([*words, "", *table, "", f"{seeds}; Student's 95% intervals.", ""])


def _outcome(leads: pl.DataFrame, above: str, below: str) -> str:
    """In how many cases, and which, the interval is above 0, below 0, or neither."""
    low, high = pl.col("low"), pl.col("high")
    sides = {above: low > 0, below: high < 0, "undecided": (low <= 0) & (high >= 0)}
    said = []
    for word, holds in sides.items():
        mine = leads.filter(holds)
        cases: dict[str, list[str]] = {}
        for row in mine.rows(named=True):
            cases.setdefault(_algorithm(row), []).append(str(row["staleness"]))
        each = ", ".join(f"{name} at {' and '.join(levels)}" for name, levels in cases.items())
        said.append(f"{word} in {len(mine)} of {len(leads)}{f' ({each})' if each else ''}")
    return "; ".join(said)


def _algorithm(row: dict) -> str:
    return f"{TITLES[row['stack']]} {row['algorithm'].upper()}"


NEAR = 0.9
# MPO after 500,000 steps, as dreamerv3-scores publishes it, without repeated actions.
PUBLIC_MPO = {
    "acrobot:swingup": 96,
    "cartpole:swingup": 858,
    "cheetah:run": 645,
    "finger:turn_hard": 255,
    "hopper:hop": 48,
    "reacher:easy": 961,
    "walker:run": 568,
    "walker:walk": 940,
}


def control() -> str:
    """Final returns by task and method, mean over seeds and each seed's."""
    rows = pl.read_csv(RESULTS / "control" / "figures" / "control-rewards.csv")
    methods = [name for name in ("pg", "ppo", "mpo", "dg") if name in set(rows["method"])]
    names = " | ".join(METHODS[name].label for name in methods)
    lines = [f"| final return | {names} | public MPO, 0.5M steps |"]
    lines.append(f"|---|{'---|' * len(methods)}---|")
    for (task,), mine in rows.group_by("task", maintain_order=True):
        shown = [_seeds(mine.filter(pl.col("method") == name)) for name in methods]
        lines.append(f"| {task} | {' | '.join(shown)} | {PUBLIC_MPO.get(task, '')} |")
    said = "Mean over seeds (each seed's). Public MPO: dreamerv3-scores, 10 seeds, at more steps. "
    said += _short(rows.filter(pl.col("method") == "mpo"))
    lines += ["", said, "", "| MPO after 500,000 steps | ours | public |", "|---|---|---|"]
    equal = pl.read_csv(RESULTS / "control" / "figures" / "control-baseline.csv")
    equal = equal.drop_nulls("final").with_columns(pl.col("seed", "final").cast(float))
    for (task,), mine in equal.group_by("task", maintain_order=True):
        lines.append(f"| {task} | {_seeds(mine)} | {PUBLIC_MPO[task]} |")
    return "\n".join([*lines, "", _short(equal), ""])


def inversion() -> str:
    """How often DG's gate was turned over, and the lead of surprisal relative to the mode."""
    lines = [
        "| | initial deviation | density > 1, first | at the end "
        "| mean gate at the end, U > 0 | U < 0 | mode − density, final return |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    table = RESULTS / "control" / "figures" / "control-inversion.csv"
    rows = pl.read_csv(table, infer_schema_length=None)  # leads come after many rows without any
    for (task, deviation), mine in rows.group_by("task", "deviation", maintain_order=True):
        density = mine.filter(pl.col("surprisal") == "density").sort("step")
        shares, good, bad = (
            density.filter(pl.col("metric") == metric)["mean"].to_list()
            for metric in ("inverted", "gate_good", "gate_bad")
        )
        (lead,) = mine.filter(pl.col("metric").str.starts_with("mode")).rows(named=True)
        shown = f"{shares[0]:.1%} | {shares[-1]:.1%} | {good[-1]:.3f} | {bad[-1]:.3f}"
        lines.append(f"| {task} | {deviation:g} | {shown} | {_interval(lead, sign='+')} |")
    seeds = rows["seeds"].min()
    said = f"{seeds} seeds; shares and gates are of DG with −log π(a); Student's 95% intervals."
    return "\n".join([*lines, "", said, ""])


def _seeds(rows: pl.DataFrame) -> str:
    """The mean of final returns, and each seed's."""
    found = rows.sort("seed")["final"].to_list()
    each = ", ".join(f"{value:.0f}" for value in found)
    return f"{sum(found) / len(found):.0f} ({each})" if found else ""


def _short(mpo: pl.DataFrame) -> str:
    """Where ours does not come near the public scores."""
    means = mpo.group_by("task").agg(pl.col("final").mean()).rows()
    short = sorted(task for task, mean in means if mean < NEAR * PUBLIC_MPO.get(task, 0))
    return f"Ours is below {NEAR:.0%} of it on {', '.join(short) or 'none'}."


def _interval(row: dict, sign: str = "") -> str:
    digits = ".3f" if abs(row["high"] - row["low"]) < 1 else ".0f"
    mean, low, high = (f"{row[name]:{sign}{digits}}" for name in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]".replace("-", "−")


def frictions(rows: list[dict]) -> str:
    """Every claim on frictions with its verdict, and the figures that were drawn."""
    mine = [row for row in rows if row["id"].startswith("frictions/")]
    lines = _table(mine)
    for figure in EXPERIMENTS["frictions"].figures:
        name = f"results/figures/{figure.id.replace('/', '-')}.png"
        if (ROOT / "docs" / name).exists():
            lines += [f"![{figure.title}]({name})", "", figure.caption, ""]
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


def pages() -> dict[Path, str]:
    """Every page that is refreshed, as it should be."""
    files = (RESULTS / "claims.json", RESULTS / "control" / "claims.json")
    rows = [row for path in files for row in json.loads(path.read_text("utf-8"))]
    given = {
        "README.md": {"counts": counts(rows)},
        "docs/plugins.md": {"staleness": staleness(), "stacks": stacks()},
        "docs/control.md": {"control": control(), "inversion": inversion()},
        "docs/tokens.md": {"stale-actors": stale_actors()},
        "docs/frictions.md": {"frictions": frictions(rows)},
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
