"""What actors bring and replay keeps."""

from typing import Any, NamedTuple

CHUNK = 91  # rows that actors bring at a time; a suite's episode and its reset are eleven chunks


class Rows(NamedTuple):
    """What actors saw, time first, then actors.

    An episode's last observation has a row of its own, at which nothing was done: `valid` is 0,
    and the row after it begins another episode.
    """

    observation: Any  # arrays of NumPy's or of JAX
    action: Any  # as drawn; the environment clips it to [−1, 1]
    log_prob: Any  # of the action, under the policy that acted
    reward: Any
    discount: Any  # 0 where the task ended, 1 elsewhere, time limits included
    valid: Any
