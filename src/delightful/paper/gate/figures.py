"""Figures 1 and 13 of the paper, drawn from the functions that train."""

from typing import Any

import numpy as np
import polars as pl

from delightful.lab import style
from delightful.lab.experiment import Drawing, FigureBook
from delightful.lab.plotting import label
from delightful.lab.wording import minus
from delightful.registry import METHODS
from delightful.weights import score_weight

FIGURES = FigureBook("gate")
_COMMON, _RARE = 0.9, 0.01


def _omega(method: str, advantage: Any, probability: Any, **data: Any) -> np.ndarray:
    advantage, log_prob = np.broadcast_arrays(np.asarray(advantage, float), np.log(probability))
    return np.asarray(score_weight(log_prob, advantage, method=method, **data))


@FIGURES.add("Figure 1", "Effective coefficient ω = w·U")
def coefficient() -> Drawing:
    """DG keeps rare successes and suppresses rare failures; PG (dashed) is blind to probability."""
    figure, (left, right) = style.panels(2)
    parts = []
    U = np.linspace(-3, 3, 241)
    shades = {0.9: "#f4a6a0", 0.1: "#e34a43", 0.01: "#8b0000"}
    for p, colour in shades.items():
        omega = _omega("dg", U, p)
        left.plot(U, omega, color=colour, label=f"DG, π = {p:g}")
        parts.append(pl.DataFrame({"panel": "a", "method": "dg", "U": U, "p": p, "omega": omega}))
    left.plot(U, _omega("pg", U, 0.5), "--", color=style.colour("pg"), label="PG")
    parts.append(pl.DataFrame({"panel": "a", "method": "pg", "U": U, "p": 0.5, "omega": U}))
    left.set(xlabel="advantage U", ylabel="coefficient ω", title="(a) against advantage")
    probabilities = np.geomspace(1e-4, 1, 241)
    for u, style_of_line in ((1.0, "-"), (-1.0, "-.")):
        for method in ("pg", "dg"):
            omega = _omega(method, u, probabilities)
            line = style_of_line if method == "dg" else "--"
            name = f"{label(method)}, U = {minus(f'{u:+g}')}"
            look = {"color": style.colour(method), "label": name}
            right.plot(probabilities, omega, line, **look)
            parts.append(
                pl.DataFrame(
                    {"panel": "b", "method": method, "U": u, "p": probabilities, "omega": omega}
                )
            )
    right.set(xscale="log", xlabel="action probability p", title="(b) against probability")
    left.legend(fontsize=7)
    right.legend(fontsize=7, loc=(0.02, 0.53))
    return Drawing(figure, pl.concat(parts))


@FIGURES.add("Figure 13", "Score weight of every method")
def compare() -> Drawing:
    """ω against U for a common (π = 0.9, solid) and a rare (π = 0.01, dashed) action. PG, PMPO, AWR
    and MPO are blind to probability. PPO, IW-PG and GRPO are shown with π_old = 0.5. GRPO, PMPO and
    MPO weigh a batch as a whole; here the batch is the range of U shown.

    Those three differ from PG only through a ratio: r is 1.8 at π = 0.9 and 0.02 at π = 0.01.
    """
    figure, axes = style.panels(len(METHODS), width=1.9, height=1.9, rows=2)
    U = np.linspace(-2, 2, 201)
    parts = []
    for axis, name in zip(axes, METHODS, strict=False):
        for p, line in ((_COMMON, "-"), (_RARE, "--")):
            old = np.full_like(U, np.log(0.5)) if name in ("ppo", "iwpg", "grpo") else None
            omega = _omega(name, U, p, old_log_prob=old)
            axis.plot(U, omega, line, color=style.colour(name), label=f"π = {p:g}")
            parts.append(pl.DataFrame({"method": name, "U": U, "p": p, "omega": omega}))
        axis.set(title=METHODS[name].label, xlabel="U", ylim=(-2.2, 2.2))
        axis.axhline(0, color="#bbbbbb", lw=0.6)
    for axis in axes[len(METHODS) :]:
        axis.set_visible(False)
    for axis in axes[:: -(-len(METHODS) // 2)]:
        axis.set_ylabel("ω", rotation=0)
    axes[0].legend(fontsize=7)
    return Drawing(figure, pl.concat(parts))
