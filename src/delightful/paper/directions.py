"""Directions of gradients: what normalised steps follow and what misalignment measures."""

from typing import Any


def unit(xp: Any, vectors: Any) -> Any:
    """Vectors along the last axis at norm 1; a zero vector stays zero."""
    norm = xp.sqrt(xp.sum(vectors**2, axis=-1, keepdims=True))
    return vectors / xp.where(norm > 0, norm, 1.0)


def balanced(xp: Any, scores: Any, correct: Any) -> Any:
    """Scores along the last axis, which add up to zero, with the correct action's taken from the
    others: 1 − π(y*) by subtraction has no digits left once π(y*) is nearly 1."""
    others = scores * (1 - correct)
    return others - correct * xp.sum(others, axis=-1, keepdims=True)


def misalignment(xp: Any, direction: Any, target: Any) -> Any:
    """1 − cos of two unit vectors as ½‖u − v‖², which keeps its digits near cosine 1.

    A zero vector has no direction; its cosine counts as 0, its misalignment as 1.
    """
    gap = xp.sum((direction - target) ** 2, axis=-1) / 2
    return xp.where(xp.any(direction != 0, axis=-1), gap, 1.0)
