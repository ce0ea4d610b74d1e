"""Surprisal, delight and gate against hand-computed values, and what the gate always satisfies."""

from dataclasses import asdict, fields
from typing import Any

import jax
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from delightful import (
    METHODS,
    GateConfig,
    delight,
    diagnose,
    gate,
    policy_loss,
    score_weight,
    set_validation,
    surprisal,
)

LOG_PROB = np.array([[-1.0, -2.0, -0.5], [-3.0, 0.4, -30.0]], dtype="float32")
ADVANTAGE = np.array([[1.0, -1.0, 0.5], [-2.0, 1.5, 0.3]], dtype="float32")
MASK = np.array([[True, True, False], [True, False, True]])


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-np.asarray(x, dtype="float64")))


def same(lib: Any, got: Any, expected: Any) -> None:
    np.testing.assert_allclose(lib.numpy(got), expected, rtol=1e-5, atol=1e-7)


def test_surprisal_delight_and_gate_are_the_paper_s(lib: Any) -> None:
    U, log_prob = lib.array(ADVANTAGE), lib.array(LOG_PROB)
    same(lib, surprisal(log_prob), -LOG_PROB)
    same(lib, delight(log_prob, U), -ADVANTAGE * LOG_PROB)
    same(lib, gate(log_prob, U, temperature=0.5), logistic(-ADVANTAGE * LOG_PROB / 0.5))


def test_surprisal_is_clipped_on_both_sides_as_in_algorithm_2(lib: Any) -> None:
    log_prob = lib.array([-np.inf, -30.0, -10.0, -1.0, 3.0, 40.0])
    U = lib.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    clipped = [10, 10, 10, 1, -3, -10]
    same(lib, surprisal(log_prob, max_surprisal=10), clipped)
    same(lib, delight(log_prob, U, max_surprisal=10), np.array([1, -1, 1, 1, 1, 1]) * clipped)
    expected = logistic(np.array([10, -10, 10, 1, -3, -10]))
    same(lib, gate(log_prob, U, max_surprisal=10), expected)


def test_standard_whitening_is_the_paper_s_over_unmasked_entries(lib: Any) -> None:
    U, log_prob, mask = lib.array(ADVANTAGE), lib.array(LOG_PROB), lib.array(MASK, "bool")
    chi = np.float64(-ADVANTAGE * LOG_PROB)
    expected = (chi - chi[MASK].mean()) / (chi[MASK].std() + 1e-8)
    got = delight(log_prob, U, mask=mask, whiten="standard")
    same(lib, got, np.where(MASK, expected, 0))
    got = gate(log_prob, U, mask=mask, whiten="standard", temperature=2.0)
    same(lib, got, logistic(np.where(MASK, expected, 0) / 2))


def test_standard_whitening_makes_nothing_of_equal_delights(lib: Any) -> None:
    # Seven times 0.3 sums inexactly in float32; that rounding error must not become a signal.
    chi = delight(lib.array([-1.0] * 7), lib.array([0.3] * 7), whiten="standard")
    np.testing.assert_allclose(lib.numpy(chi), np.zeros(7), atol=1e-3)


def test_scale_whitening_divides_by_the_same_deviation(lib: Any) -> None:
    U, log_prob, mask = lib.array(ADVANTAGE), lib.array(LOG_PROB), lib.array(MASK, "bool")
    chi = np.float64(-ADVANTAGE * LOG_PROB)
    expected = np.where(MASK, chi / (chi[MASK].std() + 1e-8), 0)
    same(lib, delight(log_prob, U, mask=mask, whiten="scale"), expected)
    same(lib, gate(log_prob, U, mask=mask, whiten="scale"), logistic(expected))


