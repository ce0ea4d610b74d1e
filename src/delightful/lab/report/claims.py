"""Claims of the report: the sentence, its rule, and what was measured under each reading."""

from html import escape

from delightful.lab.decisions import shown
from delightful.lab.rendering import outlook, rule_in_words
from delightful.lab.report.arranging import Checked
from delightful.lab.report.markup import chip, command, kind, paragraph, sentence
from delightful.lab.report.outcomes import more_values, outcomes_table, rows, split
from delightful.lab.report.readings import DIGITS, basis, commands, readings_table, rests_on
from delightful.lab.verdicts import Verdict, headline
from delightful.lab.wording import expected, minus

FOLDED: tuple[Verdict, ...] = ("reproduced", "inconclusive")


def article(checked: Checked) -> str:
    """A claim with what was measured, or with its readings side by side; one that is reproduced or
    inconclusive is a line that opens."""
    claim, first = checked.claim, checked.first
    several = len(checked.decisions) > 1
    if checked.verdict in FOLDED:
        alone = f'<div class="alone">{outcomes_table(first)}{basis(first)}</div>'
        inside = (
            f"<details>{_line(checked)}{_source(checked)}{_about(checked)}"
            f"{_several(checked) if several else alone}</details>"
        )
    else:
        shown_ = _several(checked) if several else _alone(checked)
        inside = f"{_header(checked)}\n{_about(checked)}\n{shown_}"
    return (
        f'<article class="claim {kind(checked.verdict)}" id="{escape(claim.id)}" '
        f'data-item data-verdict="{checked.verdict}">\n{inside}</article>'
    )


def absent(checked: Checked) -> str:
    """A claim that is not run: why, if that is known, and the command that would decide it."""
    claim, first = checked.claim, checked.first
    return (
        f'<article class="claim not-run" id="{escape(claim.id)}" data-item '
        f'data-verdict="{checked.verdict}">\n{_header(checked)}\n{_about(checked)}'
        f"{paragraph(sentence(first.note))}"
        f"{paragraph(sentence(outlook(first)), 'outlook')}{command(first.command)}</article>"
    )


def _header(checked: Checked) -> str:
    words = paragraph(checked.claim.sentence, "sentence")
    return f"<header>{chip(checked.verdict)}{words}{_source(checked)}</header>"


def _about(checked: Checked) -> str:
    """What the paper gives, the rule, and the reading if it is the only one."""
    reading = _reading(checked) if len(checked.decisions) == 1 else ""
    return (
        f'<div class="about">{paragraph(expected(checked.claim), start="Expected:")}'
        f"{paragraph(rule_in_words(checked.first), start='Rule:')}{reading}</div>"
    )


def _source(checked: Checked) -> str:
    """Where the sentence stands in the paper, and a link to the claim."""
    name = escape(checked.claim.id)
    where = escape(checked.claim.where)
    return f'<span class="dim">{where} · <a href="#{name}">{name}</a></span>'


def _line(checked: Checked) -> str:
    """The verdict, the sentence, the value to show first and the verdicts of all readings."""
    words = f'<span class="sentence">{escape(checked.claim.sentence)}</span>'
    first = headline(checked.first.outcomes)
    value, measures = escape(minus(shown(first, DIGITS))), escape(minus(first.measures))
    return (
        f'<summary class="line">{chip(checked.verdict)} {words} '
        f'<span class="dim" title="{measures}">{value}{_signs(checked)}</span></summary>'
    )


def _signs(checked: Checked) -> str:
    """The signs of the verdicts under several readings, side by side; empty for one reading."""
    if len(checked.decisions) == 1:
        return ""
    words = [f"{decision.reading}: {decision.verdict}" for decision in checked.decisions]
    signs = "".join(f'<i class="{kind(d.verdict)}"></i>' for d in checked.decisions)
    about = escape("; ".join(words))
    return f'<span class="signs" role="img" aria-label="{about}" title="{about}">{signs}</span>'


def _several(checked: Checked) -> str:
    """The readings of a claim, a row for each."""
    words = "The reading that stands for the paper has not been run; another has."
    return f"{paragraph(words if checked.verdict == 'not run' else '')}{readings_table(checked)}"


def _alone(checked: Checked) -> str:
    """What was measured under the only reading: one value, and a line that opens to the others, to
    notes and to commands."""
    first = checked.first
    top, others = split(first.outcomes, 1)
    summary = sentence(more_values(others)) + " " if others else ""
    return (
        f'<div class="alone">{rows(first, top)}<details class="basis">'
        f"<summary>{escape(minus(summary + rests_on(first)))}"
        f'<span class="dim">\u00a0·\u00a0command</span></summary>{rows(first, others)}'
        f"{paragraph(sentence(first.note))}{commands(first)}</details></div>"
    )


def _reading(checked: Checked) -> str:
    """The name of the only reading, if it has one, and what it means."""
    name = str(checked.first.reading)
    meaning = checked.meanings.get(name, "")
    return paragraph(f"{name}: {meaning}" if meaning else name, start="Reading:")
