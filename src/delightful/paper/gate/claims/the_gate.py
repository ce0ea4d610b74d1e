"""Claims of Section 2 and Appendix A: the gate itself.

All are exact: no sampling, so no interval; a value is a largest deviation or a limit.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from delightful import theory
from delightful.gate import gate
from delightful.lab.experiment import ClaimBook
from delightful.lab.quantities import Exact
from delightful.lab.verdicts import Measurement, Rule, above, below, between, measured
from delightful.losses import policy_loss
from delightful.weights import score_weight

claims = ClaimBook("gate")

_TINY = 1e-12  # float64 equality, allowing for a few roundings
_ABOUT = "the paper says ≈ 1 and ≈ 0"


@claims.add(
    "Section 2.1",
    paper="≈ 1 and ≈ 0",
    rule=Rule(
        between(0, 0.1, "gate of a rare action, π = 0.01", ours=_ABOUT),
        between(0, 1e-8, "gate of a very rare action, π = 1e-9", ours=_ABOUT),
        parts=True,
    ),
)
def breakthrough() -> Measurement:
    """When a rare action has positive advantage the gate opens, w ≈ 1; when it has negative
    advantage the gate closes, w ≈ 0."""
    cases = []
    for p in (0.01, 1e-9):
        success, failure = gate(np.log([p, p]), np.array([1.0, -1.0]))
        cases.append({"1 − w for U = 1": Exact(1 - success), "w for U = −1": Exact(failure)})
    return measured(*cases)


@claims.add(
    "Abstract, Section 8",
    paper="> 1 and < 1",
    rule=Rule(
        above(1, "2w of a rare success, π = 0.01, U = 1", ours="2w = 1 under a neutral gate"),
        below(1, "2w of a rare failure, π = 0.01, U = −1", ours="2w = 1 under a neutral gate"),
        parts=True,
    ),
    finding=(
        "relative to a neutral gate, DG's weight on a rare success {is} {side}",
        "its weight on a rare failure {is} {side}",
    ),
)
def amplifies() -> Measurement:
    """DG amplifies rare successes and suppresses rare failures.

    Relative to common actions, whose gate is near ½: w itself is never above 1.
    """
    success, failure = gate(np.log([0.01, 0.01]), np.array([1.0, -1.0]))
    note = f"without the factor 2 a rare success keeps {success:.2f} of PG's weight"
    return measured(Exact(2 * success), Exact(2 * failure), note=note)


@claims.add(
    "Section 2.1",
    paper="≈ 0",
    rule=below(0.01, "|w − ½| at π = 0.99", ours="the paper says near ½"),
)
def favoured() -> Measurement:
    """For actions the policy already favors, the surprisal is small, so the gate stays near ½."""
    w = gate(np.log([0.99, 0.99]), np.array([1.0, -1.0]))
    return measured({"U = 1": Exact(abs(w[0] - 0.5)), "U = −1": Exact(abs(w[1] - 0.5))})


@claims.add(
    "Section 2.2",
    paper="1",
    rule=Rule(
        between(1, 1, "sigmoids per sample beyond PG's"),
        between(1, 1, "multiplications per sample beyond PG's"),
        parts=True,
    ),
)
def operations() -> Measurement:
    """Relative to PG, DG adds one sigmoid and one multiply per sample.

    Counted in `policy_loss` as JAX traces it.
    """
    added = _operations("dg")
    added.subtract(_operations("pg"))
    note = (
        "one product makes the delight U·ℓ, one more applies the gate; a loss that took PG's own "
        "product U·log π for the delight would add only the latter"
    )
    return measured(Exact(added["logistic"]), Exact(added["mul"]), note=note)


def _operations(method: str) -> Counter[str]:
    """How often `policy_loss` does each operation that gives one number per sample."""
    import jax

    samples = np.ones(7, np.float32)
    traced = jax.make_jaxpr(lambda *batch: policy_loss(*batch, method=method))(samples, samples)
    return Counter(
        equation.primitive.name
        for equation in _equations(traced.jaxpr)
        if equation.outvars[0].aval.shape == samples.shape
    )


def _equations(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for inner in equation.params.values():
            if hasattr(inner, "jaxpr"):
                yield from _equations(inner.jaxpr)


@claims.add(
    "Appendix A",
    paper="0",
    rule=Rule(
        below(1e-6, "largest |argmax − σ(χ/η)|", ours="a flat maximum is found to half the digits"),
        below(0, "largest second difference of χw + ηH(w) in w"),
    ),
)
def maximiser() -> Measurement:
    """w* = σ(χ/η) is the unique global maximizer of χw + ηH(w).

    Golden-section search of χw + ηH(w) against σ(χ/η); strict concavity makes it unique.
    """
    errors, curvatures = [], []
    for eta in (0.1, 1.0, 10.0):
        chi = np.linspace(-5 * eta, 5 * eta, 101)
        grid = theory.gate_objective(np.linspace(0, 1, 1001)[:, None], chi, eta)
        curvatures.append(np.diff(grid, 2, axis=0))
        low, high = np.zeros_like(chi), np.ones_like(chi)
        ratio = (np.sqrt(5) - 1) / 2
        for _ in range(80):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            better = theory.gate_objective(left, chi, eta) > theory.gate_objective(right, chi, eta)
            low, high = np.where(better, low, left), np.where(better, right, high)
        w = gate(np.full_like(chi, -1.0), chi, temperature=eta)
        errors.append(np.abs((low + high) / 2 - w))
    return measured(Exact(np.max(errors)), Exact(np.max(curvatures)))


@claims.add(
    "Appendix A", paper="0", rule=below(_TINY, "largest |χw* + ηH(w*) − Ψ(χ)|/η", ours="rounding")
)
def softplus() -> Measurement:
    """The optimal value is the softplus potential Ψ_η(χ) = η log(1 + exp(χ/η))."""
    errors = []
    for eta in (0.1, 1.0, 10.0):
        chi = np.linspace(-30 * eta, 30 * eta, 401)
        w = gate(np.full_like(chi, -1.0), chi, temperature=eta)
        reached = theory.gate_objective(w, chi, eta)
        errors.append(np.abs(reached - theory.softplus_potential(chi, eta)) / eta)
    return measured(Exact(np.max(errors)))


@claims.add(
    "Appendix A",
    paper="slopes 0 and 1",
    rule=Rule(
        below(1e-8, "|slope of Ψ| from χ = −40 to −20", ours="a limit, at finite χ"),
        below(1e-8, "|slope of Ψ − 1| from χ = 20 to 40", ours="a limit, at finite χ"),
        parts=True,
    ),
)
def saturation() -> Measurement:
    """The potential saturates for χ ≪ 0 and grows linearly for χ ≫ 0."""
    psi = theory.softplus_potential(np.array([-40.0, -20.0, 20.0, 40.0]), 1.0)
    left, right = (psi[1] - psi[0]) / 20, (psi[3] - psi[2]) / 20
    return measured(Exact(abs(left)), Exact(abs(right - 1)))


@claims.add(
    "Appendix A",
    paper="0",
    rule=Rule(
        between(0, 0, "largest |w − ½| at η = ∞"),
        below(1e-6, "largest |ω − U/2| at η = 1e9", ours="a limit, at a finite η"),
    ),
)
def hedonic() -> Measurement:
    """In the hedonic limit (η → ∞), w* → ½ for bounded χ, recovering standard PG up to a
    constant."""
    U, log_prob = grid()
    exact = np.abs(gate(log_prob, U, temperature=np.inf) - 0.5).max()
    near = np.abs(score_weight(log_prob, U, method="dg", temperature=1e9) - U / 2).max()
    note = "the update then responds to advantage alone; the gate itself to neither"
    return measured(Exact(exact), Exact(near), note=note)


@claims.add(
    "Appendix A",
    paper="0",
    rule=Rule(
        between(0, 0, "largest |w − 1[χ>0]| at η = 0"),
        below(1e-6, "largest |w − 1[χ>0]| at η = 1e-6, χ ≠ 0", ours="a limit, at a finite η"),
    ),
)
def enlightened() -> Measurement:
    """In the enlightened limit (η → 0), w* → 1[χ > 0], a hard gate."""
    U, log_prob = grid()
    hard = (-U * log_prob > 0).astype(float)
    exact = np.max(np.abs(gate(log_prob, U, temperature=0.0) - hard))
    some = np.abs(U) > 1e-9
    near = np.max(np.abs(gate(log_prob, U, temperature=1e-6) - hard)[some])
    note = "at χ = 0 exactly the gate is ½ for every η > 0, and 0 at η = 0"
    return measured(Exact(exact), Exact(near), note=note)


@claims.add(
    "Section 2.2, App. A",
    paper="0",
    rule=below(_TINY, "largest entry of ω·∇log π that can occur", ours="rounding"),
)
def stationary() -> Measurement:
    """Optimal policies are stationary points of DG for all η > 0.

    Two equally good arms of five, any split between them: every sampled term is zero.
    """
    terms = []
    for share in (0.1, 0.5, 0.9):
        policy = np.array([share, 1 - share, 0, 0, 0])
        reward = np.array([1.0, 1, 0.3, 0, 0])
        advantage = reward - policy @ reward
        with np.errstate(divide="ignore"):
            log_prob = np.log(policy)
        for eta in (0.01, 1.0, 100.0):
            weight = score_weight(log_prob, advantage, method="dg", temperature=eta)
            terms.append((weight[:, None] * theory.scores(policy))[policy > 0])
    note = "with U from the policy's own value; a fixed baseline leaves U ≠ 0 on the support"
    return measured(Exact(np.abs(terms).max()), note=note)


@claims.add(
    "Section 2.2",
    paper="> 0",
    rule=above(1e-3, "1 − cos(E[g_DG], E[g_PG])", ours="far beyond rounding"),
)
def direction() -> Measurement:
    """Because the gate reweights samples, DG changes the expected update direction, not merely its
    variance.

    One bandit with unequal wrong actions: the angle between E[g_DG] and E[g_PG].
    """
    policy = np.array([0.3, 0.5, 0.15, 0.05])
    advantage = np.eye(4)[0] - 0.5
    pg, dg = (
        theory.expected_gradient(policy, score_weight(np.log(policy), advantage, method=method))
        for method in ("pg", "dg")
    )
    return measured(Exact(1 - pg @ dg / np.linalg.norm(pg) / np.linalg.norm(dg)))


def grid() -> tuple[np.ndarray, np.ndarray]:
    """Advantages and log-probabilities, from near-certain to very rare actions."""
    U, p = np.meshgrid(np.linspace(-3, 3, 61), np.geomspace(1e-6, 0.999, 60))
    return U, np.log(p)
