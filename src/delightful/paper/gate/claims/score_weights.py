"""Claims of Section 7: the score weights of other methods. All are exact."""

import numpy as np

from delightful import theory
from delightful.lab.experiment import ClaimBook, Finding, found
from delightful.paper.gate.claims.the_gate import grid
from delightful.weights import score_weight

claims = ClaimBook("gate")


@claims.add("Section 7", paper="0")
def blind() -> Finding:
    """For standard PG, ω = U is linear in advantage and blind to action probability; AWR and PMPO
    set ω = f(U) for some increasing function of advantage, but remain blind to surprisal."""
    U = np.linspace(-2, 2, 81)
    spread = {}
    for name in ("pg", "pmpo", "awr"):
        common, rare = (
            score_weight(np.full_like(U, np.log(p)), U, method=name) for p in (0.9, 0.01)
        )
        increasing = np.all(np.diff(common) >= 0)
        spread[name] = float(np.max(np.abs(common - rare))) if increasing else np.inf
    linear = np.array_equal(score_weight(np.full_like(U, -1.0), U, method="pg"), U)
    largest = max(spread.values())
    return found("largest change of ω from π = 0.9 to 0.01", largest, linear and largest == 0)


@claims.add("Section 7", paper="≫ 1")
def asymmetry() -> Finding:
    """DG treats rare successes and rare failures asymmetrically."""
    plus, minus = np.abs(score_weight(np.log([0.01, 0.01]), np.array([1.0, -1.0]), method="dg"))
    common = np.abs(score_weight(np.log([0.9, 0.9]), np.array([1.0, -1.0]), method="dg"))
    ratio = plus / minus
    note = f"common action (π = 0.9): {common[0] / common[1]:.2g}; PG: 1"
    return found("|ω| of a rare success over a rare failure", ratio, ratio > 10, note=note)


@claims.add("Section 7", paper="≤ 1.2")
def trust_region() -> Finding:
    """Trust-region methods constrain or precondition the update, keeping ω in a narrow band around
    U (here: PPO).

    ω/U under PPO over all ratios: where is it far from 1?
    """
    ratio = np.geomspace(0.01, 100, 401)
    log_prob = np.log(ratio) - 5
    old = np.full_like(ratio, -5.0)
    kept = {
        sign: score_weight(log_prob, np.full_like(ratio, sign), method="ppo", old_log_prob=old)
        / sign
        for sign in (1.0, -1.0)
    }
    inside = [np.all((k == 0) | (np.abs(k - 1) <= 0.2 + 1e-9)) for k in kept.values()]
    note = (
        f"for U > 0, ω/U spans {kept[1.0].min():.2g} to {kept[1.0].max():.2g}; "
        f"for U < 0, up to {kept[-1.0].max():.3g}: the clip is one-sided"
    )
    top = max(float(k.max()) for k in kept.values())
    band = "largest ω/U of PPO (ε = 0.2) for ratios from 0.01 to 100"
    return found(
        band, top, all(inside), partly=any(inside) or bool(kept[1.0].max() <= 1.2), note=note
    )


@claims.add("Section 7", paper="0")
def rare_clipped() -> Finding:
    """This limits large updates but also attenuates rare high-advantage events.

    A rare success whose probability has grown by half within the batch gets no more weight.
    """
    args = (np.log([0.015]), np.array([2.0]))
    weight = float(score_weight(*args, method="ppo", old_log_prob=np.log([0.01]))[0])
    dg = float(score_weight(*args, method="dg")[0])
    note = f"DG: {dg:.3g}; the clip treats a common action alike"
    return found("ω of PPO at π = 0.015, r = 1.5, U = 2", weight, weight == 0 and dg > 1, note=note)


@claims.add("Figure 13", paper="0")
def both_tails() -> Finding:
    """PPO clips both tails through importance-ratio constraints.

    ω/U beyond the clip: U > 0 at a ratio of 1.5, U < 0 at a ratio of 0.5; and the other way.
    """
    U, log_ratio = np.array([1.0, -1.0, 1.0, -1.0]), np.log([1.5, 0.5, 0.5, 1.5])
    omega = score_weight(log_ratio - 3, U, method="ppo", old_log_prob=np.full(4, -3.0))
    clipped = float(np.abs(omega[:2]).max())
    note = "each sign of U on one side only: U > 0 where r > 1 + ε, U < 0 where r < 1 − ε"
    passes = bool(np.all(omega[2:] != 0))
    return found("largest |ω| beyond the clip", clipped, clipped == 0 and passes, note=note)


@claims.add("Section 7", paper="0")
def baseline() -> Finding:
    """Control-variate methods reduce gradient variance without changing the expected direction
    (here: PG's baseline).

    E[g] and the total variance of g under baselines 0, ½ and E[R].
    """
    policy = np.array([0.3, 0.5, 0.15, 0.05])
    means, variances = [], []
    for b in (0.0, 0.5, policy[0]):
        weight = score_weight(np.log(policy), np.eye(4)[0] - b, method="pg")
        mean = theory.expected_gradient(policy, weight)
        second = policy @ np.sum((weight[:, None] * theory.scores(policy)) ** 2, axis=1)
        means.append(mean)
        variances.append(float(second - mean @ mean))
    moved = float(max(np.abs(mean - means[0]).max() for mean in means))
    note = f"variance {variances[0]:.3g} at b = 0, {variances[2]:.3g} at b = E[R]"
    holds = moved < 1e-12 and variances[2] < variances[0]
    return found("largest change of E[g] with the baseline", moved, holds, note=note)


@claims.add("Section 7", paper="0")
def no_ratio() -> Finding:
    """DG modulates ω using only the current policy and requires no importance ratios.

    Which weights need the probabilities of the policy that acted?
    """
    U, log_prob = grid()
    old = log_prob + 0.1
    change = {}
    for name in ("dg", "ppo", "grpo"):
        with_old = score_weight(log_prob, U, method=name, old_log_prob=old)
        change[name] = float(np.max(np.abs(with_old - score_weight(log_prob, U, method=name))))
    holds = change["dg"] == 0 and min(change["ppo"], change["grpo"]) > 0
    return found(
        "change of DG's ω when π_old changes", change["dg"], holds, note=f"PPO: {change['ppo']:.2g}"
    )