def test_mode_relative_surprisal_is_not_negative_where_a_density_exceeds_one(lib: Any) -> None:
    log_prob, mode = lib.array([2.0, 1.0, -1.0]), lib.array([2.0, 2.5, 0.0])
    same(lib, surprisal(log_prob, mode_log_prob=mode), [0, 1.5, 1])
    U = lib.array([1.0, 1.0, -2.0])
    same(lib, delight(log_prob, U, mode_log_prob=mode), [0, 1.5, -2])
    same(lib, gate(log_prob, U, mode_log_prob=mode), logistic([0, 1.5, -2]))


def test_sequence_level_gives_each_token_its_sequence_s_surprisal(lib: Any) -> None:
    U, log_prob, mask = lib.array(ADVANTAGE), lib.array(LOG_PROB), lib.array(MASK, "bool")
    same(lib, surprisal(log_prob, level="sequence"), [[3.5] * 3, [32.6] * 3])
    masked = np.array([[3, 3, 0], [33, 0, 33]])
    same(lib, surprisal(log_prob, mask=mask, level="sequence"), masked)
    got = gate(log_prob, U, mask=mask, level="sequence", temperature=10.0)
    same(lib, got, logistic(ADVANTAGE * masked / 10))
    clipped = surprisal(log_prob, mask=mask, level="sequence", max_surprisal=10)
    same(lib, clipped, np.minimum(masked, 10))  # the sum is clipped, not its terms


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (2, 2, 3)])
def test_one_advantage_per_sequence_is_spread_over_its_tokens(
    lib: Any, rng: np.random.Generator, shape: tuple[int, ...]
) -> None:
    U, log_prob = rng.normal(size=shape[:-1]), lib.array(-rng.exponential(size=shape))
    spread = lib.array(np.repeat(U[..., None], shape[-1], axis=-1))
    for function in (delight, gate, score_weight):
        got = lib.numpy(function(log_prob, lib.array(U)))
        np.testing.assert_array_equal(got, lib.numpy(function(log_prob, spread)))


def test_gate_advantage_changes_the_gate_and_nothing_else(lib: Any) -> None:
    U, log_prob, seen = lib.array(ADVANTAGE), lib.array(LOG_PROB), lib.array(ADVANTAGE[::-1] / 2)
    w = gate(log_prob, U, gate_advantage=seen)
    same(lib, w, lib.numpy(gate(log_prob, seen)))
    same(lib, score_weight(log_prob, U, method="dg", gate_advantage=seen), lib.numpy(w) * ADVANTAGE)
    per_sequence = gate(log_prob, U, gate_advantage=lib.array([0.5, -0.5]))
    same(lib, per_sequence, logistic(-LOG_PROB * [[0.5], [-0.5]]))


def test_masked_out_entries_have_no_surprisal_and_a_neutral_gate(lib: Any) -> None:
    U, log_prob, mask = lib.array(ADVANTAGE), lib.array(LOG_PROB), lib.array(MASK, "bool")
    assert not lib.numpy(surprisal(log_prob, mask=mask))[~MASK].any()
    assert not lib.numpy(delight(log_prob, U, mask=mask))[~MASK].any()
    assert (lib.numpy(gate(log_prob, U, mask=mask))[~MASK] == 0.5).all()


def test_a_mask_of_numbers_counts_where_it_is_not_zero(lib: Any) -> None:
    U, log_prob = lib.array(ADVANTAGE), lib.array(LOG_PROB)
    by_float = gate(log_prob, U, mask=lib.array(MASK, "float32"))
    same(lib, by_float, lib.numpy(gate(log_prob, U, mask=lib.array(MASK, "bool"))))


