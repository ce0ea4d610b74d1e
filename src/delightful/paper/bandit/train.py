"""Training the symmetric bandit: sample a batch, differentiate the policy loss, step by α g/‖g‖."""

from typing import Any

import jax
import jax.numpy as jnp

from delightful.lab.compiling import OverSeeds
from delightful.losses import policy_loss
from delightful.paper.bandit.config import BanditConfig
from delightful.paper.directions import balanced, misalignment, unit

_CORRECT = 0  # by symmetry it does not matter which


def train(config: BanditConfig, hyperparameters: dict[str, Any], key: jax.Array) -> dict[str, Any]:
    """Error and misalignment before each of `steps` updates, from a uniform policy."""
    correct = jax.nn.one_hot(_CORRECT, config.actions)

    def loss(logits: jax.Array, taken: jax.Array) -> Any:
        log_prob = jnp.sum(taken * jax.nn.log_softmax(logits), axis=1)
        advantage = taken[:, _CORRECT] - config.baseline
        return policy_loss(log_prob, advantage, method=config.method, **hyperparameters)

    def step(logits: jax.Array, u: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
        policy = jax.nn.softmax(logits)
        gradient = -jax.grad(loss)(logits, sample(u, policy))
        direction = unit(jnp, balanced(jnp, gradient, correct))
        oracle = unit(jnp, balanced(jnp, correct - policy, correct))
        record = {
            "error": jnp.sum(policy * (1 - correct)),
            "misalignment": misalignment(jnp, direction, oracle),
        }
        return logits + config.step_size * direction, record

    # All random numbers at once: the generator compiles faster outside the loop.
    uniforms = jax.random.uniform(key, (config.steps, config.batch))
    _, curves = jax.lax.scan(step, jnp.zeros(config.actions), uniforms)
    return {"step": jnp.arange(config.steps), **curves}


def sample(u: jax.Array, policy: jax.Array) -> jax.Array:
    """Actions as one-hot rows, by inverting the distribution function at uniform numbers `u`.

    One uniform number per action instead of K Gumbel numbers, and no logarithms.
    """
    # In float32 a running sum may fall by a rounding error; an action must not overlap the next.
    upper = jax.lax.cummax(jnp.cumsum(policy)).at[-1].set(1.0)
    lower = jnp.concatenate([jnp.zeros(1), upper[:-1]])
    return ((u[:, None] >= lower) & (u[:, None] < upper)).astype(policy.dtype)


run = OverSeeds(train)
