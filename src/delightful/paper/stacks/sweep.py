"""Each framework's small tasks, alone and with the plug-in, five seeds each."""

from delightful.lab.cells import Point, Sweep
from delightful.paper.stacks.config import TRAIN, StackConfig

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
CONTINUOUS = ("Pendulum-v1", "InvertedPendulum-v5")
NEEDS = {
    "trl": ("trl", "datasets", "transformers", "torch"),
    "verl": ("verl", "transformers", "torch"),
    "sb3": ("stable_baselines3", "torch"),
    "rllib": ("ray", "tree", "gymnasium", "torch"),
    "torchrl": ("torchrl", "gymnasium", "mujoco", "torch"),
}


def _methods(task: str) -> tuple[str, ...]:
    """The framework alone; DG as the paper has it; DG whatever the scale of the advantages."""
    if task in CONTINUOUS:  # Algorithm 2 of the paper
        return "pg", "dg:max_surprisal=10.0", "dg:max_surprisal=10.0,whiten=scale"
    return "pg", "dg", "dg:whiten=scale"


def _points(stack: str, scale: str) -> list[Point]:
    found = []
    for algorithm, task, steps in TASKS[stack]:
        short = 4 if task == "reversal" else 2000
        for method in _methods(task):
            config = StackConfig(
                method=method,
                stack=stack,
                algorithm=algorithm,
                task=task,
                steps=short if scale == "smoke" else steps,
                records=2 if scale == "smoke" else 20,
            )
            found.append(Point(config, "rival" if method == "pg" else "main"))
    return found


def _sweep(stack: str) -> Sweep:
    return Sweep(
        f"stacks/{stack}",
        TRAIN,
        lambda scale: _points(stack, scale),
        {"smoke": 1, "quick": 5, "paper": 5},
        needs=NEEDS[stack],
        extra="torchrl,control" if stack == "torchrl" else stack,
    )


SWEEPS = tuple(map(_sweep, TASKS))
