"""Figures 7 and 22 of the paper: the task and its rewards, drawn by the functions that train."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import polars as pl
from matplotlib.patches import Rectangle

from delightful.agents.tokens.environment import rewards, targets
from delightful.lab import style
from delightful.lab.experiment import Drawing

_PROMPT = np.array([1, 0, 0, 1, 1])
_SHADES = {0: "#dfe9f5", 1: "#8fb3dc"}
_RIGHT, _WRONG, _UNPAID = "#bfe3bf", "#f2b8b5", "#e6e6e6"


def _boxes(axis: Any, y: float, tokens: Any, colours: list[str], name: str) -> None:
    for i, (token, colour) in enumerate(zip(tokens, colours, strict=True)):
        place = (i + 0.05, y), 0.9, 0.7
        axis.add_patch(Rectangle(*place, facecolor=colour, edgecolor="#555555", linewidth=0.8))
        axis.text(i + 0.5, y + 0.35, str(token), ha="center", va="center")
    axis.text(-0.2, y + 0.35, name, ha="right", va="center")


def _frame(axis: Any, columns: int, rows: float) -> None:
    axis.set(xlim=(-1.9, columns + 0.2), ylim=(-0.3, rows))
    axis.set_axis_off()


def _answer() -> np.ndarray:
    return np.asarray(targets("reverse-copy", 2, jnp.asarray(_PROMPT)[:, None]))[:, 0]


def draw_task() -> Drawing:
    """A prompt, its reversal, and which prompt token each answered token repeats."""
    figure, (axis,) = style.panels(1, width=4.2, height=1.9)
    h, answer = len(_PROMPT), _answer()
    _boxes(axis, 1.9, _PROMPT, [_SHADES[t] for t in _PROMPT], "prompt x")
    _boxes(axis, 0.2, answer, [_SHADES[t] for t in answer], "answer y")
    arrow = {"arrowstyle": "->", "color": "#777777", "lw": 0.9}
    for i in range(h):
        axis.annotate("", (i + 0.5, 0.95), (h - i - 0.5, 1.85), arrowprops=arrow)
    _frame(axis, h, 2.8)
    rows = {"place": np.arange(1, h + 1), "prompt": _PROMPT, "answer": answer}
    return Drawing(figure, pl.DataFrame(rows))


def draw_rewards() -> Drawing:
    """One answer with two mistakes, and which of its tokens each reward pays for."""
    target = _answer()
    answer = target.copy()
    answer[[2, 4]] = 1 - answer[[2, 4]]
    right = (answer == target).astype(np.float32)
    figure, axes = style.panels(3, width=2.7, height=1.8)
    titles = {
        "bag": "(a) Bag-of-Tokens",
        "sequential": "(b) Sequential",
        "all": "all-or-nothing, beyond the paper",
    }
    rows = []
    for axis, (kind, title) in zip(axes, titles.items(), strict=True):
        earned = float(rewards(kind, jnp.asarray(right)[:, None])[0])
        paid = {"bag": right, "sequential": np.cumprod(right), "all": right * right.prod()}[kind]
        colours = np.where(right, np.where(paid, _RIGHT, _UNPAID), _WRONG).tolist()
        _boxes(axis, 1.4, target, ["white"] * len(target), "target")
        _boxes(axis, 0.4, answer, colours, "answer")
        axis.set_title(f"{title}: reward {earned:g}")
        _frame(axis, len(target), 2.3)
        rows.append({"reward": kind, "answer": "".join(map(str, answer)), "value": earned})
    return Drawing(figure, pl.DataFrame(rows))
