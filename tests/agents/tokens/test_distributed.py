"""Token Reversal's actor and learner are the halves of the in-process trainer."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from delightful.agents import adam
from delightful.agents.actor_learner.queue import problem
from delightful.agents.tokens import network
from delightful.agents.tokens.config import TokensConfig
from delightful.agents.tokens.distributed import TokensActor, TokensLearner
from delightful.agents.tokens.environment import judge
from delightful.agents.tokens.training import Episodes, learn

SMALL = TokensConfig(
    length=3, prompts=4, samples=3, width=8, layers=1, heads=1, feedforward=8, steps=1, records=1
)


@pytest.fixture(scope="module")
def batches():
    actor, learner = TokensActor(SMALL), TokensLearner(SMALL, 0)
    rngs = [np.random.default_rng((0, actor, 0)) for actor in range(SMALL.prompts)]
    return [actor.sample(learner.parameters(), rng) for rng in rngs]


def test_a_batch_is_as_the_learner_takes_it_and_no_two_are_the_same(batches):
    learner = TokensLearner(SMALL, 0)
    assert [problem(learner.layout, batch) for batch in batches] == [""] * 4
    assert len({batch["log_policy"].tobytes() for batch in batches}) == 4
    np.testing.assert_allclose(np.exp(batches[0]["log_policy"]).sum(0), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("method", "baseline"),
    [
        ("dg:temperature=0.5", "batch"),
        pytest.param("ppo", "prompt", marks=pytest.mark.slow),
    ],
)
def test_an_update_is_learning_from_all_batches_at_once(batches, method, baseline):
    config = replace(SMALL, method=method, baseline=baseline)
    learner = TokensLearner(config, 0)
    seen = learner.update(batches)
    policy = network.initial(jax.random.key(0), config)
    joined = {name: np.concatenate([b[name] for b in batches], axis=-1) for name in batches[0]}
    error, reward, advantage = judge(config, joined["prompts"], joined["answers"])
    options = {"temperature": 0.5} if method.startswith("dg") else {}
    bare = replace(config, method=method.partition(":")[0])
    episodes = Episodes(**joined, advantage=advantage)
    expected, _ = jax.jit(lambda p: learn(bare, options, p, adam.start(p), episodes))(policy)
    assert seen == {"error": pytest.approx(float(error)), "reward": pytest.approx(float(reward))}
    for ours, theirs in zip(*map(jax.tree.leaves, (learner.policy, expected)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    moved = learner.parameters()["policy"] - TokensLearner(config, 0).parameters()["policy"]
    assert np.abs(moved).max() > 0


def test_a_learner_goes_on_from_its_state_bit_for_bit(batches):
    first, second = TokensLearner(SMALL, 0), TokensLearner(SMALL, 1)
    first.update(batches)
    second.restore(first.state())
    for learner in (first, second):
        learner.update(batches[::-1])
    one, other = first.state(), second.state()
    assert {n: a.tobytes() for n, a in one.items()} == {n: a.tobytes() for n, a in other.items()}
    assert first.parameters()["policy"].tobytes() == second.parameters()["policy"].tobytes()
