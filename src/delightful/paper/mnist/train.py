"""Training on MNIST with bandit feedback: sample actions, weight their scores, step with Adam."""

from itertools import accumulate, pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from delightful.agents import adam
from delightful.gate import gate
from delightful.lab.compiling import OverSeeds
from delightful.paper.directions import misalignment, unit
from delightful.paper.mnist.config import DIGITS, PIXELS, MnistConfig
from delightful.paper.mnist.data import Mnist, load
from delightful.paper.mnist.feedback import advantages, coefficients

Layers = list[tuple[jax.Array, jax.Array]]


def train(
    config: MnistConfig, hyperparameters: dict[str, Any], key: jax.Array, data: Mnist
) -> dict[str, Any]:
    """Errors, misalignment and gates at `records` evenly spaced moments of training.

    Training errors are those of the batches since the last record, each before its update.
    """
    every = config.steps // config.records
    start_key, step_key, record_key = jax.random.split(key, 3)

    def sample(key: jax.Array, layers: Layers) -> tuple[Any, ...]:
        return sample_batch(config, hyperparameters, data, key, layers)

    def measure(key: jax.Array, layers: Layers) -> dict[str, Any]:
        log_policy, right, gradient, back = sample(key, layers)
        aligned = misalignments(back, gradient, log_policy, right)
        return {**aligned, **gates(config, hyperparameters, log_policy, right)}

    def step(i: jax.Array, state: tuple[Any, ...]) -> tuple[Any, ...]:
        layers, optimiser, errors = state
        log_policy, right, gradient, back = sample(jax.random.fold_in(step_key, i), layers)
        layers, optimiser = adam.descend(layers, back(gradient)[0], optimiser, config.learning_rate)
        return layers, optimiser, errors + wrong(log_policy, right) / every

    def record(state: tuple[Any, ...], i: jax.Array) -> tuple[tuple[Any, ...], dict[str, Any]]:
        layers, optimiser, errors = jax.lax.fori_loop(i * every, (i + 1) * every, step, state)
        keys = jax.random.split(jax.random.fold_in(record_key, i), config.looks)
        seen = jax.lax.map(lambda key: measure(key, layers), keys)
        val_policy = jax.nn.log_softmax(forward(layers, data.val_images))
        val = wrong(val_policy, one_hot(data.val_labels))
        curves = {
            "train_error": errors[0],
            "train_greedy_error": errors[1],
            "val_error": val[0],
            "val_greedy_error": val[1],
            **jax.tree.map(jnp.mean, seen),
        }
        return (layers, optimiser, jnp.zeros(2)), curves

    layers = initial(start_key, config.width, config.layers)
    state = (layers, adam.start(layers), jnp.zeros(2))
    _, curves = jax.lax.scan(record, state, jnp.arange(config.records))
    return {"step": (1 + jnp.arange(config.records)) * every, **curves}


def sample_batch(
    config: MnistConfig,
    hyperparameters: dict[str, Any],
    data: Mnist,
    key: jax.Array,
    layers: Layers,
) -> tuple[Any, ...]:
    """log π on a new batch, its labels, the gradient at the logits, the VJP to the weights."""
    # All random numbers of a step in one call: faster than a key for each use.
    # With 23 bits, some of 60,000 images are sampled 0.7% more often than others.
    uniforms = jax.random.uniform(key, (1 + config.samples, config.batch))
    chosen = (uniforms[0] * len(data.train_images)).astype(jnp.int32)
    images, right = data.train_images[chosen], one_hot(data.train_labels[chosen])
    logits, back = jax.vjp(lambda layers: forward(layers, images), layers)
    log_policy = jax.nn.log_softmax(logits)
    table = coefficients(config, hyperparameters, uniforms[1:], log_policy, right)
    return log_policy, right, at_logits(log_policy, table), back


