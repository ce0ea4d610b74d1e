"""Claims of Section 7: the score weights of other methods. All are exact."""

import numpy as np

from delightful import theory
from delightful.lab.experiment import ClaimBook
from delightful.lab.quantities import Exact
from delightful.lab.verdicts import (
    Measurement,
    Rule,
    above,
    at_least,
    at_most,
    below,
    between,
    measured,
)
from delightful.paper.gate.claims.the_gate import grid
from delightful.registry import METHODS
from delightful.weights import score_weight

claims = ClaimBook("gate")


@claims.add(
    "Section 7",
    paper="0",
    rule=Rule(
        between(0, 0, "largest change of ω from π = 0.9 to 0.01"),
        at_least(0, "smallest step of ω as U grows"),
        between(0, 0, "largest |ω − U| of PG"),
        parts=True,
    ),
)
def blind() -> Measurement:
    """For standard PG, ω = U is linear in advantage and blind to action probability; AWR and PMPO
    set ω = f(U) for some increasing function of advantage, but remain blind to surprisal."""
    U = np.linspace(-2, 2, 81)
    changes, steps = {}, {}
    for name in ("pg", "awr", "pmpo"):
        common, rare = (
            score_weight(np.full_like(U, np.log(p)), U, method=name) for p in (0.9, 0.01)
        )
        label = METHODS[name].label
        changes[label] = Exact(np.abs(common - rare).max())
        steps[label] = Exact(np.diff(common).min())
    pg = score_weight(np.full_like(U, -1.0), U, method="pg")
    return measured(changes, steps, Exact(np.abs(pg - U).max()))


@claims.add(
    "Section 7",
    paper="≫ 1",
    rule=above(
        10, "|ω| of a rare success over a rare failure (π = 0.01)", ours="≫ 1; PG's is exactly 1"
    ),
)
def asymmetry() -> Measurement:
    """DG treats rare successes and rare failures asymmetrically."""
    plus, minus = np.abs(score_weight(np.log([0.01, 0.01]), np.array([1.0, -1.0]), method="dg"))
    common = np.abs(score_weight(np.log([0.9, 0.9]), np.array([1.0, -1.0]), method="dg"))
    note = f"common action (π = 0.9): {common[0] / common[1]:.2g}; PG: 1"
    return measured(Exact(plus / minus), note=note)


@claims.add(
    "Section 7",
    paper="≤ 1.2",
    rule=Rule(
        at_most(
            1.2 + 1e-9, "largest ω/U of PPO for ratios from 0.01 to 100", ours="1 + ε, ε = 0.2"
        ),
        at_least(
            0.8 - 1e-9, "smallest ω/U of PPO where it is not clipped to 0", ours="1 − ε, ε = 0.2"
        ),
    ),
    finding=(
        "PPO's score weight over the advantage {is} {side} for {case}",
        "beyond what is clipped to 0, it {is} {side} for {case}",
    ),
)
def trust_region() -> Measurement:
    """Trust-region methods constrain or precondition the update, keeping ω in a narrow band around
    U (here: PPO)."""
    ratio = np.geomspace(0.01, 100, 401)
    old = np.full_like(ratio, -5.0)
    largest, smallest = {}, {}
    for name, U in (("U > 0", np.ones_like(ratio)), ("U < 0", -np.ones_like(ratio))):
        kept = score_weight(np.log(ratio) - 5, U, method="ppo", old_log_prob=old) / U
        largest[name], smallest[name] = Exact(kept.max()), Exact(kept[kept != 0].min())
    note = "the clip is one-sided: ω = r·U however small r is where U > 0, or large where U < 0"
    return measured(largest, smallest, note=note)


@claims.add(
    "Section 7",
    paper="0",
    rule=Rule(
        between(0, 0, "ω of PPO at π = 0.015, r = 1.5, U = 2"),
        above(1, "ω of DG at π = 0.015, U = 2", ours="U/2, as under a neutral gate"),
    ),
)
def rare_clipped() -> Measurement:
    """This limits large updates but also attenuates rare high-advantage events.

    A rare success whose probability has grown by half within the batch gets no more weight.
    """
    args = (np.log([0.015]), np.array([2.0]))
    ppo = score_weight(*args, method="ppo", old_log_prob=np.log([0.01]))[0]
    dg = score_weight(*args, method="dg")[0]
    return measured(Exact(ppo), Exact(dg), note="the clip treats a common action alike")


@claims.add(
    "Figure 13",
    paper="0",
    rule=Rule(
        between(0, 0, "|ω| of PPO beyond the clip"),
        above(0, "|ω| of PPO on the side that is not clipped"),
    ),
)
def both_tails() -> Measurement:
    """PPO clips both tails through importance-ratio constraints."""
    U, ratio = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.5, 0.5, 0.5, 1.5])
    omega = score_weight(np.log(ratio) - 3, U, method="ppo", old_log_prob=np.full(4, -3.0))
    cases = {
        f"U {'>' if u > 0 else '<'} 0, r = {r:g}": Exact(abs(weight))
        for u, r, weight in zip(U, ratio, omega, strict=True)
    }
    clipped, others = dict(list(cases.items())[:2]), dict(list(cases.items())[2:])
    note = "each sign of U on one side only: U > 0 where r > 1 + ε, U < 0 where r < 1 − ε"
    return measured(clipped, others, note=note)


@claims.add(
    "Section 7",
    paper="0",
    rule=Rule(
        below(1e-12, "largest change of E[g] with the baseline", ours="rounding"),
        below(0, "variance of g at b = E[R] less that at b = 0"),
        parts=True,
    ),
)
def baseline() -> Measurement:
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
    note = f"variance {variances[0]:.3g} at b = 0, {variances[2]:.3g} at b = E[R]"
    moved = np.abs(np.array(means) - means[0]).max()
    return measured(Exact(moved), Exact(variances[2] - variances[0]), note=note)


@claims.add(
    "Section 7",
    paper="0",
    rule=Rule(
        between(0, 0, "largest change of DG's ω when π_old changes"),
        above(0, "largest change of ω when π_old changes, methods with ratios"),
    ),
)
def no_ratio() -> Measurement:
    """DG modulates ω using only the current policy and requires no importance ratios.

    Which weights need the probabilities of the policy that acted?
    """
    U, log_prob = grid()
    change = {}
    for name in ("dg", "ppo", "grpo"):
        with_old = score_weight(log_prob, U, method=name, old_log_prob=log_prob + 0.1)
        without = score_weight(log_prob, U, method=name)
        change[METHODS[name].label] = Exact(np.abs(with_old - without).max())
    return measured(change.pop("DG"), change)
