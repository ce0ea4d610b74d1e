"""Control: acting alone, learning alone, both together; matrix products; and third-party SAC.

Ours is DG at its defaults, but for a replay buffer and random steps that a short run can fill.
Stable-Baselines3's and SBX's SAC have the same task, networks of 2 × 256 units, batches of 256 and
as many updates per environment step of 4 environments, which they step as their users do,
dm_control through Gymnasium's interface. SAC is another algorithm: it has two critics, and takes
gradients through them; DG values sampled actions at each of its states. The matrix products of a
learner step are timed alone too: they bound what any program could save.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from delightful.benchmarks import products, verdict
from delightful.benchmarks.timing import alternating, median, reached, seconds, shown
from delightful.lab.errors import LabError, install

TASKS = ("cartpole:swingup", "cheetah:run", "humanoid:run")
GOALS = {"ratio_to_sb3": 5.0, "ratio_to_sbx": 3.0, "overlap": 1.2}
MINUTES = {"cheetah:run": 12.0}  # at most, for a million steps of `delightful train`
LIBRARIES = {"sb3": "stable_baselines3", "sbx": "sbx"}


def measure(
    tasks: tuple[str, ...] = TASKS, chunks: int = 5, rounds: int = 6, **changes: Any
) -> dict[str, Any]:
    """Time our agent and third-party SAC, in `rounds` of `chunks`, 364 environment steps each."""
    for package in (*LIBRARIES.values(), "dm_control"):
        if find_spec(package) is None:
            raise LabError(f"bench control needs {package}: {install('sac')}.")
    return {
        "tasks": {task: _of_task(task, chunks, rounds, changes) for task in tasks},
        "chunks": chunks,
        "rounds": rounds,
    }


def _of_task(task: str, chunks: int, rounds: int, changes: dict[str, Any]) -> dict[str, Any]:
    from delightful.agents.control.actor_process import ActorProcess
    from delightful.agents.control.config import CHUNK, EVALUATED_EVERY, ControlConfig

    config = replace(ControlConfig(task=task, random_steps=1000, replay=200_000), **changes)
    steps = chunks * CHUNK * config.actors
    with ActorProcess(config, 0) as actors:
        together, acting, learning, evaluation = _parts(config, actors, chunks)
        together()  # compiles, and fills the replay buffer
        alone = {
            part: float(np.median([seconds(part) for _ in range(rounds)]))
            for part in (acting, learning)
        }
        # In turn, as with SAC below: a machine's speed drifts.
        slower = max(alone, key=alone.__getitem__)
        overlap = median("overlap", np.divide(*alternating(together, slower, rounds)))
        evaluated = np.median([seconds(evaluation) for _ in range(rounds)])
        parts = products.milliseconds(products.products(config, actors.observed, actors.actions))
        ours, found = _beside_sac(config, together, steps, rounds)
    million = 1e6 / steps * ours + 1e6 / EVALUATED_EVERY * evaluated
    return {
        "environment_steps_per_second": steps / alone[acting],
        "learner_steps_per_second": steps / config.every / alone[learning],
        "learner_step_milliseconds": alone[learning] / (steps / config.every) * 1e3,
        "product_milliseconds": sum(parts.values()),
        "products": parts,
        "steps_per_second": float(steps / ours),
        **overlap,
        "million_steps_minutes": float(million / 60),
        **found,
    }


def _parts(config: Any, actors: Any, chunks: int) -> tuple[Callable[[], None], ...]:
    """What is timed: acting with learning, acting, learning; and an evaluation."""
    from delightful.agents.control import learner, training
    from delightful.agents.control.config import CHUNK

    session = training.begin(config, 0, actors)

    def together() -> None:
        """As a run does them."""
        actors.collect(session.acting)
        for i in range(chunks):
            session.advance(last=i == chunks - 1)
        training.weights(session.learner)  # waits for it

    def acting() -> None:
        for _ in range(chunks):
            actors.collect(training.weights(session.learner))
            actors.collected()

    def learning() -> None:
        state, updates = session.learner, CHUNK * config.actors // config.every
        for _ in range(chunks):
            state, _ = learner.learn(config, state, session.memory, 0, updates)
        training.weights(state)  # waits for it

    def evaluation() -> None:
        """As `delightful train` does at every evaluation step; a run waits for most of it."""
        untrained = learner.initial(config, 0, actors.observed, actors.actions)
        actors.evaluate(1, training.weights(untrained))
        actors.evaluated()

    return together, acting, learning, evaluation


def _beside_sac(
    config: Any, together: Callable[[], None], steps: int, rounds: int
) -> tuple[Any, dict[str, Any]]:
    """Our median seconds, and the ratios to SAC's; each library is timed in turn with ours."""
    from delightful.paper.control import sac

    ours = []
    found: dict[str, Any] = {}
    for name in LIBRARIES:
        settings = sac.Settings(config.task, config.every, random_steps=config.random_steps)
        mine, others = alternating(together, sac.trainer(name, settings, steps), rounds)
        found |= median(f"ratio_to_{name}", others / mine)
        found[f"{name}_steps_per_second"] = float(steps / np.median(others))
        ours.append(mine)
    return np.median(ours), found


def describe(figures: dict[str, Any]) -> str:
    """The figures of `measure` as text, with the goals."""
    lines = ["DG on control, environment steps per second; SAC with as many updates per step"]
    for task, found in figures["tasks"].items():
        limit = GOALS["overlap"]
        minutes = found["million_steps_minutes"]
        million = f"{minutes:.1f} minutes"
        if task in MINUTES:
            million += f"  {verdict('goal at most', MINUTES[task], minutes <= MINUTES[task])}"
        lines += [
            task,
            f"  acting alone             {found['environment_steps_per_second']:.0f}",
            f"  learner steps alone      {found['learner_steps_per_second']:.1f}",
            f"  a learner step           {found['learner_step_milliseconds']:.2f} ms, of which its "
            f"matrix products alone take {found['product_milliseconds']:.2f} ms",
            *(f"    {name:<35}{took:.2f} ms" for name, took in found["products"].items()),
            f"  both together            {found['steps_per_second']:.0f}",
            f"  over the slower alone    {shown(found, 'overlap')}"
            f"  goal at most {limit:g}: {reached(found, 'overlap', most=limit)}",
            f"  a million steps          {million}",
        ]
        for name in LIBRARIES:
            ratio, goal = f"ratio_to_{name}", GOALS[f"ratio_to_{name}"]
            held = f"goal at least {goal:g}: {reached(found, ratio, least=goal)}"
            lines.append(f"  ratio to {name.upper()}'s SAC       {shown(found, ratio)}  {held}")
    return "\n".join(lines)