OPTIONS = [{}, {"whiten": "standard"}, {"level": "sequence"}, {"max_surprisal": 1.0}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_nothing_carries_a_gradient_in_torch(options: dict[str, Any]) -> None:
    U, log_prob = (torch.tensor(a, requires_grad=True) for a in (ADVANTAGE, LOG_PROB))
    assert not gate(log_prob, U, **options).requires_grad
    assert not delight(log_prob, U, **options).requires_grad
    assert not score_weight(log_prob, U, method="dg", **options).requires_grad
    options = {k: v for k, v in options.items() if k != "whiten"}
    assert not surprisal(log_prob, mode_log_prob=U, **options).requires_grad


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_nothing_carries_a_gradient_in_jax(options: dict[str, Any]) -> None:
    def total(U: Any, log_prob: Any, eta: Any) -> Any:
        chi = delight(log_prob, U, **options)
        omega = score_weight(log_prob, U, method="dg", temperature=eta, **options)
        return (chi + omega + gate(log_prob, U, temperature=eta, **options)).sum()

    for gradient in jax.grad(total, argnums=(0, 1, 2))(ADVANTAGE, LOG_PROB, 0.7):
        assert not np.any(gradient)


def test_a_temperature_that_requires_grad_is_taken_as_a_constant() -> None:
    eta = torch.tensor(0.7, requires_grad=True)
    torch.set_warn_always(True)  # else a warning raised by an earlier test stays silent here
    try:
        assert not gate(*map(torch.tensor, (LOG_PROB, ADVANTAGE)), temperature=eta).requires_grad
    finally:
        torch.set_warn_always(False)


# float32 numbers that no library flushes to zero; delights that a gate in float32 can show.
advantages = st.floats(-50, 50, width=32, allow_subnormal=False)
log_probs = st.floats(-20, 20, width=32, allow_subnormal=False)
temperatures = st.floats(0.125, 8, width=32)
property_test = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def gates(lib: Any, U: list[float], log_prob: float, temperature: float) -> Any:
    at = lib.array([log_prob] * len(U)), lib.array(U)
    return lib.numpy(gate(*at, temperature=temperature)).astype("float64")


@property_test
@given(U=advantages, log_prob=log_probs, temperature=temperatures)
def test_gate_is_a_fraction_and_opposite_advantages_share_one(
    lib: Any, U: float, log_prob: float, temperature: float
) -> None:
    w, opposite = gates(lib, [U, -U], log_prob, temperature)
    assert 0 <= w <= 1
    assert abs(w + opposite - 1) <= 3e-7


@property_test
@given(first=advantages, second=advantages, ell=st.floats(0.0078125, 20, width=32))
def test_gate_rises_with_advantage_where_surprisal_is_positive(
    lib: Any, first: float, second: float, ell: float
) -> None:
    low, high = gates(lib, sorted([first, second]), -ell, 1.0)
    assert low <= high * (1 + 3e-7)  # neighbours may differ by a rounding


@property_test
@given(U=advantages, log_prob=log_probs)
def test_gate_is_below_half_exactly_where_delight_is_negative(
    lib: Any, U: float, log_prob: float
) -> None:
    chi = -U * log_prob
    assume(chi == 0 or abs(chi) > 1e-5)  # nearer to zero, float32 rounds the gate to ½
    (w,) = gates(lib, [U], log_prob, 1.0)
    assert (w < 0.5) == (chi < 0)
    assert (w > 0.5) == (chi > 0)


@property_test
@given(batch=st.lists(st.tuples(advantages, log_probs), min_size=6, max_size=6))
def test_scale_whitening_never_flips_a_sign(lib: Any, batch: list[tuple[float, float]]) -> None:
    U, log_prob = (lib.array(column) for column in zip(*batch, strict=True))
    plain, whitened = delight(log_prob, U), delight(log_prob, U, whiten="scale")
    assert (lib.numpy(plain) * np.sign(lib.numpy(whitened)) >= 0).all()


def test_unit_gain_doubles_the_gate_the_weight_and_the_loss(lib: Any) -> None:
    U, log_prob = lib.array(ADVANTAGE), lib.array(LOG_PROB)
    for function in (gate, score_weight, policy_loss):
        plain, doubled = function(log_prob, U), function(log_prob, U, unit_gain=True)
        same(lib, doubled, 2 * lib.numpy(plain))


def test_the_options_are_those_of_the_config_everywhere() -> None:
    names = [field.name for field in fields(GateConfig)]
    assert names == ["temperature", "level", "max_surprisal", "whiten", "unit_gain"]
    assert METHODS["dg"].defaults == asdict(GateConfig())
    with pytest.raises(TypeError, match=r"takes temperature, .*unit_gain, got 'temprature'"):
        gate(LOG_PROB, ADVANTAGE, temprature=2.0)


@pytest.mark.parametrize(
    ("option", "method"),
    [
        ("temperature", "dg"),
        ("max_surprisal", "dg"),
        ("clip", "ppo"),
        ("max_ratio", "ppo"),
        ("preference", "pmpo"),
        ("temperature", "awr"),
        ("max_weight", "awr"),
        ("temperature", "mpo"),
        ("alpha", "additive"),
        ("beta", "exponent"),
    ],
)
def test_an_option_may_be_an_array_and_is_checked_like_a_number(
    lib: Any, option: str, method: str
) -> None:
    U, log_prob = lib.array([0.5, -1.0, 2.0]), lib.array([-1.0, -2.0, -0.5])
    arrays = {"method": method, "old_log_prob": lib.array([-1.2, -1.0, -0.9])}
    number = score_weight(log_prob, U, **arrays, **{option: 0.7})
    for same_as in (lib.array(0.7), lib.array([0.7] * 3)):
        same(lib, score_weight(log_prob, U, **arrays, **{option: same_as}), lib.numpy(number))
    with pytest.raises(ValueError, match=f"{option} must be one number, or have log_prob's shape"):
        score_weight(log_prob, U, **arrays, **{option: lib.array([0.7] * 2)})
    with pytest.raises(ValueError, match=f"{option} must be"):
        score_weight(log_prob, U, **arrays, **{option: lib.array([0.7, -1.0, 0.7])})
    with pytest.raises(TypeError, match=f"{option} must be a number, got 'x'"):
        score_weight(log_prob, U, **arrays, **{option: "x"})


def test_swapped_arguments_are_refused_where_torch_can_tell() -> None:
    logits = torch.zeros(3, 2, requires_grad=True)
    log_prob, advantage = torch.log_softmax(logits, -1)[:, 0], torch.ones(3)
    for function in (gate, delight, diagnose, policy_loss, score_weight):
        with pytest.raises(ValueError, match=r"pass \(log_prob, advantage\) in this order"):
            function(advantage, log_prob)


class Waits(TorchDispatchMode):
    """Counts what would make a GPU wait: a tensor's value that becomes Python's."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("options", [{}, {"whiten": "scale"}, {"whiten": "standard"}], ids=str)
def test_without_validation_nothing_makes_a_gpu_wait(options: dict[str, Any]) -> None:
    log_prob, U = -torch.rand(4, 3), torch.randn(4, 3)
    mask = torch.ones(4, 3, dtype=torch.bool)
    set_validation(False)
    try:
        with Waits() as waits:
            for function in (gate, delight, policy_loss):
                function(log_prob, U, mask=mask, **options)
            for name in METHODS:
                score_weight(log_prob, U, method=name, old_log_prob=log_prob - 0.1)
    finally:
        set_validation(True)
    assert waits.count == 0


def test_without_validation_values_are_not_looked_at(lib: Any) -> None:
    U, log_prob = lib.array([np.nan, 0.0, -1.0]), lib.array([-1.0, -np.inf, -np.inf])
    set_validation(False)
    try:
        w = lib.numpy(gate(log_prob, U))
        terms = lib.numpy(policy_loss(log_prob, U, reduction="none"))
        assert np.isnan(lib.numpy(policy_loss(log_prob, U)))
        with pytest.raises(ValueError, match="advantage must have log_prob's shape"):
            gate(log_prob, U[:2])
    finally:
        set_validation(True)
    assert np.isnan(w[0])
    assert list(w[1:]) == [0.5, 0.0]
    assert list(terms[1:]) == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"advantage\[0\] must be finite"):
        gate(log_prob, U)
