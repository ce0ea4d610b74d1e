"""One run as a function of its config, the method's hyperparameters and a random key."""

from typing import Any

import jax
import jax.numpy as jnp

from delightful.lab.compiling import OverSeeds
from delightful.losses import policy_loss
from delightful.paper.experiment.config import ArmsConfig


def train(config: ArmsConfig, hyperparameters: dict[str, Any], key: jax.Array) -> dict[str, Any]:
    """The error 1 − π(better arm) before each of `steps` updates."""

    def loss(logits: jax.Array, action: jax.Array) -> Any:
        log_policy = jax.nn.log_softmax(logits)
        advantage = (action == 0) - jax.lax.stop_gradient(jnp.exp(log_policy[0]))
        return policy_loss(
            log_prob=log_policy[action],
            advantage=advantage,
            method=config.method,
            **hyperparameters,
        )

    def step(logits: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        action = jax.random.categorical(key, logits, shape=(config.batch,))
        gradient = jax.grad(loss)(logits, action)
        return logits - config.step_size * gradient, jax.nn.softmax(logits)[1]

    start = jnp.zeros(2).at[0].set(config.start)
    _, error = jax.lax.scan(step, start, jax.random.split(key, config.steps))
    return {"step": jnp.arange(config.steps), "error": error}


run = OverSeeds(train)
