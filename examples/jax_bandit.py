"""The bandit of torch_bandit.py in JAX and optax: actors that are 10 updates old.

Name the arguments of `policy_loss` in JAX: under jit a swap cannot be seen.

prints:
    pg                 error 0.872
    dg:unit_gain=true  error 0.142
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax

import delightful as dg

CONTEXTS, ACTIONS, DELAY, STEPS = 100, 10, 10, 400
optimizer = optax.adam(3e-3)


def init(key):
    """A network 16-64-10."""
    first, second = jax.random.split(key)
    return {
        "first": jax.random.normal(first, (16, 64)) / 16**0.5,
        "bias": jnp.zeros(64),
        "second": jax.random.normal(second, (64, ACTIONS)) / 64**0.5,
    }


def policy(params, contexts):
    """log π of every action in every context."""
    hidden = jax.nn.relu(contexts @ params["first"] + params["bias"])
    return jax.nn.log_softmax(hidden @ params["second"])


@partial(jax.jit, static_argnames="method")
def train(method, key):
    """The error 1 − π(right action) after training."""
    key_init, key_contexts, key_right, key = jax.random.split(key, 4)
    contexts = jax.random.normal(key_contexts, (CONTEXTS, 16))
    right = jax.random.randint(key_right, (CONTEXTS,), 0, ACTIONS)

    def loss(params, action):
        log_probs = policy(params, contexts)
        log_prob = log_probs[jnp.arange(CONTEXTS), action]
        advantage = (action == right) - jnp.exp(2 * log_probs).sum(-1)
        return dg.policy_loss(log_prob=log_prob, advantage=advantage, method=method)

    def step(state, key):
        params, moments, actors = state
        oldest = jax.tree.map(lambda leaf: leaf[0], actors)
        action = jax.random.categorical(key, policy(oldest, contexts))
        updates, moments = optimizer.update(jax.grad(loss)(params, action), moments)
        params = optax.apply_updates(params, updates)
        actors = jax.tree.map(lambda old, new: jnp.append(old[1:], new[None], 0), actors, params)
        return (params, moments, actors), None

    params = init(key_init)
    actors = jax.tree.map(lambda leaf: jnp.stack([leaf] * (DELAY + 1)), params)
    state = (params, optimizer.init(params), actors)
    (params, _, _), _ = jax.lax.scan(step, state, jax.random.split(key, STEPS))
    return 1 - jnp.exp(policy(params, contexts))[jnp.arange(CONTEXTS), right].mean()


if __name__ == "__main__":
    keys = jax.random.split(jax.random.key(0), 3)
    for method in ("pg", "dg:unit_gain=true"):
        errors = jax.vmap(partial(train, method))(keys)
        print(f"{method:<18} error {errors.mean():.3f}")
