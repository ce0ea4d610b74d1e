"""Each framework's small tasks, alone and with the plug-in: on fresh data, and on stale data."""

from dataclasses import replace
from functools import partial

from delightful.lab.cells import Point, Sweep
from delightful.paper.stacks.config import TASKS, TRAIN, StackConfig

CONTINUOUS = ("Pendulum-v1", "InvertedPendulum-v5")
NEEDS = {
    "trl": ("trl", "datasets", "transformers", "torch"),
    "verl": ("verl", "transformers", "torch"),
    "sb3": ("stable_baselines3", "torch"),
    "rllib": ("ray", "pyarrow", "tree", "gymnasium", "torch"),
    "torchrl": ("torchrl", "gymnasium", "mujoco", "torch"),
}
EXTRAS = {"torchrl": "torchrl,control"}


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


FRESH = tuple(
    Sweep(
        f"stacks/{stack}",
        TRAIN,
        partial(_points, stack),
        {"smoke": 1, "quick": 5, "paper": 5},
        needs=NEEDS[stack],
        extra=EXTRAS.get(stack, stack),
    )
    for stack in TASKS
)

# How many updates old data can be, fresh first.
LEVELS = {"smoke": (0, 3), "quick": (0, 3, 10), "paper": (0, 3, 10, 30)}
# Where the policy that acts can be older than the one that learns. GRPO and PPO correct for that
# by clipped ratios, A2C does not.
STALE_TASKS = (
    ("trl", "grpo"),
    ("verl", "grpo"),
    ("sb3", "ppo"),
    ("sb3", "a2c"),
    ("torchrl", "a2c"),
)


def _stale(stacks: tuple[str, ...], scale: str) -> list[Point]:
    """The first task of an algorithm, alone and with DG as the paper has it, at every level."""
    found = []
    for stack, algorithm in STALE_TASKS:
        fresh = (p for p in _points(stack, scale) if p.config.algorithm == algorithm)
        plain, gated, *_ = fresh
        for level in LEVELS[scale] if stack in stacks else ():
            for point in (plain, gated):
                found.append(point._replace(config=replace(point.config, staleness=level)))
    return found


def _stale_sweep(name: str, *stacks: str) -> Sweep:
    return Sweep(
        name,
        TRAIN,
        partial(_stale, stacks),
        {"smoke": 1, "quick": 3, "paper": 10},  # quick: at most ten minutes of a core
        needs=tuple(dict.fromkeys(package for stack in stacks for package in NEEDS[stack])),
        extra=",".join(EXTRAS.get(stack, stack) for stack in stacks),
        in_part=True,
    )


# verl's dependencies do not go together with the others', and torchrl's collector is slow.
STALE = (
    _stale_sweep("stacks/staleness", "trl", "sb3"),
    _stale_sweep("stacks/verl-staleness", "verl"),
    _stale_sweep("stacks/torchrl-staleness", "torchrl"),
)
SWEEPS = (*FRESH, *STALE)
