"""The pages of Ray and of the actor–learner: what `delightful bench` measured, from its JSON."""

from typing import Any

from delightful.agents.tokens.config import TokensConfig
from delightful.benchmarks import actor_learner as system
from delightful.benchmarks.timing import reached, shown

Figures = dict[str, Any]
PROMPTS = TokensConfig().prompts  # of a gradient step
TRAJECTORIES = TokensConfig().batch


def actor_learner(figures: Figures, summary: Figures) -> str:
    """Speed of the actor–learner, a line for each number of actors and size of batches.

    Args:
        figures: Of `delightful bench actor-learner --json`.
        summary: Of the run with ten actors and batches of one prompt.

    Returns:
        A table, and where the goal was reached.
    """
    ratio = "ratio_to_in_process"
    names = ["actors", "batches of", "calls at each", "trajectories per second"]
    names += ["in-process trainer", "ratio", "learner idle", "dropped", "parameters, ms"]
    names += ["staleness"]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    held = []
    for actors, whole in figures["actors"].items():
        for one in (whole, *([whole["shared_steps"]] if "shared_steps" in whole else [])):
            prompts = one["prompts_per_batch"]
            used = (figures["steps"] + system.WARM) * PROMPTS / prompts
            cells = (
                actors,
                f"{prompts:.0f} prompt{'' if prompts == 1 else 's'}",
                f"{one['in_flight']:.0f}",
                f"{one['trajectories_per_second']:,.0f}",
                f"{one['in_process_trajectories_per_second']:,.0f}",
                shown(one, ratio),
                f"{one['idle_fraction']:.0%}",
                f"{one['dropped_batches'] / (one['dropped_batches'] + used):.0%}",
                f"{one['publish_milliseconds']:.1f} + {one['fetch_milliseconds']:.1f}",
                f"{one['staleness_mean']:.2f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
            held.append(reached(one, ratio, least=system.GOAL))
    threads = figures["in_process_threads"]
    lines += [
        "",
        f"{figures['cores']} cores; the in-process trainer has {threads} "
        f"thread{'' if threads == 1 else 's'}. Medians of {figures['rounds']} rounds of "
        f"{figures['steps']} steps; of the ratio, 95% intervals. Parameters: to publish them, and "
        "until an actor has them.",
        "",
        f"Our goal is a ratio of at least {system.GOAL:g}. In the order of the lines it is "
        f"{', '.join(held)}.",
        "",
        f"The default batches of one prompt are slower: the run with ten actors above made "
        f"{summary['steps_per_second'] * TRAJECTORIES:,.0f} trajectories per second, and its "
        f"learner was idle {summary['idle_fraction']:.0%} of the time.",
    ]
    return "\n".join([*lines, ""])


def ray(figures: Figures) -> str:
    """What Ray adds to a sweep.

    Args:
        figures: Of `delightful bench ray --json`.

    Returns:
        A table.
    """
    goal = figures["goal"]
    verdict = reached(figures, "overhead_ratio", most=goal)
    rows = {
        "wall-clock of Ray over local processes": (
            f"{shown(figures, 'overhead_ratio')}; our goal, at most {goal:g}, is {verdict}"
        ),
        "wall-clock of local processes": f"{figures['local_seconds']:.0f} s",
        "to connect and to check the nodes, in Ray's time": f"{figures['start_seconds']:.1f} s",
        "empty cells per second": f"{figures['empty_cells_per_second']:.0f}",
        "bytes per cell through the driver": f"{figures['driver_bytes_per_cell']:,.0f}",
    }
    workers, cells, rounds = (figures[name] for name in ("workers", "cells", "rounds"))
    lines = [f"| {cells} cells on {workers} workers, {rounds} rounds | |", "|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {found} |" for what, found in rows.items()), ""])
