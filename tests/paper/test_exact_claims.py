"""The claims that need no run: their verdicts as they are now, and proof that each can fail."""

import dataclasses
import importlib
import math

import numpy as np
import pytest

from delightful import METHODS, arrays, theory
from delightful.lab.verdicts import judge, verdict_of
from delightful.paper import EXPERIMENTS

EXACT = {c.id: c for e in EXPERIMENTS.values() for c in e.claims if c.sweep is None}

PARTLY = {
    "gate/operations",
    "bandit/only-variance",
    "contexts/self-reinforcing",
}
REPRODUCED = {
    "gate": """breakthrough amplifies favoured maximiser softplus saturation hedonic enlightened
        stationary direction blind asymmetry rare-clipped both-tails baseline no-ratio""",
    "bandit": """oracles-coincide gate-sides direction variance ratio-below-one bound four-percent
        one-percent tail variance-bound bias-vanishes bound-tightens gates-converge kick symmetry
        progress""",
    "contexts": """weights greedy budget cosine-monotone monotone-weight two-contexts
        any-contexts path low-temperature""",
}
EXPECTED = {f"{e}/{c}": "reproduced" for e, claims in REPRODUCED.items() for c in claims.split()}
EXPECTED |= dict.fromkeys(PARTLY, "partly") | dict.fromkeys(
    ("gate/trust-region", "bandit/bias-small"), "not reproduced"
)


def outcomes_of(claim):
    return judge(EXACT[claim].rule, EXACT[claim].check(), 0.95)


def test_every_exact_claim_has_a_pinned_verdict():
    assert set(EXACT) == set(EXPECTED)


@pytest.mark.parametrize("claim", EXACT)
def test_a_claim_finds_finite_values_and_the_pinned_verdict(claim):
    outcomes = outcomes_of(claim)
    assert all(math.isfinite(outcome.estimate.value) for outcome in outcomes)
    assert all(outcome.measures for outcome in outcomes)
    assert verdict_of(EXACT[claim].rule, outcomes) == EXPECTED[claim], outcomes


def test_a_rare_success_counts_almost_twice_and_a_rare_failure_hardly():
    values = [outcome.estimate.value for outcome in outcomes_of("gate/amplifies")]
    assert values == pytest.approx([2 / 1.01, 0.02 / 1.01])  # w = 1/(1 + 0.01^U)


def test_an_easy_image_has_the_larger_weight_and_the_shorter_gradient():
    found = EXACT["contexts/budget"].check()
    assert found.quantities[0].value == pytest.approx(0.99 / 0.5)
    lengths = (0.99 * 0.01) / (0.5 * 0.5)  # v is as long as 1 − p, up to a factor
    assert f"{lengths:.2g} times as long" in found.note


# What would be found if an ingredient were wrong: (what is wrong, the claims that must notice)

_right = {name: getattr(theory, name) for name in vars(theory) if not name.startswith("_")}
_gate_claims = importlib.import_module("delightful.paper.gate.claims.the_gate")


def _theory(name, wrong):
    return lambda patch: patch.setattr(theory, name, wrong)


def _weight(method, wrong):
    changed = dataclasses.replace(METHODS[method], weight=wrong)
    return lambda patch: patch.setitem(METHODS, method, changed)


def _gate(wrong):
    def weight(batch, temperature=1.0):
        return batch.advantage * wrong(batch.advantage, batch.log_prob, temperature)

    def everywhere(patch):
        patch.setattr(
            _gate_claims, "gate", lambda lp, U, temperature=1.0: wrong(U, lp, temperature)
        )
        _weight("dg", weight)(patch)

    return everywhere


def _sigmoid(x):
    return 0.5 + np.tanh(x / 2) / 2


def _unclipped(batch, clip=0.2):  # noqa: ARG001
    old = batch.log_prob if batch.old_log_prob is None else batch.old_log_prob
    return np.exp(batch.log_prob - old) * batch.advantage


def _held(batch, clip=0.2):
    return np.exp(batch.log_prob - batch.old_log_prob).clip(1 - clip, 1 + clip) * batch.advantage


def _with_ratio(batch, temperature=1.0):
    return _unclipped(batch) * _sigmoid(-batch.advantage * batch.log_prob / temperature)


_OF_DG = "gate/asymmetry bandit/direction bandit/variance bandit/variance-bound contexts/weights"
_OF_GATE = "gate/maximiser gate/softplus gate/enlightened"

