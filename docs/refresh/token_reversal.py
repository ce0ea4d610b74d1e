"""Token Reversal's page: learning rates, what stale actors change, and the author's code."""

from collections.abc import Iterable, Sequence
from statistics import mean

import polars as pl
from stored import RESULTS

from delightful.lab.cells import Plan
from delightful.lab.plotting import label
from delightful.lab.selection import plan_for, table_of
from delightful.lab.store import Store
from delightful.paper.tokens.figures.author import REGRETS
from delightful.paper.tokens.figures.staleness import at_best_rates
from delightful.paper.tokens.runs import ends
from delightful.paper.tokens.sweep import AUTHORS, STALENESS, WITH_FRESH, WITH_STALE

COLUMNS = ("method", "mean", "seeds")
STUCK = 0.1  # error at the end of a run that has not learned the task


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
        f"In brackets: seeds. {_other_rates()}",
        "",
        "By 95% intervals of the difference, on seeds that both have, one look and one comparison "
        "each (claims share their 5% among looks and cases, and decide less):",
        "",
    ]
    lines += [f"- {_from_delay_on(spec, leads)}" for spec in methods if spec != "dg"]
    lines += [
        "",
        "Every method makes one update per batch here. At D = 0 PPO's ratios are then all 1, and "
        "it is PG: a lead over it there is a second look at the lead over PG. PPO with four passes "
        "over each batch is in the claims with fresh actors.",
    ]
    return "\n".join([*lines, "", *_turning(), ""])


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


def _other_rates() -> str:
    """With how many seeds the learning rates were run that the table does not show."""
    store = Store(RESULTS / "runs")
    table = table_of(STALENESS, plan_for(STALENESS, store, Plan(), None), store)
    assert table is not None  # the figure was drawn of it
    key = ["method", "delay", "learning_rate"]
    runs = table.group_by(key).agg(seeds=pl.col("seed").n_unique())
    shown = at_best_rates(table).select(key).unique()
    seeds = runs.join(shown, on=key, how="semi")["seeds"]
    others = runs.join(shown, on=key, how="anti")["seeds"]
    fewest, least = others.min(), seeds.min()
    few = others.filter(others == fewest).len()
    return (
        f"Each number is at the learning rate with the lowest mean, and has {least} seeds or more; "
        f"of the {others.len()} other rates, {few} were run with {fewest} seeds only."
    )


def _turning() -> list[str]:
    """At which delays each claim holds, that tokens/staleness can decide."""
    rows = pl.read_csv(RESULTS / "figures" / "tokens-claims-by-age.csv")
    lines = ["Claims of Section 5 by the age of the actors, as far as these runs decide them:", ""]
    for (_, sentence), mine in rows.group_by("claim", "sentence", maintain_order=True):
        lines.append(f"- {sentence} {_by_verdict(mine.sort('delay'))}.")
    return lines


def _by_verdict(mine: pl.DataFrame) -> str:
    """At which delays a claim is shown, and what it is at the others."""
    held = pl.col("verdict") == "reproduced"
    found, others = mine.filter(held), mine.filter(~held)
    if found.is_empty():
        said = ["shown at no D"]
    elif others.filter(pl.col("delay") > found["delay"].min()).is_empty() and found.height > 1:
        said = [f"shown from D = {found['delay'].min()} on: {_at(found, mine)}"]
    else:
        said = [f"shown at {_at(found, mine)}"]
    for (verdict,), some in others.group_by("verdict", maintain_order=True):
        said.append(f"{verdict} at {_at(some, mine)}")
    return "; ".join([f"S{said[0][1:]}", *said[1:]])


def _at(some: pl.DataFrame, every: pl.DataFrame) -> str:
    """Some delays of a claim; with their seeds, where these differ between its delays."""
    parts = []
    for (seeds,), same in some.group_by("seeds", maintain_order=True):
        number = f" ({seeds} seeds)" if every["seeds"].n_unique() > 1 else ""
        parts.append(f"D = {', '.join(map(str, same['delay']))}{number}")
    return " and ".join(parts)


def learning_rates() -> str:
    """Every method's learning rate, by how old the actors are, and the rates that were run."""
    lines = ["| actors | " + " | ".join(map(label, WITH_STALE.settings)) + " |"]
    lines.append("|---|" + "---|" * len(WITH_STALE.settings))
    shown = []
    for actors, name in ((WITH_STALE, "learning-rate"), (WITH_FRESH, "learning-rate-fresh")):
        rates = [f"{own['learning_rate']:g}" for own in actors.settings.values()]
        lines.append(f"| {actors.reading} | {' | '.join(rates)} |")
        rows = pl.read_csv(RESULTS / "figures" / f"tokens-{name}.csv")
        run = ", ".join(f"{rate:g}" for rate in sorted(rows["learning_rate"].unique()))
        shown.append(f"with {actors.reading} {run} ({rows['seeds'].min()} seeds)")
    return "\n".join([*lines, "", f"Rates that Figure 21a shows: {'; '.join(shown)}.", ""])


def author() -> str:
    """The average errors of the author's code and of ours with its settings, each seed's."""
    store = Store(RESULTS / "runs")
    table = table_of(AUTHORS, plan_for(AUTHORS, store, Plan(), None), store)
    if table is None:
        return "Our side was not run.\n"
    runs = ends(table).sort("seed")
    lines = ["| | actors | the author's code | ours |", "|---|---|---|---|"]
    sides: dict[str, list[str]] = {"larger": [], "smaller": [], "apart": []}
    for (spec, delay), theirs in REGRETS.items():
        mine = runs.filter(pl.col("method") == spec, pl.col("delay") == delay)
        ours, stuck = mine["regret"].to_list(), (mine["error"] > STUCK).to_list()
        actors = f"up to {delay} updates old" if delay else "fresh"
        shown = f"{_each(theirs, [False] * len(theirs))} | {_each(ours, stuck)}"
        lines.append(f"| {_brief(spec)} | {actors} | {shown} |")
        case = f"{_brief(spec)} at D = {delay}"
        sides["larger" if mean(ours) > mean(theirs) else "smaller"].append(case)
        if min(ours) > max(theirs) or max(ours) < min(theirs):
            sides["apart"].append(case)
    words = {side: ", ".join(cases) or "none" for side, cases in sides.items()}
    lines += [
        "",
        "Mean, and in brackets each seed where there are several; "
        f"† more than {STUCK:.0%} of the tokens are still wrong at the end.",
        "",
        f"Our mean error is larger for {words['larger']}; it is smaller for {words['smaller']}. "
        f"All seeds of one side are above all of the other's for {words['apart']}.",
    ]
    return "\n".join([*lines, ""])


def _each(values: Sequence[float], stuck: Iterable[bool]) -> str:
    """The mean, and in brackets each seed."""
    marked = zip(values, stuck, strict=True)
    each = ", ".join(f"{value:.3f}{'†' if mark else ''}" for value, mark in marked)
    return f"{mean(values):.3f} ({each})" if len(values) > 1 else each
