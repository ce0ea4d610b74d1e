"""Claims of Section 4.1 and Appendix C beyond Proposition 1. All are exact: nothing is sampled."""

import numpy as np

from delightful import theory
from delightful.lab.experiment import ClaimBook, Finding, found
from delightful.paper.bandit.claims.proposition_1 import TINY, random_policies, weights

claims = ClaimBook("bandit")


@claims.add("Section 4.1, App. C.3", paper="≤ 1")
def tail() -> Finding:
    """Without symmetry, tail suppression still holds: w₋(a) ≤ π(a)^(b/η)."""
    worst = 0.0
    for policy in random_policies():
        for b, eta in ((0.1, 0.3), (0.5, 1.0), (0.9, 3.0)):
            w = weights("dg", policy, b, temperature=eta)[1:] / -b
            worst = max(worst, np.max(np.abs(w) / theory.tail_bound(policy, b, eta)[1:]))
    return found("largest w(a)/π(a)^(b/η) on incorrect actions", worst, worst <= 1 + TINY)


@claims.add("Appendix C.3", paper="≤ 1")
def variance_bound() -> Finding:
    """Without symmetry, Var⊥(g_DG) ≤ Σ π(a)^(1+2b/η) b² ‖Π⊥φ(a)‖²."""
    worst = 0.0
    for policy in random_policies():
        for b, eta in ((0.1, 0.3), (0.5, 1.0), (0.9, 3.0)):
            dg = theory.perpendicular_variance(policy, weights("dg", policy, b, temperature=eta))
            bounding = np.where(
                np.arange(policy.size) > 0, b * theory.tail_bound(policy, b, eta), 0
            )
            worst = max(worst, dg / theory.perpendicular_variance(policy, bounding))
    return found("largest Var⊥(DG) over its bound", worst, worst <= 1 + TINY)


@claims.add("Section 4.1, App. C.3", paper="0")
def bias_vanishes() -> Finding:
    """As the policy concentrates (ε → 0), the directional bias vanishes.

    Directional bias of E[g_DG] as ε falls, for 50 random splits of ε among 20 wrong actions.
    """
    rng = np.random.default_rng(0)
    errors = np.geomspace(0.5, 1e-8, 9)
    gaps = np.zeros((50, errors.size))
    for row in gaps:
        split = rng.dirichlet(np.full(20, 0.5)) + 1e-6
        for i, error in enumerate(errors):
            policy = np.concatenate([[1 - error], error * split / split.sum()])
            mean = theory.expected_gradient(policy, weights("dg", policy, 0.5))
            phi = theory.scores(policy)[0]
            difference = mean / np.linalg.norm(mean) - phi / np.linalg.norm(phi)
            row[i] = difference @ difference / 2
    falling = bool(np.all(np.diff(gaps.mean(0)) < 0))
    last = float(gaps[:, -1].max())
    note = f"at ε = 0.5: {gaps[:, 0].max():.2g}"
    return found(
        "largest 1 − cos(E[g_DG], ∇J) at ε = 1e-8", last, falling and last < 1e-6, note=note
    )


@claims.add("Section 4.1", paper="1")
def bound_tightens() -> Finding:
    """As the policy concentrates (ε → 0), the variance bound tightens.

    Var⊥(g_DG) over its bound as ε falls, for a random split of ε among 20 wrong actions.
    """
    split = np.random.default_rng(0).dirichlet(np.full(20, 0.5)) + 1e-6
    ratios = []
    for error in np.geomspace(0.5, 1e-8, 9):
        policy = np.concatenate([[1 - error], error * split / split.sum()])
        dg = theory.perpendicular_variance(policy, weights("dg", policy, 0.5))
        bound = np.where(np.arange(21) > 0, 0.5 * theory.tail_bound(policy, 0.5, 1.0), 0)
        ratios.append(dg / theory.perpendicular_variance(policy, bound))
    rising = bool(np.all(np.diff(ratios) > 0))
    note = f"at ε = 0.5: {ratios[0]:.2g}"
    return found(
        "Var⊥ over its bound at ε = 1e−8", ratios[-1], rising and 0.99 < ratios[-1] <= 1, note=note
    )


@claims.add("Appendix C.3", paper="0")
def gates_converge() -> Finding:
    """As ε → 0 all incorrect-action contributions shrink, and the gate values converge.

    Largest difference between the gates of incorrect actions as ε falls.
    """
    spreads = []
    for error in np.geomspace(0.5, 1e-8, 9):
        policy = np.concatenate([[1 - error], error * np.array([0.5, 0.3, 0.15, 0.05])])
        w = weights("dg", policy, 0.5)[1:] / -0.5
        spreads.append(float(np.ptp(w)))
    falling = bool(np.all(np.diff(spreads) < 0))
    note = "they converge to 0; their ratios do not change, (π(a)/π(a′))^(b/η)"
    return found("largest difference of gates at ε = 1e−8", spreads[-1], falling, note=note)


