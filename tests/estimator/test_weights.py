"""Every score weight against an independent formula, and the specs that name them."""

from typing import Any

import numpy as np
import pytest
import scipy.special
import torch

from delightful import METHODS, method, policy_loss, score_weight
from delightful.registry import parse_method
from delightful.weights import canonical_method

MASK = np.array([[True, True, False, True], [False, True, True, True], [True, False, True, True]])


@pytest.fixture
def batch(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Advantages, log-probabilities and the old ones: some ratios clipped, some not."""
    log_prob = -rng.exponential(size=MASK.shape)
    drawn = rng.normal(size=MASK.shape), log_prob, log_prob + 0.3 * rng.normal(size=MASK.shape)
    return tuple(a.astype("float32").astype("float64") for a in drawn)


def weights(lib: Any, name: str, U: Any, log_prob: Any, **options: Any) -> Any:
    """The weights of `name`; arrays among the options are converted too."""
    options = {
        key: lib.array(value, "bool" if key == "mask" else "float32")
        if isinstance(value, np.ndarray)
        else value
        for key, value in options.items()
    }
    return lib.numpy(score_weight(lib.array(log_prob), lib.array(U), method=name, **options))


def same(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6)


def clipped_surrogate_gradient(U: Any, log_prob: Any, old: Any, clip: float) -> Any:
    """d/d(log π) of the PPO objective itself, by automatic differentiation."""
    U, log_prob, old = (torch.tensor(a) for a in (U, log_prob, old))
    ratio = torch.exp(log_prob.requires_grad_() - old)
    objective = torch.minimum(ratio * U, torch.clip(ratio, 1 - clip, 1 + clip) * U).sum()
    return torch.autograd.grad(objective, log_prob)[0].numpy()


def standardised(U: Any, mask: Any, axis: int | None) -> Any:
    kept = np.ma.array(U, mask=~mask)
    centre, spread = (f(axis=axis, keepdims=True) for f in (kept.mean, kept.std))
    return np.where(mask, (U - np.ma.filled(centre, 0)) / (np.ma.filled(spread, 0) + 1e-8), 0)


def test_pg_weighs_by_advantage(lib: Any, batch: Any) -> None:
    U, log_prob, _ = batch
    same(weights(lib, "pg", U, log_prob, mask=MASK), np.where(MASK, U, 0))


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.7])
def test_dg_weighs_by_gated_advantage(lib: Any, batch: Any, temperature: float) -> None:
    U, log_prob, _ = batch
    expected = scipy.special.expit(-U * log_prob / temperature) * U
    same(weights(lib, "dg", U, log_prob, temperature=temperature), expected)


def test_ce_weighs_successes_by_how_rare_they_are(lib: Any, batch: Any) -> None:
    U, log_prob, _ = batch
    same(weights(lib, "ce", U, log_prob), np.where(U > 0, np.exp(-log_prob), 0))


@pytest.mark.parametrize("clip", [0.05, 0.2])
def test_ppo_weighs_by_the_gradient_of_the_clipped_surrogate(
    lib: Any, batch: Any, clip: float
) -> None:
    U, log_prob, old = batch
    expected = clipped_surrogate_gradient(U, log_prob, old, clip)
    assert 0 < np.count_nonzero(expected) < expected.size  # else the clip was not put to the test
    same(weights(lib, "ppo", U, log_prob, old_log_prob=old, clip=clip), expected)


def test_ppo_with_a_dual_clip_ignores_ratios_beyond_it_where_the_advantage_is_negative(
    lib: Any, batch: Any
) -> None:
    U, log_prob, old = batch
    ratio = np.exp(log_prob - old)
    plain = clipped_surrogate_gradient(U, log_prob, old, 0.2)
    beyond = (U < 0) & (ratio > 1.1)
    assert np.any(beyond & (plain != 0))
    expected = np.where(beyond, 0, plain)
    same(weights(lib, "ppo", U, log_prob, old_log_prob=old, max_ratio=1.1), expected)


def test_ppo_is_0_where_nothing_was_gained_however_large_the_ratio(lib: Any) -> None:
    old = np.array([-400.0, -400.0, -1.0])
    found = weights(lib, "ppo", np.array([0.0, -1.0, -1.0]), np.zeros(3), old_log_prob=old)
    assert found[0] == 0
    capped = weights(
        lib, "ppo", np.array([0.0, -1.0, -1.0]), np.zeros(3), old_log_prob=old, max_ratio=3.0
    )
    same(capped, [0.0, 0.0, -np.e])


def test_ppo_without_an_old_policy_is_pg(lib: Any, batch: Any) -> None:
    U, log_prob, _ = batch
    same(weights(lib, "ppo", U, log_prob), U)


@pytest.mark.parametrize("bound", [1.1, 10.0, None])
def test_iwpg_weighs_by_truncated_importance_ratios(lib: Any, batch: Any, bound: Any) -> None:
    U, log_prob, old = batch
    ratio = np.exp(log_prob - old)
    if bound == 1.1:
        assert 0 < np.mean(ratio > bound) < 1
    expected = np.minimum(ratio, np.inf if bound is None else bound) * U
    same(weights(lib, "iwpg", U, log_prob, old_log_prob=old, max_ratio=bound), expected)
    if bound == 10.0:
        same(weights(lib, "iwpg", U, log_prob, old_log_prob=old), expected)


def test_iwpg_without_an_old_policy_is_pg(lib: Any, batch: Any) -> None:
    U, log_prob, _ = batch
    same(weights(lib, "iwpg", U, log_prob, mask=MASK), np.where(MASK, U, 0))
    small = weights(lib, "iwpg", U, log_prob, max_ratio=0.5)
    same(small, U / 2)


def test_iwpg_is_0_where_nothing_was_gained_however_large_the_ratio(lib: Any) -> None:
    old = np.array([-400.0, -400.0])
    found = weights(lib, "iwpg", np.array([0.0, 1.0]), np.zeros(2), old_log_prob=old)
    same(found, [0.0, 10.0])
    free = weights(lib, "iwpg", np.array([0.0, 1.0]), np.zeros(2), old_log_prob=old, max_ratio=None)
    assert free[0] == 0
    assert np.isfinite(free[1])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_grpo_is_ppo_on_advantages_standardised_in_their_group(
    lib: Any, batch: Any, axis: int | None
) -> None:
    U, log_prob, old = batch
    relative = standardised(U, MASK, axis)
    same(weights(lib, "grpo", U, log_prob, mask=MASK, axis=axis), relative)
    expected = clipped_surrogate_gradient(relative, log_prob, old, 0.2)
    got = weights(lib, "grpo", U, log_prob, mask=MASK, axis=axis, old_log_prob=old)
    same(got, expected)


@pytest.mark.parametrize("advantage", [0.0, 0.1, 0.3, 123.4])
def test_grpo_learns_nothing_from_a_group_of_equals(lib: Any, advantage: float) -> None:
    # The mean of equal float32 numbers is rounded; that error must not be blown up to order one.
    got = weights(lib, "grpo", np.full((2, 7), advantage), np.full((2, 7), -1.0), axis=1)
    np.testing.assert_allclose(got, 0, atol=1e-2)


def test_pmpo_loss_weighs_the_means_of_preferred_and_dispreferred(lib: Any, batch: Any) -> None:
    U, log_prob, _ = batch
    U[0, 0] = 0.0  # neither preferred nor dispreferred
    good, bad = MASK & (U > 0), MASK & (U < 0)
    for alpha in (0.5, 0.8, 1.0):
        expected = -alpha * log_prob[good].mean() + (1 - alpha) * log_prob[bad].mean()
        arrays = lib.array(log_prob), lib.array(U)
        mask = lib.array(MASK, "bool")
        got = policy_loss(*arrays, method="pmpo", mask=mask, preference=alpha)
        same(lib.numpy(got), expected)


@pytest.mark.parametrize("sign", [1.0, -1.0, 0.0])
def test_pmpo_takes_a_batch_of_one_sign(lib: Any, sign: float) -> None:
    got = weights(lib, "pmpo", np.full(3, sign), np.full(3, -1.0), preference=0.7)
    same(got, np.full(3, {1.0: 0.7, -1.0: -0.3, 0.0: 0.0}[sign]))


def test_awr_weighs_by_capped_exponential_advantage(lib: Any, batch: Any) -> None:
    U, log_prob, _ = batch
    U[0, 0], U[1, 1] = 500.0, -500.0  # exp overflows; the cap holds
    expected = np.minimum(np.exp(np.minimum(U / 0.5, 50)), 5)
    same(weights(lib, "awr", U, log_prob, temperature=0.5, max_weight=5.0), expected)
    assert weights(lib, "awr", U, log_prob).max() == pytest.approx(20)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_mpo_weighs_by_softmax_of_advantage_within_its_context(
    lib: Any, batch: Any, axis: int | None
) -> None:
    U, log_prob, _ = batch
    n = U.size if axis is None else U.shape[axis]
    expected = n * scipy.special.softmax(U / 0.7, axis=axis)
    same(weights(lib, "mpo", U, log_prob, axis=axis, temperature=0.7), expected)
    n = np.sum(MASK, axis=axis, keepdims=True)
    expected = n * scipy.special.softmax(np.where(MASK, U / 0.7, -np.inf), axis=axis)
    got = weights(lib, "mpo", U, log_prob, axis=axis, temperature=0.7, mask=MASK)
    same(got, expected)


def test_mpo_takes_a_context_that_is_wholly_masked_out(lib: Any, batch: Any) -> None:
    U, log_prob, _ = batch
    mask = MASK & np.array([[True], [False], [True]])
    got = weights(lib, "mpo", U, log_prob, axis=1, mask=mask)
    same(got[1], 0)
    same(got.sum(axis=1), [3, 0, 3])


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_additive_gates_on_a_mixture_of_advantage_and_surprisal(
    lib: Any, batch: Any, alpha: float
) -> None:
    U, log_prob, _ = batch
    expected = scipy.special.expit(((1 - alpha) * U - alpha * log_prob) / 0.6) * U
    same(weights(lib, "additive", U, log_prob, alpha=alpha, temperature=0.6), expected)


def test_additive_without_surprisal_takes_an_impossible_action() -> None:
    got = score_weight(
        np.array([-np.inf, -np.inf]), np.array([1.0, -1.0]), method="additive", alpha=0.0
    )
    same(got, scipy.special.expit([1.0, -1.0]) * [1, -1])


@pytest.mark.parametrize("beta", [0.0, 0.5, 2.0])
def test_exponent_gates_on_a_power_of_surprisal(lib: Any, batch: Any, beta: float) -> None:
    U, log_prob, _ = batch
    log_prob[0, 0], log_prob[1, 1] = (
        0.0,
        1.5,
    )  # certain; a density above 1
    ell = -log_prob
    power = np.where(ell < 0, -1, 1) * np.abs(ell) ** beta
    expected = scipy.special.expit(U * power / 0.6) * U
    same(weights(lib, "exponent", U, log_prob, beta=beta, temperature=0.6), expected)


def test_exponent_one_is_dg_and_exponent_zero_sees_no_surprisal(lib: Any, batch: Any) -> None:
    U, log_prob, _ = batch
    dg = weights(lib, "dg", U, log_prob, temperature=0.4)
    same(weights(lib, "exponent", U, log_prob, beta=1.0, temperature=0.4), dg)
    blind = scipy.special.expit(U / 0.4) * U
    same(weights(lib, "exponent", U, log_prob, beta=0.0, temperature=0.4), blind)


@pytest.mark.parametrize("name", METHODS)
def test_weight_is_zero_where_masked_out_and_blind_to_what_is_there(
    lib: Any, batch: Any, name: str
) -> None:
    U, log_prob, _ = batch
    got = weights(lib, name, U, log_prob, mask=MASK)
    assert not got[~MASK].any()
    other = np.where(MASK, U, 9.0), np.where(MASK, log_prob, -9.0)
    np.testing.assert_array_equal(got, weights(lib, name, *other, mask=MASK))


@pytest.mark.parametrize("name", METHODS)
def test_only_batchwise_methods_compare_samples(batch: Any, name: str) -> None:
    U, log_prob, _ = batch
    together = score_weight(log_prob.ravel(), U.ravel(), method=name)
    pairs = zip(log_prob.reshape(-1, 1), U.reshape(-1, 1), strict=True)
    alone = np.concatenate([score_weight(*pair, method=name) for pair in pairs])
    assert np.allclose(alone, together) != METHODS[name].batchwise


@pytest.mark.parametrize(
    ("spec", "name", "changed"),
    [
        ("pg", "pg", {}),
        ("dg", "dg", {}),
        ("dg:", "dg", {}),
        ("dg:temperature=0.5", "dg", {"temperature": 0.5}),
        ("dg:temperature=inf", "dg", {"temperature": np.inf}),
        ("dg:level=sequence,max_surprisal=10", "dg", {"level": "sequence", "max_surprisal": 10.0}),
        ("awr:max_weight=1e3", "awr", {"max_weight": 1000.0}),
    ],
)
def test_spec_names_a_method_and_changes_its_defaults(
    spec: str, name: str, changed: dict[str, Any]
) -> None:
    method, options = parse_method(spec)
    assert method is METHODS[name]
    assert options == {**method.defaults, **changed}


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("dg:", "dg"),
        ("dg:temperature=1,level=token", "dg"),
        ("dg:level=sequence,temperature=.50", "dg:temperature=0.5,level=sequence"),
    ],
)
def test_a_spec_has_one_spelling(spec: str, canonical: str) -> None:
    assert canonical_method(spec) == canonical_method(canonical) == canonical


@pytest.mark.parametrize("spec", ["pg", "dg:whiten=scale,level=sequence", "ppo:clip=0.1", "mpo"])
def test_options_of_a_spec_are_options_of_the_weight(batch: Any, spec: str) -> None:
    method, options = parse_method(spec)
    assert np.isfinite(score_weight(*batch[1::-1], method=method.name, **options)).all()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("dgg", "method must be one of pg, dg, .*got 'dgg'"),
        ("", "method must be one of pg, dg, .*got ''"),
        ("dg:heat=1", "dg takes temperature, level, max_surprisal, whiten, unit_gain, got 'heat'"),
        ("pg:temperature=1", "pg takes no options, got 'temperature'"),
        ("dg:temperature", "'temperature' must read temperature=value"),
        ("dg:temperature=", "'temperature=' must read temperature=value"),
    ],
)
def test_a_spec_that_cannot_be_read_is_refused_by_name(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_method(spec)


def test_a_registered_name_is_not_taken_over() -> None:
    with pytest.raises(ValueError, match="method 'dg' is registered already"):
        method("dg", "Mine")(lambda batch: batch.advantage)
