"""The sequence environment against plain Python; and what a config may say, and what it costs."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delightful.agents.tokens import network
from delightful.agents.tokens.config import BASELINES, REWARDS, TASKS, TokensConfig
from delightful.agents.tokens.environment import advantages, judge, rewards, targets
from delightful.lab.cells import named
from delightful.lab.config import canonical
from delightful.paper.tokens.config import TRAIN, flops, tokens
from delightful.paper.tokens.train import run

TINY = TokensConfig(
    length=4, vocabulary=3, prompts=3, samples=2, width=8, layers=2, heads=2, feedforward=12
)
SHAPES = [(2, 3), (4, 6), (5, 6)]
quickly = settings(max_examples=25, deadline=None)


def _whole(seed: int, shape: tuple[int, ...], below: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, below, shape, dtype=np.int32)


def _answer(task: str, vocabulary: int, prompt: list[int]) -> list[int]:
    answer = list(prompt)
    if task in ("reverse-copy", "reverse-flip"):
        answer.reverse()
    if task in ("flip", "reverse-flip"):
        answer = [0 if token == vocabulary - 1 else token + 1 for token in answer]
    return answer


def _reward(reward: str, right: list[int]) -> float:
    if reward == "all":
        return float(all(right))
    points = 0
    for token in right:
        if reward == "sequential" and not token:
            break
        points += token
    return points / len(right)


@pytest.mark.parametrize("task", TASKS)
@given(st.integers(0, 2**32 - 1), st.integers(2, 11), st.sampled_from(SHAPES))
@quickly
def test_the_right_answers_are_those_of_plain_python(task, seed, vocabulary, shape) -> None:
    prompts = _whole(seed, shape, vocabulary)
    expected = [_answer(task, vocabulary, prompt) for prompt in prompts.T.tolist()]
    for name_or_place in (task, TASKS.index(task)):
        found = np.asarray(targets(name_or_place, vocabulary, jnp.asarray(prompts)))
        assert found.T.tolist() == expected


def test_of_two_tokens_the_flipped_one_is_the_other() -> None:
    prompts = jnp.array([[0, 1, 1], [1, 1, 0]])
    assert np.array_equal(targets("flip", 2, prompts), 1 - prompts)
    assert np.array_equal(targets("reverse-flip", 2, prompts), 1 - prompts[::-1])


@pytest.mark.parametrize("reward", REWARDS)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.sampled_from(SHAPES))
@quickly
def test_rewards_are_those_of_plain_python(reward, seed, share, shape) -> None:
    right = np.random.default_rng(seed).random(shape) <= share
    expected = [_reward(reward, answer) for answer in right.T.tolist()]
    for name_or_place in (reward, REWARDS.index(reward)):
        found = rewards(name_or_place, jnp.asarray(right, jnp.float32))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@given(st.integers(0, 2**32 - 1))
@quickly
def test_advantages_sum_to_0_over_what_the_baseline_is_the_mean_of(seed) -> None:
    reward = (np.random.default_rng(seed).integers(0, 8, (3, 4)) / 7).astype(np.float32)
    of_prompts, of_batch = (np.asarray(advantages(b, jnp.asarray(reward), 7)) for b in BASELINES)
    np.testing.assert_allclose(of_prompts.sum(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(of_batch.sum(), 0, atol=2e-6)
    np.testing.assert_allclose(of_batch - of_batch[0, 0], reward - reward[0, 0], atol=1e-6)
    differences = reward - reward[:, :1]
    np.testing.assert_allclose(of_prompts - of_prompts[:, :1], differences, atol=1e-6)


@pytest.mark.parametrize("baseline", BASELINES)
def test_answers_that_are_equally_good_have_no_advantage_at_all(baseline) -> None:
    """A rounding error in place of 0 has a sign, and a method such as PMPO sees only that."""
    config = TokensConfig(prompts=1, baseline=baseline)
    judged = jax.jit(lambda prompts, answers: judge(config, prompts, answers)[2])
    prompts = np.zeros((config.length, 1), np.int32)
    found = []
    for right in range(config.length + 1):
        answers = np.ones((config.length, config.samples), np.int32)
        answers[:right] = 0
        found.append(np.asarray(judged(prompts, answers))[0, 0])
    assert found == [0] * len(found)


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("reward", REWARDS)
def test_a_batch_is_judged_as_in_plain_python(reward, baseline) -> None:
    config = replace(TINY, reward=reward, baseline=baseline, task="reverse-flip", vocabulary=2)
    for seed in range(5):
        prompts, answers = _whole(seed, (4, 3), 2), _whole(seed + 9, (4, 6), 2)
        wanted = [_answer("reverse-flip", 2, prompt) for prompt in prompts.T.tolist()]
        right = [
            [int(token == good) for token, good in zip(answer, wanted[i // 2], strict=True)]
            for i, answer in enumerate(answers.T.tolist())
        ]
        earned = np.array([_reward(reward, marks) for marks in right]).reshape(3, 2)
        mean = earned.mean(axis=1, keepdims=True) if baseline == "prompt" else earned.mean()
        found = judge(config, jnp.asarray(prompts), jnp.asarray(answers))
        expected = (1 - np.mean(right), earned.mean(), earned - mean)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"task": "reverse"}, "task must be one of copy, flip, reverse-copy, reverse-flip"),
        ({"reward": "sparse"}, "reward must be one of bag, sequential, all"),
        ({"baseline": "zero"}, "baseline must be one of prompt, batch"),
        ({"length": 1}, "length must be at least 2"),
        ({"vocabulary": 1}, "vocabulary must be at least 2"),
        ({"prompts": 0}, "prompts must be at least 1"),
        ({"samples": 0}, "samples must be at least 1"),
        ({"samples": 1}, "samples must be at least 2 for a baseline per prompt"),
        (
            {"prompts": 1, "samples": 1, "baseline": "batch"},
            "prompts × samples must be at least 2",
        ),
        ({"learning_rate": 0.0}, "learning_rate must be > 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be > 0"),
        ({"kl": -0.1}, "kl must be at least 0"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"minibatches": 0}, "minibatches must be at least 1"),
        ({"minibatches": 4}, "minibatches must divide prompts"),
        ({"delay": -1}, "delay must be at least 0"),
        ({"width": 0}, "heads must divide width"),
        ({"width": 63}, "heads must divide width"),
        ({"layers": 0}, "layers must be at least 1"),
        ({"heads": 0}, "heads must be at least 1"),
        ({"feedforward": 0}, "feedforward must be at least 1"),
        ({"steps": 0}, "steps must be a multiple of records"),
        ({"steps": 75}, "steps must be a multiple of records"),
        ({"records": 0}, "records must be at least 1"),
    ],
)
def test_a_senseless_config_is_refused_with_the_rule_it_breaks(changes, rule) -> None:
    with pytest.raises(ValueError, match=rule) as caught:
        replace(TokensConfig(), **changes).check()
    assert str(caught.value).startswith(f"{rule}, got ")


def test_every_task_reward_and_baseline_is_accepted() -> None:
    TokensConfig().check()
    replace(TokensConfig(), samples=1, baseline="batch").check()
    for name, known in (("task", TASKS), ("reward", REWARDS), ("baseline", BASELINES)):
        for value in known:
            replace(TokensConfig(), **{name: value}).check()


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="method must be one of pg, dg"):
        canonical(TokensConfig(method="reinforce"))


def test_the_program_runs_training_and_expects_longer_runs_to_take_longer() -> None:
    assert named(TRAIN.entry) is run
    costs = [
        TRAIN.seconds(replace(TokensConfig(), **changes))
        for changes in ({"steps": 100}, {}, {"epochs": 2}, {"epochs": 2, "length": 20})
    ]
    assert 0 < costs[0] < costs[1] < costs[2] < costs[3]


def _products(jaxpr) -> list[tuple[int, int, int]]:
    """The sorted three sizes of every product of two matrices, calls included."""
    found = []
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            found += _products(inner) if hasattr(inner, "eqns") else []
        if equation.primitive.name == "dot_general":
            (along, _), _ = equation.params["dimension_numbers"]
            left, right = (v.aval for v in equation.invars)
            common = int(np.prod([left.shape[i] for i in along]))
            found.append(tuple(sorted((left.size // common, common, right.size // common))))
    return found


def test_tokens_and_operations_are_those_of_the_network_itself() -> None:
    built = jax.eval_shape(lambda: network.initial(jax.random.key(0), TINY))
    prompts, answers = jnp.zeros((4, 3), jnp.int32), jnp.zeros((4, 6), jnp.int32)
    forward = jax.make_jaxpr(lambda p: network.log_policy(p, TINY, prompts, answers))(built)
    both = jax.make_jaxpr(
        jax.grad(lambda p: network.log_policy(p, TINY, prompts, answers).sum()),
    )(built)

    fed = tokens(TINY)
    assert fed == sum(4 for _ in range(3)) + sum(3 for _ in range(3 * 2))
    weights = [(weight, fed) for layer in built.layers for weight in layer] + [(built.out, 6 * 4)]
    sizes = [tuple(sorted((*weight.shape, columns))) for weight, columns in weights]
    used = [product for product in _products(forward.jaxpr) if product in sizes]
    assert sorted(used) == sorted(sizes)
    trained = [product for product in _products(both.jaxpr) if product in sizes]

    def operations(products) -> int:
        return sum(2 * int(np.prod(sizes)) for sizes in products)

    assert operations(trained) == 3 * operations(used)
    assert flops(TINY) == operations(used) + operations(trained)
    assert flops(replace(TINY, epochs=5)) == operations(used) + 5 * operations(trained)
