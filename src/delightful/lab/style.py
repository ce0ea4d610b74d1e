"""How figures look: sized for a paper's column, one colour per method."""

import contextlib
import io
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from delightful.lab.series import Series
from delightful.registry import METHODS

# For methods registered without a colour: chosen to be far from the others' in CIELAB.
_SPARE = ("#da0bda", "#04490f", "#796606", "#0b0bda", "#3df5b8", "#790653", "#040449")
_TONES = (("white", 0.4), ("black", 0.45), ("white", 0.65), ("black", 0.7))
_DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
_looks: dict[str, dict[str, Any]] = {}  # of the methods in the figure that is being drawn

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e5e5",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.constrained_layout.use": True,
    # the same drawing gives the same bytes
    "svg.hashsalt": "delightful",
    "svg.fonttype": "none",
}


@contextlib.contextmanager
def context() -> Iterator[None]:
    """Draw one figure in this style; its methods get their colours when they are first drawn."""
    plt = _pyplot()
    _looks.clear()
    with plt.rc_context(_STYLE):
        yield


def panels(
    count: int, *, width: float = 3.3, height: float = 2.5, rows: int = 1
) -> tuple[Any, Any]:
    """A figure with `count` panels and its axes, as a flat array."""
    columns = -(-count // rows)
    size = (width * columns, height * rows)
    figure, axes = _pyplot().subplots(rows, columns, figsize=size, squeeze=False)
    return figure, axes.ravel()


def subtitle(figure: Any, text: str) -> None:
    """Write a line above all panels, in as many lines as it takes, and make room for it."""
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(text, int(15 * width))
    figure.set_size_inches(width, height + 0.16 * len(lines))
    figure.suptitle("\n".join(lines), fontsize=8, color="#555555")


def legend(axis: Any, place: str | tuple[float, float] = "best") -> None:
    """A legend, unless there is nothing to name: matplotlib would warn."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc=place)


def legend_outside(axis: Any) -> None:
    """On the right of the panel, where many names do not cover what they name."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=6)


def legend_below(figure: Any, axis: Any) -> None:
    """Below all panels, in a line, where they have the same names and none has room for them."""
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + 0.25)
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def ordered(methods: Iterable[str]) -> list[str]:
    """Method specs in the order in which they are drawn: last those that belong on top."""
    on_top = {name for name, method in METHODS.items() if method.on_top}
    return sorted(methods, key=lambda spec: (spec.partition(":")[0] in on_top, spec))


def look(spec: str) -> dict[str, Any]:
    """The colour and line style of a method in the figure that is being drawn.

    No two methods of a figure have the same colour. A variant of a method, which has options, has
    a shade of the method's colour and is dashed.
    """
    if spec not in _looks:
        name, _, options = spec.partition(":")
        if options:
            count = sum(other.startswith(f"{name}:") for other in _looks)
            colour = _toned(look(name)["colour"], *_TONES[count % 4])
            _looks[spec] = {"colour": colour, "linestyle": _DASHES[(count + count // 4) % 4]}
        else:
            count = sum(":" not in other and not _registered(other) for other in _looks)
            colour = _registered(name) or _SPARE[count % len(_SPARE)]
            _looks[spec] = {"colour": colour, "linestyle": "-"}
    return dict(_looks[spec])


def colour(spec: str) -> str:
    """The colour of a method, as in `look`."""
    return str(look(spec)["colour"])


def _registered(name: str) -> str:
    """The colour that a method was registered with, or ""."""
    return METHODS[name].colour if name in METHODS else ""


def _toned(colour: str, towards: str, amount: float) -> str:
    from matplotlib.colors import to_hex, to_rgb

    own, other = (to_rgb(name) for name in (colour, towards))
    red, green, blue = ((1 - amount) * a + amount * b for a, b in zip(own, other, strict=True))
    return to_hex((red, green, blue))


def images(figure: Any) -> tuple[bytes, bytes, list[Series]]:
    """PNG and SVG bytes of a figure, the same each time, and the values that the PNG shows; the
    figure is closed."""
    from delightful.lab.hovering import series

    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=200, metadata={"Software": None})
    values = series(figure)  # before the SVG, which may have its panels elsewhere
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    _pyplot().close(figure)
    return png.getvalue(), svg.getvalue(), values


def shade(name: str, place: float) -> str:
    """A colour from a colour map, 0 to 1 along it."""
    from matplotlib.colors import to_hex

    return to_hex(_pyplot().get_cmap(name)(place))


def _pyplot() -> Any:
    """Imported when something is drawn, so that other commands start sooner."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
