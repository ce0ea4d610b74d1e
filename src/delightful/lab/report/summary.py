"""What was found: bars of verdicts, sentences computed from them, and each section's headlines."""

from collections.abc import Sequence
from html import escape

from delightful.lab.duration import duration
from delightful.lab.experiment import Experiment
from delightful.lab.report.arranging import Checked, Part
from delightful.lab.report.figures import picture, shown
from delightful.lab.report.markup import chip, kind, paragraph
from delightful.lab.verdicts import VERDICTS, Verdict
from delightful.lab.wording import minus, plural


def tally(claims: Sequence[Checked]) -> dict[Verdict, int]:
    """How many claims have each verdict, under the readings that stand for the paper."""
    verdicts = [checked.verdict for checked in claims]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def bar(claims: Sequence[Checked]) -> str:
    """The verdicts as one bar; empty without claims."""
    counts = {verdict: n for verdict, n in tally(claims).items() if n}
    words = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    parts = "".join(
        f'<span class="{kind(verdict)}" style="flex-grow:{n}" title="{n} {verdict}"></span>'
        for verdict, n in counts.items()
    )
    return f'<div class="bar" role="img" aria-label="{words}">{parts}</div>' if counts else ""


def in_words(claims: Sequence[Checked]) -> str:
    """Such as: 15 claims: 11 reproduced, 1 partly, 3 not run."""
    if not claims:
        return "Figures only: nothing is claimed."
    words = ", ".join(f"{n} {verdict}" for verdict, n in tally(claims).items() if n)
    need = f" {_need(claims)}." if any(c.verdict == "inconclusive" for c in claims) else ""
    return f"{plural(len(claims), 'claim')}: {words}.{need}"


def by_reading(claims: Sequence[Checked]) -> str:
    """A table of the verdicts under each reading, where claims have several; empty if none has."""
    verdicts: dict[str, list[Verdict]] = {}
    for checked in claims:
        for decision in checked.decisions if len(checked.decisions) > 1 else ():
            verdicts.setdefault(str(decision.reading), []).append(decision.verdict)
    if not verdicts:
        return ""
    shown = [v for v in VERDICTS if any(v in found for found in verdicts.values())]
    head = "".join(f'<th scope="col">{verdict}</th>' for verdict in shown)
    rows = [
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{found.count(verdict) or ''}</td>" for verdict in shown)
        for name, found in verdicts.items()
    ]
    return (
        '<table class="counts"><caption>Verdicts under each reading</caption><thead>'
        f'<tr><th scope="col">reading</th>{head}</tr></thead>'
        f"<tbody>{'</tr>'.join(rows)}</tr></tbody></table>"
    )


