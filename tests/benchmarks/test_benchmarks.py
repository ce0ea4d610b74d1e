"""The benchmarks run, and the ratio they print is one."""

import time
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import torch

from delightful.agents.tokens.config import TokensConfig
from delightful.benchmarks import (
    actor_learner,
    control,
    estimator,
    mnist,
    plugins,
    products,
    ray,
    tokens,
    torch_comparison,
)
from delightful.benchmarks.timing import alternating, median
from delightful.benchmarks.torch_tokens import Trainer
from delightful.lab.errors import LabError


def test_the_ratio_of_two_sleeps_is_that_of_their_lengths() -> None:
    new, old = alternating(lambda: time.sleep(0.010), lambda: time.sleep(0.005), rounds=10, warm=3)
    found = median("ratio", new / old)
    assert found["ratio"] == pytest.approx(2.0, rel=0.25)
    low, high = found["ratio_interval"]
    assert low <= found["ratio"] <= high


@pytest.mark.slow
def test_bench_estimator_measures_both_libraries() -> None:
    figures = estimator.measure(step_rounds=6, loss_rounds=6)
    for part in ("step", "loss", "log_prob"):
        for name in ("torch", "jax"):
            low, high = figures[f"{part}_ratio_{name}_interval"]
            assert 0 < low <= figures[f"{part}_ratio_{name}"] <= high
    text = estimator.describe(figures)
    assert text.count("[") == 6


@pytest.mark.slow
def test_bench_mnist_measures_the_whole_machine_and_pytorch() -> None:
    figures = mnist.measure(steps=40, rounds=6)
    assert figures["seed_steps_per_second"] > 0
    assert 0 < figures["fraction_of_matmul_peak"] < 1
    for name in mnist.GOALS:
        low, high = figures[f"{name}_interval"]
        assert 0 < low <= figures[name] <= high
    figures |= {"ratio_to_torch": 3.9, "fraction_of_matmul_peak": 0.71}
    text = mnist.describe(figures)
    assert "goal 4: missed" in text
    assert "goal 0.7: held" in text


@pytest.mark.parametrize("benchmark", [mnist, tokens])
def test_without_torch_the_training_benchmarks_say_what_to_install(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_comparison, "find_spec", lambda _: None)
    with pytest.raises(LabError, match=r"torch, which is missing: pip install .*\.$"):
        benchmark.measure()


def test_without_a_framework_the_plugins_benchmark_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needy = [replace(sweep, needs=("no_such_package",)) for sweep in plugins.FRESH]
    monkeypatch.setattr(plugins, "FRESH", needy)
    with pytest.raises(LabError, match=r"needs a framework to measure in: pip install .*\.$"):
        plugins.measure()


def test_the_plugins_benchmark_holds_steps_to_the_limit() -> None:
    figures = {"rounds": 2, "limit": 1.02}
    for part, value in (("step", 1.01), ("update", 1.30)):
        figures |= {f"{part}_seconds_sb3": 0.05, f"{part}_ratio_sb3": value}
        figures[f"{part}_ratio_sb3_interval"] = [value - 0.005, value + 0.005]
    text = plugins.describe(figures)
    assert "1.010 [1.005, 1.015]  plain takes 50.0 ms, limit 1.02: held" in text
    assert "missed" not in text  # the limit is that of a step
    assert "missed" in plugins.describe(figures | {"step_ratio_sb3": 1.03})


SMALL = TokensConfig(
    length=2, prompts=4, samples=8, width=16, layers=1, heads=2, feedforward=16, learning_rate=0.01
)


@pytest.mark.slow
def test_bench_tokens_measures_the_whole_machine_pytorch_and_growth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch_comparison, "SIZES", (512,))  # the larger products take seconds
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # halves the time to compile
    figures = tokens.measure(
        steps=1,  # as many as growth has here: one program less to compile
        rounds=6,
        author=SMALL,
        paper=SMALL,
        growth={"length": (2, 3), "width": (16,)},
        growth_seconds=0.0,
    )
    rate, each = figures["seed_steps_per_second"], figures["milliseconds_per_seed_step"]
    assert rate * each == pytest.approx(1000)
    assert 0 < figures["fraction_of_matmul_peak"] < 1
    for name in ("milliseconds_per_seed_step", "ratio_to_torch", "fraction_of_matmul_peak"):
        low, high = figures[f"{name}_interval"]
        assert 0 < low <= figures[name] <= high
    assert [list(row) for row in figures["growth"].values()] == [["2", "3"], ["16"]]
    paper = 1000 / figures["paper_network_seed_steps_per_second"]
    assert figures["growth"]["length"]["2"] == figures["growth"]["width"]["16"] == paper
    assert "goal at most 10: held" in tokens.describe(figures | {"milliseconds_per_seed_step": 9.9})
    text = tokens.describe(figures | {"milliseconds_per_seed_step": 10.1})
    assert "goal at most 10: missed" in text
    assert "not measured" in text


def test_the_pytorch_side_learns_token_reversal() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on a busy machine, several wait for each other at every operation
    try:
        trainer = Trainer(SMALL)
        before, after = trainer.train(5), trainer.train(150)  # the last hundred count
    finally:
        torch.set_num_threads(threads)
    assert before > 0.3
    assert after < 0.1


