"""Claims of Section 4.1 and Appendix C beyond Proposition 1. All are exact: nothing is sampled."""

import numpy as np

from delightful import theory
from delightful.lab.experiment import ClaimBook
from delightful.lab.quantities import Exact
from delightful.lab.verdicts import (
    Criterion,
    Measurement,
    Rule,
    above,
    at_least,
    at_most,
    below,
    between,
    measured,
)
from delightful.paper.bandit.claims.proposition_1 import (
    ORACLES_COINCIDE,
    TINY,
    largest_difference_of_oracles,
    random_policies,
    weights,
)

claims = ClaimBook("bandit")

_ERRORS = np.geomspace(0.5, 1e-8, 9)  # ε → 0


@claims.add(
    "Section 4.1, App. C.3",
    paper="≤ 1",
    rule=at_most(1 + TINY, "largest w(a)/π(a)^(b/η) on incorrect actions"),
)
def tail() -> Measurement:
    """Without symmetry, tail suppression still holds: w₋(a) ≤ π(a)^(b/η)."""
    shares = []
    for policy in random_policies():
        for b, eta in ((0.1, 0.3), (0.5, 1.0), (0.9, 3.0)):
            w = weights("dg", policy, b, temperature=eta)[1:] / -b
            shares.append(np.max(np.abs(w) / theory.tail_bound(policy, b, eta)[1:]))
    return measured(Exact(np.max(shares)))


@claims.add("Appendix C.3", paper="≤ 1", rule=at_most(1 + TINY, "largest Var⊥(DG) over its bound"))
def variance_bound() -> Measurement:
    """Without symmetry, Var⊥(g_DG) ≤ Σ π(a)^(1+2b/η) b² ‖Π⊥φ(a)‖²."""
    cases = ((0.1, 0.3), (0.5, 1.0), (0.9, 3.0))
    shares = [_share_of_bound(policy, b, eta) for policy in random_policies() for b, eta in cases]
    return measured(Exact(np.max(shares)))


def _share_of_bound(policy: np.ndarray, b: float, eta: float) -> float:
    """Var⊥(g_DG) over Σ π(a)^(1+2b/η) b² ‖Π⊥φ(a)‖²."""
    dg = theory.perpendicular_variance(policy, weights("dg", policy, b, temperature=eta))
    bounding = np.where(np.arange(policy.size) > 0, b * theory.tail_bound(policy, b, eta), 0)
    return float(dg / theory.perpendicular_variance(policy, bounding))


def _concentrating(split: np.ndarray) -> list[np.ndarray]:
    """Policies as ε falls, the wrong actions sharing it in the same proportions."""
    return [np.concatenate([[1 - error], error * split / split.sum()]) for error in _ERRORS]


@claims.add(
    "Section 4.1, App. C.3",
    paper="0",
    rule=Rule(
        below(1e-6, "largest 1 − cos(E[g_DG], ∇J) at ε = 1e-8", ours="a limit, at a finite ε"),
        below(0, "largest step of the mean 1 − cos(E[g_DG], ∇J) as ε falls"),
    ),
)
def bias_vanishes() -> Measurement:
    """As the policy concentrates (ε → 0), the directional bias vanishes.

    Directional bias of E[g_DG] as ε falls, for 50 random splits of ε among 20 wrong actions.
    """
    rng = np.random.default_rng(0)
    splits = [rng.dirichlet(np.full(20, 0.5)) + 1e-6 for _ in range(50)]
    gaps = np.array([[_bias(policy) for policy in _concentrating(split)] for split in splits])
    note = f"at ε = 0.5 the largest is {gaps[:, 0].max():.2g}"
    return measured(Exact(gaps[:, -1].max()), Exact(np.diff(gaps.mean(0)).max()), note=note)


@claims.add(
    "Section 4.1",
    paper="1",
    rule=Rule(
        between(0.99, 1, "Var⊥(DG) over its bound at ε = 1e-8", ours="a limit, at a finite ε"),
        above(0, "smallest step of Var⊥(DG) over its bound as ε falls"),
    ),
)
def bound_tightens() -> Measurement:
    """As the policy concentrates (ε → 0), the variance bound tightens.

    Var⊥(g_DG) over its bound as ε falls, for a random split of ε among 20 wrong actions.
    """
    split = np.random.default_rng(0).dirichlet(np.full(20, 0.5)) + 1e-6
    ratios = [_share_of_bound(policy, 0.5, 1.0) for policy in _concentrating(split)]
    note = f"at ε = 0.5: {ratios[0]:.2g}"
    return measured(Exact(ratios[-1]), Exact(np.diff(ratios).min()), note=note)


@claims.add(
    "Appendix C.3",
    paper="0",
    rule=Rule(
        below(0, "largest step of an incorrect action's π(a)·|ω(a)| as ε falls"),
        below(0, "largest step of the largest difference of gates as ε falls"),
        at_most(1e-4, "largest difference of gates at ε = 1e-8", ours="√ε, which bounds a gate"),
    ),
)
def gates_converge() -> Measurement:
    """As ε → 0 all incorrect-action contributions shrink, and the gate values converge."""
    policies = _concentrating(np.array([0.5, 0.3, 0.15, 0.05]))
    omega = np.array([weights("dg", policy, 0.5)[1:] for policy in policies])
    contributions = np.array(policies)[:, 1:] * np.abs(omega)
    spreads = np.ptp(omega / -0.5, axis=1)
    note = "they converge to 0; their ratios do not change, (π(a)/π(a′))^(b/η)"
    shrinking, closing = np.diff(contributions, axis=0).max(), np.diff(spreads).max()
    return measured(Exact(shrinking), Exact(closing), Exact(spreads[-1]), note=note)


