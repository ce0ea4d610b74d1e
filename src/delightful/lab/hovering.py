"""The values behind a figure's picture, with their places in it, for a page to show on hover."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from delightful.lab.decisions import short
from delightful.lab.series import Series

MOST = 500  # values of a figure; longer lines are thinned
LEVEL = 9  # places along a horizontal line at which its value is shown
WHOLE = 10_000  # the width and the height of a picture, in the units of places

Band = dict[float, tuple[float, float]]
"""By x, from where to where an interval goes."""


@dataclass(frozen=True)
class _Marks:
    """What one artist shows: data and the texts that go with it."""

    axis: Any
    name: str
    at: NDArray[Any]  # (n, 2), in data coordinates
    texts: Callable[[int], tuple[str, ...]]  # of the i-th
    third: str = "band"  # what a third text is


def series(figure: Any) -> list[Series]:
    """The values that a drawn figure shows, at most about MOST.

    Args:
        figure: A matplotlib figure, drawn once, so that its panels are in their places.

    Returns:
        Lines, error bars, bars, maps of cells and labels of texts, as far as they are in view.
    """
    found = [marks for axis in figure.axes if axis.get_visible() for marks in _of(axis)]
    each = max(2, MOST // max(1, len(found)))
    return [one for marks in found if (one := _placed(figure, marks, each)).points]


def _of(axis: Any) -> Iterator[_Marks]:
    bars = [one for one in axis.containers if isinstance(one, ErrorbarContainer)]
    caps = [cap for one in bars for cap in one[1]]
    names = {one[0]: str(one.get_label()) for one in bars if one[0] is not None}
    for line in axis.lines:
        name = _name(axis, names.get(line, str(line.get_label())), line.get_color())
        if line in caps or not line.get_visible():
            continue
        if line.get_transform() == axis.transData:
            bands = [*_bands(axis, line), *map(_errors, bars)]
            yield _line(axis, name, np.asarray(line.get_xydata(), float), bands)
        elif name and line.get_transform() == axis.get_yaxis_transform(which="grid"):
            yield _level(axis, name, float(line.get_ydata()[0]))
    for one in axis.containers:
        if isinstance(one, BarContainer):
            yield _bars(axis, one)
    for image in axis.images:
        yield _cells(axis, image)
    yield _texts(axis)


def _line(axis: Any, name: str, at: NDArray[Any], bands: Sequence[Band]) -> _Marks:
    def texts(i: int) -> tuple[str, ...]:
        x, y = at[i]
        return _x(axis, x), _y(axis, y), _interval(axis, x, y, bands)

    return _Marks(axis, name, at, texts)


def _level(axis: Any, name: str, y: float) -> _Marks:
    """A horizontal line through the whole panel."""
    across = axis.transAxes.transform([(share, 0) for share in np.linspace(0.02, 0.98, LEVEL)])
    at = axis.transData.inverted().transform(across)
    at[:, 1] = y
    return _Marks(axis, name, at, lambda _: ("", _y(axis, y)))


def _bars(axis: Any, bars: BarContainer) -> _Marks:
    """The ends of bars."""
    across = bars.orientation == "horizontal"
    boxes = [(p.get_x(), p.get_y(), p.get_width(), p.get_height()) for p in bars.patches]
    at = [(x + w, y + h / 2) if across else (x + w / 2, y + h) for x, y, w, h in boxes]
    texts = [(_x(axis, x), _y(axis, y)) for x, y in at]
    name = _name(axis, str(bars.get_label()), _colour(bars))
    return _Marks(axis, name, np.array(at, float), texts.__getitem__)


def _cells(axis: Any, image: Any) -> _Marks:
    """The cells of a map at their middles."""
    grid: NDArray[Any] = np.ma.filled(np.ma.asarray(image.get_array(), float), np.nan)
    rows, columns = grid.shape[:2]
    left, right, bottom, top = image.get_extent()
    if image.origin == "upper":
        bottom, top = top, bottom
    at, texts = [], []
    for i, j in np.ndindex(rows, columns) if grid.ndim == 2 else ():
        if np.isfinite(grid[i, j]):
            x = left + (j + 0.5) * (right - left) / columns
            y = bottom + (i + 0.5) * (top - bottom) / rows
            at.append((x, y))
            texts.append((_x(axis, x), _y(axis, y), short(float(grid[i, j]))))
    return _Marks(axis, "", np.array(at).reshape(-1, 2), texts.__getitem__, "value")


def _texts(axis: Any) -> _Marks:
    """Texts in a panel that have a label: their values."""
    found = [text for text in axis.texts if text.get_label()]
    at = np.array([text.get_position() for text in found], float).reshape(-1, 2)
    texts = [
        (_x(axis, x), _y(axis, y), str(text.get_label()))
        for (x, y), text in zip(at, found, strict=True)
    ]
    return _Marks(axis, "", at, texts.__getitem__, "value")


def _bands(axis: Any, line: Any) -> Iterator[Band]:
    """The areas in the colour of a line."""
    for area in axis.collections:
        if not isinstance(area, PolyCollection) or not len(area.get_facecolor()):
            continue
        if to_rgb(_colour(area)) == to_rgb(_colour(line)):
            for path in area.get_paths():
                yield _ranges(np.asarray(path.vertices, float))


def _errors(bars: ErrorbarContainer) -> Band:
    found: Band = {}
    for collection in bars[2]:
        for segment in collection.get_segments():
            found |= _ranges(np.asarray(segment, float))
    return found


def _ranges(vertices: NDArray[Any]) -> Band:
    """From the lowest y to the highest, where there are two, by x."""
    found: Band = {}
    for x, y in vertices:
        low, high = found.get(x, (y, y))
        found[x] = min(low, y), max(high, y)
    return {x: ends for x, ends in found.items() if ends[0] < ends[1]}


def _interval(axis: Any, x: float, y: float, bands: Sequence[Band]) -> str:
    for band in bands:
        low, high = band.get(x, (np.nan, np.nan))
        if low <= y <= high:
            return f"{_y(axis, low)} to {_y(axis, high)}"
    return ""


def _placed(figure: Any, marks: _Marks, most: int) -> Series:
    """The points in view, evenly along the picture if there are more than `most`."""
    axis = marks.axis
    places = axis.transData.transform(marks.at) / (figure.bbox.width, figure.bbox.height)
    box = axis.get_window_extent().transformed(figure.transFigure.inverted()).padded(0.001)
    kept = np.flatnonzero(np.all((places >= box.min) & (places <= box.max), axis=1))
    if len(kept) > most:
        way = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(places[kept], axis=0).T))])
        kept = kept[np.unique(np.searchsorted(way, np.linspace(0, way[-1], most)))]
    texts = [marks.texts(int(i)) for i in kept]
    third = (marks.third,) if any(len(text) > 2 and text[2] for text in texts) else ()
    labels = (_label(figure, axis, "x"), _label(figure, axis, "y"), *third)
    lefts, tops = np.rint(WHOLE * np.abs([(0, 1)] - places[kept]).T).astype(int).tolist()
    points = [
        (left, top, *text[: len(labels)])
        for left, top, text in zip(lefts, tops, texts, strict=True)
    ]
    return Series(", ".join(filter(None, (marks.name, axis.get_title()))), labels, points)


def _label(figure: Any, axis: Any, which: str) -> str:
    """What an axis is called, or that of the panel in the same column or row that has a name."""
    place = f"{which}0"  # panels of a column share their left edge, those of a row the lower one
    near = [
        other
        for other in (axis, *figure.axes)
        if abs(getattr(other.get_position(), place) - getattr(axis.get_position(), place)) < 0.02
    ]
    names = (str(getattr(other, f"get_{which}label")()) for other in near)
    return next(filter(None, names), "").replace("\n", " ")


def _name(axis: Any, label: str, colour: Any) -> str:
    """A label, or that of what has the same colour in another panel; "" if there is none."""
    if label and not label.startswith("_"):
        return label
    for other in axis.figure.axes:
        for handle, text in zip(*other.get_legend_handles_labels(), strict=True):
            if to_rgb(_colour(handle)) == to_rgb(colour):
                return str(text)
    return ""


def _colour(artist: Any) -> Any:
    """Of a line, bars, or a line with error bars."""
    if isinstance(artist, BarContainer):
        return artist.patches[0].get_facecolor()[:3]
    if isinstance(artist, ErrorbarContainer):
        return _colour(artist[0] or artist[2][0])
    colour = artist.get_color() if hasattr(artist, "get_color") else artist.get_facecolor()
    return colour if isinstance(colour, str) else np.ravel(colour)[:3]


def _x(axis: Any, value: float) -> str:
    return _text(axis.xaxis, value)


def _y(axis: Any, value: float) -> str:
    return _text(axis.yaxis, value)


def _text(scale: Any, value: float) -> str:
    """A value as its axis writes it, if that has a way of its own; between names, the nearest."""
    formatter = scale.get_major_formatter()
    if isinstance(formatter, FuncFormatter):
        nearest = min(scale.get_majorticklocs(), key=lambda tick: abs(tick - value), default=value)
        name = str(formatter(nearest))
        own = str(formatter(value)) or ("" if _numeric(name) else name)
        if own:
            return own.replace("\n", " ")
    whole = abs(value) < 1e9 and float(value).is_integer()
    return f"{value:,.0f}".replace("-", "−") if whole else short(float(value))


def _numeric(text: str) -> bool:
    try:
        float(text.replace("−", "-"))
    except ValueError:
        return False
    return True
