"""Intervals drawn against their thresholds, a line high, as SVG inside the page."""

import math
from collections.abc import Sequence
from html import escape

from delightful.lab.decisions import short
from delightful.lab.verdicts import Outcome
from delightful.lab.wording import minus

WIDTH, HEIGHT = 120, 16  # pixels
BEYOND = 3  # an interval is cut off this many spans of values and thresholds beyond them

Range = tuple[float, float]


def shared_range(outcomes: Sequence[Outcome]) -> Range:
    """What the plots of one criterion span, so that its cases can be compared by eye."""
    values = [outcome.estimate.value for outcome in outcomes]
    bounds = [bound for o in outcomes for bound in (o.criterion.low, o.criterion.high)]
    core = [x for x in (*values, *bounds) if math.isfinite(x)] or [0.0]
    ends = [x for o in outcomes for x in (o.estimate.low, o.estimate.high) if math.isfinite(x)]
    low, high = min(core), max(core)
    if span := high - low:
        ends = [min(max(x, low - BEYOND * span), high + BEYOND * span) for x in ends]
    low, high = min([low, *ends]), max([high, *ends])
    pad = 0.08 * (high - low) or abs(low) / 2 or 1.0
    return low - pad, high + pad


def plot(outcome: Outcome, span: Range, confidence: float | None) -> str:
    """The interval as a line, the value as a dot, and the values that would hold shaded."""
    estimate, criterion = outcome.estimate, outcome.criterion
    left, right = _place(criterion.low, span), _place(criterion.high, span)
    shapes = [f'<rect class="in" x="{left:.1f}" width="{right - left:.1f}" height="{HEIGHT}"/>']
    for bound in {criterion.low, criterion.high}:
        if math.isfinite(bound):
            x = _place(bound, span)
            shapes.append(f'<path class="bound" d="M{x:.1f} 0V{HEIGHT}"/>')
    middle = HEIGHT / 2
    if not math.isnan(estimate.low) and estimate.low < estimate.high:
        start, end = _place(estimate.low, span), _place(estimate.high, span)
        shapes.append(f'<path class="interval" d="M{start:.1f} {middle:g}H{end:.1f}"/>')
    if math.isfinite(estimate.value):
        x = _place(estimate.value, span)
        shapes.append(f'<circle cx="{x:.1f}" cy="{middle:g}" r="3"/>')
    return (
        f'<svg class="plot {outcome.status}" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img"><title>{escape(_hover(outcome, confidence))}</title>'
        f"{''.join(shapes)}</svg>"
    )


def _place(value: float, span: Range) -> float:
    """Where a value lies from left to right; what is beyond the plot, at its edge."""
    share = (value - span[0]) / (span[1] - span[0])
    return WIDTH * min(max(share, 0.0), 1.0)


def _hover(outcome: Outcome, confidence: float | None) -> str:
    """All that the plot shows, in numbers."""
    estimate = outcome.estimate
    words = [f"{outcome.measures}: {short(estimate.value, 6)}"]
    if estimate.low != estimate.high and confidence is not None:
        ends = f"[{short(estimate.low, 6)}, {short(estimate.high, 6)}]"
        words.append(f"{100 * confidence:.3g}% interval {ends}")
    words.append(f"asked: {outcome.criterion.side}")
    return minus(f"{'; '.join(words)}: {outcome.status}")
