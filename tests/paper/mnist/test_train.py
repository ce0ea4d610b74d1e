"""Training: its gradient, its curves, and that the same seed gives the same bytes."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from delightful.diagnostics import diagnose
from delightful.lab.compiling import OverSeeds
from delightful.paper.mnist import train
from delightful.paper.mnist.config import MnistConfig, flops, parameters
from delightful.paper.mnist.data import Mnist, fetch

SMALL = MnistConfig(batch=20, width=8, steps=6, records=2, looks=2)


def _digits(images: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten patterns of pixels under noise: enough to tell learning from not learning."""
    rng = np.random.default_rng(0)
    patterns = np.random.default_rng(1).integers(0, 120, (10, 784))
    labels = rng.integers(0, 10, images)
    pixels = patterns[labels] + rng.integers(0, 136, (images, 784))
    return pixels.astype(np.uint8), labels.astype(np.uint8)


DATA = Mnist(*map(jnp.asarray, (*_digits(500), *_digits(200))))
run = OverSeeds(train.train, data=lambda: (DATA,), fills_core=True)


@pytest.mark.parametrize("method", ["awr", "mpo"])  # one that weighs samples alone, one that not
def test_any_registered_method_trains(method) -> None:
    curves = run(replace(SMALL, method=method, samples=3), np.arange(1))
    assert curves["step"].tolist() == [3, 6]
    for name, values in curves.items():
        assert np.all(np.isfinite(values)), name


def test_a_seed_gives_the_same_bytes_alone_and_in_company() -> None:
    together = run(SMALL, np.arange(3))
    again, alone = run(SMALL, np.arange(3)), run(SMALL, np.array([1]))
    for name, values in together.items():
        assert values.tobytes() == again[name].tobytes()
        if name != "step":
            assert values[1].tobytes() == alone[name][0].tobytes()
    assert together["val_error"][0, 0] != together["val_error"][1, 0]


def test_side_by_side_as_on_a_gpu_gives_the_same_numbers() -> None:
    beside = OverSeeds(train.train, data=lambda: (DATA,))
    ours, theirs = (over(SMALL, np.arange(3)) for over in (run, beside))
    for name, values in ours.items():
        np.testing.assert_allclose(values, theirs[name], rtol=2e-3, atol=2e-4)


def test_no_float_makes_a_program_of_its_own() -> None:
    over = OverSeeds(train.train, data=lambda: (DATA,), fills_core=True)
    changes = [{}, {"learning_rate": 3e-3}, {"entropy": 0.1}, {"method": "dg:temperature=0.3"}]
    ends = [over(replace(SMALL, **change), np.arange(1))["val_error"][0, -1] for change in changes]
    assert over.compiled.cache_info().currsize == 1
    assert len(set(ends)) == len(ends)


@pytest.mark.parametrize("oracle", ["pg", "ce"])
def test_an_oracle_is_aligned_with_itself(oracle) -> None:
    curves = run(replace(SMALL, method=oracle, samples=0, baseline="zero"), np.arange(2))
    np.testing.assert_allclose(curves[f"misalignment_{oracle}"], 0, atol=1e-6)
    other = {"pg": "ce", "ce": "pg"}[oracle]
    assert np.all(curves[f"misalignment_{other}"] > 1e-4)


@pytest.mark.slow
def test_it_learns_what_can_be_learned() -> None:
    config = MnistConfig(width=32, steps=400, records=2)
    for method in ("pg", "dg"):
        curves = run(replace(config, method=method), np.arange(2))
        assert np.all(curves["train_error"][:, -1] < curves["train_error"][:, 0])
        assert np.all(curves["val_greedy_error"][:, -1] < 0.6)  # chance is 0.9


def test_gradients_are_those_of_pytorch() -> None:
    layers = train.initial(jax.random.key(3), width=8, layers=2)
    images, labels = DATA.train_images[:20], np.asarray(DATA.train_labels[:20]).astype(int)
    right = train.one_hot(jnp.asarray(labels))
    logits, back = jax.vjp(lambda layers: train.forward(layers, images), layers)
    log_policy = jax.nn.log_softmax(logits)
    (ours,) = back(train.at_logits(log_policy, right * jnp.exp(log_policy)))

    theirs = [
        tuple(torch.tensor(np.asarray(p), requires_grad=True) for p in pair) for pair in layers
    ]
    x = torch.tensor(np.asarray(images)).float() / 255
    for weight, bias in theirs[:-1]:
        x = torch.relu(x @ weight.T + bias)
    policy = torch.softmax(x @ theirs[-1][0].T + theirs[-1][1], dim=1)
    (-policy[torch.arange(20), torch.tensor(labels)].mean()).backward()
    for pair, reference in zip(ours, theirs, strict=True):
        for gradient, parameter in zip(pair, reference, strict=True):
            np.testing.assert_allclose(gradient, parameter.grad, rtol=1e-4, atol=1e-7)


def test_errors_are_counted_as_drawn_and_as_greedy() -> None:
    policy = jnp.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4]])
    right = jnp.array([[1.0, 0, 0], [0, 0, 1], [0, 0, 1]])
    drawn, greedy = train.wrong(jnp.log(policy), right)
    assert drawn == pytest.approx(1 - (0.7 + 0.4 + 0.4) / 3)
    assert greedy == pytest.approx(1 / 3)


def test_gates_agree_with_the_diagnosis_of_many_draws() -> None:
    log_policy = jax.nn.log_softmax(2 * jax.random.normal(jax.random.key(0), (20, 10)))
    right = train.one_hot(DATA.train_labels[:20])
    policy = np.exp(np.asarray(log_policy, np.float64))
    rng = np.random.default_rng(0)
    image = rng.integers(0, 20, 200_000)
    action = (rng.random(200_000)[:, None] > policy.cumsum(1)[image]).sum(1).clip(max=9)
    advantage = np.asarray(right)[image, action] - (policy**2).sum(1)[image]
    seen = diagnose(np.asarray(log_policy)[image, action], advantage, temperature=0.5)
    found = train.gates(SMALL, {"temperature": 0.5}, log_policy, right)
    expected = {
        "gate_right": seen.gate_mean_positive,
        "gate_wrong": seen.gate_mean_negative,
        "gate_suppressed": seen.suppressed,
        "gate_neutral": seen.neutral,
        "gate_open": seen.open,
        "effective_fraction": seen.effective_sample_size / seen.entries,
    }
    for name, value in expected.items():
        assert float(found[name]) == pytest.approx(value, abs=0.01), name


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_sizes_are_those_of_the_network(layers) -> None:
    config = MnistConfig(width=7, layers=layers, batch=1)
    built = train.initial(jax.random.key(0), 7, layers)
    assert parameters(config) == sum(p.size for pair in built for p in pair)
    weights = [weight.size for weight, _ in built]
    assert flops(config) == 2 * (3 * sum(weights) - weights[0])


@pytest.mark.slow
def test_plain_pytorch_learns_mnist_as_fast() -> None:
    """An independent implementation, on the real data: the errors after 300 steps agree."""
    from delightful.benchmarks.torch_mnist import Trainer

    fetch()
    config = MnistConfig(steps=300, records=3)
    ours = train.run(config, np.arange(3))["train_error"][:, -1].mean()
    theirs = np.mean([_last_hundred(Trainer(config, seed)) for seed in range(3)])
    assert ours == pytest.approx(theirs, rel=0.2)
    assert ours < 0.2


def _last_hundred(trainer) -> float:
    return trainer.train(300)
