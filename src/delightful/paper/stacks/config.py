"""A short training run in somebody else's framework, alone or with DG's plug-in."""

from dataclasses import dataclass

from delightful.lab.cells import Program
from delightful.lab.config import at_least, chosen, require
from delightful.registry import parse_method

# An algorithm, a task, and the steps in which the framework alone learns it.
TASKS: dict[str, tuple[tuple[str, str, int], ...]] = {
    "trl": (("grpo", "reversal", 300),),
    "verl": (("grpo", "reversal", 100),),
    "sb3": (
        ("ppo", "CartPole-v1", 20_000),
        ("a2c", "CartPole-v1", 30_000),
        ("ppo", "Pendulum-v1", 40_000),
    ),
    "rllib": (("ppo", "CartPole-v1", 20_000), ("ppo", "Pendulum-v1", 40_000)),
    # A2C takes one step per batch: Pendulum is out of its reach in so few.
    "torchrl": (
        ("a2c", "CartPole-v1", 20_000),
        ("a2c", "InvertedPendulum-v5", 30_000),
        ("reinforce", "CartPole-v1", 20_000),
    ),
}
Scores = list[tuple[int, float]]
"""What was finished along a run: the step, and its return or reward."""


@dataclass(frozen=True)
class StackConfig:
    method: str = chosen(
        "dg", "pg is the framework alone, dg the same with the plug-in and unit gain"
    )
    stack: str = chosen("sb3", "one of the five that have a plug-in")
    algorithm: str = chosen("ppo", "as the framework calls it; settings: experiments/stacks")
    task: str = chosen("CartPole-v1", "small enough for a laptop; reversal is for language models")
    steps: int = chosen(
        20_000, "environment steps, or optimiser steps of a language model: plain learns in them"
    )
    records: int = chosen(20, "points of the learning curve")
    staleness: int = chosen(
        0, "the acting policy gets new weights every staleness + 1 updates; RLlib's PPO: only 0"
    )

    def check(self) -> None:
        name = parse_method(self.method)[0].name
        require(name in ("pg", "dg"), "method must be pg or dg", self.method)
        require(self.stack in TASKS, f"stack must be one of {', '.join(TASKS)}", self.stack)
        known = dict.fromkeys(algorithm for algorithm, _, _ in TASKS[self.stack])
        require(
            self.algorithm in known, f"algorithm must be one of {', '.join(known)}", self.algorithm
        )
        require(
            (self.task == "reversal") == (self.stack in ("trl", "verl")),
            "task must be reversal for trl and verl, and a Gymnasium task for the others",
            self.task,
        )
        at_least(1, self, "records")
        at_least(0, self, "staleness")
        require(
            self.staleness == 0 or self.stack != "rllib",
            "staleness must be 0 for rllib, whose PPO sends new weights after every update",
            self.staleness,
        )
        require(self.steps >= self.records, "steps must be at least records", self.steps)


def _seconds(config: StackConfig) -> float:
    per_step = {"trl": 0.06, "verl": 0.3, "sb3": 8e-4, "rllib": 1.4e-3, "torchrl": 1.8e-3}
    return per_step[config.stack] * config.steps


TRAIN = Program(
    "stacks/train",
    version=1,
    entry="delightful.paper.stacks.train:train",
    block=1,
    start=10.0,
    seconds=_seconds,
)
