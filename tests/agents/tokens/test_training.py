"""Training: its losses by hand, its loop with a policy that is a mere table, and the real thing."""

import functools
import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from delightful.agents import adam
from delightful.agents.tokens import network, training
from delightful.agents.tokens.config import REWARDS, TASKS, TokensConfig
from delightful.agents.tokens.environment import judge
from delightful.lab.compiling import OverSeeds
from delightful.paper.tokens.train import run
from delightful.registry import METHODS, parse_method
from delightful.weights import score_weight

TINY = TokensConfig(
    length=4, vocabulary=3, prompts=3, samples=2, steps=6, records=6, learning_rate=0.05
)
REAL = TokensConfig(
    length=4,
    vocabulary=2,
    prompts=8,
    samples=8,
    width=16,
    layers=1,
    heads=2,
    feedforward=32,
    steps=150,
    records=150,
    learning_rate=5e-3,
)


class Table:
    """A policy in place of the network: logits by place, and by the token to be reversed there."""

    @staticmethod
    def initial(key, config):
        return jax.random.normal(key, (config.vocabulary, config.length, config.vocabulary))

    @staticmethod
    def log_policy(table, config, prompts, answers):
        repeated = jnp.repeat(prompts[::-1], answers.shape[1] // prompts.shape[1], axis=1)
        shown = jax.nn.one_hot(repeated, config.vocabulary, axis=0)
        return jax.nn.log_softmax(jnp.einsum("mtx,xtb->mtb", table, shown), axis=0)

    @staticmethod
    def sample(table, config, prompts, chance):
        log_policy = Table.log_policy(table, config, prompts, chance)
        ends = jnp.cumsum(jnp.exp(log_policy[:-1]), axis=0)
        return jnp.sum(chance >= ends, axis=0), log_policy


OLD, NEW = jnp.asarray(np.random.default_rng(1).normal(size=(2, 3, 4, 3)), jnp.float32)


@pytest.fixture
def table(monkeypatch, quick_jit):
    """What is trained is the table, in place of the network."""
    for name in ("initial", "log_policy", "sample"):
        monkeypatch.setattr(network, name, getattr(Table, name))
    return functools.partial(_run, quick_jit)


def _run(jit, config: TokensConfig, seeds: range) -> dict[str, np.ndarray]:
    floats = {"learning_rate": config.learning_rate, "kl": config.kl}
    program = _program(jit, replace(config, learning_rate=0.0, kl=0.0))
    runs = [program(floats, seed) for seed in seeds]
    return {name: np.stack([run[name] for run in runs]) for name in runs[0]}


@functools.cache
def _program(jit, static: TokensConfig):
    def one(floats, seed):
        return training.train(replace(static, **floats), {}, jax.random.key(seed))

    return jit(one)


@pytest.fixture(scope="module")
def episodes() -> training.Episodes:
    rng = np.random.default_rng(0)
    prompts, answers = (rng.integers(0, 3, (4, n), dtype=np.int32) for n in (3, 6))
    old = Table.log_policy(OLD, TINY, jnp.asarray(prompts), jnp.asarray(answers))
    advantage = judge(TINY, jnp.asarray(prompts), jnp.asarray(answers))[2]
    return training.Episodes(jnp.asarray(prompts), jnp.asarray(answers), old, advantage)


def _by_hand(omega: np.ndarray, table: jax.Array, episodes: training.Episodes) -> np.ndarray:
    """The gradient of −mean(ω·log π) by the table, ω being (N, S, H): Σ ω(π − 1[a])/count."""
    prompts, answers = np.asarray(episodes.prompts), np.asarray(episodes.answers)
    log_policy = np.asarray(Table.log_policy(table, TINY, episodes.prompts, episodes.answers))
    gradient = np.zeros(table.shape)
    for n, s, t in itertools.product(range(3), range(2), range(4)):
        answer = 2 * n + s
        score = np.eye(3)[answers[t, answer]] - np.exp(log_policy[:, t, answer])
        gradient[:, t, prompts[3 - t, n]] -= omega[n, s, t] * score / omega.size
    return gradient


def _log_probs(log_policy, episodes: training.Episodes) -> np.ndarray:
    """(N, S, H), picked one by one."""
    log_policy, answers = np.asarray(log_policy, np.float64), np.asarray(episodes.answers)
    picked = np.empty((3, 2, 4))
    for n, s, t in np.ndindex(picked.shape):
        picked[n, s, t] = log_policy[answers[t, 2 * n + s], t, 2 * n + s]
    return picked


SPECS = [
    *METHODS,
    "dg:temperature=0.1",
    "dg:level=sequence",
    "dg:whiten=standard",
]


@pytest.fixture(scope="module")
def losses(episodes, quick_jit):
    """Value and gradient of each method's loss, of a table that is not the one that acted."""

    def loss(spec, table, episodes, kl=0.0):
        method, options = parse_method(spec)
        config = replace(TINY, method=method.name, kl=kl)
        return jax.value_and_grad(lambda p: training.loss(config, options, p, episodes))(table)

    def every(new, old):
        fresh = episodes._replace(
            log_policy=Table.log_policy(old, TINY, episodes.prompts, episodes.answers)
        )
        return {
            **{spec: loss(spec, new, episodes) for spec in SPECS},
            "penalised": loss("dg", new, episodes, 0.7),
            "fresh": loss("dg", old, fresh),
            "fresh, penalised": loss("dg", old, fresh, 0.7),
            "fresh, pg": loss("pg", old, fresh),
            "fresh, ppo": loss("ppo", old, fresh),
        }

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "log_policy", Table.log_policy)
        return quick_jit(every)(NEW, OLD)


