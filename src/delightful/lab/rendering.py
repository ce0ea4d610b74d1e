"""Claims as people read them: in the terminal, as Markdown, and as HTML for the report."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from delightful.lab.results import Decision


class Columns(NamedTuple):
    """What every table of claims shows of a decision."""

    sentence: str
    paper: str
    here: str
    verdict: str
    command: str


def columns(decision: "Decision") -> Columns:
    """The texts of a decision, without markup."""
    claim, finding = decision.claim, decision.finding
    here = f"{finding.measures}: {finding.text}" if finding.measures else ""
    here += f" ({finding.note})" if finding.note else ""
    sentence = f"{claim.sentence} ({claim.where})"
    return Columns(sentence, claim.paper, here, finding.verdict, decision.command)


def on_smoke(decisions: "Sequence[Decision]") -> bool:
    """Whether any verdict is on runs of a few steps, which cannot support one."""
    return any(decision.runs and decision.plan.scale == "smoke" for decision in decisions)


def claim_paragraphs(decision: "Decision") -> list[tuple[str, str]]:
    """A decision for the terminal, below its id and verdict: what stands before each paragraph,
    and the paragraph."""
    claim, finding = decision.claim, decision.finding
    interval = "" if finding.low is None else " (95% interval)"
    here = f"{finding.measures}: {finding.text}" if finding.measures else ""
    lines = [("", f"{claim.sentence} ({claim.where})"), ("paper: ", claim.paper)]
    lines += [(f"here{interval}: ", here), ("note: ", finding.note)]
    lines += [("$ ", command) for command in decision.command.split(" && ")]
    return [(start, text) for start, text in lines if text]


def claims_markdown(decisions: "Sequence[Decision]") -> str:
    """The claims as a Markdown table, as README and docs show it."""
    lines = [
        "| the paper says | paper | here, with 95% interval | verdict | command |",
        "|---|---|---|---|---|",
    ]
    for decision in decisions:
        *cells, command = columns(decision)
        texts = [cell.replace("|", "\\|").replace("*", "\\*") for cell in cells]
        lines.append(f"| {' | '.join(texts)} | `{command}` |")
    return "\n".join(lines) + "\n"


def claim_html(decision: "Decision") -> str:
    """A claim as an article of the report."""
    claim, finding = decision.claim, decision.finding
    seeds = f", over {decision.runs} seeds at {decision.plan.scale} scale" if decision.runs else ""
    found = (
        f'<p>{escape(finding.measures)}: <span class="value">{escape(finding.text)}</span>{seeds} '
        f'<span class="dim">(paper: {escape(claim.paper)})</span></p>'
        if finding.measures
        else ""
    )
    note = f'<p class="dim">{escape(finding.note)}</p>' if finding.note else ""
    return (
        f'<article class="claim {finding.verdict.replace(" ", "-")}" '
        f'data-verdict="{finding.verdict}" id="{claim.id}">\n'
        f'<header><span class="dim">{escape(claim.id)} · {escape(claim.where)}</span>'
        f'<span class="verdict">{finding.verdict}</span></header>\n'
        f"<p>{escape(claim.sentence)}</p>\n{found}{note}\n"
        f'<p class="dim"><code>{escape(decision.command)}</code></p></article>'
    )
