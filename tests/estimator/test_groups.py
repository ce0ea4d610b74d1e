"""GRPO and MPO compare samples of one context, and a sample is a whole sequence if it has one U."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import delightful as dg

ADVANTAGE = np.array([[1.0, 0.0, 0.0]])
MASK = np.array([[[1, 1], [1, 0], [1, 0]]])
LOG_PROB = np.full((1, 3, 2), -1.0)


@pytest.mark.parametrize("convert", [np.asarray, torch.tensor, jnp.asarray])
@pytest.mark.parametrize("axis", [1, -2, None])
def test_a_long_sequence_counts_once_in_its_group(convert, axis) -> None:
    arrays = [convert(a) for a in (LOG_PROB, ADVANTAGE)]
    omega = np.asarray(dg.score_weight(*arrays, method="grpo", mask=convert(MASK), axis=axis))
    z = (ADVANTAGE[0] - 1 / 3) / np.std(ADVANTAGE)
    assert omega[0] == pytest.approx(z[:, None] * MASK[0], abs=1e-6)
    omega = np.asarray(dg.score_weight(*arrays, method="mpo", mask=convert(MASK), axis=axis))
    share = 3 * np.exp(ADVANTAGE[0]) / np.exp(ADVANTAGE[0]).sum()
    assert omega[0] == pytest.approx(share[:, None] * MASK[0], abs=1e-6)


def test_a_wholly_masked_sequence_is_no_sample() -> None:
    mask = np.array([[[1, 1], [1, 0], [0, 0]]])
    advantage = np.array([[1.0, 0.0, np.nan]])
    omega = dg.score_weight(LOG_PROB, advantage, method="grpo", mask=mask, axis=1)
    assert omega[0] == pytest.approx(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, 0.0]]), abs=1e-6)


def test_the_token_axis_is_no_group_of_sequences() -> None:
    with pytest.raises(ValueError, match="one value per sequence"):
        dg.score_weight(LOG_PROB, ADVANTAGE, method="mpo", axis=-1)


@pytest.mark.parametrize("method", ["additive", "exponent", "dg"])
def test_every_gate_sees_the_gate_advantage(method) -> None:
    U, log_prob = np.array([1.0, -1.0]), np.array([-1.0, -2.0])
    plain = dg.score_weight(log_prob, U, method=method)
    other = dg.score_weight(log_prob, U, method=method, gate_advantage=5 * U)
    assert not np.allclose(plain, other)


@pytest.mark.parametrize("temperature", [np.array(-1.0), np.float32(-1), np.array([1.0, np.nan])])
def test_a_senseless_temperature_is_refused_whatever_its_kind(temperature) -> None:
    with pytest.raises(ValueError, match="temperature must be >= 0"):
        dg.gate(-np.ones(2), np.ones(2), temperature=temperature)


@pytest.mark.parametrize("temperature", [None, "1"])
def test_a_temperature_that_is_no_number_is_refused(temperature) -> None:
    with pytest.raises(TypeError, match="temperature must be a number"):
        dg.gate(-np.ones(2), np.ones(2), temperature=temperature)


def test_a_temperature_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="temperature must be one number"):
        dg.gate(-np.ones(2), np.ones(2), temperature=np.ones((3, 1)))


@pytest.mark.parametrize("convert", [np.asarray, torch.tensor, jnp.asarray])
def test_entropy_and_kl_leave_out_what_is_masked(convert) -> None:
    logits = np.random.default_rng(0).normal(size=(2, 3, 4))
    padded = np.where(np.arange(3)[:, None] < 2, logits, np.nan)
    mask = convert(np.broadcast_to(np.arange(3) < 2, (2, 3)).copy())
    kept = convert(logits[:, :2])
    got = dg.entropy_bonus(convert(padded), mask=mask)
    assert float(got) == pytest.approx(float(dg.entropy_bonus(kept)), rel=1e-6)
    got = dg.kl_penalty(convert(padded), convert(padded[::-1].copy()), mask=mask)
    other = convert(logits[::-1, :2].copy())
    assert float(got) == pytest.approx(float(dg.kl_penalty(kept, other)), rel=1e-6)


@pytest.mark.parametrize("logits", [[np.nan, 0.0], [np.inf, 0.0], [-np.inf, -np.inf]])
def test_logits_that_are_no_policy_are_refused(logits) -> None:
    with pytest.raises(ValueError, match="logits must be finite"):
        dg.entropy_bonus(np.array([logits]))


def test_meta_tensors_have_a_shape_and_no_value() -> None:
    loss = dg.policy_loss(torch.ones(3, device="meta"), torch.ones(3, device="meta"))
    assert loss.shape == ()