@pytest.fixture(scope="module")
def log_probs(episodes) -> tuple[np.ndarray, np.ndarray]:
    """log π of the answers' tokens, (N, S, H), now and when they were given."""
    now = Table.log_policy(NEW, TINY, episodes.prompts, episodes.answers)
    return _log_probs(now, episodes), _log_probs(episodes.log_policy, episodes)


def test_the_loss_of_pg_is_minus_the_mean_of_advantage_times_log_policy(
    losses, episodes, log_probs
) -> None:
    value, gradient = losses["pg"]
    omega = np.broadcast_to(np.asarray(episodes.advantage)[..., None], (3, 2, 4))
    assert np.any(omega != 0)
    assert float(value) == pytest.approx(-np.mean(omega * log_probs[0]), rel=1e-5)
    np.testing.assert_allclose(gradient, _by_hand(omega, NEW, episodes), atol=1e-7)


def test_the_gradients_of_dg_ppo_and_mpo_are_those_by_hand(losses, episodes, log_probs) -> None:
    U = np.broadcast_to(np.asarray(episodes.advantage, np.float64)[..., None], (3, 2, 4))
    now, then = log_probs
    ratio = np.exp(now - then)
    clipped = ((ratio > 1.2) & (U > 0)) | ((ratio < 0.8) & (U < 0))
    assert 0 < clipped[U != 0].mean() < 1
    weights = {
        "dg": U / (1 + np.exp(U * now)),
        "dg:temperature=0.1": U / (1 + np.exp(U * now / 0.1)),
        "ppo": np.where(clipped, 0, ratio * U),
        "mpo": 2 * np.exp(U) / np.exp(U).sum(axis=1, keepdims=True),
    }
    for spec, omega in weights.items():
        expected = _by_hand(omega, NEW, episodes)
        np.testing.assert_allclose(losses[spec][1], expected, atol=1e-7, err_msg=spec)


@pytest.mark.parametrize("spec", SPECS)
def test_any_registered_method_weighs_the_scores(spec, losses, episodes, log_probs) -> None:
    method, options = parse_method(spec)
    now, then = (x.astype(np.float32) for x in log_probs)
    advantage = np.asarray(episodes.advantage)
    omega = score_weight(now, advantage, method=method.name, old_log_prob=then, axis=1, **options)
    value, gradient = losses[spec]
    assert float(value) == pytest.approx(-float(np.mean(omega * now)), rel=1e-4, abs=1e-6)
    expected = _by_hand(omega, NEW, episodes)
    assert np.any(expected != 0)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)


def test_the_penalty_is_the_divergence_from_the_policy_that_acted(losses, episodes) -> None:
    now = np.asarray(Table.log_policy(NEW, TINY, episodes.prompts, episodes.answers), np.float64)
    then = np.asarray(episodes.log_policy, np.float64)
    expected = 0.7 * np.mean(np.sum(np.exp(now) * (now - then), axis=0))
    assert float(losses["penalised"][0] - losses["dg"][0]) == pytest.approx(expected, rel=1e-4)
    assert np.max(np.abs(losses["penalised"][1] - losses["dg"][1])) > 1e-3


def test_fresh_answers_bear_no_penalty(losses, table) -> None:
    for plain, penalised in zip(losses["fresh"], losses["fresh, penalised"], strict=True):
        np.testing.assert_allclose(plain, penalised, atol=1e-7)
    plain, penalised = (table(replace(TINY, kl=kl), range(2)) for kl in (0.0, 0.5))
    for name, values in plain.items():
        np.testing.assert_allclose(values, penalised[name], atol=2e-3)


def test_ppo_on_fresh_answers_is_policy_gradient(losses, table) -> None:
    np.testing.assert_allclose(losses["fresh, pg"][1], losses["fresh, ppo"][1], atol=1e-7)
    pg, ppo = (table(replace(TINY, method=method), range(2)) for method in ("pg", "ppo"))
    for name, values in pg.items():
        np.testing.assert_allclose(values, ppo[name], rtol=1e-4, atol=1e-5)
    assert np.all(np.abs(np.diff(pg["surprisal"])) > 0)