@claims.add(
    "Section 4.1",
    paper="large",
    rule=Rule(
        above(0.1, "1 − cos(ḡ, g*) of PG's batch", ours="the paper says large"),
        below(0.1, "1 − cos(ḡ, g*) of DG's batch over PG's", ours="ten times smaller"),
    ),
)
def kick() -> Measurement:
    """Late in training, incorrect actions become rare but each delivers a large perpendicular kick.

    A batch of 100 with one mistake, K = 100, at ε = 0.001; DG shows what it could be.
    """
    policy = theory.symmetric_policy(100, 0.001)
    phi, counts = theory.scores(policy), np.array([99, 1] + [0] * 98)
    pg, dg = (
        _cosine_gap((counts * weights(method, policy, 0.5)) @ phi, phi[0])
        for method in ("pg", "dg")
    )
    note = "a batch of 100 with one mistake, K = 100, ε = 0.001"
    return measured(Exact(pg), Exact(dg / pg), note=note)


@claims.add(
    "Appendix C.2, Lemma 2",
    paper="0",
    rule=below(1e-9, "largest relative error of the identity", ours="rounding"),
)
def symmetry() -> Measurement:
    """The scores of the incorrect actions add up to −(K−1)(1−ε)/ε times that of the correct one."""
    errors = []
    for K in (3, 10, 100, 300):
        for error in (1e-4, 0.1, 0.5, 0.99):
            phi = theory.scores(theory.symmetric_policy(K, error))
            target = -(K - 1) * (1 - error) / error * phi[0]
            errors.append(np.abs(phi[1:].sum(0) / target - 1).max())
    return measured(Exact(np.max(errors)))


@claims.add(
    "Section 4.2",
    paper="0",
    rule=Rule(
        ORACLES_COINCIDE, below(TINY, "largest 1 − cos(E[g_DG], ∇J)", ours="rounding"), parts=True
    ),
    finding=("", "with one context, DG's expected direction {is} the true gradient's for {case}"),
)
def only_variance() -> Measurement:
    """For a single context, the reward and cross-entropy oracles coincide, so DG can only reduce
    variance.

    DG does no more than that if its expected direction is that of ∇J.
    """
    symmetric = [theory.symmetric_policy(10, error) for error in (0.01, 0.1, 0.5, 0.9)]
    biases = {
        "symmetric policies": Exact(max(map(_bias, symmetric))),
        "other policies": Exact(max(map(_bias, random_policies()))),
    }
    note = "without symmetry DG turns the expected direction"
    return measured(largest_difference_of_oracles(), biases, note=note)


@claims.add(
    "Appendix C.3",
    paper="small",
    rule=Criterion("largest 1 − cos(E[g_DG], ∇J)", TINY, 0.05, ours="the paper says small, not 0"),
)
def bias_small() -> Measurement:
    """Without symmetry, E[g_DG] is no longer exactly parallel to ∇J: a small perpendicular bias.

    Over 300 random policies of 3 to 30 actions, from flat to very peaked.
    """
    biases = np.array([_bias(policy) for policy in random_policies()])
    note = (
        f"median {np.median(biases):.2g}; it is large where one wrong action holds most of the "
        "probability"
    )
    return measured(Exact(biases.max()), note=note)


def _bias(policy: np.ndarray) -> float:
    """1 − cos between DG's expected gradient and ∇J, at b = ½ and η = 1."""
    mean = theory.expected_gradient(policy, weights("dg", policy, 0.5))
    return _cosine_gap(mean, theory.scores(policy)[0])


def _cosine_gap(a: np.ndarray, b: np.ndarray) -> float:
    """1 − cos(a, b), which keeps its digits where it is small."""
    difference = a / np.linalg.norm(a) - b / np.linalg.norm(b)
    return float(difference @ difference / 2)


@claims.add("Appendix C.1", paper="≥ 0", rule=at_least(0, "smallest J(z⁺) − J(z) − bound"))
def progress() -> Measurement:
    """Cosine controls progress: E[J(z⁺) − J(z)] ≥ α‖∇J‖·E[cos(g, ∇J)] − Lα²/2.

    Smallest slack of the bound over random policies and random directions, sample by sample.
    """
    rng = np.random.default_rng(0)
    slacks = []
    for policy in random_policies():
        gradient = policy[0] * theory.scores(policy)[0]
        norm = float(np.linalg.norm(gradient))
        for step in (0.01, 0.1, 1.0):
            g = gradient / norm + rng.normal(size=policy.size) * rng.uniform(0, 1)
            g /= np.linalg.norm(g)
            after = np.exp(np.log(policy) + step * g)
            gain = after[0] / after.sum() - policy[0]
            cosine = float(g @ gradient / norm)
            slacks.append(
                gain - theory.progress_bound(norm, cosine, step, theory.SOFTMAX_LIPSCHITZ)
            )
    return measured(Exact(np.min(slacks)))
