"""The whole page: what was found, then the claims with their figures, then what was chosen."""

from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

import delightful
from delightful.lab.config import choices
from delightful.lab.decisions import Decision
from delightful.lab.drawing import Drawn
from delightful.lab.experiment import Experiment
from delightful.lab.rendering import on_smoke
from delightful.lab.report.arranging import Checked, Group, Part, arrange
from delightful.lab.report.claims import absent, article
from delightful.lab.report.figures import figure, heading
from delightful.lab.report.summary import bar, card, legend, tally, totals
from delightful.lab.store import cannot_write, write_whole
from delightful.lab.wording import plural

REFRESH = 20  # seconds, while a run is on


def write_report(
    folder: Path,
    experiments: Sequence[Experiment],
    decisions: Sequence[Decision],
    drawn: Sequence[Drawn],
    *,
    title: str = "",
    running: str = "",
) -> Path:
    """Write `report.html` into `folder`.

    Args:
        folder: Where; the CSV files of `drawn` are in its `figures`, which the page links to.
        experiments: The sections of the page, in this order.
        decisions: On their claims.
        drawn: Their figures.
        title: What the page is called; "Report" by default.
        running: How far a run is, if one is on: the page shows this and reloads itself.

    Returns:
        The path of the page.
    """
    parts = [arrange(experiment, decisions, drawn) for experiment in experiments]
    shown = [part for part in parts if part.groups or part.absent]
    page = _page(shown, experiments, title or "Report", running)
    path = folder / "report.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, page.encode())
    except OSError as error:
        raise cannot_write(folder, error) from None
    return path


def _page(
    parts: Sequence[Part], experiments: Sequence[Experiment], title: str, running: str
) -> str:
    claims = [claim for part in parts for claim in part.claims]
    template = resources.files("delightful.lab.report").joinpath("report.html").read_text("utf-8")
    reload = f'<noscript><meta http-equiv="refresh" content="{REFRESH}"></noscript>'
    banner = f'<p class="running" role="status" data-every="{REFRESH}">{escape(running)}</p>'
    return Template(template).substitute(
        title=escape(title),
        version=delightful.__version__,
        refresh=reload if running else "",
        running=banner if running else "",
        warning=_warning([d for claim in claims for d in claim.decisions]),
        buttons=_buttons(claims),
        options="\n".join(map(_option, parts)),
        contents="\n".join(map(_entry, parts)),
        overall=totals(claims),
        legend=legend(claims),
        found="\n".join(map(card, parts)),
        sections="\n".join(map(_section, parts)) or "<p>There is nothing to show yet.</p>",
        choices="\n".join(map(_choices, experiments)),
    )


def _buttons(claims: Sequence[Checked]) -> str:
    shown = {"all": len(claims)} | {verdict: n for verdict, n in tally(claims).items() if n}
    return "\n".join(
        f'<button type="button" data-filter="{verdict}" '
        f'aria-pressed="{str(verdict == "all").lower()}">{verdict} <b>{n}</b></button>'
        for verdict, n in shown.items()
    )


def _warning(decisions: Sequence[Decision]) -> str:
    if not on_smoke(decisions):
        return ""
    return (
        '<p class="warning">This is the smoke scale: a few steps, to see that everything works. '
        "Verdicts on its runs mean nothing; use <code>--scale quick</code> or "
        "<code>--scale paper</code>.</p>"
    )


def _option(part: Part) -> str:
    e = part.experiment
    return f'<option value="{escape(e.name)}">{escape(e.title)}</option>'


def _entry(part: Part) -> str:
    """A section in the list of contents, with its figures."""
    e, drawn = part.experiment, [group.drawn for group in part.groups if group.drawn]
    figures = "".join(
        f'<li><a href="#figure-{escape(d.figure.id)}">{heading(d)}</a></li>' for d in drawn
    )
    inner = f"<ul>{figures}</ul>" if figures else ""
    return (
        f'<li data-of="{escape(e.name)}"><a href="#section-{escape(e.name)}">{escape(e.title)}'
        f'<span data-total="{escape(e.name)}">{bar(part.claims)}</span></a>{inner}</li>'
    )


def _section(part: Part) -> str:
    e, name = part.experiment, escape(part.experiment.name)
    shows_none = [g for g in part.groups if g.drawn and g.drawn.figure.appendix and not g.claims]
    aside = shows_none if part.claims else []  # of figures alone, all are shown
    groups = "\n".join(_group(group, part) for group in part.groups if group not in aside)
    folded = _aside(aside, part)
    if part.absent:
        inside = "\n".join(map(absent, part.absent))
        folded += (
            f'<details class="absent fold" id="absent-{name}" data-holder>'
            f"<summary>{plural(len(part.absent), 'claim')} not run</summary>\n{inside}</details>"
        )
    return (
        f'<section class="part" id="section-{name}" data-holder data-section="{name}">\n'
        f'<h2>{escape(e.title)} <span class="dim">{escape(e.section)}</span></h2>\n'
        f'{totals(part.claims, e.name)}<p class="matching" data-matching="{name}" hidden></p>\n'
        f"{groups}\n{folded}</section>"
    )


def _group(group: Group, part: Part) -> str:
    """A figure and its claims. One of an appendix is a line that opens, as is one that the page
    opens with."""
    top = "<h3>Claims without a figure</h3>"
    if group.drawn is not None:
        appendix = "appendix" if group.drawn.figure.appendix and group.claims else ""
        top = figure(group.drawn, "shown above" if group.drawn is part.main else appendix)
    inside = "\n".join([top, *map(article, group.claims)])
    return f'<div class="group" data-holder>{inside}</div>'


def _aside(groups: Sequence[Group], part: Part) -> str:
    """Figures of appendices, or beyond the paper, that show no claim: folded away."""
    if not groups:
        return ""
    return (
        f'<details class="aside fold" id="aside-{escape(part.experiment.name)}" data-holder>'
        f"<summary>{plural(len(groups), 'more figure')}, without claims</summary>"
        f"{''.join(_group(group, part) for group in groups)}</details>"
    )


def _choices(experiment: Experiment) -> str:
    """What the paper does not state of one experiment, folded away."""
    rows = [
        f"<div data-item><dt>{escape(name)} = {escape(str(default))}</dt>"
        f"<dd>{escape(reason)}</dd></div>"
        for config in experiment.configs
        for name, default, reason in choices(config)
    ]
    remarks = [f"<p data-item>{escape(remark)}</p>" for remark in experiment.remarks]
    if not rows and not remarks:
        return ""
    name = escape(experiment.name)
    return (
        f'<details class="fold" id="choices-{name}" data-holder data-section="{name}">'
        f"<summary>{escape(experiment.title)} "
        f'<span class="dim">{plural(len(rows) + len(remarks), "choice")}</span></summary>'
        f"<dl>{''.join(rows)}</dl>{''.join(remarks)}</details>"
    )