@claims.add("Section 4.1", paper="large")
def kick() -> Finding:
    """Late in training, incorrect actions become rare but each delivers a large perpendicular kick.

    1 − cos(ḡ, g*) of a batch of 100 with one mistake, K = 100, at ε = 0.001.
    """
    policy = theory.symmetric_policy(100, 0.001)
    phi, counts = theory.scores(policy), np.array([99, 1] + [0] * 98)
    gaps = {}
    for method in ("pg", "dg"):
        g = (counts * weights(method, policy, 0.5)) @ phi
        gaps[method] = 1 - float(g @ phi[0] / np.linalg.norm(g) / np.linalg.norm(phi[0]))
    holds = gaps["pg"] > 0.1 and gaps["dg"] < 0.1 * gaps["pg"]
    return found("misalignment of PG's batch", gaps["pg"], holds, note=f"DG's: {gaps['dg']:.2g}")


@claims.add("Lemma 2", paper="0")
def symmetry() -> Finding:
    """The scores of the incorrect actions add up to −(K−1)(1−ε)/ε times that of the correct one."""
    worst = 0.0
    for K in (3, 10, 100, 300):
        for error in (1e-4, 0.1, 0.5, 0.99):
            phi = theory.scores(theory.symmetric_policy(K, error))
            target = -(K - 1) * (1 - error) / error * phi[0]
            worst = max(worst, float(np.abs(phi[1:].sum(0) / target - 1).max()))
    return found("largest relative error of the identity", worst, worst < 1e-9)


@claims.add("Section 4.2", paper="0")
def only_variance() -> Finding:
    """For a single context, the reward and cross-entropy oracles coincide, so DG can only reduce
    variance.

    Bias of DG's expected direction: none for symmetric policies, some for others.
    """
    symmetric = [theory.symmetric_policy(10, error) for error in (0.01, 0.1, 0.5, 0.9)]
    none, some = max(map(_bias, symmetric)), max(map(_bias, random_policies()))
    note = f"symmetric policies: {abs(none):.1g}; without symmetry DG turns the expected direction"
    largest = "largest 1 − cos(E[g_DG], ∇J) over policies"
    return found(largest, some, some < TINY, partly=none < TINY, note=note)


@claims.add("Appendix C.3", paper="small")
def bias_small() -> Finding:
    """Without symmetry, E[g_DG] is no longer exactly parallel to ∇J: a small perpendicular bias.

    Over 300 random policies of 3 to 30 actions, from flat to very peaked.
    """
    biases = np.array([_bias(policy) for policy in random_policies()])
    median = float(np.median(biases))
    note = f"median {median:.2g}; it is large where one wrong action holds most of the probability"
    largest = float(biases.max())
    holds = 0 < largest < 0.05
    return found(
        "largest 1 − cos(E[g_DG], ∇J)", largest, holds, partly=0 < median < 0.05, note=note
    )


def _bias(policy: np.ndarray) -> float:
    """1 − cos between DG's expected gradient and ∇J, at b = ½ and η = 1."""
    mean = theory.expected_gradient(policy, weights("dg", policy, 0.5))
    phi = theory.scores(policy)[0]
    return 1 - float(mean @ phi / np.linalg.norm(mean) / np.linalg.norm(phi))


@claims.add("Appendix C.1", paper="≥ 0")
def progress() -> Finding:
    """Cosine controls progress: E[J(z⁺) − J(z)] ≥ α‖∇J‖·E[cos(g, ∇J)] − Lα²/2.

    Smallest slack of the bound over random policies and random directions, sample by sample.
    """
    rng = np.random.default_rng(0)
    slack = np.inf
    for policy in random_policies():
        gradient = policy[0] * theory.scores(policy)[0]
        norm = float(np.linalg.norm(gradient))
        for step in (0.01, 0.1, 1.0):
            g = gradient / norm + rng.normal(size=policy.size) * rng.uniform(0, 1)
            g /= np.linalg.norm(g)
            after = np.exp(np.log(policy) + step * g)
            gain = after[0] / after.sum() - policy[0]
            bound = theory.progress_bound(
                norm, float(g @ gradient / norm), step, theory.SOFTMAX_LIPSCHITZ
            )
            slack = min(slack, gain - bound)
    return found("smallest J(z⁺) − J(z) − bound", float(slack), slack >= 0)