def test_minibatches_are_whole_prompts_and_together_the_batch(episodes) -> None:
    config = replace(TINY, minibatches=3)
    parts = [training._part(config, episodes, i) for i in range(3)]
    axes = training.Episodes(prompts=1, answers=1, log_policy=2, advantage=0)
    for name, axis in axes._asdict().items():
        together = np.concatenate([getattr(part, name) for part in parts], axis=axis)
        np.testing.assert_array_equal(together, getattr(episodes, name))
    assert [part.prompts.shape for part in parts] == [(4, 1)] * 3
    assert [part.answers.shape for part in parts] == [(4, 2)] * 3
    assert training._part(TINY, episodes, 0) is episodes


@pytest.mark.usefixtures("table")
def test_epochs_and_minibatches_are_updates_one_after_the_other(episodes, quick_jit) -> None:
    config = replace(TINY, method="ppo", epochs=2, minibatches=3, kl=0.1)
    learn = quick_jit(lambda p: training.learn(config, {}, p, adam.start(p), episodes))
    found, optimiser = learn(NEW)

    @quick_jit
    def update(policy, memory, part):
        gradient = jax.grad(lambda p: training.loss(config, {}, p, part))(policy)
        return adam.descend(policy, gradient, memory, config.learning_rate)

    expected, memory = NEW, adam.start(NEW)
    for i in (0, 1, 2, 0, 1, 2):
        part = training._part(config, episodes, i)
        expected, memory = update(expected, memory, part)
    assert int(optimiser.count) == 6
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_actors_are_delay_updates_behind(table, quick_jit) -> None:
    config = replace(TINY, delay=2)
    learning, fixed = (table(replace(config, learning_rate=r), range(2)) for r in (0.05, 1e-30))
    for name in training.MEASURED:
        np.testing.assert_array_equal(learning[name][:, :3], fixed[name][:, :3])
    assert np.all(np.abs(learning["surprisal"] - fixed["surprisal"])[:, 3:] > 1e-5)

    @quick_jit
    def step(actor, policy, optimiser, key):
        episodes, seen = training.act(config, actor, key)
        return *training.learn(config, {}, policy, optimiser, episodes), seen

    start_key, step_key = jax.random.split(jax.random.key(1))
    policies = [network.initial(start_key, config)]
    optimiser = adam.start(policies[0])
    for i in range(config.steps):
        key = jax.random.fold_in(step_key, i)
        policy, optimiser, seen = step(policies[max(0, i - 2)], policies[-1], optimiser, key)
        policies.append(policy)
        for name in training.MEASURED:
            assert learning[name][1, i] == pytest.approx(float(seen[name]), abs=1e-4), (name, i)


def test_without_delay_the_newest_policy_acts(table) -> None:
    learning, fixed = (table(replace(TINY, learning_rate=r), range(2)) for r in (0.05, 1e-30))
    gaps = np.abs(learning["surprisal"] - fixed["surprisal"])
    assert np.all(gaps[:, 0] == 0)
    assert np.all(gaps[:, 1:] > 1e-5)


