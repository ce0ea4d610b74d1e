"""Claims of Section 4.1 up to Proposition 1 and its bounds. All are exact: nothing is sampled."""

from typing import Any

import numpy as np

from delightful import theory
from delightful.lab.experiment import ClaimBook
from delightful.lab.quantities import Exact
from delightful.lab.verdicts import Measurement, Rule, above, at_most, below, between, measured
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


def largest_difference_of_oracles() -> Exact:
    """Between E[g_PG] and π(y*)φ(y*), which is along the cross-entropy gradient φ(y*)."""
    errors = []
    for policy in random_policies():
        phi = theory.scores(policy)
        mean = theory.expected_gradient(policy, weights("pg", policy, 0.5))
        errors += [np.abs(policy @ phi).max(), np.abs(mean - policy[0] * phi[0]).max()]
    return Exact(np.max(errors))


ORACLES_COINCIDE = below(TINY, "largest entry of E[g_PG] − π(y*)φ(y*)", ours="rounding")


@claims.add("Section 4.1", paper="0", rule=ORACLES_COINCIDE)
def oracles_coincide() -> Measurement:
    """In any single context, E[g_PG] = π(y*)φ(y*) ∝ g*_CE: the reward and cross-entropy oracles
    coincide."""
    return measured(largest_difference_of_oracles())


@claims.add(
    "Section 4.1",
    paper="> 0",
    rule=Rule(
        above(0, "smallest of w₊ − ½ and ½ − w₋"),
        below(1e-9, "largest relative error of the gate as w₊ or w₋", ours="rounding"),
    ),
)
def gate_sides() -> Measurement:
    """The DG gate takes a common value w₊ on the correct action and w₋ on all incorrect ones, with
    w₋ < ½ < w₊."""
    margins, errors = [], []
    for K, epsilon, b, eta in _GRID:
        plus, minus = theory.symmetric_gates(K, epsilon, b, eta)
        policy = theory.symmetric_policy(K, epsilon)
        w = weights("dg", policy, b, temperature=eta) / (np.eye(K)[0] - b)
        errors.append(np.abs(w / np.where(np.arange(K) == 0, plus, minus) - 1).max())
        margins += [plus - 0.5, 0.5 - minus]
    return measured(Exact(np.min(margins)), Exact(np.max(errors)))


@claims.add(
    "Proposition 1(i)",
    paper="0",
    rule=Rule(
        below(1e-9, "largest relative error of E[g_DG] = s·g*", ours="rounding"),
        above(0, "smallest s"),
    ),
)
def direction() -> Measurement:
    """DG preserves the expected gradient direction: E[g_DG] = s·g*_PG, where s = (1−b)w₊ + b·w₋ >
    0."""
    errors, scales = [], []
    for K, error, b, eta in _GRID:
        policy = theory.symmetric_policy(K, error)
        target = (1 - error) * theory.scores(policy)[0]
        s = theory.direction_scale(*theory.symmetric_gates(K, error, b, eta), b)
        mean = theory.expected_gradient(policy, weights("dg", policy, b, temperature=eta))
        errors.append(np.linalg.norm(mean - s * target) / np.linalg.norm(s * target))
        scales.append(s)
    return measured(Exact(np.max(errors)), Exact(np.min(scales)))


@claims.add(
    "Proposition 1(ii)",
    paper="0",
    rule=below(1e-9, "largest relative error of Var⊥(DG) = w₋²·Var⊥(PG)", ours="rounding"),
)
def variance() -> Measurement:
    """DG reduces perpendicular variance by exactly w₋²."""
    errors = []
    for K, error, b, eta in _GRID:
        policy = theory.symmetric_policy(K, error)
        minus = theory.symmetric_gates(K, error, b, eta)[1]
        exact = minus**2 * theory.symmetric_perpendicular_variance(K, error, b)
        dg = theory.perpendicular_variance(policy, weights("dg", policy, b, temperature=eta))
        errors.append(abs(dg / exact - 1))
    return measured(Exact(np.max(errors)))


@claims.add(
    "Proposition 1(iii)",
    paper="< 1",
    rule=below(1, "largest w₋²/s² over a grid of K, ε, b, η"),
)
def ratio_below_one() -> Measurement:
    """The cosine-gap ratio w₋²/s² is below 1."""
    return measured(Exact(np.max([theory.cosine_gap_ratio(*point) for point in _GRID])))


@claims.add("Section 4.1", paper="≤ 1", rule=at_most(1, "largest ratio to its bound"))
def bound() -> Measurement:
    """For b = ½ and η = 1, w₋ ≤ √(ε/(K−1)) and w₋²/s² ≤ 16ε/(K−1)."""
    K, error = np.meshgrid([3, 10, 100, 1000, 10**6], np.geomspace(1e-6, 0.999, 200))
    gate = theory.symmetric_gates(K, error)[1] / np.sqrt(error / (K - 1))
    ratio = theory.cosine_gap_ratio(K, error) / theory.cosine_gap_bound(K, error)
    return measured({"w₋": Exact(np.max(gate)), "w₋²/s²": Exact(np.max(ratio))})


def _kept(error: float) -> Measurement:
    return measured(Exact(theory.cosine_gap_ratio(100, error)))


@claims.add(
    "Section 4.1",
    paper="0.04",
    rule=between(0.035, 0.045, "w₋²/s² at K = 100, ε = 0.5", ours="what rounds to 4%"),
)
def four_percent() -> Measurement:
    """For K = 100 at ε = 0.5, DG retains only 4% of PG's cosine gap."""
    return _kept(0.5)


@claims.add(
    "Section 4.1",
    paper="0.01",
    rule=between(0.005, 0.015, "w₋²/s² at K = 100, ε = 0.1", ours="what rounds to 1%"),
)
def one_percent() -> Measurement:
    """At ε = 0.1, only 1%."""
    return _kept(0.1)
