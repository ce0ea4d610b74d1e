"""The actor's loss and its samples, against formulas in NumPy."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from batches import SHAPE, some_transitions

from delightful.agents.control import networks
from delightful.agents.control.config import ADVANTAGES, LEAST_WEIGHT, READINGS, ControlConfig
from delightful.agents.control.gaussian import Gaussian
from delightful.agents.control.losses import actor_loss, gate_diagnostics, weight_scale
from delightful.agents.control.readings import BY_NAME, Samples, Values, sample_actions

METHODS = ("pg", "dg", "ppo", "mpo")
OPTIONS = {"ppo": {"max_ratio": 3.0}, "dg": {"max_surprisal": 10.0}}
CONFIG = ControlConfig(width=16, batch=40, kl=2.0, kl_deviation=5.0)


def a_batch(seed=0, actions=2):
    rng = np.random.default_rng(seed)
    transitions = some_transitions(rng, actions=actions)

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
    return now, old, transitions, Samples(jnp.asarray(action, jnp.float32), q)


def log_density(gaussian, action):
    mean, deviation = (np.asarray(x, np.float64)[: len(action), :, None] for x in gaussian)
    terms = ((action - mean) / deviation) ** 2 / 2 + np.log(deviation) + np.log(2 * np.pi) / 2
    return -terms.sum(-1)


def random_values():
    rng = np.random.default_rng(1)
    return Values(*(jnp.asarray(rng.normal(size=SHAPE), jnp.float32) for _ in range(2)))


def scored_by_hand(config, old, transitions, samples, values):
    """The actions that are scored, their U and log π_old, and what MPO's softmax is over."""
    q = np.asarray(samples.q, np.float64)[:-1]
    if config.reading == "fresh":
        action = np.asarray(samples.action, np.float64)[:-1]
        return action, q - q.mean(-1, keepdims=True), log_density(old, action), -1
    action, log_prob = (np.asarray(x, np.float64)[:-1, :, None] for x in transitions[1:3])
    worth = np.asarray({"critic": values.q, "retrace": values.target}[config.advantage])
    return action, (worth - q.mean(-1))[:, :, None], log_prob, None


def weights_by_hand(method, U, log_prob, old_log_prob, valid, axis):
    """ω as the paper has them, 0 where nothing was done."""
    ratio = np.exp(log_prob - old_log_prob)
    powers = np.exp(U) * valid
    count = valid.sum() if axis is None else U.shape[-1]
    total = powers.sum(axis=axis, keepdims=True)
    found = {
        "pg": U,
        "dg": U / (1 + np.exp(-U * np.clip(-log_prob, -10, 10))),
        "ppo": np.where(
            ((U > 0) & (ratio > 1.2)) | ((U < 0) & ((ratio < 0.8) | (ratio > 3))), 0, ratio * U
        ),
        "mpo": count * powers / np.where(total > 0, total, 1),
    }[method]
    return found * valid


def test_every_reading_has_its_function():
    assert tuple(BY_NAME) == READINGS


@pytest.mark.parametrize(
    ("reading", "advantage"), [("fresh", "critic"), *(("replayed", name) for name in ADVANTAGES)]
)
@pytest.mark.parametrize("method", METHODS)
def test_the_actors_gradient_is_that_of_the_formula(method, reading, advantage):
    now, old, transitions, samples = a_batch()
    config = replace(CONFIG, method=method, reading=reading, advantage=advantage)
    values = random_values()

    def loss(now):
        scored = BY_NAME[reading](config, transitions, samples, values, old)
        return actor_loss(config, OPTIONS.get(method, {}), now, old, transitions, scored)[0]

    found = jax.grad(loss)(now)
    action, U, old_log_prob, axis = scored_by_hand(config, old, transitions, samples, values)
    valid = np.asarray(transitions.valid, np.float64)[:-1, :, None]
    omega = weights_by_hand(method, U, log_density(now, action), old_log_prob, valid, axis)
    centred = omega - omega.mean(-1, keepdims=True) if reading == "fresh" else omega
    size = np.sqrt(np.mean(centred**2))
    count = U.shape[-1] * valid.sum()
    states = SHAPE[0] * SHAPE[1]
    mean, deviation = (np.asarray(x, np.float64)[:-1] for x in now)
    old_mean, old_deviation = (np.asarray(x, np.float64) for x in old)
    z = (action - mean[:, :, None]) / deviation[:, :, None]
    by_mean = -(omega[..., None] * z / deviation[:, :, None]).sum(2) / count / size
    by_mean += 2.0 * (mean - old_mean) / old_deviation**2 / states
    by_deviation = -(omega[..., None] * (z**2 - 1) / deviation[:, :, None]).sum(2) / count / size
    by_deviation += 5.0 * (1 / deviation - old_deviation**2 / deviation**3) / states
    np.testing.assert_allclose(found.mean[:-1], by_mean, rtol=3e-4, atol=3e-5)
    np.testing.assert_allclose(found.deviation[:-1], by_deviation, rtol=3e-4, atol=3e-5)
    assert not np.any(found.mean[-1])  # the last state is there for its value only