def test_a_record_is_the_mean_of_the_batches_since_the_last(table) -> None:
    every = table(TINY, range(2))
    assert every["step"].tolist() == [[1, 2, 3, 4, 5, 6]] * 2
    some = table(replace(TINY, records=2), range(2))
    assert some["step"].tolist() == [[3, 6]] * 2
    for name in training.MEASURED:
        means = every[name].reshape(2, 2, 3).mean(axis=2)
        np.testing.assert_allclose(some[name], means, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("table")
def test_prompts_are_uniform_and_what_is_seen_of_the_answers_is_so(quick_jit) -> None:
    config = replace(TINY, prompts=2000)
    act = quick_jit(lambda p, key: training.act(config, p, key))
    episodes, seen = act(NEW, jax.random.key(0))
    prompts, answers = np.asarray(episodes.prompts), np.asarray(episodes.answers)
    shares = np.stack([(prompts == token).mean(axis=1) for token in range(3)])
    assert np.max(np.abs(shares - 1 / 3)) < 5 * np.sqrt(2 / 9 / 2000)
    assert np.max(np.abs(np.corrcoef(prompts) - np.eye(4))) < 5 / np.sqrt(2000)

    right = answers.reshape(4, 2000, 2) == prompts[::-1, :, None]
    assert float(seen["error"]) == pytest.approx(1 - right.mean(), abs=1e-5)
    assert float(seen["reward"]) == pytest.approx(right.mean(), abs=1e-5)
    earned = right.mean(axis=0)
    expected = earned - earned.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(episodes.advantage, expected, atol=1e-6)
    log_policy = Table.log_policy(NEW, config, episodes.prompts, episodes.answers)
    np.testing.assert_allclose(episodes.log_policy, log_policy, atol=1e-6)


def test_gates_are_means_over_the_tokens_of_good_and_of_bad_answers(episodes, quick_jit) -> None:
    advantage = np.array([[0.5, -0.5], [0.0, 0.0], [0.25, -0.25]])
    log_prob = _log_probs(episodes.log_policy, episodes)
    run = quick_jit(training.gates)
    found = run(log_prob, advantage)
    gates = 1 / (1 + np.exp(advantage[..., None] * log_prob))
    assert float(found["gate_good"]) == pytest.approx(gates[advantage > 0].mean(), abs=1e-5)
    assert float(found["gate_bad"]) == pytest.approx(gates[advantage < 0].mean(), abs=1e-5)
    assert float(found["surprisal"]) == pytest.approx(-log_prob.mean(), abs=1e-5)
    even = run(log_prob, np.zeros((3, 2)))
    assert float(even["gate_good"]) == float(even["gate_bad"]) == 0.5


@pytest.mark.usefixtures("table")
def test_seeds_run_alike_side_by_side_and_one_after_the_other(monkeypatch, quick_jit) -> None:
    monkeypatch.setattr(jax, "jit", quick_jit)
    words, seeds = {"task": TASKS, "reward": REWARDS}, np.arange(3)
    after, beside = (OverSeeds(training.train, fills_core=f, words=words) for f in (True, False))
    errors = set()
    for task, reward in (("reverse-copy", "bag"), ("copy", "all"), ("flip", "sequential")):
        config = replace(TINY, task=task, reward=reward)
        one, other = after(config, seeds), beside(config, seeds)
        assert set(one) == set(other) == {"step", *training.MEASURED}
        for name, values in one.items():
            np.testing.assert_allclose(values, other[name], rtol=1e-4, atol=1e-5)
        errors.add(one["error"].tobytes())
    assert len(errors) == 3
    assert after.compiled.cache_info().currsize == beside.compiled.cache_info().currsize == 1


@pytest.fixture(scope="module")
def learned() -> dict[str, np.ndarray]:
    return run(REAL, np.arange(3))


def test_the_transformer_learns_to_reverse(learned) -> None:
    error = learned["error"]
    assert np.all(error[:, :10].mean(axis=1) > 0.35)
    assert np.all(error[:, -10:].mean(axis=1) < 0.1)
    np.testing.assert_allclose(learned["reward"], 1 - error, atol=1e-6)
    assert np.all(learned["gate_good"] >= 0.5)
    assert np.all(learned["gate_bad"] <= 0.5)


def test_a_seed_gives_the_same_bytes_alone_and_in_company(learned) -> None:
    again, alone = run(REAL, np.arange(3)), run(REAL, np.array([1]))
    for name, values in learned.items():
        assert values.tobytes() == again[name].tobytes()
        if name != "step":
            assert values[1].tobytes() == alone[name][0].tobytes()
    assert len({learned["surprisal"][i].tobytes() for i in range(3)}) == 3


def test_no_float_makes_a_program_of_its_own(learned) -> None:
    programs = run.compiled.cache_info().currsize
    changes = [{"learning_rate": 3e-3}, {"kl": 0.5}, {"method": "dg:temperature=0.3"}]
    slower, penalised, sharper = (run(replace(REAL, **c), np.arange(1)) for c in changes)
    assert run.compiled.cache_info().currsize == programs
    for other in (slower, sharper):
        assert np.all(other["surprisal"][0, 2:] != learned["surprisal"][0, 2:])
    first = slice(0, 5)
    for name in training.MEASURED:
        np.testing.assert_allclose(penalised[name][0, first], learned[name][0, first], atol=1e-3)


def test_no_task_or_reward_makes_a_program_of_its_own(learned) -> None:
    programs = run.compiled.cache_info().currsize
    copied, flipped = (run(replace(REAL, task=t), np.arange(2)) for t in ("copy", "flip"))
    strict, strictest = (run(replace(REAL, reward=r), np.arange(2)) for r in ("sequential", "all"))
    assert run.compiled.cache_info().currsize == programs
    np.testing.assert_allclose(copied["error"][:, 0] + flipped["error"][:, 0], 1, atol=1e-6)
    np.testing.assert_array_equal(strict["error"][:, 0], learned["error"][:2, 0])
    kinds = [curves["reward"][:2, 0] for curves in (strictest, strict, learned)]
    assert np.all(kinds[0] < kinds[1])
    assert np.all(kinds[1] < kinds[2])
    for curves in (copied, flipped):
        error = curves["error"]
        assert np.all(error[:, -10:].mean(axis=1) < 0.5 * error[:, :5].mean(axis=1))
