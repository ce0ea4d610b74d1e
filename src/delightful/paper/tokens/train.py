"""Token Reversal over seeds, as the lab runs it."""

from delightful.agents.tokens.config import REWARDS, TASKS
from delightful.agents.tokens.training import train
from delightful.lab.compiling import OverSeeds

run = OverSeeds(train, fills_core=True, words={"task": TASKS, "reward": REWARDS})
