"""Our Adam against optax's."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from delightful.agents import adam


def test_it_gives_optax_adams_numbers() -> None:
    ours = theirs = {"w": jnp.linspace(-1, 1, 12).reshape(3, 4), "b": jnp.zeros(4)}
    state = adam.start(ours)
    optimiser = optax.adam(3e-3)
    memory = optimiser.init(theirs)

    def gradient(p, i):
        return jax.tree.map(lambda x: jnp.sin((i + 1) * x) * 10.0 ** (-(i % 9)), p)

    for i in range(60):
        ours, state = adam.descend(ours, gradient(ours, i), state, 3e-3)
        updates, memory = optimiser.update(gradient(theirs, i), memory)
        theirs = optax.apply_updates(theirs, updates)
        for name in ours:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=2e-5, atol=2e-6)
