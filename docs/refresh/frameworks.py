"""The plug-ins' page: frameworks alone and with their plug-ins, on fresh and on stale data."""

import polars as pl
from stored import RESULTS, interval

from delightful.paper.stacks.figures import FRESH_DATA, PLAIN, SPANS, TASK, TITLES
from delightful.paper.stacks.sweep import STALE


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
                shown = [interval(row) for row in plain.rows(named=True)]
                shown += [interval(row, sign="+") for row in leads.rows(named=True)]
                name = f"{title} {algorithm.upper()}"
                lines.append(f"| {name} | {task} | {mine['step'].max():,} | {' | '.join(shown)} |")
        lines.append("")
    seeds = table["seeds"].max()
    return "\n".join(
        [*lines, f"{seeds} seeds each; delightful and whitened are leads over plain.", ""]
    )


def staleness() -> str:
    """How the plug-ins came out on stale data: in words, and every lead over plain."""
    names = (sweep.name.replace("/", "-") for sweep in STALE)
    files = [path for name in names if (path := RESULTS / "figures" / f"{name}.csv").exists()]
    rows = pl.concat(map(pl.read_csv, files)).filter(pl.col("over") != "step")
    rows = rows.with_columns(pl.col("less").fill_null(""))
    spans = " | ".join(f"plain, {span} | lead" for span in SPANS)
    table = [f"| | task | staleness | seeds | {spans} |"]
    table.append(f"|---|---|---|---|{'---|---|' * len(SPANS)}")
    for (*_, level), mine in rows.group_by(*TASK, "staleness", maintain_order=True):
        shown = []
        for span in SPANS:
            over = mine.filter(pl.col("over") == span)
            (plain,) = over.filter(pl.col("arm") == PLAIN, pl.col("less") == "").rows(named=True)
            (lead,) = over.filter(pl.col("less") == PLAIN).rows(named=True)
            shown += [interval(plain), interval(lead, sign="+")]
        name = f"{_algorithm(lead)} | {lead['task']} | {level} | {lead['seeds']}"
        table.append(f"| {name} | {' | '.join(shown)} |")
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
    seeds = "Seeds are those that plain and delightful both have; Student's 95% intervals."
    return "\n".join([*words, "", *table, "", seeds, ""])


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
        each = "; ".join(f"{name} at {_listed(levels)}" for name, levels in cases.items())
        said.append(f"{word} in {len(mine)} of {len(leads)}{f' ({each})' if each else ''}")
    return ", ".join(said)


def _listed(words: list[str]) -> str:
    """Such as 3, 10 and 30."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _algorithm(row: dict) -> str:
    return f"{TITLES[row['stack']]} {row['algorithm'].upper()}"
