"""Each framework's small tasks, alone and with the plug-in, five seeds each."""

from delightful.experiments.stacks.config import TRAIN, StackConfig
from delightful.lab.cells import Sweep

# (algorithm, task, steps, method): continuous actions are gated as in the paper's Algorithm 2.
CONTINUOUS = "dg:max_surprisal=10.0"
TASKS: dict[str, tuple[tuple[str, str, int, str], ...]] = {
    "trl": (("grpo", "reversal", 150, "dg"),),
    "verl": (("grpo", "reversal", 100, "dg"),),
    "sb3": (
        ("ppo", "CartPole-v1", 20_000, "dg"),
        ("a2c", "CartPole-v1", 30_000, "dg"),
        ("ppo", "Pendulum-v1", 40_000, CONTINUOUS),
    ),
    "rllib": (("ppo", "CartPole-v1", 20_000, "dg"), ("ppo", "Pendulum-v1", 40_000, CONTINUOUS)),
    "torchrl": (("a2c", "CartPole-v1", 30_000, "dg"), ("a2c", "Pendulum-v1", 50_000, CONTINUOUS)),
}
NEEDS = {
    "trl": ("trl", "datasets", "transformers", "torch"),
    "verl": ("verl", "transformers", "torch"),
    "sb3": ("stable_baselines3", "torch"),
    "rllib": ("ray", "gymnasium", "torch"),
    "torchrl": ("torchrl", "gymnasium", "torch"),
}


def _configs(stack: str, scale: str) -> list[StackConfig]:
    found = []
    for algorithm, task, steps, method in TASKS[stack]:
        short = 4 if task == "reversal" else 2000
        for name in ("pg", method):
            found.append(
                StackConfig(
                    method=name,
                    stack=stack,
                    algorithm=algorithm,
                    task=task,
                    steps=short if scale == "smoke" else steps,
                    records=2 if scale == "smoke" else 20,
                )
            )
    return found


def _sweep(stack: str) -> Sweep:
    return Sweep(
        f"stacks/{stack}",
        TRAIN,
        lambda scale: _configs(stack, scale),
        {"smoke": 1, "quick": 5, "paper": 5},
        needs=NEEDS[stack],
        extra=stack,
    )


SWEEPS = tuple(map(_sweep, TASKS))
