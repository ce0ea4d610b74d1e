"""Training on MNIST where what reaches the learner is not what its policy did."""

from typing import Any

import jax
import jax.numpy as jnp

from delightful.agents import adam, staleness
from delightful.agents.distortion import draw_hits
from delightful.paper.frictions.config import FrictionMnistConfig
from delightful.paper.mnist.config import DIGITS
from delightful.paper.mnist.data import Mnist
from delightful.paper.mnist.feedback import LOWEST, at_or_below, baselines
from delightful.paper.mnist.train import Layers, at_logits, forward, initial, one_hot, wrong
from delightful.weights import score_weight


def train(
    config: FrictionMnistConfig, hyperparameters: dict[str, Any], key: jax.Array, data: Mnist
) -> dict[str, Any]:
    """Errors at `records` evenly spaced moments of training.

    Args:
        config: the run's.
        hyperparameters: the method's own, by name.
        key: determines all random numbers.
        data: images and labels.

    Returns:
        "step", and the sampled and the greedy error of the learner's policy: on the training
        batches since the last record, each before its update, and on the test images.
    """
    every = config.steps // config.records
    start_key, step_key = jax.random.split(key)

    def step(i: jax.Array, state: tuple[Any, ...]) -> tuple[Any, ...]:
        layers, optimiser, past, errors = state
        key = jax.random.fold_in(step_key, i)
        actor = None
        if config.delay:
            past = staleness.remember(past, layers, i)
            ages = staleness.draw_ages(key, config.delay, 1)
            actor = staleness.recall(past, i, ages[0])
        gradient, seen = gradient_of_batch(config, hyperparameters, data, key, layers, actor)
        layers, optimiser = adam.descend(layers, gradient, optimiser, config.learning_rate)
        return layers, optimiser, past, errors + seen / every

    def record(state: tuple[Any, ...], i: jax.Array) -> tuple[tuple[Any, ...], dict[str, Any]]:
        *rest, errors = jax.lax.fori_loop(i * every, (i + 1) * every, step, state)
        policy = jax.nn.log_softmax(forward(rest[0], data.val_images))
        val = wrong(policy, one_hot(data.val_labels))
        curves = dict(zip(MEASURED, (*errors, *val), strict=True))
        return (*rest, jnp.zeros(2)), curves

    layers = initial(start_key, config.width, config.layers)
    past = staleness.start(layers, config.delay) if config.delay else ()
    state = (layers, adam.start(layers), past, jnp.zeros(2))
    _, curves = jax.lax.scan(record, state, jnp.arange(config.records))
    return {"step": (1 + jnp.arange(config.records)) * every, **curves}


MEASURED = ("error", "greedy_error", "val_error", "val_greedy_error")


def gradient_of_batch(
    config: FrictionMnistConfig,
    hyperparameters: dict[str, Any],
    data: Mnist,
    key: jax.Array,
    layers: Layers,
    actor: Layers | None,
) -> tuple[Layers, jax.Array]:
    """The gradient of the loss on a new batch.

    Args:
        config: the run's.
        hyperparameters: the method's own, by name.
        data: images and labels.
        key: the step's.
        layers: the learner's policy.
        actor: the policy that acts; None if it is the learner's.

    Returns:
        The gradient, and the errors of the learner's policy on the batch, without frictions.
    """
    uniforms = jax.random.uniform(key, (2, config.batch))
    chosen = (uniforms[0] * len(data.train_images)).astype(jnp.int32)
    images, labels = data.train_images[chosen], data.train_labels[chosen].astype(jnp.int32)
    logits, back = jax.vjp(lambda layers: forward(layers, images), layers)
    log_policy = jax.nn.log_softmax(logits)
    acting = log_policy if actor is None else jax.nn.log_softmax(forward(actor, images))
    action, old_log_prob, reward = act(config, key, uniforms[1], acting, labels)
    baseline = baselines(config.baseline, jnp.exp(log_policy), one_hot(labels))
    weight = score_weight(
        log_prob_of(log_policy, action),
        reward - jnp.ravel(baseline),
        method=config.method,
        old_log_prob=old_log_prob,
        **hyperparameters,
    )
    gradient = back(at_logits(log_policy, one_hot(action) * weight[:, None]))[0]
    return gradient, wrong(log_policy, one_hot(labels))


def act(
    config: FrictionMnistConfig,
    key: jax.Array,
    uniforms: jax.Array,
    acting: jax.Array,
    labels: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """What reaches the learner of a batch.

    Args:
        config: the probabilities of bugs, corruption and discovery.
        key: the step's.
        uniforms: random numbers that decide the actions, (images,).
        acting: log π of the policy that acts, (images, actions).
        labels: the right actions, (images,).

    Returns:
        Actions, their behaviour log-probabilities and their rewards, each (images,).
    """
    hits = draw_hits(config, key, len(labels))
    lower = at_or_below(uniforms[None], jnp.exp(acting))[0]
    action = (DIGITS - 1 - jnp.sum(lower, axis=0)).astype(jnp.int32)
    action = jnp.where(hits.bug, 0, action)
    action = jnp.where(hits.discovery, labels, action)
    log_prob = jnp.where(hits.replaced, 0.0, log_prob_of(acting, action))
    reward = (action == labels).astype(jnp.float32)
    return action, log_prob, jnp.where(hits.corrupted, hits.reward, reward)


def log_prob_of(log_policy: jax.Array, action: jax.Array) -> jax.Array:
    """log π of one action per image."""
    return jnp.sum(jnp.maximum(log_policy, LOWEST) * one_hot(action), axis=1)
