"""How figures look: sized for a paper's column, one colour per method, bands of ±1 SE."""

import io
from collections.abc import Iterable
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

from matplotlib import pyplot as plt

COLOURS = {
    "dg": "#d62728",
    "pg": "#1f77b4",
    "ce": "#555555",
    "ppo": "#17becf",
    "pmpo": "#9467bd",
    "awr": "#8c564b",
    "mpo": "#2ca02c",
    "grpo": "#bcbd22",
    "additive": "#ff7f0e",
    "exponent": "#e377c2",
}

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


def context() -> Any:
    """The style, for as long as a figure is drawn."""
    return plt.rc_context(_STYLE)


def panels(
    count: int, *, width: float = 3.3, height: float = 2.5, rows: int = 1
) -> tuple[Any, Any]:
    """A figure with `count` panels and its axes, as a flat array."""
    columns = -(-count // rows)
    size = (width * columns, height * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    return figure, axes.ravel()


def curve(
    axis: Any, x: Any, mean: Any, error: Any = None, *, colour: str, label: str, **line: Any
) -> None:
    """A line with its ±1 standard-error band."""
    axis.plot(x, mean, color=colour, label=label, **line)
    if error is not None:
        mean, error = np.asarray(mean), np.asarray(error)
        axis.fill_between(x, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)


def legend(axis: Any, place: str | tuple[float, float] = "best") -> None:
    """A legend, unless there is nothing to name: matplotlib would warn."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc=place)


def legend_outside(axis: Any) -> None:
    """On the right of the panel, where many names do not cover what they name."""
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=6)


def colours(names: Iterable[str]) -> list[str]:
    """A colour for each method, also for one that has none of its own."""
    spare = (matplotlib.colors.to_hex(plt.get_cmap("tab20")(i)) for i in range(20))
    return [COLOURS.get(name.partition(":")[0]) or next(spare) for name in names]


def images(figure: Any) -> tuple[bytes, bytes]:
    """PNG and SVG bytes of a figure, the same each time; the figure is closed."""
    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=200, metadata={"Software": None})
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return png.getvalue(), svg.getvalue()


def box(corner: tuple[float, float], width: float, height: float, colour: str) -> Any:
    """A filled rectangle with a thin edge, for diagrams."""
    return matplotlib.patches.Rectangle(
        corner, width, height, facecolor=colour, edgecolor="#555555", linewidth=0.8
    )


def shade(name: str, place: float) -> str:
    """A colour from a colour map, 0 to 1 along it."""
    return matplotlib.colors.to_hex(plt.get_cmap(name)(place))