@torch.no_grad()
def test_the_pytorch_side_samples_from_the_policy_that_it_trains() -> None:
    trainer = Trainer(TokensConfig(length=4, width=16, layers=2, heads=2))
    prompts = torch.randint(2, (5, 4))
    answers = trainer.answer(prompts)
    caches = [torch.empty(2, 5, 2, 7, 8) for _ in range(2)]
    one_by_one = [trainer.policy(prompts, caches)[:, -1]]
    for i in range(3):
        one_by_one.append(trainer.policy(answers[:, i : i + 1], caches, 4 + i)[:, -1])
    whole = trainer.policy(torch.cat([prompts, answers[:, :-1]], dim=1))[:, 3:]
    torch.testing.assert_close(torch.stack(one_by_one, dim=1), whole)


def test_control_says_what_was_held_and_what_was_missed() -> None:
    found: dict[str, Any] = {"environment_steps_per_second": 1e4, "steps_per_second": 1e3}
    found |= {"learner_steps_per_second": 250.0, "overlap": 1.4, "overlap_interval": [1.2, 1.5]}
    found |= {"learner_step_milliseconds": 4.0, "product_milliseconds": 3.0}
    found |= {"products": {"policy": 1.0, "critic": 2.0}}
    for name in ("ratio_to_sb3", "ratio_to_sbx"):
        found |= {name: 3.0, f"{name}_interval": [2.5, 3.5]}
    for minutes, verdict in ((11.9, "held"), (12.1, "missed")):
        tasks = {"cheetah:run": found | {"million_steps_minutes": minutes}}
        lines = control.describe({"tasks": tasks}).splitlines()
        assert "4.00 ms, of which its matrix products alone take 3.00 ms" in lines[4]
        assert [line.split()[0] for line in lines[5:7]] == ["policy", "critic"]
        assert lines[8].endswith("goal at most 1.2: neither held nor missed")
        assert lines[9].endswith(f"{minutes} minutes  goal at most 12: {verdict}")
        assert lines[10].endswith("goal at least 5: missed")
        assert lines[11].endswith("goal at least 3: neither held nor missed")


def test_a_learner_step_has_the_products_that_xla_counts() -> None:
    jax = pytest.importorskip("jax")
    from delightful.agents.control import learner, replay
    from delightful.agents.control.settings import configured

    observed, actions = 17, 6
    config = configured("dg", "replayed", width=64)
    memory = replay.empty(364, config.actors, observed, actions)
    state = learner.initial(config, 0, observed, actions)
    key = jax.random.key(0)
    step = jax.jit(lambda state: learner.step(config, {}, state, memory, key))
    counted = step.lower(state).compile().cost_analysis()["flops"]
    found = products.products(config, observed, actions)
    ours = sum(product.operations for part in found.values() for product in part)
    assert 0.8 * counted < ours < counted  # the rest is elementwise


def test_a_product_alone_is_timed() -> None:
    some = {"one": [products.Product(8, 4, 2)], "two": [products.Product(8, 4, 2)] * 2}
    found = products.milliseconds(some)
    assert found["two"] == pytest.approx(2 * found["one"])
    assert found["one"] > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's, of its sockets and files
def test_bench_actor_learner_measures_it_beside_the_in_process_trainer() -> None:
    pytest.importorskip("ray")
    small = TokensConfig(length=3, width=8, layers=1, heads=1, feedforward=8)
    figures = actor_learner.measure(small, steps=20, rounds=2, actors=(2,))
    found = figures["actors"]["2"]
    assert found["prompts_per_batch"] == 10
    assert found["shared_steps"]["prompts_per_batch"] == 5
    assert found["trajectories_per_second"] > 0
    assert 0 <= found["idle_fraction"] <= 1
    assert found["publish_milliseconds"] > 0
    assert found["fetch_milliseconds"] > 0
    for low, said in ((0.9, "held"), (0.7, "missed"), (0.85, "neither held nor missed")):
        found["ratio_to_in_process_interval"] = [low, low + 0.1]
        assert f"goal at least 0.9: {said}" in actor_learner.describe(
            {
                **figures,
                "actors": {
                    "2": {name: value for name, value in found.items() if name != "shared_steps"}
                },
            }
        )


@pytest.mark.slow
def test_bench_ray_measures_overhead_speed_and_traffic() -> None:
    figures = ray.measure(seeds=400, rounds=6, empty=50)
    low, high = figures["overhead_ratio_interval"]
    assert 0 < low <= figures["overhead_ratio"] <= high
    assert figures["cells"] == 24
    assert figures["empty_cells_per_second"] > 0
    assert 1000 < figures["driver_bytes_per_cell"] < 100_000


def test_the_ray_benchmark_holds_the_overhead_to_its_goal() -> None:
    figures = {"workers": 2, "cells": 24, "local_seconds": 30.0, "empty_cells_per_second": 200.0}
    figures |= {"driver_bytes_per_cell": 5000.0, "start_seconds": 2.0, "overhead_ratio": 1.05}
    for high, said in ((1.05, "held"), (1.1, "neither held nor missed")):
        text = ray.describe(figures | {"overhead_ratio_interval": [1.0, high]})
        assert f"goal at most 1.05: {said}\n" in text
    text = ray.describe(figures | {"overhead_ratio_interval": [1.06, 1.1]})
    assert "goal at most 1.05: missed\n" in text
