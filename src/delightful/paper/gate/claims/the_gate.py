"""Claims of Section 2 and Appendix A: the gate itself.

All are exact: no sampling, so no interval; a value is a largest deviation or a limit.
"""

import numpy as np

from delightful import theory
from delightful.gate import gate
from delightful.lab.experiment import ClaimBook, Finding, found
from delightful.weights import score_weight

claims = ClaimBook("gate")

_TINY = 1e-12  # float64 equality, allowing for a few roundings


@claims.add("Section 2.1", paper="≈ 1 and ≈ 0")
def breakthrough() -> Finding:
    """When a rare action has positive advantage the gate opens, w ≈ 1; when it has negative
    advantage the gate closes, w ≈ 0."""
    w = gate(np.log([0.01, 0.01]), np.array([1.0, -1.0]))
    deep = gate(np.log([1e-9, 1e-9]), np.array([1.0, -1.0]))
    holds = 0.9 < w[0] <= 1 and 0 <= w[1] < 0.1 and 1 - 1e-8 < deep[0] <= 1 and 0 <= deep[1] < 1e-8
    return found(
        "gate of a rare success (π = 0.01, U = 1)", w[0], bool(holds), note=f"failure {w[1]:.2g}"
    )


@claims.add("Section 2.1", paper="≈ 0")
def favoured() -> Finding:
    """For actions the policy already favors, the surprisal is small, so the gate stays near ½."""
    w = gate(np.log([0.99, 0.99]), np.array([1.0, -1.0]))
    distance = float(np.max(np.abs(w - 0.5)))
    return found("largest |w − ½| at π = 0.99, U = ±1", distance, distance < 0.01)


@claims.add("Section 2.2", paper="1")
def operations() -> Finding:
    """Relative to PG, DG adds one sigmoid and one multiply per sample.

    Count what Algorithm 1 does per sample beyond PG, from its lines as code.
    """
    import jax
    import jax.numpy as jnp

    def algorithm_1(U: jax.Array, log_prob: jax.Array) -> jax.Array:
        surprisal = -log_prob
        delight = U * surprisal
        return jax.nn.sigmoid(delight) * U

    equations = jax.make_jaxpr(algorithm_1)(jnp.ones(3), jnp.ones(3)).eqns
    names = [equation.primitive.name for equation in equations]
    sigmoids, products = names.count("logistic"), names.count("mul")
    measures = "multiplications per sample beyond PG"
    holds = sigmoids == 1 and products == 1
    note = f"{sigmoids} sigmoid; one product makes delight, one more applies the gate"
    return found(measures, products, holds, partly=sigmoids == 1, note=note)


@claims.add("Appendix A", paper="0")
def maximiser() -> Finding:
    """w* = σ(χ/η) is the unique global maximizer of χw + ηH(w).

    Golden-section search of χw + ηH(w) against σ(χ/η); strict concavity makes it unique.
    """
    worst, concave = 0.0, True
    for eta in (0.1, 1.0, 10.0):
        chi = np.linspace(-5 * eta, 5 * eta, 101)
        grid = theory.gate_objective(np.linspace(0, 1, 1001)[:, None], chi, eta)
        concave &= bool(np.all(np.diff(grid, 2, axis=0) < 0))
        low, high = np.zeros_like(chi), np.ones_like(chi)
        ratio = (np.sqrt(5) - 1) / 2
        for _ in range(80):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            better = theory.gate_objective(left, chi, eta) > theory.gate_objective(right, chi, eta)
            low, high = np.where(better, low, left), np.where(better, right, high)
        w = gate(np.full_like(chi, -1.0), chi, temperature=eta)
        worst = max(worst, float(np.max(np.abs((low + high) / 2 - w))))
    # A maximum is flat, so comparing values finds its place to the square root of precision.
    return found("largest |argmax − σ(χ/η)|", worst, worst < 1e-6 and concave)


