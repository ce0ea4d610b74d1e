"""What a plug-in adds to a training step of its framework, measured side by side.

A training step is what the framework does between two looks at its logger: gather experience and
learn from it, with the networks, batches and settings of `delightful run stacks`. These are as
small as anybody trains; with a larger network or a slower environment the share is smaller. The
part that learns is measured alone too, as `update`. Learning rates are 0: as soon as the two sides
played differently, episodes and completions of other lengths would be compared.
"""

import itertools
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from delightful.benchmarks.timing import alternating, median, shown
from delightful.lab.errors import LabError
from delightful.paper.stacks.sweep import FRESH
from delightful.paper.stacks.train import quiet
from delightful.plugins.gating import DelightConfig

LIMIT = 1.02  # what we hold ourselves to
Steps = dict[str, Callable[[], object]]
Delight = DelightConfig | None


def measure(rounds: int = 60) -> dict[str, Any]:
    """For each framework that is installed: delightful over plain, with a 95% interval."""
    present = [sweep.name.partition("/")[2] for sweep in FRESH if not sweep.missing]
    if not present:
        raise LabError(
            "bench plugins needs a framework to measure in: "
            "pip install '.[lab,sb3]' (or trl, rllib, torchrl, verl) in a clone of delightful."
        )
    figures: dict[str, Any] = {"rounds": rounds, "limit": LIMIT}
    for stack in present:
        with quiet(), ExitStack() as until_measured:
            import torch

            torch.set_num_threads(1)  # the step is too small to share
            plain, gated = (_BUILD[stack](d, until_measured) for d in (None, DelightConfig()))
            for part in plain:
                new, old = alternating(_seeded(gated[part]), _seeded(plain[part]), rounds, warm=3)
                figures[f"{part}_seconds_{stack}"] = float(np.median(old))
                figures |= median(f"{part}_ratio_{stack}", new / old)
    return figures


def describe(figures: dict[str, Any]) -> str:
    lines = ["delightful over plain, time ratios with 95% intervals"]
    for name, value in figures.items():
        part, middle, stack = name.partition("_ratio_")
        if middle and not stack.endswith("_interval"):
            held = "held" if value <= LIMIT else "missed"
            goal = f", limit {LIMIT:g}: {held}" if part == "step" else ""
            plain = f"plain takes {1000 * figures[f'{part}_seconds_{stack}']:.1f} ms"
            lines.append(f"  {stack:<8} {part:<7}  {shown(figures, name, 3)}  {plain}{goal}")
    return "\n".join(lines)


def _seeded(step: Callable[[], object]) -> Callable[[], None]:
    """The same draws for both sides: completions, say, of the same length."""
    seeds = itertools.count()

    def seeded() -> None:
        import torch

        torch.manual_seed(next(seeds))
        step()

    return seeded


def _freeze(optimiser: Any) -> None:
    for group in optimiser.param_groups:
        group["lr"] = 0.0


def _sb3(delight: Delight, _: ExitStack) -> Steps:
    from delightful.paper.stacks import sb3

    model = sb3.model("ppo", "CartPole-v1", delight, seed=0)
    model.lr_schedule = lambda _: 0.0
    model.learn(1)  # fills the buffer that `train` then reads again and again
    size = model.n_steps * model.n_envs
    return {
        "step": lambda: model.learn(size, reset_num_timesteps=False),
        "update": model.train,
    }


def _rllib(delight: Delight, until_measured: ExitStack) -> Steps:
    from delightful.paper.stacks import rllib

    algorithm = rllib.algorithm("CartPole-v1", delight, seed=0)
    until_measured.callback(algorithm.stop)
    for optimiser in algorithm.learner_group._learner._named_optimizers.values():
        _freeze(optimiser)
    return {"step": algorithm.train}


def _torchrl(delight: Delight, until_measured: ExitStack) -> Steps:
    from delightful.paper.stacks import torchrl

    training = torchrl.Training("a2c", "CartPole-v1", delight, seed=0)
    until_measured.callback(training.collector.shutdown)
    _freeze(training.optimiser)
    data = next(training.batches).clone()
    return {"step": training.step, "update": lambda: training.update(data.clone())}


def _trl(delight: Delight, until_measured: ExitStack) -> Steps:
    from delightful.paper.stacks import reversal, trl

    folder = until_measured.enter_context(tempfile.TemporaryDirectory())
    trainer = trl.trainer(delight, 0, 1, folder)
    trainer.train()  # sets the optimiser and the accelerator up
    rows = [row for row in reversal.prompts(8, seed=0) for _ in range(8)]
    _freeze(trainer.optimizer)

    def step() -> None:
        trainer.training_step(trainer.model_wrapped, rows, len(rows))
        trainer.optimizer.step()
        trainer.optimizer.zero_grad()

    return {"step": step}


def _verl(delight: Delight, until_measured: ExitStack) -> Steps:
    from delightful.paper.stacks import verl

    if delight is None:  # the first to be built opens the process group for both
        until_measured.enter_context(verl.alone())
    training = verl.Training(verl.loss_mode(delight), seed=0, steps=1, rate=0.0)
    return {"step": lambda: training.step(0)}


_BUILD: dict[str, Callable[[Delight, ExitStack], Steps]] = {
    "trl": _trl,
    "verl": _verl,
    "sb3": _sb3,
    "rllib": _rllib,
    "torchrl": _torchrl,
}
