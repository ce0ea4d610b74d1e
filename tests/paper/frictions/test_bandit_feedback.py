"""MNIST with frictions against plain loops."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from delightful.agents import adam, staleness
from delightful.agents.distortion import draw_hits
from delightful.lab.compiling import OverSeeds
from delightful.paper.frictions import bandit_feedback
from delightful.paper.frictions.config import MNIST, FrictionMnistConfig
from delightful.paper.mnist.data import Mnist
from delightful.paper.mnist.train import initial

SMALL = FrictionMnistConfig(batch=20, width=8, steps=6, records=6, delay=3)
KEY = jax.random.key(1)
RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 10, 300).astype(np.uint8)
IMAGES = RNG.integers(0, 120, (10, 784))[LABELS] + RNG.integers(0, 136, (300, 784))
DATA = Mnist(*map(jnp.asarray, 2 * (IMAGES.astype(np.uint8), LABELS)))
run = OverSeeds(bandit_feedback.train, data=lambda: (DATA,), fills_core=True)


def test_actions_and_rewards_are_replaced_one_by_one() -> None:
    config = replace(SMALL, bugs=0.3, corruption=0.4, discovery=0.2)
    labels = jnp.asarray(LABELS[:200], jnp.int32)
    acting = jax.nn.log_softmax(jnp.asarray(RNG.normal(size=(200, 10)), jnp.float32))
    uniforms = jnp.asarray(RNG.random(200), jnp.float32)
    action, log_prob, reward = bandit_feedback.act(config, KEY, uniforms, acting, labels)
    bug, discovery, corrupted, instead = map(np.asarray, draw_hits(config, KEY, 200))
    assert min(map(np.sum, (bug & discovery, bug & corrupted))) > 0
    for i in range(200):
        own = int(np.sum(np.cumsum(np.exp(acting[i]))[:9] <= uniforms[i]))
        done = labels[i] if discovery[i] else 0 if bug[i] else own
        assert action[i] == done
        known = 0.0 if discovery[i] or bug[i] else acting[i, own]
        assert float(log_prob[i]) == pytest.approx(float(known), abs=1e-6)
        assert reward[i] == (instead[i] if corrupted[i] else done == labels[i])


@pytest.mark.parametrize("method", ["pg", "dg", "iwpg"])
def test_the_gradient_is_that_of_weighted_scores(method) -> None:
    """By hand: ω from the learner's probabilities, ratios from the actor's."""
    config = replace(SMALL, method=method, corruption=0.3, bugs=0.2)
    layers, actor = (initial(jax.random.key(s), 8, 2) for s in (1, 2))
    found, errors = bandit_feedback.gradient_of_batch(config, {}, DATA, KEY, layers, actor)
    uniforms = jax.random.uniform(KEY, (2, 20))
    chosen = (uniforms[0] * 300).astype(jnp.int32)
    images, labels = DATA.train_images[chosen], DATA.train_labels[chosen].astype(jnp.int32)

    def log_policy(network):
        return jax.nn.log_softmax(bandit_feedback.forward(network, images))

    action, old, reward = bandit_feedback.act(config, KEY, uniforms[1], log_policy(actor), labels)
    now = np.asarray(log_policy(layers))
    U = np.asarray(reward) - np.sum(np.exp(now) ** 2, axis=1)
    at = now[np.arange(20), action]
    omega = {
        "pg": U,
        "dg": U / (1 + np.exp(U * at)),
        "iwpg": np.minimum(np.exp(at - np.asarray(old)), 10) * U,
    }[method]
    expected = jax.grad(lambda n: -jnp.mean(omega * log_policy(n)[jnp.arange(20), action]))(layers)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)
    assert float(errors[0]) == pytest.approx(1 - np.mean(np.exp(now[np.arange(20), labels])))


def test_an_actor_of_some_age_has_the_policy_of_that_many_updates_ago() -> None:
    found = run(SMALL, np.array([4]))
    start_key, step_key = jax.random.split(jax.random.key(4))
    policies = [initial(start_key, SMALL.width, SMALL.layers)]
    optimiser = adam.start(policies[0])
    step = jax.jit(lambda *a: bandit_feedback.gradient_of_batch(SMALL, {}, DATA, *a))
    for i in range(SMALL.steps):
        key = jax.random.fold_in(step_key, i)
        age = int(staleness.draw_ages(key, SMALL.delay, 1)[0])
        gradient, errors = step(key, policies[-1], policies[max(0, i - age)])
        policy, optimiser = adam.descend(policies[-1], gradient, optimiser, 1e-3)
        policies.append(policy)
        assert found["error"][0, i] == pytest.approx(float(errors[0]), abs=1e-4)


def test_fresh_actors_learn_as_stale_ones_of_age_0() -> None:
    """Without delay there is no ring, and the learner acts."""
    layers = initial(KEY, 8, 2)
    own, same = (
        bandit_feedback.gradient_of_batch(SMALL, {}, DATA, KEY, layers, actor)[0]
        for actor in (None, layers)
    )
    for one, other in zip(jax.tree.leaves(own), jax.tree.leaves(same), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bugs": 1.5}, "bugs must be a probability, from 0 to 1, got 1.5"),
        ({"delay": -1}, "delay must be at least 0, got -1"),
        ({"baseline": "none"}, "baseline must be one of"),
    ],
)
def test_senseless_values_are_refused(changes, words) -> None:
    with pytest.raises(ValueError, match=words):
        replace(SMALL, **changes).check()


def test_stale_actors_cost_more() -> None:
    assert MNIST.seconds(SMALL) > MNIST.seconds(replace(SMALL, delay=0)) > 0