@claims.add("Appendix A", paper="0")
def softplus() -> Finding:
    """The optimal value is the softplus potential Ψ_η(χ) = η log(1 + exp(χ/η))."""
    worst = 0.0
    for eta in (0.1, 1.0, 10.0):
        chi = np.linspace(-30 * eta, 30 * eta, 401)
        w = gate(np.full_like(chi, -1.0), chi, temperature=eta)
        reached = theory.gate_objective(w, chi, eta)
        worst = max(
            worst, float(np.max(np.abs(reached - theory.softplus_potential(chi, eta)) / eta))
        )
    return found("largest |χw* + ηH(w*) − Ψ(χ)|/η", worst, worst < _TINY)


@claims.add("Appendix A", paper="slopes 0 and 1")
def saturation() -> Finding:
    """The potential saturates for χ ≪ 0 and grows linearly for χ ≫ 0."""
    psi = theory.softplus_potential(np.array([-40.0, -20.0, 20.0, 40.0]), 1.0)
    left, right = psi[1] - psi[0], (psi[3] - psi[2]) / 20
    return found("slope of Ψ from χ = 20 to 40", right, abs(right - 1) < 1e-8 and abs(left) < 1e-8)


@claims.add("Appendix A", paper="0")
def hedonic() -> Finding:
    """In the hedonic limit (η → ∞), w* → ½ for bounded χ, recovering standard PG up to a
    constant."""
    U, log_prob = grid()
    exact = np.abs(gate(log_prob, U, temperature=np.inf) - 0.5)
    near = np.abs(score_weight(log_prob, U, method="dg", temperature=1e9) - U / 2).max()
    holds = exact.max() == 0 and near < 1e-6
    note = "the update then responds to advantage alone; the gate itself to neither"
    return found("largest |ω − U/2| at η = 1e9", near, holds, note=note)


@claims.add("Appendix A", paper="0")
def enlightened() -> Finding:
    """In the enlightened limit (η → 0), w* → 1[χ > 0], a hard gate."""
    U, log_prob = grid()
    hard = (-U * log_prob > 0).astype(float)
    exact = np.max(np.abs(gate(log_prob, U, temperature=0.0) - hard))
    some = np.abs(U) > 1e-9
    near = np.max(np.abs(gate(log_prob, U, temperature=1e-6) - hard)[some])
    note = "for χ ≠ 0; at χ = 0 exactly the gate is ½ for every η > 0, and 0 at η = 0"
    return found("largest |w − 1[χ>0]| at η = 1e-6", near, exact == 0 and near < 1e-6, note=note)


@claims.add("Section 2.2, App. A", paper="0")
def stationary() -> Finding:
    """Optimal policies are stationary points of DG for all η > 0.

    Two equally good arms of five, any split between them: every sampled term is zero.
    """
    worst = 0.0
    for share in (0.1, 0.5, 0.9):
        policy = np.array([share, 1 - share, 0, 0, 0])
        reward = np.array([1.0, 1, 0.3, 0, 0])
        advantage = reward - policy @ reward
        with np.errstate(divide="ignore"):
            log_prob = np.log(policy)
        for eta in (0.01, 1.0, 100.0):
            weight = score_weight(log_prob, advantage, method="dg", temperature=eta)
            terms = weight[:, None] * theory.scores(policy)
            worst = max(worst, float(np.abs(terms[policy > 0]).max()))
    note = "with U from the policy's own value; a fixed baseline leaves U ≠ 0 on the support"
    return found("largest entry of ω·∇log π that can occur", worst, worst < _TINY, note=note)


@claims.add("Section 2.2", paper="> 0")
def direction() -> Finding:
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
    gap = 1 - pg @ dg / np.linalg.norm(pg) / np.linalg.norm(dg)
    return found("1 − cos(E[g_DG], E[g_PG])", gap, gap > 1e-3)


def grid() -> tuple[np.ndarray, np.ndarray]:
    """Advantages and log-probabilities, from near-certain to very rare actions."""
    U, p = np.meshgrid(np.linspace(-3, 3, 61), np.geomspace(1e-6, 0.999, 60))
    return U, np.log(p)
