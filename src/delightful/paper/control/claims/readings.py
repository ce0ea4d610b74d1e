"""The readings under which the claims of control are decided."""

from delightful.lab.experiment import Reading
from delightful.paper.control import sweep

_STANDS = (
    "fresh draws come first because the settings have been tuned for them alone; the paper's text "
    "speaks for replayed actions: its Algorithm 2 loops over a batch of A_t given H_t, its agents "
    "learn from a replay buffer (Appendix E), and 'without importance ratios' (Section 6) says "
    "something only of actions that an older policy has taken"
)


def both(kind: str) -> tuple[Reading, Reading]:
    """Fresh draws at replayed states, and the replayed actions themselves."""
    first, second = (getattr(sweeps, kind) for sweeps in sweep.READINGS)
    return Reading(sweep=first, stands=_STANDS), Reading(sweep=second)
