"""Each framework's small tasks, alone and with the plug-in, five seeds each."""

from functools import partial

from delightful.lab.cells import Point, Sweep
from delightful.paper.stacks.config import TASKS, TRAIN, StackConfig

CONTINUOUS = ("Pendulum-v1", "InvertedPendulum-v5")
NEEDS = {
    "trl": ("trl", "datasets", "transformers", "torch"),
    "verl": ("verl", "transformers", "torch"),
    "sb3": ("stable_baselines3", "torch"),
    "rllib": ("ray", "tree", "gymnasium", "torch"),
    "torchrl": ("torchrl", "gymnasium", "mujoco", "torch"),
}


def _points(stack: str, scale: str) -> list[Point]:
    """The framework alone; DG as the paper has it; DG whatever the scale of the advantages."""
    found = []
    for algorithm, task, steps in TASKS[stack]:
        gated = ("dg", "dg:whiten=scale")
        if task in CONTINUOUS:  # Algorithm 2 of the paper
            gated = ("dg:max_surprisal=10.0", "dg:max_surprisal=10.0,whiten=scale")
        short = 4 if task == "reversal" else 2000
        length = (short, 2) if scale == "smoke" else (steps, 20)
        for method in ("pg", *gated):
            config = StackConfig(method, stack, algorithm, task, *length)
            found.append(Point(config, "rival" if method == "pg" else "main"))
    return found


SWEEPS = tuple(
    Sweep(
        f"stacks/{stack}",
        TRAIN,
        partial(_points, stack),
        {"smoke": 1, "quick": 5, "paper": 5},
        needs=NEEDS[stack],
        extra="torchrl,control" if stack == "torchrl" else stack,
    )
    for stack in TASKS
)
