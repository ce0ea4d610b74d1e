"""What actors collect and replay keeps."""

from typing import Any, NamedTuple

CHUNK = 91  # steps that actors collect at a time; a suite's episode and its reset are eleven chunks


class Transitions(NamedTuple):
    """Transitions of several actors: arrays with time first, then actors.

    An episode's last observation has an entry of its own, at which nothing was done: `valid` is 0,
    and the next entry begins another episode.
    """

    observation: Any  # arrays of NumPy's or of JAX
    action: Any  # as sampled; the environment clips it to [−1, 1]
    log_prob: Any  # of the action, under the policy that acted
    reward: Any
    discount: Any  # 0 where the task terminated, 1 elsewhere, time limits included
    valid: Any
