"""Token Reversal's page: learning rates, and what stale actors change."""

import polars as pl
from results import RESULTS

from delightful.lab.plotting import label
from delightful.paper.tokens.sweep import WITH_FRESH, WITH_STALE

COLUMNS = ("method", "mean", "seeds")


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
        found = "; ".join(said).capitalize().replace("d =", "D =")
        lines.append(f"- {sentence} {found}; {_from_on(mine.sort('delay'))}.")
    return lines


def _from_on(mine: pl.DataFrame) -> str:
    """From which delay on a claim is reproduced at every delay that was run, in words."""
    holds = [verdict == "reproduced" for verdict in mine["verdict"]]
    if not any(holds):
        return "shown at no D"
    after = len(holds) - next((i for i, held in enumerate(reversed(holds)) if not held), len(holds))
    if after == len(holds):
        return f"not shown at the largest, D = {mine['delay'][-1]}"
    return f"shown from D = {mine['delay'][after]} on"


def learning_rates() -> str:
    """Every method's learning rate, by how old the actors are."""
    lines = ["| actors | " + " | ".join(map(label, WITH_STALE.settings)) + " |"]
    lines.append("|---|" + "---|" * len(WITH_STALE.settings))
    for actors in (WITH_STALE, WITH_FRESH):
        rates = [f"{own['learning_rate']:g}" for own in actors.settings.values()]
        lines.append(f"| {actors.reading} | {' | '.join(rates)} |")
    return "\n".join(lines) + "\n"
