"""Claims of Section 4.1 up to Proposition 1 and its bounds. All are exact: nothing is sampled."""

from typing import Any

import numpy as np

from delightful import theory
from delightful.lab.experiment import ClaimBook, Finding, found
from delightful.weights import score_weight

claims = ClaimBook("bandit")

TINY = 1e-12
_GRID = [
    (K, error, b, eta)
    for K in (3, 10, 100, 300)
    for error in (1e-4, 0.01, 0.1, 0.5, 0.9, 0.99)
    for b in (0.05, 0.5, 0.95)
    for eta in (0.1, 0.5, 1.0, 10.0)
]


def weights(method: str, policy: np.ndarray, b: float, **options: Any) -> np.ndarray:
    """The score weight of every action, for a reward of 1 for action 0 and the baseline b."""
    advantage = np.eye(policy.size)[0] - b
    return np.asarray(score_weight(np.log(policy), advantage, method=method, **options))


def random_policies(seed: int = 0, count: int = 300) -> list[np.ndarray]:
    """Non-symmetric policies of 3 to 30 actions, from flat to very peaked; y* is action 0."""
    rng = np.random.default_rng(seed)
    policies = []
    for _ in range(count):
        logits = rng.normal(size=rng.integers(3, 31)) * rng.uniform(0.1, 5)
        policies.append(np.exp(logits) / np.exp(logits).sum())
    return policies


@claims.add("Section 4.1", paper="0")
def oracles_coincide() -> Finding:
    """In any single context, E[g_PG] = π(y*)φ(y*) ∝ g*_CE: the reward and cross-entropy oracles
    coincide."""
    worst = 0.0
    for policy in random_policies():
        phi = theory.scores(policy)
        mean = theory.expected_gradient(policy, weights("pg", policy, 0.5))
        worst = max(worst, np.abs(policy @ phi).max(), np.abs(mean - policy[0] * phi[0]).max())
    return found("largest entry of E[g_PG] − π(y*)φ(y*)", worst, worst < TINY)


@claims.add("Section 4.1", paper="> 0")
def gate_sides() -> Finding:
    """The DG gate takes a common value w₊ on the correct action and w₋ on all incorrect ones, with
    w₋ < ½ < w₊."""
    margin, error = np.inf, 0.0
    for K, epsilon, b, eta in _GRID:
        plus, minus = theory.symmetric_gates(K, epsilon, b, eta)
        policy = theory.symmetric_policy(K, epsilon)
        w = weights("dg", policy, b, temperature=eta) / (np.eye(K)[0] - b)
        wrong = float(np.max(np.abs(w[1:] / minus - 1)))
        error = max(error, abs(w[0] / plus - 1), wrong)
        margin = min(margin, plus - 0.5, 0.5 - minus)
    holds = margin > 0 and error < 1e-9
    return found("smallest distance of w₊ and w₋ from ½", float(margin), holds)


@claims.add("Proposition 1(i)", paper="0")
def direction() -> Finding:
    """DG preserves the expected gradient direction: E[g_DG] = s·g*_PG, where s = (1−b)w₊ + b·w₋ >
    0."""
    worst = 0.0
    for K, error, b, eta in _GRID:
        policy = theory.symmetric_policy(K, error)
        target = (1 - error) * theory.scores(policy)[0]
        s = theory.direction_scale(*theory.symmetric_gates(K, error, b, eta), b)
        mean = theory.expected_gradient(policy, weights("dg", policy, b, temperature=eta))
        error_norm = float(np.linalg.norm(mean - s * target))
        worst = max(worst, error_norm / float(np.linalg.norm(s * target)))
    return found("largest relative error of E[g_DG] = s·g*", worst, worst < 1e-9)


@claims.add("Proposition 1(ii)", paper="0")
def variance() -> Finding:
    """DG reduces perpendicular variance by exactly w₋²."""
    worst = 0.0
    for K, error, b, eta in _GRID:
        policy = theory.symmetric_policy(K, error)
        minus = theory.symmetric_gates(K, error, b, eta)[1]
        exact = minus**2 * theory.symmetric_perpendicular_variance(K, error, b)
        dg = theory.perpendicular_variance(policy, weights("dg", policy, b, temperature=eta))
        worst = max(worst, abs(dg / exact - 1))
    return found("largest relative error of Var⊥(DG) = w₋²·Var⊥(PG)", worst, worst < 1e-9)


@claims.add("Proposition 1(iii)", paper="< 1")
def ratio_below_one() -> Finding:
    """The cosine-gap ratio w₋²/s² is below 1."""
    largest = max(float(theory.cosine_gap_ratio(*point)) for point in _GRID)
    return found("largest w₋²/s² over a grid of K, ε, b, η", largest, largest < 1)


@claims.add("Section 4.1", paper="≤ 1")
def bound() -> Finding:
    """For b = ½ and η = 1, w₋ ≤ √(ε/(K−1)) and w₋²/s² ≤ 16ε/(K−1)."""
    K, error = np.meshgrid([3, 10, 100, 1000, 10**6], np.geomspace(1e-6, 0.999, 200))
    minus = theory.symmetric_gates(K, error)[1]
    first = np.max(minus / np.sqrt(error / (K - 1)))
    second = np.max(theory.cosine_gap_ratio(K, error) / theory.cosine_gap_bound(K, error))
    return found("largest ratio over its bound", float(max(first, second)), max(first, second) <= 1)


def _kept(error: float, percent: int) -> Finding:
    kept = float(theory.cosine_gap_ratio(100, error))
    return found(f"w₋²/s² at K = 100, ε = {error}", kept, round(100 * kept) == percent)


@claims.add("Section 4.1", paper="0.04")
def four_percent() -> Finding:
    """For K = 100 at ε = 0.5, DG retains only 4% of PG's cosine gap."""
    return _kept(0.5, 4)


@claims.add("Section 4.1", paper="0.01")
def one_percent() -> Finding:
    """At ε = 0.1, only 1%."""
    return _kept(0.1, 1)
