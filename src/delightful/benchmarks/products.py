"""The matrix products of a control learner step, each timed alone: what a faster step would cost.

No program that makes the same products can take less than their sum, so the rest of a step is what
could still be saved: elementwise work, sampling from replay, Adam.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from delightful.agents.control.config import ControlConfig
from delightful.benchmarks.timing import seconds

REPEATS = 200  # of a product within one timing
ROUNDS = 5


class Product(NamedTuple):
    """(rows, inner) times (inner, columns)."""

    rows: int
    inner: int
    columns: int

    @property
    def operations(self) -> int:
        return 2 * self.rows * self.inner * self.columns


def products(config: ControlConfig, observed: int, actions: int) -> dict[str, list[Product]]:
    """The products of one learner step by what they are for."""
    width, sequences = config.width, config.batch // config.length
    states, steps = sequences * (config.length + 1), config.batch

    def forward(rows: int, inputs: int, outputs: int) -> list[Product]:
        layers = [(inputs, width), (width, width), (width, outputs)]
        return [Product(rows, *layer) for layer in layers]

    def backward(rows: int, inputs: int, outputs: int) -> list[Product]:
        """Of the weights, and of all layers' inputs but the first's."""
        layers = [(inputs, width), (width, width), (width, outputs)]
        of_weights = [Product(inner, rows, columns) for inner, columns in layers]
        return of_weights + [Product(rows, columns, inner) for inner, columns in layers[1:]]

    both = observed + actions
    drawn = states * config.draws
    of_draws = [Product(states, observed, width), Product(drawn, actions, width)]
    of_draws += [Product(drawn, width, width), Product(drawn, width, 1)]
    return {
        "policy": forward(states, observed, 2 * actions),
        "gradient of the policy": backward(states, observed, 2 * actions),
        "target policy, for KL": forward(steps, observed, 2 * actions),
        "target critic on sampled actions": of_draws,
        "target critic on replayed actions": forward(steps, both, 1),
        "critic": forward(steps, both, 1),
        "gradient of the critic": backward(steps, both, 1),
    }


def milliseconds(found: dict[str, list[Product]]) -> dict[str, float]:
    """What the products of each part take, every shape timed alone."""
    counts = Counter(product for part in found.values() for product in part)
    each = {product: _milliseconds(product) for product in counts}
    return {name: sum(each[product] for product in part) for name, part in found.items()}


def _milliseconds(product: Product) -> float:
    run = _repeated(product)
    run()  # compiles
    return min(seconds(run) for _ in range(ROUNDS)) / REPEATS * 1e3


def _repeated(product: Product) -> Callable[[], object]:
    """A program that makes the product REPEATS times, none of which XLA can leave out."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    shapes = (product.rows, product.inner), (product.inner, product.columns)
    left, right = (jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in shapes)

    def once(_: object, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        right, total = state
        made = left @ right
        # The next product waits for this one, since one number of `right` depends on it.
        return right.at[0, 0].set(1e-9 * made[0, 0]), total + made[0, 0]

    @jax.jit
    def loop(right: jax.Array) -> jax.Array:
        total: jax.Array = jax.lax.fori_loop(0, REPEATS, once, (right, jnp.zeros(())))[1]
        return total

    def run() -> None:
        loop(right).block_until_ready()

    return run