WRONG = {
    "gates swapped": (
        _theory("symmetric_gates", lambda *args: _right["symmetric_gates"](*args)[::-1]),
        """bandit/gate-sides bandit/direction bandit/variance bandit/ratio-below-one bandit/bound
        bandit/four-percent bandit/one-percent""",
    ),
    "gate without its sigmoid": (
        _gate(lambda U, lp, eta: -U * lp / eta),
        f"gate/favoured gate/hedonic bandit/bias-vanishes {_OF_GATE} {_OF_DG}",
    ),
    "gate that opens to three": (
        _gate(lambda U, lp, eta: 3 * _sigmoid(-U * lp / max(eta, 1e-300))),
        "gate/breakthrough gate/favoured",
    ),
    "gate always one half": (
        _gate(lambda U, lp, _: 0.5 + 0 * U * lp),
        f"""gate/breakthrough gate/amplifies gate/direction bandit/tail bandit/gate-sides {_OF_GATE}
        {_OF_DG}""",
    ),
    "gate of the wrong sign": (
        _gate(lambda U, lp, eta: _sigmoid(U * lp / max(eta, 1e-300))),
        f"gate/breakthrough gate/amplifies gate/rare-clipped bandit/tail {_OF_GATE} {_OF_DG}",
    ),
    "gate that forgets the temperature": (
        _gate(lambda U, lp, _: _sigmoid(-U * lp)),
        f"gate/hedonic bandit/direction bandit/variance contexts/weights {_OF_GATE}",
    ),
    "DG as PG": (
        _weight("dg", lambda b, temperature=1.0: b.advantage),  # noqa: ARG005
        f"""gate/operations gate/hedonic gate/direction bandit/tail bandit/bound-tightens
        bandit/only-variance bandit/gates-converge bandit/kick {_OF_DG}""",
    ),
    "DG that weighs surprisal without advantage": (
        _weight("dg", lambda b, temperature=1.0: arrays.sigmoid(b.surprisal) * b.advantage),  # noqa: ARG005
        "gate/operations gate/asymmetry",  # one product fewer: then the count is the paper's
    ),
    "DG that likes surprisal for itself": (
        _weight("dg", lambda b, temperature=1.0: b.advantage - b.log_prob.clip(-99) / temperature),
        f"gate/stationary {_OF_DG}",
    ),
    "DG that hardly turns": (
        _weight("dg", lambda b, temperature=1.0: b.advantage * (1 - 1e-9 * b.log_prob)),  # noqa: ARG005
        "bandit/bias-small",
    ),
    "DG with an importance ratio": (_weight("dg", _with_ratio), "gate/no-ratio"),
    "PG that sees probability": (
        _weight("pg", lambda b: -b.advantage * b.log_prob),
        """gate/blind gate/baseline bandit/oracles-coincide contexts/weights
        contexts/self-reinforcing contexts/budget""",
    ),
    "AWR that decreases": (
        _weight("awr", lambda b, **_: np.exp(-b.advantage)),
        "gate/blind",
    ),
    "PPO without its clip": (
        _weight("ppo", _unclipped),
        "gate/rare-clipped gate/both-tails",
    ),
    "PPO with its ratio held within the clip": (
        _weight("ppo", _held),
        "gate/trust-region gate/rare-clipped gate/both-tails",
    ),
    "CE as PG": (_weight("ce", lambda b: b.advantage), "contexts/weights"),
    "objective without entropy": (
        _theory("gate_objective", lambda w, delight, _: delight * w),
        "gate/maximiser gate/softplus",
    ),
    "potential squared": (
        _theory("softplus_potential", lambda delight, _: np.square(delight)),
        "gate/softplus gate/saturation",
    ),
    "scores without the mean": (
        _theory("scores", lambda policy: np.eye(policy.size)),
        """bandit/oracles-coincide bandit/direction bandit/variance bandit/progress contexts/weights
        bandit/symmetry""",
    ),
    "scores that fade too early": (
        _theory("scores", lambda policy: (1 - policy[0]) ** 20 * _right["scores"](policy)),
        "bandit/oracles-coincide",
    ),
    "variance along the gradient too": (
        _theory("perpendicular_variance", lambda policy, weight: policy @ weight**2),
        "bandit/variance bandit/variance-bound",
    ),
    "scale without wrong actions": (
        _theory("direction_scale", lambda plus, _, b=0.5: (1 - b) * plus),
        "bandit/direction bandit/ratio-below-one bandit/four-percent",
    ),
    "bound without its 16": (
        _theory("cosine_gap_bound", lambda K, error: error / (K - 1)),
        "bandit/bound",
    ),
    "tail bound squared": (
        _theory("tail_bound", lambda policy, b, eta: policy ** (2 * b / eta)),
        "bandit/tail bandit/variance-bound",
    ),
    "progress without curvature": (_theory("SOFTMAX_LIPSCHITZ", 0.0), "bandit/progress"),
    "weight p² for DG": (
        _theory("dg_weight", lambda p, _=1.0: np.square(p)),
        "contexts/weights contexts/monotone-weight contexts/two-contexts contexts/any-contexts",
    ),
    "gain not normalised": (
        _theory("arithmetic_gain", lambda c, p, a: np.sum(c * p * a, -1)),
        "contexts/greedy",
    ),
    "gap of the wrong sign": (
        _theory("context_gap", lambda c, a: -_right["context_gap"](c, a)),
        "contexts/cosine-monotone contexts/path",
    ),
    "path slope of the wrong sign": (
        _theory("path_slope", lambda *args: -_right["path_slope"](*args)),
        "contexts/path",
    ),
    "no counterexample": (
        _theory("direction_counterexample", lambda _: (-1.0, np.ones(2), np.ones(2))),
        "contexts/low-temperature",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_ingredient_is_noticed(wrong, monkeypatch):
    break_it, claims = WRONG[wrong]
    break_it(monkeypatch)
    with np.errstate(all="ignore"):
        verdicts = {c: verdict_of(EXACT[c].rule, outcomes_of(c)) for c in claims.split()}
    assert {c for c, v in verdicts.items() if v == EXPECTED[c]} == set()


def test_every_claim_has_been_seen_to_come_out_otherwise():
    assert set(EXACT) == {claim for _, claims in WRONG.values() for claim in claims.split()}
