"""Put a summary of docs/results/claims.json into README.md, between its two markers."""

import json
from pathlib import Path

from delightful.experiments import EXPERIMENTS
from delightful.lab.experiment import VERDICTS

ROOT = Path(__file__).parent.parent
START, END = "<!-- claims: start -->\n", "<!-- claims: end -->"


def summary(rows: list[dict]) -> str:
    """How many claims of each experiment came out how, then those that did not come out whole."""
    lines = [f"| | {' | '.join(VERDICTS)} | seeds |", f"|---|{'---|' * len(VERDICTS)}---|"]
    for experiment in EXPERIMENTS.values():
        mine = [row for row in rows if row["id"].startswith(f"{experiment.name}/")]
        if not mine:  # beyond the paper
            continue
        counts = [sum(row["verdict"] == verdict for row in mine) for verdict in VERDICTS]
        seeds = sorted({row["seeds"] for row in mine if row["seeds"]})
        words = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(*seeds) or "exact"
        title = f"`{experiment.name}`: {experiment.title} ({experiment.section})"
        lines.append(f"| {title} | {' | '.join(map(str, counts))} | {words} |")
    lines += ["", "Of these, not wholly reproduced, or not run:", ""]
    lines.append("| the paper says | here, with 95% interval | verdict | command |")
    lines.append("|---|---|---|---|")
    for row in rows:
        if row["verdict"] != "reproduced":
            here = f"{row['measures']}: {row['text']}" if row["measures"] else ""
            here += f" ({row['note']})" if row["note"] else ""
            cells = (f"{row['sentence']} ({row['where']})", here, row["verdict"])
            texts = [cell.replace("|", "\\|").replace("*", "\\*") for cell in cells]
            lines.append(f"| {' | '.join(texts)} | `{row['command']}` |")
    return "\n".join(lines) + "\n"


def refreshed(readme: str) -> str:
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    rows = json.loads((ROOT / "docs" / "results" / "claims.json").read_text("utf-8"))
    return f"{before}{START}{summary(rows)}{END}{after}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(refreshed(path.read_text("utf-8")), "utf-8")
