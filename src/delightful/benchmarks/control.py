"""Control: acting alone, learning alone, both together; and third-party SAC.

Ours is DG at its defaults, but for a replay buffer and random steps that a short run can fill.
Stable-Baselines3's and SBX's SAC have the same task, networks of 2 × 256 units, batches of 256 and
as many updates per environment step of 4 environments, which they step as their users do,
dm_control through Gymnasium's interface. SAC is another algorithm: it has two critics, and takes
gradients through them; DG values four sampled actions at each of its states.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from delightful.benchmarks.timing import alternating, median, seconds, shown
from delightful.lab.errors import LabError

TASKS = ("cartpole:swingup", "cheetah:run", "humanoid:run")
GOALS = {"ratio_to_sb3": 5.0, "ratio_to_sbx": 1.0, "overlap": 1.3}
MINUTES = {"cheetah:run": 25.0}  # at most, for a million steps of `delightful train`
LIBRARIES = {"sb3": "stable_baselines3", "sbx": "sbx"}


def measure(
    tasks: tuple[str, ...] = TASKS, chunks: int = 5, rounds: int = 5, **changes: Any
) -> dict[str, Any]:
    """Time our agent and third-party SAC, in `rounds` of `chunks`, 364 environment steps each."""
    for package in (*LIBRARIES.values(), "dm_control"):
        if find_spec(package) is None:
            raise LabError(
                f"bench control needs {package}: pip install '.[sac]' in a clone of delightful."
            )
    return {
        "tasks": {task: _of_task(task, chunks, rounds, changes) for task in tasks},
        "chunks": chunks,
        "rounds": rounds,
    }


def _of_task(task: str, chunks: int, rounds: int, changes: dict[str, Any]) -> dict[str, Any]:
    from delightful.agents.control.actor_process import ActorProcess
    from delightful.agents.control.config import CHUNK, EVALUATED_EVERY, ControlConfig
    from delightful.paper.control import sac

    config = replace(ControlConfig(task=task, random_steps=1000, replay=200_000), **changes)
    steps = chunks * CHUNK * config.actors
    with ActorProcess(config, 0) as actors:
        together, acting, learning = _ours(config, actors, chunks)
        together()  # compiles, and fills the replay buffer
        parts = {"acting": acting, "learning": learning}
        alone = {
            name: np.array([seconds(part) for _ in range(rounds)]) for name, part in parts.items()
        }
        slower = parts[max(alone, key=lambda name: float(np.median(alone[name])))]
        # In turn, as with SAC below: a machine's speed drifts.
        overlap = median("overlap", np.divide(*alternating(together, slower, rounds)))
        evaluations = [seconds(lambda: _evaluate(config, actors)) for _ in range(rounds)]
        ours: dict[str, list[float]] = {}
        found: dict[str, Any] = {}
        for name in LIBRARIES:
            settings = sac.Settings(task, config.every, random_steps=config.random_steps)
            theirs = sac.trainer(name, settings, steps)
            mine, others = alternating(together, theirs, rounds)
            found |= median(f"ratio_to_{name}", others / mine)
            found[f"{name}_steps_per_second"] = float(steps / np.median(others))
            ours[name] = mine.tolist()
        both = np.concatenate([np.array(times) for times in ours.values()])
    million = 1e6 / steps * np.median(both) + 1e6 / EVALUATED_EVERY * np.median(evaluations)
    return {
        "environment_steps_per_second": float(steps / np.median(alone["acting"])),
        "learner_steps_per_second": float(steps / config.every / np.median(alone["learning"])),
        "steps_per_second": float(steps / np.median(both)),
        **overlap,
        "million_steps_minutes": float(million / 60),
        **found,
    }


def _evaluate(config: Any, actors: Any) -> None:
    """As `delightful train` does at every evaluation step; a run waits for most of it."""
    from delightful.agents.control import learner, training

    untrained = learner.initial(config, 0, actors.observed, actors.actions)
    actors.evaluate(1, training.weights(untrained))
    actors.evaluated()


def _ours(
    config: Any, actors: Any, chunks: int
) -> tuple[Callable[[], object], Callable[[], object], Callable[[], object]]:
    """Both together as a run does them, acting alone, and learning alone; `chunks` of them."""
    from delightful.agents.control import training
    from delightful.agents.control.config import CHUNK
    from delightful.agents.control.learner import learn

    session = training.begin(config, 0, actors)

    def together() -> None:
        actors.collect(session.acting)
        for i in range(chunks):
            session.advance(last=i == chunks - 1)
        training.weights(session.learner)  # waits for it

    def act() -> None:
        for _ in range(chunks):
            actors.collect(training.weights(session.learner))
            actors.collected()

    def learning() -> None:
        learner = session.learner
        for _ in range(chunks):
            updates = CHUNK * config.actors // config.every
            learner, _ = learn(config, learner, session.memory, 0, updates)
        training.weights(learner)  # waits for it

    return together, act, learning


def describe(figures: dict[str, Any]) -> str:
    """The figures of `measure` as text, with the goals."""
    lines = ["DG on control, environment steps per second; SAC with as many updates per step"]
    for task, found in figures["tasks"].items():
        lines += [
            task,
            f"  acting alone             {found['environment_steps_per_second']:.0f}",
            f"  learner steps alone      {found['learner_steps_per_second']:.1f}",
            f"  both together            {found['steps_per_second']:.0f}",
            f"  over the slower alone    {_shown(found, 'overlap', at_most=True)}",
            f"  a million steps          {_million(task, found['million_steps_minutes'])}",
            f"  ratio to SB3's SAC       {_shown(found, 'ratio_to_sb3')}",
            f"  ratio to SBX's SAC       {_shown(found, 'ratio_to_sbx')}",
        ]
    return "\n".join(lines)


def _million(task: str, minutes: float) -> str:
    """With evaluations every 10,000 steps, as `delightful train` makes them."""
    said = f"{minutes:.1f} minutes"
    if task not in MINUTES:
        return said
    verdict = "held" if minutes <= MINUTES[task] else "missed"
    return f"{said}  goal at most {MINUTES[task]:g}: {verdict}"


def _shown(found: dict[str, Any], name: str, *, at_most: bool = False) -> str:
    value, goal = found[name], GOALS[name]
    met = value <= goal if at_most else value >= goal
    sign = "at most" if at_most else "at least"
    verdict = "held" if met else "missed"
    return f"{shown(found, name)}  goal {sign} {goal:g}: {verdict}"
