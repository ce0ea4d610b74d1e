"""Places for actors on the nodes of a cluster: how much of a core each asks for, and who waits."""

import bisect
from collections.abc import Sequence

from delightful.lab.errors import LabError

UNITS = 10_000  # of a core: Ray counts no finer
WAITING = 30.0  # seconds without a new process, after which it is said who waits for one
NOBODY = 600.0  # seconds without any process at all, after which the run ends


def share(cores: Sequence[int], actors: int) -> float:
    """The largest share of a core, at most 1, with which all actors have a place.

    An actor's share is on one node, so the cluster is no single pool: 3 actors on 2 nodes of one
    core each ask for 1/2, since with 2/3 each node has a place for one.

    Args:
        cores: of each node.
        actors: how many there are; they ask for the same share.

    Returns:
        The largest s with Σ ⌊cores / s⌋ ≥ actors, in Ray's units.
    """

    def short(units: int) -> bool:
        return sum(UNITS * one // units for one in cores) < actors

    return max(1, bisect.bisect_left(range(1, UNITS + 1), True, key=short)) / UNITS


class Waiting:
    """The actors that were started and have no process yet.

    They wait for a core if others hold all of them, or if a node was lost. Ray says nothing then,
    and a call to such an actor waits for ever.
    """

    def __init__(self) -> None:
        self._since: dict[int, float] = {}
        self._said: set[int] = set()
        self._last: float | None = None  # when a process came

    def start(self, actor: int, now: float) -> None:
        """The actor is started, perhaps again."""
        self._since[actor] = now
        self._said.discard(actor)

    def came(self, actor: int, now: float) -> None:
        """The actor has its process."""
        self._last = now
        self._since.pop(actor, None)

    def overdue(self, now: float) -> list[int]:
        """The actors that have waited long; LabError if no actor has ever had a process, for long.

        Ray starts a few processes at a time, so nobody is overdue as long as processes come. An
        actor with a process is none of these: it may compile for long, which ends no run.
        """
        if not self._since:
            return []
        if self._last is None and now - min(self._since.values()) > NOBODY:
            raise LabError(
                f"no actor has got a core in {NOBODY / 60:.0f} minutes: free cores of the cluster "
                "or add a node, then start the run again."
            )
        last = self._last or 0.0
        return sorted(a for a, since in self._since.items() if now - max(since, last) > WAITING)

    def sentence(self, overdue: Sequence[int], asked: float) -> str:
        """Who of them waits and for what; each is named once for each start."""
        new = [actor for actor in overdue if actor not in self._said]
        if not new:
            return ""
        self._said.update(new)
        names = ", ".join(map(str, new[:5])) + (f" and {len(new) - 5} more" if len(new) > 5 else "")
        who = f"actor {names} waits" if len(new) == 1 else f"actors {names} wait"
        return (
            f"{who} for a core: no process in {WAITING:.0f} s; "
            f"sampling starts once {asked:g} core of a node is free"
        )
