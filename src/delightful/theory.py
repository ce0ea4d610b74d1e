"""Closed forms of the paper's propositions and lemmas (Section 4, Appendices A and C).

Plain NumPy in float64. Notation: a K-armed bandit with correct action y*, baseline b, policy π
(ε = 1 − π(y*)), score φ(a) = e_a − π; or N contexts with success probabilities `p` and orthogonal
score vectors v_n of squared norms `a`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def _sigmoid(x: ArrayLike) -> Any:
    t = np.exp(-np.abs(np.asarray(x, dtype=float)))
    return np.where(np.asarray(x) >= 0, 1.0, t) / (1.0 + t)


# The gate as the solution of a small optimisation problem (Appendix A)


def gate_objective(w: ArrayLike, delight: ArrayLike, temperature: float) -> Any:
    """χw + ηH(w), the entropy-regularised value of opening the gate to w.

    Args:
        w: gates in [0, 1].
        delight: χ, of w's shape or one that broadcasts with it.
        temperature: η.

    Returns:
        The value at each w.
    """
    w = np.asarray(w, dtype=float)
    inner = (w > 0) & (w < 1)
    safe = np.where(inner, w, 0.5)
    entropy = np.where(inner, -safe * np.log(safe) - (1 - safe) * np.log(1 - safe), 0.0)
    return np.asarray(delight) * w + temperature * entropy


def softplus_potential(delight: ArrayLike, temperature: float) -> Any:
    """Ψ_η(χ) = η log(1 + exp(χ/η)), the maximum of `gate_objective` over w.

    Args:
        delight: χ.
        temperature: η > 0.

    Returns:
        Ψ_η, in χ's shape.
    """
    return temperature * np.logaddexp(0.0, np.asarray(delight) / temperature)


# One context: the symmetric bandit (Section 4.1, Proposition 1)


def symmetric_policy(K: int, error: float) -> Floats:
    """π(y*) = 1 − ε and π(a) = ε/(K−1) otherwise; y* is action 0.

    Args:
        K: number of actions.
        error: ε.

    Returns:
        π, of length K.
    """
    return np.concatenate([[1 - error], np.full(K - 1, error / (K - 1))])


def symmetric_gates(
    K: ArrayLike, error: ArrayLike, baseline: ArrayLike = 0.5, temperature: ArrayLike = 1.0
) -> tuple[Any, Any]:
    """w₊ = σ(−(1−b)log(1−ε)/η) and w₋ = σ(−b·log((K−1)/ε)/η) (footnote, Section 4.1).

    Args:
        K: number of actions.
        error: ε.
        baseline: b.
        temperature: η > 0.

    Returns:
        (w₊, w₋): the gate on the correct and on any incorrect action.
    """
    K, error, b = np.asarray(K, float), np.asarray(error, float), np.asarray(baseline, float)
    plus = _sigmoid(-(1 - b) * np.log1p(-error) / temperature)
    minus = _sigmoid(-b * np.log((K - 1) / error) / temperature)
    return plus, minus


def direction_scale(plus: ArrayLike, minus: ArrayLike, baseline: ArrayLike = 0.5) -> Any:
    """s = (1−b)w₊ + b·w₋, with E[g_DG] = s·g*_PG (Proposition 1(i)).

    Args:
        plus: w₊, the gate on the correct action.
        minus: w₋, the gate on an incorrect one.
        baseline: b.

    Returns:
        s, DG's expected step as a multiple of PG's.
    """
    b = np.asarray(baseline, float)
    return (1 - b) * np.asarray(plus) + b * np.asarray(minus)


def symmetric_perpendicular_variance(K: int, error: float, baseline: float = 0.5) -> float:
    """Var⊥(g_PG) = ε b² (K−2)/(K−1); DG's is w₋² times that (Proposition 1(ii)).

    Args:
        K: number of actions.
        error: ε.
        baseline: b.

    Returns:
        Var⊥(g_PG) of one sample.
    """
    return error * baseline**2 * (K - 2) / (K - 1)


def cosine_gap_ratio(
    K: ArrayLike, error: ArrayLike, baseline: ArrayLike = 0.5, temperature: ArrayLike = 1.0
) -> Any:
    """w₋²/s², the fraction of PG's cosine gap that DG keeps (Proposition 1(iii)).

    Args:
        K: number of actions.
        error: ε.
        baseline: b.
        temperature: η > 0.

    Returns:
        The fraction, below 1 where DG's direction is the better one.
    """
    plus, minus = symmetric_gates(K, error, baseline, temperature)
    return (minus / direction_scale(plus, minus, baseline)) ** 2


def cosine_gap_bound(K: ArrayLike, error: ArrayLike) -> Any:
    """16ε/(K−1), the paper's bound on the ratio at b = ½ and η = 1.

    Args:
        K: number of actions.
        error: ε.

    Returns:
        The bound on `cosine_gap_ratio`.
    """
    return 16 * np.asarray(error, float) / (np.asarray(K, float) - 1)


def symmetric_cosine_gap(K: int, error: float, batch: int, baseline: float = 0.5) -> float:
    """1 − E[cos(ḡ_PG, g*_PG)] ≈ Var⊥/(2B‖∇J‖²), the second-order value for a batch of B.

    Args:
        K: number of actions.
        error: ε.
        batch: B.
        baseline: b.

    Returns:
        PG's cosine gap, to second order.
    """
    squared_norm = (1 - error) ** 2 * error**2 * K / (K - 1)
    return symmetric_perpendicular_variance(K, error, baseline) / (2 * batch * squared_norm)


# One context: any policy, by enumeration (Appendices C.2 and C.3); y* is action 0


def scores(policy: Floats) -> Floats:
    """φ(a) = e_a − π, one row for each action.

    Args:
        policy: π.

    Returns:
        (K, K), row a being φ(a).
    """
    return np.eye(policy.size) - policy


def expected_gradient(policy: Floats, weight: Floats) -> Floats:
    """E[ω φ(A)] over A ~ π.

    Args:
        policy: π.
        weight: ω of each action.

    Returns:
        The expected gradient with respect to the K logits.
    """
    expected = policy * weight
    return expected - np.sum(expected) * policy


def perpendicular_variance(policy: Floats, weight: Floats) -> float:
    """E‖Π⊥(ω φ(A))‖², Π⊥ projecting orthogonally to ∇J ∝ φ(y*).

    Args:
        policy: π.
        weight: ω of each action.

    Returns:
        The variance of one sample's gradient off the direction of ∇J.
    """
    phi = scores(policy)
    unit = phi[0] / np.linalg.norm(phi[0])
    perpendicular = phi - np.outer(phi @ unit, unit)
    perpendicular[0] = 0.0  # exactly; its rounding error could outweigh a nearly closed gate
    return float(np.sum(policy * weight**2 * np.sum(perpendicular**2, axis=1)))


def tail_bound(policy: Floats, baseline: float, temperature: float) -> Floats:
    """π(a)^(b/η), above the gate of any incorrect action (Appendix C.3).

    Args:
        policy: π.
        baseline: b.
        temperature: η > 0.

    Returns:
        The bound for each action; it says nothing of y*.
    """
    return policy ** (baseline / temperature)


def progress_bound(gradient_norm: float, cosine: float, step: float, lipschitz: float) -> float:
    """α‖∇J‖cos(g, ∇J) − Lα²/2, below J(z⁺) − J(z) for a normalised step (Proposition 3).

    Args:
        gradient_norm: ‖∇J‖.
        cosine: cos(g, ∇J) of the step's direction g.
        step: α, the step's length.
        lipschitz: L of ∇J.

    Returns:
        The least that J gains.
    """
    return step * gradient_norm * cosine - lipschitz * step**2 / 2


SOFTMAX_LIPSCHITZ = 0.5
"""An L for J(z) = softmax(z)[y*]: its Hessian is a difference of p·φφᵀ and p·Cov, each ≤ ½."""


# Many contexts (Section 4.2, Lemma 1, Proposition 2 and its general form)


def dg_weight(p: ArrayLike, temperature: float = 1.0) -> Any:
    """h(p) = p·σ(−log p/η) = p/(1 + p^(1/η)), DG's population weight on a context.

    Args:
        p: success probability of each context.
        temperature: η > 0.

    Returns:
        h(p).
    """
    return path_weight(p, 1.0, temperature)


def path_weight(p: ArrayLike, t: float, temperature: float = 1.0) -> Any:
    """c(t) = p·σ(−log p/η)^t, from PG at t = 0 to DG at t = 1 (Appendix C.6).

    Args:
        p: success probability of each context.
        t: place on the path, in [0, 1].
        temperature: η > 0.

    Returns:
        c(t) of each context.
    """
    p = np.asarray(p, float)
    return p / (1 + p ** (1 / temperature)) ** t


def path_slope(p: Floats, a: Floats, t: float, temperature: float = 1.0) -> float:
    """The sum of equation (path_sign), whose sign is that of d cos²/dt along the path.

    Args:
        p: success probability of each context.
        a: ‖v_n‖² of each context.
        t: place on the path, in [0, 1].
        temperature: η > 0.

    Returns:
        The sum; positive where a step towards DG improves the alignment.
    """
    c = path_weight(p, t, temperature)
    log_gate = -np.log1p(p ** (1 / temperature))
    pairs = np.subtract.outer(log_gate, log_gate) * np.outer(a, a) * np.outer(c, c)
    return float(np.sum(np.triu(pairs * -np.subtract.outer(c, c), 1)))


def context_cosine(c: ArrayLike, a: ArrayLike) -> Any:
    """cos(Σ c_n v_n, Σ v_n) over the last axis: alignment to the cross-entropy oracle.

    Args:
        c: weight of each context.
        a: ‖v_n‖² of each context.

    Returns:
        The cosine, without the last axis.
    """
    c, a = np.asarray(c, float), np.asarray(a, float)
    return np.sum(c * a, -1) / np.sqrt(np.sum(c**2 * a, -1) * np.sum(a, -1))


def context_gap(c: ArrayLike, a: ArrayLike) -> Any:
    """1 − cos² of the same, Σ_{n<m} a_n a_m (c_n − c_m)² over its norm: exact near cosine 1.

    Args:
        c: weight of each context.
        a: ‖v_n‖² of each context.

    Returns:
        1 − cos², without the last axis.
    """
    c, a = np.asarray(c, float), np.asarray(a, float)
    difference = (c[..., :, None] - c[..., None, :]) ** 2 * a[..., :, None] * a[..., None, :]
    return np.sum(difference, (-2, -1)) / (2 * np.sum(c**2 * a, -1) * np.sum(a, -1))


def arithmetic_gain(c: ArrayLike, p: ArrayLike, a: ArrayLike) -> Any:
    """Δ(Σ p_n)/α for the normalised step along Σ c_n v_n (proof of Lemma 1).

    Args:
        c: weight of each context.
        p: success probability of each context.
        a: ‖v_n‖² of each context.

    Returns:
        The gain to first order in α, without the last axis.
    """
    c, p, a = np.asarray(c, float), np.asarray(p, float), np.asarray(a, float)
    return np.sum(c * p * a, -1) / np.sqrt(np.sum(c**2 * a, -1))


def log_gain(c: ArrayLike, a: ArrayLike) -> Any:
    """Δ(Σ log p_n)/α for the normalised step along Σ c_n v_n (proof of Lemma 1).

    Args:
        c: weight of each context.
        a: ‖v_n‖² of each context.

    Returns:
        The gain to first order in α, without the last axis.
    """
    return arithmetic_gain(c, np.ones_like(np.asarray(a, float)), a)


def direction_counterexample(
    temperature: float, draws: int = 20_000, seed: int = 0
) -> tuple[float, Floats, Floats]:
    """Search for N = 2 contexts where DG is *further* from cross-entropy than PG.

    Args:
        temperature: η > 0.
        draws: how many pairs of contexts are tried.
        seed: equal seeds try equal pairs.

    Returns:
        The largest (1 − cos²)(DG)/(1 − cos²)(PG) − 1 found, its p and its a; positive is a
        counterexample.
    """
    rng = np.random.default_rng(seed)
    easy = 1 - 10 ** rng.uniform(-8, 0, draws)  # failures of monotonicity live near p = 1
    p = np.stack([easy, easy * (1 - 10 ** rng.uniform(-8, 0, draws))], -1)
    a = np.stack([10 ** rng.uniform(-3, 3, draws), np.ones(draws)], -1)
    worse = context_gap(dg_weight(p, temperature), a) / context_gap(p, a) - 1
    best = int(np.argmax(worse))
    return float(worse[best]), p[best], a[best]


def largest_failing_temperature(
    fails: Callable[[float], bool], low: float = 0.01, high: float = 1.0, steps: int = 30
) -> float:
    """By bisection, the largest η at which `fails`.

    Args:
        fails: whether a property fails at η; true at `low` and false at `high`.
        low: least η of the search.
        high: largest η of the search.
        steps: how often the interval is halved.

    Returns:
        η to within (high − low)/2^steps; NaN if nothing fails at `low`.
    """
    if not fails(low):
        return float("nan")
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return low
