"""The learner: its losses against formulas in NumPy, and a task whose answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from delightful.agents.control import learning, networks, policy, replay
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.learning import Draws, Gaussian
from delightful.agents.control.transitions import Rows

METHODS = ("pg", "dg", "ppo", "mpo")
OPTIONS = {"ppo": {"max_ratio": 3.0}, "dg": {"max_surprisal": 10.0}}
SHAPE = (8, 5)  # time, sequences
CONFIG = ControlConfig(width=16, batch=40, kl=2.0, kl_deviation=5.0)


def some_rows(rng, observed=3, actions=2):
    time, sequences = SHAPE[0] + 1, SHAPE[1]

    def normal(*shape):
        return jnp.asarray(rng.normal(size=(time, sequences, *shape)), jnp.float32)

    one = jnp.ones((time, sequences))
    valid = one.at[3, 1].set(0).at[0, 2].set(0)
    return Rows(normal(observed), normal(actions), -1 - normal() ** 2, normal(), one, valid)


def a_batch(seed=0, actions=2):
    rng = np.random.default_rng(seed)
    rows = some_rows(rng, actions=actions)

    def gaussian(time):
        shape = (time, SHAPE[1], actions)
        return Gaussian(
            jnp.asarray(rng.uniform(-0.5, 0.5, shape), jnp.float32),
            jnp.asarray(rng.uniform(0.2, 0.9, shape), jnp.float32),
        )

    now, old = gaussian(SHAPE[0] + 1), gaussian(SHAPE[0])
    noise = rng.normal(size=(SHAPE[0] + 1, SHAPE[1], 4, actions))
    action = now.mean[:, :, None] + now.deviation[:, :, None] * noise
    q = jnp.asarray(rng.normal(size=noise.shape[:-1]), jnp.float32)
    return now, old, rows, Draws(jnp.asarray(action, jnp.float32), q)


def log_density(gaussian, action):
    mean, deviation = (np.asarray(x, np.float64)[: len(action), :, None] for x in gaussian)
    terms = ((action - mean) / deviation) ** 2 / 2 + np.log(deviation) + np.log(2 * np.pi) / 2
    return -terms.sum(-1)


def weights_by_hand(method, now, old, rows, draws):
    """ω as the paper and FACTS have them, 0 where nothing was done."""
    action = np.asarray(draws.action, np.float64)[:-1]
    q = np.asarray(draws.q, np.float64)[:-1]
    U = q - q.mean(-1, keepdims=True)
    log_prob, old_log_prob = log_density(now, action), log_density(old, action)
    ratio = np.exp(log_prob - old_log_prob)
    found = {
        "pg": U,
        "dg": U / (1 + np.exp(-U * np.clip(-log_prob, -10, 10))),
        "ppo": np.where(
            ((U > 0) & (ratio > 1.2)) | ((U < 0) & ((ratio < 0.8) | (ratio > 3))), 0, ratio * U
        ),
        "mpo": 4 * np.exp(U) / np.exp(U).sum(-1, keepdims=True),
    }[method]
    return found * np.asarray(rows.valid, np.float64)[:-1, :, None]


@pytest.mark.parametrize("method", METHODS)
def test_the_actors_gradient_is_that_of_the_formula(method):
    now, old, rows, draws = a_batch()
    config = ControlConfig(method=method, width=16, batch=40, kl=2.0, kl_deviation=5.0)

    def loss(now):
        return learning.actor_loss(config, OPTIONS.get(method, {}), now, old, rows, draws)[0]

    found = jax.grad(loss)(now)
    omega = weights_by_hand(method, now, old, rows, draws)
    size = np.sqrt(np.mean((omega - omega.mean(-1, keepdims=True)) ** 2))
    count = 4 * np.asarray(rows.valid)[:-1].sum()
    states = SHAPE[0] * SHAPE[1]
    mean, deviation = (np.asarray(x, np.float64)[:-1] for x in now)
    old_mean, old_deviation = (np.asarray(x, np.float64) for x in old)
    z = (np.asarray(draws.action)[:-1] - mean[:, :, None]) / deviation[:, :, None]
    by_mean = -(omega[..., None] * z / deviation[:, :, None]).sum(2) / count / size
    by_mean += 2.0 * (mean - old_mean) / old_deviation**2 / states
    by_deviation = -(omega[..., None] * (z**2 - 1) / deviation[:, :, None]).sum(2) / count / size
    by_deviation += 5.0 * (1 / deviation - old_deviation**2 / deviation**3) / states
    np.testing.assert_allclose(found.mean[:-1], by_mean, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(found.deviation[:-1], by_deviation, rtol=2e-4, atol=2e-5)
    assert not np.any(found.mean[-1])  # the last row is there for its value only


def test_the_size_of_weights_is_felt_by_no_method():
    weight = jnp.asarray(np.random.default_rng(0).normal(size=(8, 5, 4)))
    one = learning.size(weight)
    assert learning.size(3 * weight + 7) == pytest.approx(3 * float(one), rel=1e-5)
    assert learning.size(0 * weight) == pytest.approx(
        learning.LEAST_WEIGHT
    )  # and nothing is divided by 0


def test_draws_come_in_pairs_about_the_mean_and_are_valued_by_the_target():
    now, _, rows, _ = a_batch()
    learner = learning.start(CONFIG, 0, 3, 2)
    draws = learning.draw(CONFIG, learner, rows, now, jax.random.key(1))
    half = CONFIG.draws // 2
    middle = (draws.action[:, :, :half] + draws.action[:, :, half:]) / 2
    np.testing.assert_allclose(middle, now.mean[:, :, None] + 0 * middle, atol=1e-6)
    many = learning.draw(ControlConfig(draws=4000), learner, rows, now, jax.random.key(2)).action
    np.testing.assert_allclose(many.std(axis=2), now.deviation, rtol=0.08)
    expected = networks.value(learner.target_critic, rows.observation, draws.action)
    np.testing.assert_allclose(draws.q, expected, rtol=1e-6)


def test_density_above_1_is_counted_and_turns_the_gate():
    sharp = Gaussian(jnp.zeros((1, 1, 1)), jnp.full((1, 1, 1), 0.1))
    log_prob = sharp.log_prob(jnp.zeros((1, 1, 4, 1)))
    advantage = jnp.asarray([[[1.0, 1.0, -1.0, -1.0]]])
    seen = learning._measure(CONFIG, log_prob, log_prob, advantage)
    assert seen["inverted"] == 1
    assert seen["gate_good"] < 0.5 < seen["gate_bad"]
    relative = ControlConfig(surprisal="mode")
    seen = learning._measure(relative, log_prob, log_prob, advantage)
    assert seen["gate_good"] == seen["gate_bad"] == 0.5


def test_rewards_are_normalised_and_an_end_is_worth_no_reward_for_ever():
    rng = np.random.default_rng(0)
    rows = some_rows(rng)
    learner = learning.start(CONFIG, 0, 3, 2)
    learner = learning._follow_rewards(CONFIG, learner, rows)
    valid = np.asarray(rows.valid) > 0
    seen = np.asarray(rows.reward)[valid]
    assert learner.reward_mean == pytest.approx(seen.mean(), rel=1e-4)
    assert learning.reward_scale(learner) == pytest.approx(np.sqrt(np.mean(seen**2)), rel=1e-4)
    ended = rows._replace(discount=rows.discount.at[2].set(0))
    less = learning.normalised(CONFIG, learner, rows) - learning.normalised(CONFIG, learner, ended)
    for_ever = CONFIG.discount / (1 - CONFIG.discount) * learner.reward_mean
    np.testing.assert_allclose(less[2], for_ever / learning.reward_scale(learner), rtol=1e-3)
    assert not np.any(less[0])


def memory_of(rng, slots, reward, actions=1):
    """A task of one state, which goes on for ever."""
    action = rng.uniform(-1, 1, (slots, 2, actions)).astype(np.float32)
    one = np.ones((slots, 2), np.float32)
    rows = Rows(
        np.ones((slots, 2, 3), np.float32),
        action,
        np.full((slots, 2), -actions * np.log(2), np.float32),
        reward(action).astype(np.float32),
        one,
        one,
    )
    return replay.Replay(Rows(*map(jnp.asarray, rows)), jnp.asarray(slots, jnp.int32))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_best_action(method):
    config = ControlConfig(method=method, width=16, batch=64, learning_rate=1e-3, target_period=20)
    memory = memory_of(np.random.default_rng(0), 800, lambda a: 1 - (a[..., 0] - 0.4) ** 2)
    learner = learning.start(config, 0, 3, 1)
    learner, means = learning.learn(config, learner, memory, 0, 1500)
    mean, _ = policy.gaussian(config, learner.actor, jnp.ones((1, 3)))
    # From 0; draws beyond 1 are clipped to it, so the best mean lies a little above 0.4.
    assert float(mean[0, 0]) == pytest.approx(0.45, abs=0.15)
    assert set(means) == set(learning.MEASURED)
    assert means["skipped"] == 0


def test_targets_follow_every_so_often():
    config = ControlConfig(width=16, batch=64, target_period=4)
    memory = memory_of(np.random.default_rng(0), 800, lambda a: a[..., 0])
    learner = learning.start(config, 0, 3, 1)
    before = learner.target_critic["value"]["matrix"]
    learner, _ = learning.learn(config, learner, memory, 0, 3)
    np.testing.assert_array_equal(learner.target_critic["value"]["matrix"], before)
    learner, _ = learning.learn(config, learner, memory, 0, 1)
    for target, network in (("target_critic", "critic"), ("target_actor", "actor")):
        found, expected = (jax.tree.leaves(getattr(learner, name)) for name in (target, network))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_an_update_that_is_not_finite_is_skipped_and_counted():
    config = ControlConfig(width=16, batch=64)
    memory = memory_of(np.random.default_rng(0), 800, lambda a: np.full(a.shape[:-1], 1e38))
    learner = learning.start(config, 0, 3, 1)
    after, means = learning.learn(config, learner, memory, 0, 5)
    assert means["skipped"] == 1
    assert all(np.isfinite(x).all() for x in jax.tree.leaves((after.actor, after.critic)))
