"""What reaches the learner against a plain loop over answers."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from delightful.agents.distortion import draw_hits
from delightful.agents.tokens import distortion, network, training
from delightful.agents.tokens.frictions import FrictionTokensConfig

CONFIG = FrictionTokensConfig(
    length=3,
    vocabulary=3,
    prompts=4,
    samples=5,
    width=8,
    layers=1,
    heads=2,
    feedforward=8,
    steps=4,
    records=2,
    delay=2,
    learning_rate=0.05,
)
KEY = jax.random.key(5)


@pytest.fixture(scope="module")
def episodes(quick_jit) -> training.Episodes:
    policy = network.initial(jax.random.key(2), CONFIG)
    return quick_jit(lambda p: training.act(CONFIG, p, KEY))(policy)[0]


def by_hand(config, episodes):
    """Answers, their behaviour log-probabilities (N·S, H), and advantages (N, S)."""
    hits = [np.asarray(x) for x in draw_hits(config, KEY, config.batch)]
    bug, discovery, corrupted, instead = hits
    prompts, answers = np.asarray(episodes.prompts), np.array(episodes.answers)
    log_prob, reward = np.zeros((config.batch, config.length)), np.zeros(config.batch)
    for i in range(config.batch):
        wanted = prompts[::-1, i // config.samples]
        if discovery[i]:
            answers[:, i] = wanted
        elif bug[i]:
            answers[:, i] = 0
        else:
            for t in range(config.length):
                log_prob[i, t] = episodes.log_policy[answers[t, i], t, i]
        reward[i] = instead[i] if corrupted[i] else np.mean(answers[:, i] == wanted)
    reward = reward.reshape(config.prompts, config.samples)
    return answers, log_prob, reward - reward.mean(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("bugs", "corruption", "discovery"),
    [(0.4, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, 0.0, 0.4), (0.3, 0.5, 0.4), (1.0, 1.0, 0.5)],
)
def test_answers_and_rewards_are_replaced_one_by_one(episodes, bugs, corruption, discovery) -> None:
    config = replace(CONFIG, bugs=bugs, corruption=corruption, discovery=discovery)
    found = distortion.distort(config, episodes, KEY)
    answers, log_prob, advantage = by_hand(config, episodes)
    assert not np.array_equal(found.advantage, episodes.advantage)
    np.testing.assert_array_equal(found.answers, answers)
    np.testing.assert_array_equal(found.prompts, episodes.prompts)
    np.testing.assert_allclose(found.advantage, advantage, atol=1e-6)
    taken = training.taken(config, found.log_policy, found.answers)
    np.testing.assert_allclose(np.reshape(taken, log_prob.shape), log_prob, atol=1e-6)


def test_probability_0_changes_nothing(episodes) -> None:
    for one, other in zip(distortion.distort(CONFIG, episodes, KEY), episodes, strict=True):
        np.testing.assert_array_equal(one, other)


def test_probability_1_leaves_nothing_of_the_policy(episodes) -> None:
    buggy = distortion.distort(replace(CONFIG, bugs=1.0), episodes, KEY)
    assert not np.any(buggy.answers)
    assert not np.any(buggy.advantage)  # equal answers to a prompt earn the same
    told = distortion.distort(replace(CONFIG, bugs=1.0, discovery=1.0), episodes, KEY)
    wanted = np.repeat(np.asarray(episodes.prompts)[::-1], CONFIG.samples, axis=1)
    np.testing.assert_array_equal(told.answers, wanted)
    for found in (buggy, told):
        assert not np.any(training.taken(CONFIG, found.log_policy, found.answers))


def test_how_often_and_by_what() -> None:
    config = replace(CONFIG, bugs=0.1, corruption=0.3, discovery=0.01)
    bug, discovery, corrupted, instead = draw_hits(config, KEY, 40_000)
    shares = {0.1: bug, 0.01: discovery, 0.3: corrupted, 0.5: instead, 0.03: bug & corrupted}
    for share, hit in shares.items():
        assert abs(np.mean(hit) - share) < 5 * np.sqrt(share * (1 - share) / 40_000)


@pytest.mark.slow
def test_a_run_is_measured_before_replacement(quick_jit) -> None:
    def run(distort, **changes):
        config = replace(CONFIG, **changes)
        return quick_jit(lambda key: training.train(config, {}, key, distort))(KEY)

    plain, none = run(None), run(distortion.distort)
    for name in training.MEASURED:
        np.testing.assert_allclose(plain[name], none[name], atol=1e-5)
    told = run(distortion.distort, discovery=1.0, learning_rate=1e-9)
    np.testing.assert_allclose(told["error"], run(None, learning_rate=1e-9)["error"], atol=1e-5)
    assert np.all(told["error"] > 0.1)


@pytest.mark.parametrize("field", ["bugs", "corruption", "discovery"])
@pytest.mark.parametrize("value", [-0.1, 1.5])
def test_a_probability_is_between_0_and_1(field, value) -> None:
    words = f"{field} must be a probability, from 0 to 1, got {value}"
    with pytest.raises(ValueError, match=words):
        replace(CONFIG, **{field: value}).check()


def test_there_is_no_kl_to_a_policy_that_did_not_act() -> None:
    with pytest.raises(ValueError, match="kl must be 0"):
        replace(CONFIG, kl=0.1).check()
