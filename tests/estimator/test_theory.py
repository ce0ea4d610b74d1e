"""The closed forms of theory.py against enumeration, mpmath, optimisers and Monte Carlo."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, optimize

from delightful import gate, theory

mp = mpmath.MPContext()  # our own digits, whatever other tests set
mp.dps = 60

ETAS = st.floats(0.05, 20)
SHARES = st.floats(1e-6, 1 - 1e-6)
CHECKED = settings(max_examples=60, deadline=None, derandomize=True)


def mp_gate(advantage, probability, eta):
    """σ(U·ℓ/η) from its definition, in 60 digits."""
    delight = mp.mpf(advantage) * -mp.log(mp.mpf(probability))
    return 1 / (1 + mp.exp(-delight / mp.mpf(eta)))


def mp_cos2(c, a):
    """cos²(Σ c_n v_n, Σ v_n) for orthogonal v_n of squared norms a, in 60 digits."""
    a = [mp.mpf(x) for x in a]
    dot = mp.fsum(x * y for x, y in zip(c, a, strict=True))
    return dot**2 / (mp.fsum(x**2 * y for x, y in zip(c, a, strict=True)) * mp.fsum(a))


def mp_path(p, t, eta):
    return [mp.mpf(x) * mp_gate(1, x, eta) ** t for x in p]


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def z_score(sample, expected):
    return (sample.mean() - expected) / (sample.std() / math.sqrt(sample.size))


# Appendix A


@pytest.mark.parametrize("eta", [0.2, 1.0, 7.0])
@pytest.mark.parametrize("delight", [-3.0, -0.4, 0.0, 1.0])
def test_gate_objective_is_largest_at_the_sigmoid_and_reaches_the_potential(delight, eta):
    best = optimize.minimize_scalar(
        lambda w: -theory.gate_objective(w, delight, eta),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert best.x == pytest.approx(1 / (1 + math.exp(-delight / eta)), abs=1e-6)
    assert -best.fun == pytest.approx(theory.softplus_potential(delight, eta), abs=1e-12)


@CHECKED
@given(st.floats(0, 1), st.floats(-50, 50), ETAS)
def test_gate_objective_equals_its_definition_and_never_exceeds_the_potential(w, delight, eta):
    entropy = mp.fsum(-x * mp.log(x) for x in (mp.mpf(w), 1 - mp.mpf(w)) if x > 0)
    value = theory.gate_objective(w, delight, eta)
    assert value == pytest.approx(float(mp.mpf(delight) * w + eta * entropy), abs=1e-11)
    assert value <= theory.softplus_potential(delight, eta) + 1e-11


@pytest.mark.parametrize("delight", [-2000.0, -3.0, 0.0, 5.0, 2000.0])
def test_softplus_potential_is_eta_log_one_plus_exp(delight):
    exact = mp.mpf("0.7") * mp.log(1 + mp.exp(mp.mpf(delight) / mp.mpf("0.7")))
    assert theory.softplus_potential(delight, 0.7) == pytest.approx(float(exact), rel=1e-13)


# The symmetric bandit


@CHECKED
@given(st.integers(3, 300), SHARES, st.floats(0.01, 0.99), ETAS)
def test_symmetric_gates_and_ratio_follow_from_the_gate_of_each_action(K, error, b, eta):
    plus, minus = mp_gate(1 - b, 1 - mp.mpf(error), eta), mp_gate(-b, mp.mpf(error) / (K - 1), eta)
    assert theory.symmetric_gates(K, error, b, eta) == pytest.approx((float(plus), float(minus)))
    scale = (1 - mp.mpf(b)) * plus + b * minus
    assert theory.direction_scale(float(plus), float(minus), b) == pytest.approx(float(scale))
    ratio = theory.cosine_gap_ratio(K, error, b, eta)
    assert ratio == pytest.approx(float((minus / scale) ** 2), rel=1e-9)
    assert ratio < 1


@CHECKED
@given(st.integers(3, 10**6), SHARES)
def test_the_gate_and_the_ratio_keep_below_the_bounds_of_section_4(K, error):
    assert theory.symmetric_gates(K, error)[1] <= math.sqrt(error / (K - 1))
    assert theory.cosine_gap_bound(K, error) == pytest.approx(16 * error / (K - 1))
    assert theory.cosine_gap_ratio(K, error) <= theory.cosine_gap_bound(K, error)


@pytest.mark.parametrize(("error", "percent"), [(0.5, 4), (0.1, 1)])
def test_dg_keeps_the_papers_percentage_of_the_cosine_gap(error, percent):
    assert round(100 * theory.cosine_gap_ratio(100, error)) == percent


@pytest.mark.parametrize(("K", "error", "b", "eta"), [(3, 0.9, 0.2, 0.5), (8, 0.3, 0.7, 2.0)])
def test_direction_and_variance_of_proposition_1_by_enumeration(K, error, b, eta):
    policy = [1 - error] + [error / (K - 1)] * (K - 1)
    assert theory.symmetric_policy(K, error) == pytest.approx(policy)
    phi = np.eye(K) - policy
    basis = linalg.null_space(phi[:1]).T  # of the space orthogonal to ∇J
    mean, pg, dg = np.zeros(K), 0.0, 0.0
    for action in range(K):
        U = (action == 0) - b
        w = float(mp_gate(U, policy[action], eta))
        mean += policy[action] * w * U * phi[action]
        pg += policy[action] * np.sum((basis @ (U * phi[action])) ** 2)
        dg += policy[action] * np.sum((basis @ (w * U * phi[action])) ** 2)
    plus, minus = theory.symmetric_gates(K, error, b, eta)
    assert mean == pytest.approx(theory.direction_scale(plus, minus, b) * (1 - error) * phi[0])
    assert theory.symmetric_perpendicular_variance(K, error, b) == pytest.approx(pg)
    assert minus**2 * pg == pytest.approx(dg)


def test_cosine_gap_of_a_batch_agrees_with_sampled_batches():
    K, error, batch, b = 10, 0.4, 4000, 0.3
    policy = theory.symmetric_policy(K, error)
    phi = np.eye(K) - policy
    counts = np.random.default_rng(0).multinomial(batch, policy, 20_000)
    g = (counts * (np.eye(K)[0] - b)) @ phi
    gap = 1 - g @ phi[0] / np.linalg.norm(g, axis=1) / np.linalg.norm(phi[0])
    # The next order in 1/B is below one standard error.
    assert abs(z_score(gap, theory.symmetric_cosine_gap(K, error, batch, b))) < 4


# Any policy


def test_scores_are_the_gradients_of_log_softmax():
    z, h = np.array([0.3, -1.2, 2.0, 0.0]), 1e-6
    log_prob = [np.log(softmax(z + h * e)) - np.log(softmax(z - h * e)) for e in np.eye(4)]
    assert theory.scores(softmax(z)) == pytest.approx(np.stack(log_prob, 1) / (2 * h), abs=1e-8)


def test_expected_gradient_of_the_reward_is_the_derivative_of_its_mean():
    z, reward, h = np.array([0.3, -1.2, 2.0, 0.0]), np.array([1.0, 0.2, -0.5, 3.0]), 1e-6
    slope = [(softmax(z + h * e) - softmax(z - h * e)) @ reward / (2 * h) for e in np.eye(4)]
    assert theory.expected_gradient(softmax(z), reward) == pytest.approx(np.array(slope), abs=1e-8)


def test_perpendicular_variance_agrees_with_sampled_gradients():
    policy, weight = np.array([0.2, 0.5, 0.25, 0.05]), np.array([0.7, -0.1, -0.6, -2.0])
    actions = np.random.default_rng(0).choice(4, 200_000, p=policy)
    phi = np.eye(4) - policy
    basis = linalg.null_space(phi[:1])
    squares = np.sum(((weight[:, None] * phi)[actions] @ basis) ** 2, axis=1)
    assert abs(z_score(squares, theory.perpendicular_variance(policy, weight))) < 4


@CHECKED
@given(st.lists(st.floats(-8, 8), min_size=3, max_size=12), st.floats(0.01, 0.99), ETAS)
def test_the_gate_of_a_wrong_action_keeps_below_the_tail_bound(logits, b, eta):
    policy = softmax(np.array(logits))
    w = gate(np.log(policy), np.full(policy.size, -b), temperature=eta)
    bound = theory.tail_bound(policy, b, eta)
    assert bound == pytest.approx(np.exp(b / eta * np.log(policy)))
    assert np.all(w <= bound * (1 + 1e-12))


@CHECKED
@given(st.lists(st.floats(-6, 6), min_size=2, max_size=8))
def test_softmax_lipschitz_bounds_the_hessian(logits):
    def correct(z):
        return torch.softmax(z, 0)[0]

    z = torch.tensor(logits, dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(correct, z).numpy()
    assert np.abs(np.linalg.eigvalsh(hessian)).max() <= theory.SOFTMAX_LIPSCHITZ


@CHECKED
@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(0.001, 3))
def test_a_normalised_step_gains_at_least_the_progress_bound(seed, K, step):
    rng = np.random.default_rng(seed)
    z, g = 3 * rng.normal(size=K), rng.normal(size=K)
    g /= np.linalg.norm(g)
    gradient = softmax(z)[0] * (np.eye(K)[0] - softmax(z))
    norm = np.linalg.norm(gradient)
    bound = theory.progress_bound(norm, g @ gradient / norm, step, theory.SOFTMAX_LIPSCHITZ)
    assert bound == pytest.approx(step * g @ gradient - 0.25 * step**2)
    assert softmax(z + step * g)[0] - softmax(z)[0] >= bound - 1e-15


# Many contexts


def _contexts(seed, N):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.01, 0.99, N), 10 ** rng.uniform(-1, 1, N)


@CHECKED
@given(SHARES, ETAS, st.floats(0, 1))
def test_weights_along_the_path_from_pg_to_dg_are_p_times_a_power_of_the_gate(p, eta, t):
    assert theory.dg_weight(p, eta) == pytest.approx(float(mp_path([p], 1, eta)[0]), rel=1e-13)
    assert theory.path_weight(p, t, eta) == pytest.approx(float(mp_path([p], t, eta)[0]), rel=1e-13)
    assert theory.path_weight(p, 0.0, eta) == p
    assert theory.path_weight(p, 1.0, eta) == theory.dg_weight(p, eta)


@pytest.mark.parametrize(("eta", "t"), [(4.0, 0.0), (1.0, 0.5), (1.0, 1.0), (0.15, 1.0)])
def test_path_slope_is_the_derivative_of_the_squared_cosine_up_to_its_factor(eta, t):
    slopes = []
    for p, a in [*(_contexts(seed, 4) for seed in range(3)), np.array([[0.999, 0.9], [5, 1]])]:
        c = np.array([float(x) for x in mp_path(p, t, eta)])
        exact = mp.diff(lambda s, p=p, a=a: mp_cos2(mp_path(p, s, eta), a), t)
        factor = 2 * np.sum(c * a) / (np.sum(c**2 * a) ** 2 * np.sum(a))
        slopes.append(theory.path_slope(p, a, t, eta))
        assert factor * slopes[-1] == pytest.approx(float(exact), rel=1e-9)
    assert (min(slopes) > 0) == (eta > 0.5)


def test_context_cosine_is_that_of_the_summed_vectors():
    c, a = np.random.default_rng(0).uniform(0.1, 2, (2, 5))
    v = np.linalg.qr(np.random.default_rng(1).normal(size=(7, 5)))[0] * np.sqrt(a)
    g, oracle = v @ c, v.sum(1)
    cosine = g @ oracle / np.linalg.norm(g) / np.linalg.norm(oracle)
    assert theory.context_cosine(c, a) == pytest.approx(cosine)


@CHECKED
@given(st.integers(0, 10**6), st.integers(2, 30))
def test_context_gap_is_one_minus_the_squared_cosine(seed, N):
    c, a = _contexts(seed, N)
    assert theory.context_gap(c, a) == pytest.approx(
        1 - theory.context_cosine(c, a) ** 2, abs=1e-14
    )


def test_context_gap_keeps_its_digits_near_cosine_one():
    c, a = [0.5, 0.5 + 2.0**-40, 0.5], [1.0, 3.0, 0.2]
    exact = 1 - mp_cos2([mp.mpf(x) for x in c], a)
    assert theory.context_gap(c, a) == pytest.approx(float(exact), rel=1e-12, abs=0)


@CHECKED
@given(SHARES, SHARES, st.floats(1e-3, 1e3), st.floats(0.5001, 50))
def test_proposition_2_dg_is_strictly_closer_to_cross_entropy(p1, p2, ratio, eta):
    if p1 != p2:
        pg, dg = (mp_cos2(mp_path([p1, p2], t, eta), [ratio, 1]) for t in (0, 1))
        assert dg > pg


@pytest.mark.parametrize("N", [2, 5])
def test_lemma_1_directions_are_found_by_constrained_optimisation(N):
    p, a = _contexts(0, N)
    gains = (theory.arithmetic_gain(p, p, a), theory.log_gain(np.ones(N), a))
    for target, gain in zip((p, np.ones(N)), gains, strict=True):
        best = optimize.minimize(
            lambda c, target=target: -np.sum(c * target * a),
            np.full(N, 0.1),
            constraints={"type": "eq", "fun": lambda c: np.sum(c**2 * a) - 1},
            options={"ftol": 1e-14},
        )
        assert best.x / best.x[0] == pytest.approx(target / target[0], rel=1e-4)
        assert gain == pytest.approx(-best.fun, rel=1e-8)


def test_gains_are_the_derivatives_of_both_objectives_along_a_normalised_step():
    rng = np.random.default_rng(0)
    z, c, h = rng.normal(size=(4, 6)), rng.uniform(0.1, 2, 4), 1e-6
    v = np.eye(6)[0] - softmax(z)
    step = c[:, None] * v / np.linalg.norm(c[:, None] * v)
    p, a = softmax(z)[:, 0], np.sum(v**2, axis=1)
    after, before = softmax(z + h * step)[:, 0], softmax(z - h * step)[:, 0]
    arithmetic, log = np.sum(after - before), np.sum(np.log(after) - np.log(before))
    assert theory.arithmetic_gain(c, p, a) == pytest.approx(arithmetic / (2 * h), rel=1e-7)
    assert theory.log_gain(c, a) == pytest.approx(log / (2 * h), rel=1e-7)


def test_the_counterexample_below_a_quarter_is_one_in_60_digits():
    worse, p, a = theory.direction_counterexample(0.2)
    eta = mp.mpf("0.2")
    pg, dg = (1 - mp_cos2(mp_path(p, t, eta), a) for t in (0, 1))
    assert dg > pg
    assert worse == pytest.approx(float(dg / pg - 1), rel=1e-6)


@pytest.mark.parametrize("eta", [0.26, 0.3, 0.4, 0.5])
def test_no_counterexample_is_found_between_a_quarter_and_a_half(eta):
    assert theory.direction_counterexample(eta)[0] < 1e-12


def test_largest_failing_temperature_is_found_by_bisection():
    assert theory.largest_failing_temperature(lambda eta: eta <= 0.3) == pytest.approx(
        0.3, abs=1e-8
    )
    assert math.isnan(theory.largest_failing_temperature(lambda _: False))
