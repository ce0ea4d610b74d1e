"""Token Reversal and MNIST with frictions over seeds, as the lab runs them."""

from functools import partial

import jax.numpy as jnp

from delightful.agents.tokens import distortion, training
from delightful.agents.tokens.config import REWARDS, TASKS
from delightful.lab.compiling import OverSeeds
from delightful.paper.frictions import bandit_feedback
from delightful.paper.mnist.data import Mnist, load

tokens = OverSeeds(
    partial(training.train, distort=distortion.distort),
    fills_core=True,
    words={"task": TASKS, "reward": REWARDS},
)
mnist = OverSeeds(
    bandit_feedback.train, data=lambda: (Mnist(*map(jnp.asarray, load())),), fills_core=True
)
