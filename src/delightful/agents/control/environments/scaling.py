"""Actions from [−1, 1] to an environment's own bounds."""

from typing import Any

import numpy as np

UNBOUNDED = 1e3  # bounds beyond it, such as the 10¹⁰ of lqr, count as none


class ActionScaling:
    """Maps actions in [−1, 1] to the bounds of an action space, clipping what lies outside.

    A dimension without bounds takes actions as they are; one with a single bound gets an interval
    of width 2 that starts or ends there.
    """

    def __init__(self, space: Any) -> None:
        """Read the bounds of a Gymnasium Box or of a dm_control action spec."""
        names = ("low", "high") if hasattr(space, "low") else ("minimum", "maximum")
        low, high = (np.asarray(getattr(space, name), np.float64) for name in names)
        below, above = low < -UNBOUNDED, high > UNBOUNDED  # which dimensions have no bound
        self._low = np.where(below, np.where(above, -1.0, high - 2), low)
        self._high = np.where(above, np.where(below, 1.0, low + 2), high)
        self._dtype = space.dtype

    def __call__(self, action: np.ndarray) -> np.ndarray:
        """low + (action + 1)/2 · (high − low), for actions of the space's shape."""
        share = (np.clip(action, -1, 1) + 1) / 2
        scaled: np.ndarray = self._low + share * (self._high - self._low)
        return scaled.astype(self._dtype)
