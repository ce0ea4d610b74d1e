"""Losses: their gradients, reductions, limits, and the same under every transformation."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import torch

from delightful import METHODS, entropy_bonus, kl_penalty, policy_loss, score_weight

INF = np.inf
MASK = np.array([[True, True, False, True], [False, True, True, True], [True, False, True, True]])


@pytest.fixture
def batch(rng: np.random.Generator) -> dict[str, Any]:
    """Every array that `policy_loss` takes."""
    log_prob = -rng.exponential(size=MASK.shape)
    return {
        "log_prob": log_prob,
        "advantage": rng.normal(size=MASK.shape),
        "mask": MASK,
        "old_log_prob": log_prob + 0.3 * rng.normal(size=MASK.shape),
        "mode_log_prob": log_prob + rng.exponential(size=MASK.shape),
        "gate_advantage": rng.normal(size=MASK.shape),
    }


def arrays_of(lib: Any, batch: dict[str, Any]) -> dict[str, Any]:
    return {k: lib.array(v, "bool" if k == "mask" else "float32") for k, v in batch.items()}


def loss_and_gradient(lib: Any, batch: dict[str, Any], **options: Any) -> tuple[Any, Any]:
    arrays = arrays_of(lib, batch)
    log_prob = arrays.pop("log_prob")
    return lib.value_and_gradient(
        lambda log_prob: policy_loss(log_prob, **arrays, **options), lib.numpy(log_prob)
    )


@pytest.mark.parametrize("method", METHODS)
def test_gradient_is_minus_the_weight_over_the_count(
    autodiff: Any, batch: dict[str, Any], method: str
) -> None:
    loss, gradient = loss_and_gradient(autodiff, batch, method=method)
    omega = autodiff.numpy(score_weight(**arrays_of(autodiff, batch), method=method))
    np.testing.assert_allclose(gradient, -omega / MASK.sum(), rtol=1e-6)
    expected = -(omega * batch["log_prob"])[MASK].mean()
    np.testing.assert_allclose(loss, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_torch_and_jax_agree(
    torch_and_jax: tuple[Any, Any], batch: dict[str, Any], method: str
) -> None:
    by_torch, by_jax = (loss_and_gradient(lib, batch, method=method) for lib in torch_and_jax)
    np.testing.assert_allclose(by_torch[0], by_jax[0], atol=1e-6)
    np.testing.assert_allclose(by_torch[1], by_jax[1], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_advantage_gets_no_gradient(batch: dict[str, Any], method: str) -> None:
    U = torch.tensor(batch["advantage"], requires_grad=True)
    log_prob = torch.tensor(batch["log_prob"], requires_grad=True)
    loss = policy_loss(log_prob, U, method=method, gate_advantage=U)
    assert torch.autograd.grad(loss, U, allow_unused=True) == (None,)

    def of_advantage(U: Any) -> Any:
        return policy_loss(jnp.array(batch["log_prob"]), U, method=method, gate_advantage=U)

    assert not np.any(jax.grad(of_advantage)(jnp.array(batch["advantage"])))


def chosen_log_prob(logits: torch.Tensor) -> torch.Tensor:
    actions = torch.arange(logits.shape[0]) % logits.shape[1]
    return torch.log_softmax(logits, -1).gather(1, actions[:, None])[:, 0]


def test_gradients_with_respect_to_logits_pass_gradcheck(rng: np.random.Generator) -> None:
    logits = torch.tensor(rng.normal(size=(4, 3)), requires_grad=True)
    reference, U = torch.tensor(rng.normal(size=(4, 3))), torch.tensor(rng.normal(size=4))
    for function in (
        entropy_bonus,
        lambda logits: kl_penalty(logits, reference),
        lambda logits: policy_loss(chosen_log_prob(logits), U, method="pg"),
    ):
        assert torch.autograd.gradcheck(function, logits)


def test_dg_gradient_is_that_of_the_surrogate_with_its_weight_frozen(
    rng: np.random.Generator,
) -> None:
    logits, U = torch.tensor(rng.normal(size=(4, 3)), requires_grad=True), rng.normal(size=4)
    loss = policy_loss(chosen_log_prob(logits), torch.tensor(U), temperature=0.4)
    (gradient,) = torch.autograd.grad(loss, logits)
    logits = logits.detach()
    omega = score_weight(chosen_log_prob(logits), torch.tensor(U), method="dg", temperature=0.4)
    for index in np.ndindex(4, 3):
        step = torch.zeros(4, 3, dtype=torch.float64)
        step[index] = 1e-5
        up, down = (-(omega * chosen_log_prob(logits + s)).mean() for s in (step, -step))
        assert gradient[index].item() == pytest.approx(((up - down) / 2e-5).item(), abs=1e-9)


def test_reductions_are_over_unmasked_entries(lib: Any, batch: dict[str, Any]) -> None:
    arrays = arrays_of(lib, {k: batch[k] for k in ("log_prob", "advantage", "mask")})
    terms = np.where(MASK, -batch["log_prob"] * batch["advantage"], 0)
    by_sequence = np.array([row[kept].mean() for row, kept in zip(terms, MASK, strict=True)])
    expected = {
        "mean": terms[MASK].mean(),
        "sequence-mean": by_sequence.mean(),
        "sum": terms.sum(),
        "none": terms,
    }
    for reduction, value in expected.items():
        got = policy_loss(**arrays, method="pg", reduction=reduction)
        np.testing.assert_allclose(lib.numpy(got), value, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("reduction", "loss"), [("mean", 1), ("sequence-mean", 1), ("sum", 12)])
def test_reductions_without_a_mask_count_everything(lib: Any, reduction: str, loss: float) -> None:
    log_prob, U = lib.array(-np.ones(MASK.shape)), lib.array(np.ones(len(MASK)))
    assert lib.numpy(policy_loss(log_prob, U, method="pg", reduction=reduction)) == loss


@pytest.mark.parametrize("reduction", ["mean", "sequence-mean", "sum"])
@pytest.mark.parametrize("method", METHODS)
def test_a_wholly_masked_out_batch_is_no_loss_and_no_gradient(
    autodiff: Any, batch: dict[str, Any], method: str, reduction: str
) -> None:
    batch = batch | {"mask": np.zeros_like(MASK)}
    loss, gradient = loss_and_gradient(autodiff, batch, method=method, reduction=reduction)
    assert loss == 0
    assert not gradient.any()


def test_an_empty_batch_is_no_loss(lib: Any) -> None:
    assert lib.numpy(policy_loss(lib.array([]), lib.array([]))) == 0


def test_a_closed_gate_on_an_impossible_action_costs_nothing_in_numpy() -> None:
    loss = policy_loss(np.array([-INF, -1.0]), np.array([-1.0, 0.0]))
    assert loss == 0


@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0])
def test_a_closed_gate_on_an_impossible_action_has_no_loss_nor_gradient(
    autodiff: Any, temperature: float
) -> None:
    U = autodiff.array([-1.0, 1.0, -2.0])
    loss, gradient = autodiff.value_and_gradient(
        lambda log_prob: policy_loss(log_prob, U, temperature=temperature), [-INF, -700.0, -INF]
    )
    np.testing.assert_allclose(loss, 700 / 3, rtol=1e-6)
    np.testing.assert_allclose(gradient, [0, -1 / 3, 0], rtol=1e-6)


def test_an_impossible_action_that_did_well_is_refused(lib: Any) -> None:
    with pytest.raises(ValueError, match="log_prob is -inf where the weight is not 0"):
        policy_loss(lib.array([-INF, -1.0]), lib.array([1.0, 1.0]))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_logits_give_the_exact_gradient(autodiff: Any, sign: float) -> None:
    logits = np.array([[1e4, 0.0, -1e4]] * 3)
    xp = torch if autodiff.name == "torch" else jax.nn

    def loss_of(logits: Any) -> Any:
        log_p = xp.log_softmax(logits, -1)
        chosen = log_p[[0, 1, 2], [0, 1, 2]] if autodiff.name == "torch" else jnp.diagonal(log_p)
        return policy_loss(chosen, autodiff.array([sign] * 3), reduction="sum")

    loss, gradient = autodiff.value_and_gradient(loss_of, logits)
    # Actions 1 and 2 never happen: gated out if they failed, in full if they succeeded. Action 0
    # is certain, so its score is zero. Each row's gradient is ω(p − e_a) with p = (1, 0, 0).
    omega = 0 if sign < 0 else 1
    np.testing.assert_allclose(loss, omega * 3e4)
    expected = omega * np.array([[0, 0, 0], [1, -1, 0], [1, 0, -1]])
    np.testing.assert_allclose(gradient, expected, atol=1e-7)


LOGITS = np.array([[0.3, -1.2, 2.0], [1.0, -INF, 0.5]])
REFERENCE = np.array([[1.0, 0.0, -1.0], [0.2, -INF, 0.1]])


def test_entropy_and_kl_are_scipy_s_also_where_an_action_is_impossible(lib: Any) -> None:
    p, q = scipy.special.softmax(LOGITS, -1), scipy.special.softmax(REFERENCE, -1)
    got = entropy_bonus(lib.array(LOGITS))
    np.testing.assert_allclose(lib.numpy(got), -scipy.special.entr(p).sum(-1).mean(), rtol=1e-6)
    got = kl_penalty(lib.array(LOGITS), lib.array(REFERENCE))
    expected = scipy.special.rel_entr(p, q).sum(-1).mean()
    np.testing.assert_allclose(lib.numpy(got), expected, rtol=1e-5)
    same = kl_penalty(lib.array(LOGITS), lib.array(LOGITS + 3))
    assert abs(lib.numpy(same)) < 1e-6


def test_impossible_actions_leave_entropy_and_kl_gradients_exact(autodiff: Any) -> None:
    p, q = scipy.special.softmax(LOGITS, -1), scipy.special.softmax(REFERENCE, -1)
    _, gradient = autodiff.value_and_gradient(entropy_bonus, LOGITS)
    entropy = scipy.special.entr(p).sum(-1, keepdims=True)
    np.testing.assert_allclose(gradient, (p * entropy - scipy.special.entr(p)) / 2, atol=1e-6)
    reference = autodiff.array(REFERENCE)
    _, gradient = autodiff.value_and_gradient(lambda x: kl_penalty(x, reference), LOGITS)
    kl = scipy.special.rel_entr(p, q)
    np.testing.assert_allclose(gradient, (kl - p * kl.sum(-1, keepdims=True)) / 2, atol=1e-6)


def test_the_reference_of_a_kl_penalty_carries_no_gradient() -> None:
    logits, reference = (torch.randn(2, 3, requires_grad=True) for _ in range(2))
    loss = kl_penalty(logits, reference)
    assert torch.autograd.grad(loss, reference, allow_unused=True) == (None,)
    assert not np.any(jax.grad(kl_penalty, argnums=1)(jnp.array(REFERENCE), jnp.zeros((2, 3))))


@pytest.mark.parametrize("method", METHODS)
def test_jit_changes_nothing(batch: dict[str, Any], method: str) -> None:
    arrays = {k: jnp.array(v) for k, v in batch.items()}
    jitted = jax.jit(lambda arrays: policy_loss(**arrays, method=method))(arrays)
    np.testing.assert_allclose(jitted, policy_loss(**arrays, method=method), atol=1e-6)


def each(function: Callable[..., Any], batch: dict[str, Any]) -> list[Any]:
    """`function` of each row of the batch in turn."""
    return [function({k: v[i] for k, v in batch.items()}) for i in range(len(MASK))]


@pytest.mark.parametrize("method", METHODS)
def test_vmap_is_a_loop_over_rows(batch: dict[str, Any], method: str) -> None:
    def of_row(row: dict[str, Any]) -> Any:
        return policy_loss(**row, method=method)

    jaxes = {k: jnp.array(v) for k, v in batch.items()}
    np.testing.assert_allclose(jax.vmap(of_row)(jaxes), each(of_row, jaxes), atol=1e-6)
    torches = {k: torch.tensor(v) for k, v in batch.items()}
    np.testing.assert_allclose(torch.func.vmap(of_row)(torches), each(of_row, torches), atol=1e-6)


def test_temperatures_are_swept_by_vmap(autodiff: Any, batch: dict[str, Any]) -> None:
    log_prob, U = (autodiff.array(batch[k]) for k in ("log_prob", "advantage"))
    etas = [0.0, 0.5, INF]

    def at(eta: Any) -> Any:
        return policy_loss(log_prob, U, temperature=eta)

    vmap = torch.func.vmap if autodiff.name == "torch" else jax.vmap
    got = vmap(at)(autodiff.array(etas))
    np.testing.assert_allclose(got, [at(eta) for eta in etas], rtol=1e-5, atol=1e-7)


def test_torch_func_gradients_per_row_are_those_of_autograd(batch: dict[str, Any]) -> None:
    log_prob, U = (torch.tensor(batch[k]) for k in ("log_prob", "advantage"))
    per_row = torch.func.vmap(torch.func.grad(policy_loss))(log_prob, U)
    loss = policy_loss(log_prob.requires_grad_(), U)
    np.testing.assert_allclose(per_row / 3, torch.autograd.grad(loss, log_prob)[0], atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_torch_compile_makes_one_graph_and_changes_nothing(
    batch: dict[str, Any], method: str
) -> None:
    arrays = {k: torch.tensor(v) for k, v in batch.items() if k != "log_prob"}

    def gradient_by(loss_of: Callable[..., Any]) -> tuple[Any, Any]:
        log_prob = torch.tensor(batch["log_prob"], requires_grad=True)
        loss = loss_of(log_prob, **arrays, method=method)
        return loss.detach(), torch.autograd.grad(loss, log_prob)[0]

    torch.compiler.reset()
    # The default backend agrees too, but takes a C++ compiler and fifteen seconds.
    compiled = torch.compile(policy_loss, backend="aot_eager", fullgraph=True)
    for got, expected in zip(gradient_by(compiled), gradient_by(policy_loss), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_a_spec_names_a_method_with_its_options(lib: Any) -> None:
    U, log_prob = lib.array([0.5, -1.0]), lib.array([-1.0, -2.0])
    for function in (policy_loss, score_weight):
        named = function(log_prob, U, method="dg:temperature=0.5,unit_gain=true")
        given = function(log_prob, U, temperature=0.5, unit_gain=True)
        np.testing.assert_array_equal(lib.numpy(named), lib.numpy(given))
    with pytest.raises(TypeError, match="temperature is given twice"):
        policy_loss(log_prob, U, method="dg:temperature=0.5", temperature=1.0)
    with pytest.raises(ValueError, match="unit_gain must be true or false, got 'yes'"):
        policy_loss(log_prob, U, method="dg:unit_gain=yes")