def test_the_ratio_of_replayed_actions_is_to_the_policy_that_acted():
    _, old, transitions, samples = a_batch()
    of_both = {
        name: function(CONFIG, transitions, samples, random_values(), old)
        for name, function in BY_NAME.items()
    }
    scored = of_both["replayed"]
    np.testing.assert_array_equal(scored.old_log_prob[..., 0], transitions.log_prob[:-1])
    np.testing.assert_array_equal(scored.action[:, :, 0], transitions.action[:-1])
    np.testing.assert_array_equal(of_both["fresh"].action, samples.action[:-1])


def test_the_size_of_weights_is_felt_by_no_method():
    weight = jnp.asarray(np.random.default_rng(0).normal(size=(8, 5, 4)))
    one = weight_scale(weight, 2)
    assert weight_scale(3 * weight + 7, 2) == pytest.approx(3 * float(one), rel=1e-5)
    assert weight_scale(3 * weight, None) == pytest.approx(
        3 * float(jnp.sqrt(jnp.mean(weight**2))), rel=1e-5
    )
    assert weight_scale(0 * weight, 2) == pytest.approx(LEAST_WEIGHT)  # nothing is divided by 0


def test_draws_come_in_pairs_about_the_mean_and_are_valued_by_the_target():
    now, _, transitions, _ = a_batch()
    critic = networks.initial_critic(jax.random.key(0), CONFIG, 3, 2)
    samples = sample_actions(CONFIG, critic, transitions.observation, now, jax.random.key(1))
    half = CONFIG.draws // 2
    middle = (samples.action[:, :, :half] + samples.action[:, :, half:]) / 2
    np.testing.assert_allclose(middle, now.mean[:, :, None] + 0 * middle, atol=1e-6)
    often = ControlConfig(draws=4000)
    many = sample_actions(often, critic, transitions.observation, now, jax.random.key(2))
    np.testing.assert_allclose(many.action.std(axis=2), now.deviation, rtol=0.08)
    expected = networks.value(critic, transitions.observation, samples.action)
    np.testing.assert_allclose(samples.q, expected, rtol=1e-6)


def test_density_above_1_is_counted_and_turns_the_gate():
    sharp = Gaussian(jnp.zeros((1, 1, 1)), jnp.full((1, 1, 1), 0.1))
    log_prob = sharp.log_prob(jnp.zeros((1, 1, 4, 1)))
    advantage = jnp.asarray([[[1.0, 1.0, -1.0, -1.0]]])
    seen = gate_diagnostics(CONFIG, log_prob, log_prob, advantage)
    assert seen["inverted"] == 1
    assert seen["gate_good"] < 0.5 < seen["gate_bad"]
    relative = ControlConfig(surprisal="mode")
    seen = gate_diagnostics(relative, log_prob, log_prob, advantage)
    assert seen["gate_good"] == seen["gate_bad"] == 0.5
    assert seen["dead"] == 1


def test_a_gate_is_dead_by_the_share_of_the_advantage():
    log_prob = jnp.asarray([[[-0.01, -5.0]]])
    seen = gate_diagnostics(CONFIG, log_prob, log_prob, jnp.asarray([[[1.0, 3.0]]]))
    assert float(seen["dead"]) == pytest.approx(0.25)
    assert float(gate_diagnostics(CONFIG, log_prob, log_prob, 0 * log_prob)["dead"]) == 0
