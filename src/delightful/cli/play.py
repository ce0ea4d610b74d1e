"""`delightful play`: whole episodes of a policy file, with the mean action."""

import math
from argparse import Namespace
from pathlib import Path

from delightful.agents.control import load_policy, rendering
from delightful.lab.errors import LabError


def run(options: Namespace) -> None:
    """Play episodes, print their returns, and record them if asked to.

    A policy of gym:MODULE:ID imports that module, as gymnasium.make does.
    """
    if options.episodes < 1:
        raise LabError(f"--episodes must be at least 1, got {options.episodes}.")
    if not 0 <= options.seed < 2**31:
        raise LabError(f"--seed must be at least 0 and below 2**31, got {options.seed}.")
    policy = load_policy(options.file)
    print(f"{policy.task}, {policy.config.method}, {policy.config.steps:,} steps of training")
    if options.out:
        rendering.check(policy.task, Path(options.out), "--out")
        returns = rendering.render(policy, options.seed, Path(options.out), options.episodes)
    else:
        returns = rendering.play(policy, options.seed, options.episodes)
    for number, total in enumerate(returns, 1):
        shown = "the simulator gave NaN" if math.isnan(total) else f"return {total:.1f}"
        print(f"episode {number}: {shown}")
    if options.out:
        print(f"written to {options.out}")
