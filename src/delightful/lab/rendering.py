"""Claims as people read them: in the terminal and as Markdown; the report has its own words."""

from collections.abc import Sequence

from delightful.lab.decisions import Decision, counts, shown
from delightful.lab.duration import duration
from delightful.lab.findings import findings
from delightful.lab.verdicts import VERDICTS, Outcome, headline
from delightful.lab.wording import expected, minus, plural

LEGEND = "; ".join(f"{verdict}: {meaning}" for verdict, meaning in VERDICTS.items())


def found(decision: Decision) -> str:
    """What was measured, the closest call first; and what would decide it, if nothing does yet."""
    if not decision.outcomes:
        return ". ".join(filter(None, (decision.note, outlook(decision))))
    first = headline(decision.outcomes)
    words = [f"{first.measures}: {shown(first)}{_lacking(first, decision)}"]
    others = [outcome for outcome in decision.outcomes if outcome is not first]
    if others:
        words.append("; ".join(_beside(first, other, decision) for other in others))
    words += filter(None, (decision.too_few, decision.note, outlook(decision)))
    return ". ".join(words)


def _lacking(outcome: Outcome, decision: Decision) -> str:
    """Of a case with fewer seeds than a verdict needs, where others have enough: that it has."""
    few, least = outcome.quantity.seeds, decision.claim.rule.seeds
    if decision.too_few or few >= least:
        return ""
    return f" ({plural(int(few), 'seed')}: a verdict needs {least})"


def _beside(first: Outcome, other: Outcome, decision: Decision) -> str:
    """Another outcome in short: its case alone, where it is of the same quantity."""
    name = other.case if other.criterion is first.criterion else other.measures
    return f"{name}: {shown(other)}, {other.status}{_lacking(other, decision)}"


def basis(decision: Decision) -> str:
    """The reading, if it has a name, and the runs."""
    words = runs(decision)
    return f"{decision.reading}; {words}" if str(decision.reading) and decision.seeds else words


def runs(decision: Decision) -> str:
    """The runs and the confidence of the intervals: 3 seeds at quick scale, 99.4% intervals."""
    if not decision.seeds:
        return "exact" if decision.reading.sweep is None else str(decision.reading)
    stored = f", stored in {' and '.join(decision.stored)}" if decision.stored else ""
    assert decision.confidence is not None
    differs = f", {decision.differs}" if decision.differs else ""
    return (
        f"{decision.seeds} seeds at {decision.plan.scale} scale{differs}{stored}, "
        f"{100 * decision.confidence:.3g}% intervals"
    )


def rule_in_words(decision: Decision) -> str:
    """The claim's rule, with the least number of seeds if any are sampled."""
    rule = decision.claim.rule
    least = f"; with at least {rule.seeds} seeds" if decision.reading.sweep else ""
    return rule.words + least


def outlook(decision: Decision) -> str:
    """How many seeds would probably decide an inconclusive claim, and what they cost."""
    if decision.verdict not in ("inconclusive", "not run") or decision.damaged:
        return ""
    if decision.needed is None or decision.seconds is None:
        return decision.unlikely() if decision.verdict == "inconclusive" else ""
    cost = f"{duration(decision.seconds)} of one core here"
    if decision.verdict == "not run":
        return f"{decision.needed} seeds at {decision.plan.scale} scale would measure it: {cost}"
    if decision.refused:
        more = f"{decision.needed} seeds at {decision.at} scale would allow a first verdict"
        return f"{decision.refused}: {more}, {cost}"
    count = decision.needed - (decision.seeds or 0)
    more = f"{plural(count, 'more seed')}, {decision.needed} in all,"
    would = "would allow a first verdict" if decision.first else "would probably decide it"
    return f"{more} {would}: {cost}"


def on_smoke(decisions: Sequence[Decision]) -> bool:
    """Whether any verdict is on runs of a few steps, which cannot support one."""
    return any(decision.seeds and decision.plan.scale == "smoke" for decision in decisions)


def claim_paragraphs(decision: Decision, explain: bool = False) -> list[tuple[str, str]]:
    """A decision for the terminal, below its id and verdict: what stands before each paragraph,
    and the paragraph."""
    claim = decision.claim
    lines = [("", f"{claim.sentence} ({claim.where})"), ("expected: ", expected(claim))]
    lines += [("here: ", found(decision)), ("runs: ", basis(decision))]
    lines += [("rule: ", rule_in_words(decision))] if explain else []
    if explain and decision.standing and len(claim.readings) > 1:
        lines += [("which reading stands for the paper: ", claim.readings[0].stands)]
    lines = [(start, minus(text)) for start, text in lines if text]
    return lines + [("$ ", command) for command in decision.command.split(" && ")]


def claims_markdown(decisions: Sequence[Decision]) -> str:
    """What was found, and the claims as a Markdown table with the legend of verdicts."""
    found_ = ", ".join(f"{n} {verdict}" for verdict, n in counts(decisions).items())
    sentences = [f"- {_escaped(text)}" for text in findings(decisions).values()]
    lines = [
        f"Under the readings that stand for the paper: {found_}.",
        "",
        *([*sentences, ""] if sentences else []),
        LEGEND + ".",
        "",
        "| the paper says | expected | here | verdict | rule | runs | command |",
        "|---|---|---|---|---|---|---|",
    ]
    for decision in decisions:
        claim = decision.claim
        cells = [f"{claim.sentence} ({claim.where})", claim.paper, found(decision)]
        cells += [decision.verdict, claim.rule.words, basis(decision)]
        lines.append(
            f"| {' | '.join(_escaped(minus(cell)) for cell in cells)} | `{decision.command}` |"
        )
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Text that Markdown takes as it is."""
    return text.replace("|", "\\|").replace("*", "\\*")