def initial(key: jax.Array, width: int, layers: int) -> Layers:
    """A ReLU network: normal weights of variance 1/inputs, as in JAX's libraries, zero biases."""
    shapes = [(n_out, n_in) for n_in, n_out in pairwise([PIXELS, *[width] * layers, DIGITS])]
    ends = list(accumulate(n_out * n_in for n_out, n_in in shapes))
    parts = jnp.split(jax.random.normal(key, (ends[-1],)), ends[:-1])  # one draw compiles faster
    # Rows are outputs: the gradient of the first layer, the largest product, is twice as fast then.
    return [
        (part.reshape(shape) / shape[1] ** 0.5, jnp.zeros(shape[0]))
        for part, shape in zip(parts, shapes, strict=True)
    ]


def forward(network: Layers, images: jax.Array) -> Any:
    """The ten logits of images, which are rows of pixels 0–255."""
    x = images.astype(jnp.float32) * (1 / 255)
    *hidden, (weight, bias) = network
    for w, b in hidden:
        x = jax.nn.relu(_rows_by_rows(x, w) + b)
    return _rows_by_rows(x, weight) + bias


def _rows_by_rows(x: jax.Array, w: jax.Array) -> jax.Array:
    """x wᵀ; spelled x @ w.T, XLA would write the transpose out at every step."""
    return jax.lax.dot_general(x, w, (((1,), (1,)), ((), ())))


def one_hot(labels: jax.Array) -> jax.Array:
    return jax.nn.one_hot(labels, DIGITS)


def at_logits(log_policy: jax.Array, table: jax.Array) -> jax.Array:
    """The gradient of −mean over images of Σ c·log π, with respect to the logits."""
    pull = jnp.sum(table, axis=1, keepdims=True)
    return (jnp.exp(log_policy) * pull - table) / len(table)


def wrong(log_policy: jax.Array, right: jax.Array) -> jax.Array:
    """How often a sampled action is wrong, 1 − π(y|x), and how often the greedy one is."""
    at_label = jnp.sum(log_policy * right, axis=1)
    greedy = at_label >= jnp.max(log_policy, axis=1)
    return jnp.stack([1 - jnp.mean(jnp.exp(at_label)), 1 - jnp.mean(greedy)])


def misalignments(
    back: Any, gradient: jax.Array, log_policy: jax.Array, right: jax.Array
) -> dict[str, Any]:
    """1 − cos in parameter space of a batch's gradient to both oracles' on the same batch."""
    ours = unit(jnp, ravel_pytree(back(gradient)[0])[0])

    def against(table: jax.Array) -> Any:
        oracle = unit(jnp, ravel_pytree(back(at_logits(log_policy, table))[0])[0])
        return misalignment(jnp, ours, oracle)

    return {
        "misalignment_pg": against(right * jnp.exp(log_policy)),
        "misalignment_ce": against(right),
    }


def gates(
    config: MnistConfig, hyperparameters: dict[str, Any], log_policy: jax.Array, right: jax.Array
) -> dict[str, Any]:
    """What DG's gate does here, in expectation over actions; at η = 1 if the method is not DG."""
    eta = hyperparameters["temperature"] if config.method == "dg" else 1.0
    policy = jnp.exp(log_policy)
    advantage = advantages(config.baseline, policy, right)
    w = gate(log_policy, advantage, temperature=eta)
    omega = jnp.abs(w * advantage)

    def mean(values: Any, of: Any = 1.0) -> Any:
        return jnp.sum(policy * of * values) / jnp.maximum(jnp.sum(policy * of), 1e-30)

    return {
        "gate_right": mean(w, right),
        "gate_wrong": mean(w, 1 - right),
        "gate_suppressed": mean(w < 0.2),
        "gate_neutral": mean((w >= 0.4) & (w <= 0.6)),
        "gate_open": mean(w > 0.8),
        "effective_fraction": mean(omega) ** 2 / jnp.maximum(mean(omega**2), 1e-30),
    }


run = OverSeeds(train, data=lambda: (Mnist(*map(jnp.asarray, load())),), fills_core=True)