def _need(claims: Sequence[Checked]) -> str:
    """The seeds that would decide what is inconclusive, as a sentence; claims on the same runs
    share the cost."""
    open_ = [c.first for c in claims if c.verdict == "inconclusive"]
    costs: dict[str, float] = {}
    seeds, decided = [], 0
    for d in open_:
        if d.needed is None or d.seconds is None or d.first:
            continue
        if d.reading.sweep is not None:
            name = d.reading.sweep.name
            costs[name] = max(costs.get(name, 0.0), d.seconds)
            seeds.append(d.needed)
            decided += 1
    if not seeds:
        them = "it" if len(open_) == 1 else "them"
        return _capital("; ".join(dict.fromkeys(d.unlikely(them) for d in open_)))
    what = "what is inconclusive" if decided == len(open_) else f"{decided} of the {len(open_)}"
    more = "" if decided == len(open_) else " that are inconclusive"
    up_to = "up to " if min(seeds) < max(seeds) else ""
    return _capital(
        f"{up_to}{max(seeds)} seeds would probably decide {what}{more}, "
        f"about {duration(sum(costs.values()))} of one core"
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def card(part: Part) -> str:
    """What was found in one section: in sentences, in numbers, the main figure, other claims."""
    e, main = part.experiment, part.main
    name = escape(e.name)
    found = _lines("findings", [claim for claim in part.headlines if claim.told], e)
    others = _lines("others", [claim for claim in part.headlines if not claim.told], e)
    figure = ""
    if main is not None:
        link = f'<a href="#figure-{escape(main.figure.id)}">{escape(main.figure.number)}</a>'
        about = f"<p>{link}: {escape(main.figure.title)}</p>{paragraph(main.figure.caption, 'dim')}"
        about += shown(main)
        figure = f"<figure data-item>{picture(main)}<figcaption>{about}</figcaption></figure>"
    return (
        f'<section class="card" data-holder data-section="{name}">\n'
        f'<h3><a href="#section-{name}">{escape(e.title)}</a> '
        f'<span class="dim">{escape(e.section)}</span></h3>\n'
        f"{found}{totals(part.claims, e.name)}\n{figure}\n{others}"
        f'<div data-total="{name}">{by_reading(part.claims)}{_rest(part)}</div></section>'
    )


def totals(claims: Sequence[Checked], section: str = "") -> str:
    """The verdicts on all claims, of a section or of all; hidden where a filter leaves some out."""
    return (
        f'<div data-total="{escape(section)}">{bar(claims)}'
        f"{paragraph(in_words(claims), 'computed')}</div>"
    )


def _rest(part: Part) -> str:
    """The claims that a card does not show: how many there are, and how many were not run."""
    name = escape(part.experiment.name)
    lacking = [claim for claim in part.claims if claim.verdict == "not run"]
    rest = len(part.claims) - len(part.headlines) - len(lacking)
    words = f'<p><a href="#section-{name}">{plural(rest, "more claim")}</a></p>' if rest else ""
    if not lacking:
        return words
    others = [claim for claim in lacking if claim.ran]
    link = f"#absent-{name}" if part.absent else f"#section-{name}"
    count = f'<a href="{link}">{plural(len(lacking), "claim")} not run</a>'
    return f'{words}<p class="lacking">{count}.{_of_others(others, len(lacking))}</p>'


def _of_others(claims: Sequence[Checked], total: int) -> str:
    """That some claims were run, but not under the reading that stands for the paper."""
    if not claims:
        return ""
    ran = [d for claim in claims for d in claim.decisions if d.verdict != "not run"]
    names = escape("; ".join(dict.fromkeys(str(d.reading) for d in ran)))
    links = ", ".join(f'<a href="#{escape(c.claim.id)}">{escape(c.claim.id)}</a>' for c in claims)
    of_these = "" if total == 1 else f"For {len(claims)} of them, "
    words = f"{of_these}the reading that stands for the paper has not been run, but another has"
    return f" {_capital(words)} ({names}): {links}."


def _lines(kind_: str, claims: Sequence[Checked], experiment: Experiment) -> str:
    """A list of claims; empty without them."""
    lines = "".join(_line(claim, experiment.source) for claim in claims)
    return f'<ul class="lines {kind_}">{lines}</ul>\n' if claims else ""


def _line(checked: Checked, source: str) -> str:
    """A verdict with what was found and the sentence of its source, or with that and the value."""
    decision, claim = checked.first, checked.claim
    words, beside = escape(claim.sentence), decision.note
    beside = f"{decision.measures}: {decision.text}" if decision.outcomes else beside
    if found := checked.told:
        first, *others = found
        words, beside = escape(first.sentence), f"{source}: {claim.sentence}"
        words += "".join(
            f'<details class="other"><summary>{escape(one.short)}</summary>'
            f"{escape(one.sentence)}</details>"
            for one in others
        )
    return (
        f'<li data-item data-verdict="{checked.verdict}">{chip(checked.verdict, claim.id)}'
        f'<div class="words">{words}</div><span class="dim">{escape(minus(beside))}</span></li>'
    )


def legend(claims: Sequence[Checked]) -> str:
    """Each verdict, how many claims have it, and what it means."""
    return "\n".join(
        f"<li>{chip(verdict)} <b>{n}</b> <span>{escape(VERDICTS[verdict])}</span></li>"
        for verdict, n in tally(claims).items()
    )
