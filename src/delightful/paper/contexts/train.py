"""Training N contexts at once on exact population gradients: no sampling, no noise."""

from typing import Any

import jax
import jax.numpy as jnp

from delightful.lab.compiling import OverSeeds
from delightful.losses import policy_loss
from delightful.paper.contexts.config import ContextsConfig
from delightful.paper.directions import balanced, misalignment, unit

_CORRECT = 0  # the logits are drawn alike for every action, so it does not matter which


def train(
    config: ContextsConfig, hyperparameters: dict[str, Any], key: jax.Array
) -> dict[str, Any]:
    """Average error and misalignment to g*_CE before each of `steps` updates."""
    correct = jax.nn.one_hot(_CORRECT, config.actions)
    shape = (config.contexts, config.actions)
    advantage = jnp.broadcast_to(correct - config.baseline, shape)

    def expected_loss(logits: jax.Array) -> jax.Array:
        """Every action of every context, weighted by its probability: E[ω ∇log π] exactly."""
        log_prob = jax.nn.log_softmax(logits)
        terms = policy_loss(
            log_prob, advantage, method=config.method, reduction="none", **hyperparameters
        )
        return jnp.sum(jax.lax.stop_gradient(jnp.exp(log_prob)) * terms)

    def step(logits: jax.Array, _: None) -> tuple[jax.Array, dict[str, jax.Array]]:
        policy = jax.nn.softmax(logits)
        gradient = -jax.grad(expected_loss)(logits)
        direction = unit(jnp, balanced(jnp, gradient, correct).ravel())
        oracle = unit(jnp, balanced(jnp, correct - policy, correct).ravel())
        record = {
            "error": jnp.mean(jnp.sum(policy * (1 - correct), axis=1)),
            "misalignment": misalignment(jnp, direction, oracle),
        }
        return logits + config.step_size * direction.reshape(shape), record

    start = config.init_scale * jax.random.normal(key, shape)
    _, curves = jax.lax.scan(step, start, length=config.steps)
    return {"step": jnp.arange(config.steps), **curves}


run = OverSeeds(train)
