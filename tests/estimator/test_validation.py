"""What is refused and in which words; what hides behind a mask; what jit leaves unchecked."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from delightful import (
    METHODS,
    delight,
    diagnose,
    entropy_bonus,
    gate,
    kl_penalty,
    policy_loss,
    score_weight,
    surprisal,
)

NAN, INF = np.nan, np.inf
MASK = np.array([[True, True, False, True], [False, True, True, True], [True, False, True, True]])
OPTIONAL = ("old_log_prob", "mode_log_prob", "gate_advantage")


@pytest.fixture
def batch(rng: np.random.Generator) -> dict[str, Any]:
    names = ("log_prob", "advantage", *OPTIONAL)
    return {name: rng.normal(size=MASK.shape) - 1 for name in names}


def weight_loss_gradient(lib: Any, batch: dict[str, Any], method: str, **options: Any) -> list[Any]:
    arrays = {name: lib.array(array) for name, array in batch.items()}
    options["mask"] = lib.array(MASK, "bool")
    omega = lib.numpy(score_weight(**arrays, method=method, **options))
    log_prob = arrays.pop("log_prob")

    def loss_of(log_prob: Any) -> Any:
        return policy_loss(log_prob, **arrays, method=method, **options)

    if lib.name == "numpy":
        return [omega, loss_of(log_prob)]
    return [omega, *lib.value_and_gradient(loss_of, batch["log_prob"])]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        *((name, {}) for name in METHODS),
        ("dg", {"level": "sequence"}),
        ("dg", {"whiten": "standard"}),
        ("dg", {"max_surprisal": 1.0, "whiten": "scale", "temperature": 0.0}),
        ("grpo", {"axis": 1}),
        ("mpo", {"axis": 1}),
    ],
    ids=str,
)
def test_what_is_masked_out_never_matters(
    lib: Any, batch: dict[str, Any], method: str, options: dict[str, Any]
) -> None:
    clean = weight_loss_gradient(lib, batch, method, **options)
    for junk in (NAN, INF, -INF):
        poisoned = {name: np.where(MASK, array, junk) for name, array in batch.items()}
        found = weight_loss_gradient(lib, poisoned, method, **options)
        for got, expected in zip(found, clean, strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("junk", [NAN, INF, -INF])
def test_the_advantage_of_a_masked_out_sequence_never_matters(lib: Any, junk: float) -> None:
    log_prob, mask = lib.array(-np.ones((2, 3))), lib.array([[True] * 3, [False] * 3], "bool")
    loss = policy_loss(
        log_prob, lib.array([1.0, junk]), mask=mask, gate_advantage=lib.array([1.0, junk])
    )
    np.testing.assert_allclose(lib.numpy(loss), 1 / (1 + np.exp(-1)), rtol=1e-6)


# A library may warn of what follows from a value that is about to be refused.
may_warn = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@may_warn
@pytest.mark.parametrize("function", [score_weight, policy_loss])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("junk", [NAN, INF, -INF])
def test_no_method_takes_an_advantage_that_is_not_finite(
    function: Callable[..., Any], method: str, junk: float
) -> None:
    U = np.array([[0.5, 1.0], [junk, -1.0]])
    with pytest.raises(ValueError, match=rf"advantage\[1, 0\] must be finite, got {junk}"):
        function(log_prob=-np.ones((2, 2)), advantage=U, method=method)


@may_warn
@pytest.mark.parametrize("function", [score_weight, policy_loss])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("junk", [NAN, INF])
def test_no_method_takes_a_log_prob_of_nan_or_infinity(
    function: Callable[..., Any], method: str, junk: float
) -> None:
    for U in (-1.0, 0.0, 1.0):  # a weight of zero must not hide it
        advantage, log_prob = np.array([0.5, U]), np.array([-1.0, junk])
        with pytest.raises(ValueError, match=rf"log_prob\[1\] must be finite, got {junk}"):
            function(log_prob=log_prob, advantage=advantage, method=method)


@may_warn
@pytest.mark.parametrize("function", [delight, gate, diagnose, policy_loss, score_weight])
def test_nan_is_refused_in_every_library(lib: Any, function: Callable[..., Any]) -> None:
    good, bad = lib.array([-1.0, -2.0]), lib.array([-1.0, NAN])
    with pytest.raises(ValueError, match=r"advantage\[1\] must be finite, got nan"):
        function(good, bad)
    with pytest.raises(ValueError, match=r"log_prob\[1\] must be finite, got nan"):
        function(bad, good)


@may_warn
@pytest.mark.parametrize("function", [score_weight, policy_loss])
@pytest.mark.parametrize("junk", [NAN, INF, -INF])
@pytest.mark.parametrize(
    ("name", "method"),
    [("old_log_prob", "ppo"), ("mode_log_prob", "dg"), ("gate_advantage", "dg")],
)
def test_an_option_that_is_not_finite_is_refused_where_it_is_used(
    function: Callable[..., Any], name: str, method: str, junk: float
) -> None:
    arrays = {"log_prob": np.array([-1.0, -2.0]), "advantage": np.array([0.5, 1.0])}
    arrays[name] = np.array([junk, -1.0])
    with pytest.raises(ValueError, match=rf"{name}\[0\] must be finite, got {junk}"):
        function(**arrays, method=method)


A = np.array([[1.0, -1.0, 0.5], [0.2, -0.2, 0.1]])
L = -np.ones((2, 3))
SHAPES = r"must have log_prob's shape \(2, 3\)"
REFUSED = [
    (lambda: gate(L, A.T), ValueError, rf"advantage {SHAPES} or \(2,\), got \(3, 2\)"),
    (lambda: gate(L, A[0]), ValueError, rf"advantage {SHAPES} or \(2,\), got \(3,\)"),
    (lambda: gate(L[0], A[0, 0]), ValueError, r"advantage .*shape \(3,\), got \(\)"),
    (lambda: gate(L, A, gate_advantage=A[0]), ValueError, f"gate_advantage {SHAPES}"),
    (lambda: surprisal(L, mode_log_prob=A[0]), ValueError, f"mode_log_prob {SHAPES}"),
    (lambda: policy_loss(L, A, old_log_prob=A[0]), ValueError, f"old_log_prob {SHAPES}"),
    (lambda: gate(L, A, mask=A[0] > 0), ValueError, rf"mask {SHAPES}, got \(3,\)"),
    (lambda: policy_loss(L, A, mask=np.ones(2)), ValueError, rf"mask {SHAPES}, got \(2,\)"),
    (lambda: gate(L, A.astype(int)), TypeError, "advantage .*floating-point.*got dtype int64"),
    (lambda: gate(L.astype(int), A), TypeError, "log_prob .*floating-point.*got dtype int64"),
    (lambda: gate(L + 1j, A), TypeError, "log_prob .*got dtype complex128"),
    (lambda: gate(L, A.tolist()), TypeError, "advantage must be a NumPy, .*got list"),
    (lambda: policy_loss(L.tolist(), A), TypeError, "log_prob must be a NumPy, .*got list"),
    (lambda: gate(L, A, mask=[[True] * 3] * 2), TypeError, "mask must be .*got list"),
    (lambda: gate(L, 1.0), TypeError, "advantage must be .*got float"),
    (lambda: gate(torch.tensor(L), A), TypeError, "log_prob from torch, advantage from numpy"),
    (lambda: gate(torch.tensor(L), jnp.array(A)), TypeError, "from torch, advantage from jax"),
    (lambda: gate(L, A, temperature=-1.0), ValueError, "temperature must be >= 0, got -1.0"),
    (lambda: gate(L, A, temperature=NAN), ValueError, "temperature must be >= 0, got nan"),
    (lambda: policy_loss(L, A, temperature=-1), ValueError, "temperature must be >= 0, got -1"),
    (lambda: gate(L, A, max_surprisal=0), ValueError, "max_surprisal must be > 0, got 0"),
    (lambda: surprisal(L, max_surprisal=-1.0), ValueError, "max_surprisal must be > 0, got -1.0"),
    (lambda: surprisal(L, max_surprisal=NAN), ValueError, "max_surprisal must be > 0, got nan"),
    (lambda: gate(L, A, level="word"), ValueError, "level .*'token', 'sequence', got 'word'"),
    (lambda: delight(L, A, whiten="z"), ValueError, "whiten .*'standard', 'scale', got 'z'"),
    (lambda: gate(L, A, whiten="z"), ValueError, "whiten .*'standard', 'scale', got 'z'"),
    (lambda: policy_loss(L, A, reduction="max"), ValueError, "reduction .*'mean', .*got 'max'"),
    (lambda: policy_loss(L, A, method="dgg"), ValueError, "method .*one of pg, dg, .*got 'dgg'"),
    (lambda: score_weight(L, A, method="dgg"), ValueError, "method .*one of pg, dg, .*got 'dgg'"),
    (lambda: policy_loss(L, A, clip=0.1), TypeError, "dg takes temperature, .*got 'clip'"),
    (
        lambda: score_weight(L, A, method="pg", clip=0.1),
        TypeError,
        "pg takes no options, got 'clip'",
    ),
    (
        lambda: score_weight(L, A, method="ppo", clip=-0.1),
        ValueError,
        "clip must be >= 0, got -0.1",
    ),
    (
        lambda: score_weight(L, A, method="awr", temperature=0),
        ValueError,
        "temperature must be > 0",
    ),
    (
        lambda: score_weight(L, A, method="mpo", temperature=0),
        ValueError,
        "temperature must be > 0",
    ),
    (
        lambda: score_weight(L, A, method="exponent", beta=-1),
        ValueError,
        "beta must be >= 0, got -1",
    ),
    (
        lambda: score_weight(L, A, method="pmpo", preference=-1),
        ValueError,
        "preference must be between 0 and 1",
    ),
    (lambda: score_weight(L, A, method="mpo", axis=2), ValueError, r"axis .*shape \(2, 3\), got 2"),
    (lambda: policy_loss(L, A, axis=-3), ValueError, r"axis .*shape \(2, 3\), got -3"),
    (lambda: kl_penalty(A, L[0]), ValueError, r"reference_logits .*\(2, 3\), got \(3,\)"),
    (lambda: entropy_bonus(A.astype(int)), TypeError, "logits must be .*got dtype int64"),
    (lambda: entropy_bonus(A.tolist()), TypeError, "logits must be .*got list"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[r[2] for r in REFUSED])
def test_a_mistake_is_refused_by_its_name(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_jax_takes_numpy_arrays_as_its_own() -> None:
    got = gate(jnp.array(L), A, mask=np.ones_like(A))
    assert isinstance(got, jax.Array)
    np.testing.assert_allclose(got, gate(L, A), rtol=1e-6)


def test_wider_and_narrower_floats_mix(lib: Any) -> None:
    got = gate(lib.array(L, "float16"), lib.array(A, "float32"))
    np.testing.assert_allclose(lib.numpy(got), gate(L, A), rtol=1e-6)


@pytest.mark.parametrize("name", ["log_prob", "advantage", *OPTIONAL])
@pytest.mark.parametrize("method", ["dg", "ppo"])
def test_values_are_not_looked_at_under_jit(batch: dict[str, Any], method: str, name: str) -> None:
    # Only the one argument is traced; the rest are constants of the compiled function.
    arrays = {key: jnp.array(array) for key, array in batch.items()}
    for function in (score_weight, policy_loss):
        jax.jit(lambda value, f=function: f(**{**arrays, name: value}, method=method))(
            jnp.full((3, 4), NAN)
        )


@pytest.mark.parametrize("name", ["log_prob", "advantage", *OPTIONAL])
@pytest.mark.parametrize("vmap", [jax.vmap, torch.func.vmap], ids=["jax", "torch"])
def test_values_are_not_looked_at_under_vmap_over_one_argument(
    vmap: Callable[..., Any], batch: dict[str, Any], name: str
) -> None:
    make = jnp.array if vmap is jax.vmap else torch.tensor
    arrays = {key: make(array) for key, array in batch.items()}
    many = make(np.stack([batch[name], np.full(MASK.shape, NAN)]))
    for function in (score_weight, policy_loss):
        vmap(lambda value, f=function: f(**{**arrays, name: value}))(many)


def test_values_are_not_looked_at_where_only_the_mode_is_traced() -> None:
    log_prob, mode = jnp.array([-1.0, -1.0]), jnp.array([0.0, NAN])
    got = jax.jit(lambda mode: surprisal(log_prob, mode_log_prob=mode))(mode)
    np.testing.assert_array_equal(got, [1, NAN])


def test_values_are_not_looked_at_under_torch_compile_nor_functorch() -> None:
    U, log_prob = torch.tensor([[NAN, 1.0]]), torch.tensor([[-1.0, -1.0]])
    assert torch.func.vmap(gate)(log_prob, U)[0, 0].isnan()
    assert torch.func.grad(policy_loss)(log_prob, U).isnan().any()
    torch.compiler.reset()
    compiled = torch.compile(policy_loss, backend="aot_eager", fullgraph=True)
    assert compiled(log_prob, U).isnan()


def test_shapes_and_dtypes_are_checked_under_jit_too() -> None:
    with pytest.raises(ValueError, match="advantage must have log_prob's shape"):
        jax.jit(gate)(L, A.T)
    with pytest.raises(TypeError, match="advantage must be a real floating-point"):
        jax.jit(gate)(L, A.astype(int))
