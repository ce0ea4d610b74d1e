"""Load a control policy and act with it in dm_control.

    python examples/load_policy.py runs/cheetah-run-dg-seed0/policy.safetensors

Without a file it trains a small one first, with `delightful train`. Needs `pip install -e
'.[control]'`. Loading needs no JAX, and nothing in the file is executed.

prints, after the trainer's lines:
    cartpole:balance: return 294
"""

import subprocess
import sys
import tempfile

from dm_control import suite

from delightful.agents.control import ActionScaling, load_policy


def train(folder: str) -> str:
    """The policy file of a short run of DG on cartpole:balance."""
    options = ["--steps", "1e4", "--out", folder]
    command = [sys.executable, "-m", "delightful.cli", "train", "cartpole:balance", *options]
    subprocess.run(command, check=True)
    return f"{folder}/policy.safetensors"


with tempfile.TemporaryDirectory() as folder:
    policy = load_policy(sys.argv[1] if len(sys.argv) > 1 else train(folder))

env = suite.load(*policy.task.split(":"), task_kwargs={"random": 0})
scale = ActionScaling(env.action_spec())  # from the policy's [−1, 1] to the task's bounds
step, total = env.reset(), 0.0
while not step.last():
    step = env.step(scale(policy.act(step.observation)))  # the mean action
    total += step.reward
print(f"{policy.task}: return {total:.0f}")
