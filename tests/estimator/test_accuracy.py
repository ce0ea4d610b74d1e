"""How accurate the gate is; its limits, infinity and half precision."""

import functools
from typing import Any

import jax
import mpmath
import numpy as np
import pytest

import delightful

INF = np.inf
TEMPERATURES = (0.3, 1.0, 2.7)
SIGNS = (-1.0, 0.0, 1.0)


@functools.cache
def points(dtype: str, temperature: float, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Advantages and log-probabilities whose delight over temperature spreads to ±`reach`."""
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [
            rng.uniform(-reach, reach, 500),
            rng.uniform(-45, 45, 500),  # where 1 + exp(-|x|) begins to round to 1
            rng.choice([-1, 1], 200) * 10 ** rng.uniform(-6, 0, 200),
        ]
    )
    surprisal = 10 ** rng.uniform(-3, 2, x.size) * rng.choice([-1, 1], x.size, p=[0.2, 0.8])
    return (x * temperature / surprisal).astype(dtype), (-surprisal).astype(dtype)


@functools.cache
def exact_gates(dtype: str, temperature: float, reach: float) -> list[mpmath.mpf]:
    with mpmath.workprec(200):
        return [
            1 / (1 + mpmath.exp(mpmath.mpf(u) * mpmath.mpf(logp) / mpmath.mpf(temperature)))
            for u, logp in zip(
                *(a.tolist() for a in points(dtype, temperature, reach)), strict=True
            )
        ]


def relative_errors(got: np.ndarray, exact: list[mpmath.mpf]) -> np.ndarray:
    with mpmath.workprec(200):
        return np.array(
            [float(abs(mpmath.mpf(g) / e - 1)) for g, e in zip(got.tolist(), exact, strict=True)]
        )


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize(
    ("dtype", "reach", "accuracy"), [("float64", 600, 1e-13), ("float32", 80, 4e-6)]
)
def test_the_gate_is_accurate(
    lib: Any, temperature: float, dtype: str, reach: float, accuracy: float
) -> None:
    """σ(x) ≈ eˣ where the gate is closed, so that an error in x = χ/η grows with |x|."""
    case = (dtype, temperature, reach)
    with jax.enable_x64(dtype == "float64"):  # JAX has no float64 unless asked
        U, log_prob = (lib.array(a, dtype) for a in points(*case))
        got = lib.numpy(delightful.gate(log_prob, U, temperature=temperature))
    assert got.dtype == dtype
    x = np.prod(points(*case), axis=0, dtype=np.float64) / temperature
    allowed = accuracy * np.maximum(1, np.abs(x))
    assert np.all(relative_errors(got, exact_gates(*case)) <= allowed)


def test_an_array_temperature_gives_the_gate_of_the_number(lib: Any) -> None:
    U, log_prob = (lib.array(a) for a in points("float32", 2.7, 20.0))
    by_array = delightful.gate(log_prob, U, temperature=lib.array(2.7))
    by_number = delightful.gate(log_prob, U, temperature=2.7)
    np.testing.assert_allclose(lib.numpy(by_array), lib.numpy(by_number), rtol=1e-5)


def test_temperature_may_vary_by_entry(lib: Any) -> None:
    U, log_prob = lib.array([1.0, 1.0, 1.0]), lib.array([-1.0, -1.0, -1.0])
    got = delightful.gate(log_prob, U, temperature=lib.array([0.0, 1.0, INF]))
    np.testing.assert_allclose(lib.numpy(got), [1, 1 / (1 + np.exp(-1)), 0.5], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("as_array", [False, True], ids=["number", "array"])
@pytest.mark.parametrize(
    ("temperature", "expected"),
    [(0.0, [0, 0, 1]), (INF, [0.5, 0.5, 0.5]), (1.0, [0, 0.5, 1]), (0.3, [0, 0.5, 1])],
)
def test_gate_of_an_impossible_action_is_its_limit(
    lib: Any, dtype: str, as_array: bool, temperature: float, expected: list[float]
) -> None:
    with jax.enable_x64(dtype == "float64"):
        U, log_prob = lib.array(SIGNS, dtype), lib.array([-INF] * 3, dtype)
        eta = lib.array(temperature, dtype) if as_array else temperature
        got = delightful.gate(log_prob, U, temperature=eta)
    np.testing.assert_array_equal(lib.numpy(got), expected)


def test_temperature_zero_is_the_hard_gate_and_closed_at_no_delight(lib: Any) -> None:
    U, log_prob = lib.array([2.0, -2.0, 2.0, 0.0, 2.0]), lib.array([-1.0, -1.0, 1.0, -1.0, 0.0])
    got = delightful.gate(log_prob, U, temperature=0)
    np.testing.assert_array_equal(lib.numpy(got), [1, 0, 0, 0, 0])


@pytest.mark.parametrize("log_prob", [-1.0, 1.0, -INF])
def test_limits_hold_for_a_temperature_traced_by_jit(log_prob: float) -> None:
    U, log_probs = jax.numpy.array(SIGNS), jax.numpy.full(3, log_prob)
    traced = jax.jit(lambda eta: delightful.gate(log_probs, U, temperature=eta))
    for temperature in (0.0, INF, 1.0):
        eager = delightful.gate(log_probs, U, temperature=temperature)
        np.testing.assert_allclose(traced(temperature), eager, rtol=1e-6)
    np.testing.assert_array_equal(traced(INF), [0.5, 0.5, 0.5])
    np.testing.assert_array_equal(traced(0.0), [log_prob > 0, False, log_prob < 0])


def test_delight_of_no_advantage_is_zero_however_rare_the_action(lib: Any) -> None:
    chi = delightful.delight(lib.array([-INF] * 3), lib.array(SIGNS))
    np.testing.assert_array_equal(lib.numpy(chi), [-INF, 0, INF])


def test_huge_products_saturate_without_nan(lib: Any) -> None:
    U, log_prob = lib.array([1e18, -1e18, 1e35, -1e35]), lib.array([-1e18, -1e18, -9.0, -9.0])
    got = lib.numpy(delightful.gate(log_prob, U, temperature=0.3))
    np.testing.assert_array_equal(got, [1, 0, 1, 0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_and_returned_in_float32(lib: Any, dtype: str) -> None:
    if lib.name == "numpy" and dtype == "bfloat16":
        return  # NumPy has no bfloat16

    def wide(a: Any) -> Any:
        return a.float() if lib.name == "torch" else a.astype("float32")

    # 300·250 overflows float16, and its gate underflows by a delight of −18.
    U, log_prob = [300.0, -3.0, 0.7, -0.3], [-250.0, -8.0, -0.06, 1.3]
    U, log_prob = lib.array(U, dtype), lib.array(log_prob, dtype)
    got, expected = delightful.gate(log_prob, U), delightful.gate(wide(log_prob), wide(U))
    assert lib.numpy(got).dtype == np.float32
    np.testing.assert_array_equal(lib.numpy(got), lib.numpy(expected))
    assert lib.numpy(delightful.surprisal(log_prob)).dtype == np.float32
    assert lib.numpy(delightful.delight(log_prob, U)).dtype == np.float32
    log_prob = lib.array([-9.0, -8.0, -0.06, 1.3], dtype)  # not every weight bears the one above
    for method in delightful.METHODS:
        got = delightful.policy_loss(log_prob, U, method=method, reduction="none")
        expected = delightful.policy_loss(wide(log_prob), wide(U), method=method, reduction="none")
        assert lib.numpy(got).dtype == np.float32
        np.testing.assert_array_equal(lib.numpy(got), lib.numpy(expected))
