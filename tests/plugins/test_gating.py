import math
import warnings

import pytest
import torch
from by_hand import gate

import delightful as dg
from delightful.plugins import gating
from delightful.plugins.gating import DelightConfig, Gating, for_transitions, scale_lost


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"temperature": -1.0}, "temperature must be >= 0, got -1.0"),
        ({"temperature": "warm"}, "temperature must be a number, got 'warm'"),
        ({"level": "word"}, "level must be one of 'token', 'sequence', got 'word'"),
        ({"max_surprisal": 0.0}, "max_surprisal must be > 0, got 0.0"),
        ({"unit_gain": "yes"}, "unit_gain must be one of True, False, got 'yes'"),
        ({"whiten": "both"}, "whiten must be one of None, 'standard', 'scale', got 'both'"),
        ({"gate_advantage": "std"}, "gate_advantage must be one of 'centred', 'raw', got 'std'"),
    ],
)
def test_a_bad_option_is_named_in_one_sentence(options, sentence):
    with pytest.raises((ValueError, TypeError)) as caught:
        DelightConfig(**options)
    assert str(caught.value) == sentence


def test_transitions_have_no_sequence():
    assert for_transitions(None) == DelightConfig()
    with pytest.raises(ValueError, match='level must be "token" where a batch is of single'):
        for_transitions(DelightConfig(level="sequence"))


@pytest.mark.parametrize("make", [Gating, for_transitions])
def test_options_come_as_a_config(make):
    with pytest.raises(TypeError, match="delight must be a DelightConfig, got dict"):
        make({"temperature": 1.0})


def test_the_gate_is_the_estimators():
    torch.manual_seed(0)
    advantage, log_prob = torch.randn(50), -torch.rand(50) * 8
    w = Gating(DelightConfig(temperature=0.5, max_surprisal=3.0))(log_prob, advantage)
    torch.testing.assert_close(w.double(), gate(advantage, log_prob, 0.5, 3.0), rtol=1e-6, atol=0)


def test_unit_gain_doubles_and_infinity_is_one():
    advantage, log_prob = torch.randn(50), -torch.rand(50)
    plain = Gating(DelightConfig(unit_gain=False))(log_prob, advantage)
    doubled = Gating(DelightConfig())(log_prob, advantage)
    assert torch.equal(doubled, 2 * plain)
    off = DelightConfig(temperature=math.inf)
    assert torch.equal(Gating(off)(log_prob, advantage), torch.ones(50))


def test_centred_and_raw():
    advantage, log_prob = torch.tensor([2.5, -0.4]), torch.tensor([-3.0, -3.0])
    centred = advantage * 0.1
    on = Gating(DelightConfig())(log_prob, advantage, gate_advantage=centred)
    off = Gating(DelightConfig(gate_advantage="raw"))(log_prob, advantage, gate_advantage=centred)
    torch.testing.assert_close(on.double(), gate(centred, log_prob), rtol=1e-6, atol=0)
    torch.testing.assert_close(off.double(), gate(advantage, log_prob), rtol=1e-6, atol=0)


def test_a_dead_gate_is_reported_once_with_what_to_try():
    dead = Gating(DelightConfig(), of_sequences=True)
    advantage, log_prob = torch.tensor([1.0, -1.0]), torch.tensor([-0.01, -0.01])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(gating.PATIENCE - 1):
            dead(log_prob, advantage)
        assert not caught
        for _ in range(3 * gating.PATIENCE):
            dead(log_prob, advantage)
        dead(500 * log_prob, advantage)  # it wakes up, and dies again
        for _ in range(2 * gating.PATIENCE):
            dead(log_prob, advantage)
    assert len(caught) == 1
    said = str(caught[0].message)
    assert 'level="sequence"' in said
    assert "temperature below 1" in said


@pytest.mark.filterwarnings("error")
def test_a_gate_that_wakes_up_now_and_then_is_not_dead():
    alive = Gating(DelightConfig())
    for step in range(3 * gating.PATIENCE):
        surprising = -5.0 if step % (gating.PATIENCE - 1) == 0 else -0.01
        alive(torch.full((2,), surprising), torch.tensor([1.0, -1.0]))


@pytest.mark.filterwarnings("error")
def test_a_gate_that_was_turned_off_is_not_dead():
    off = Gating(DelightConfig(temperature=math.inf))
    for _ in range(2 * gating.PATIENCE):
        off(torch.tensor([-3.0, -3.0]), torch.tensor([1.0, -1.0]))


def test_numbers_leave_out_what_is_not_defined():
    all_good = Gating(DelightConfig())
    all_good(torch.tensor([-3.0, -0.1]), torch.tensor([1.0, 2.0]))
    numbers = all_good.numbers()
    assert "gate_mean_negative" not in numbers
    assert numbers["gate_mean_positive"] > 0.5


def test_scale_lost():
    torch.manual_seed(0)
    unscaled = torch.randn(40) * 7 + 3
    standardised = (unscaled - unscaled.mean()) / (unscaled.std() + 1e-8)
    assert float(scale_lost(unscaled, standardised)) == pytest.approx(float(unscaled.std()))
    part = slice(5, 17)
    assert float(scale_lost(unscaled[part], standardised[part])) == pytest.approx(
        float(unscaled.std()), rel=1e-5
    )
    assert float(scale_lost(torch.ones(3), torch.zeros(3))) == 1


@pytest.mark.parametrize("whiten", [None, "scale"])
def test_a_batch_that_is_masked_out_whole_has_a_gate_and_no_numbers(whiten):
    gating_of = Gating(DelightConfig(whiten=whiten))
    advantage, log_prob = torch.randn(2, 3), -torch.rand(2, 3)
    w = gating_of(log_prob, advantage, mask=torch.zeros(2, 3))
    assert torch.equal(w, torch.ones(2, 3))
    assert gating_of.numbers() == {}


@pytest.mark.parametrize("unit_gain", [True, False])
@pytest.mark.parametrize("of_sequences", [True, False])
def test_the_eager_gate_is_the_gate(unit_gain, of_sequences):
    """Undiagnosed, in fewer operations: the same numbers, limits and masked NaN included."""
    torch.manual_seed(0)
    log_prob = -torch.rand(6, 5) * 30
    log_prob[0, 0], log_prob[1, 1], log_prob[2, 2] = -math.inf, -math.inf, math.nan
    advantage = torch.randn(6) if of_sequences else torch.randn(6, 5)
    advantage[0], advantage[1] = 0.0, -2.0
    mask = torch.ones(6, 5)
    mask[2, 2] = 0
    made = Gating(DelightConfig(unit_gain=unit_gain))
    w = made(log_prob.clone().requires_grad_(), advantage, mask=mask, diagnose=False)
    expected = dg.gate(log_prob, advantage, mask=mask, unit_gain=unit_gain)
    torch.testing.assert_close(w, expected, rtol=1e-6, atol=1e-7)
    assert not w.requires_grad
    bare = made(log_prob[3:], advantage[3:], diagnose=False)
    torch.testing.assert_close(bare, expected[3:], rtol=1e-6, atol=1e-7)


def test_under_torch_compile_there_is_a_gate_and_nothing_is_diagnosed():
    found = Gating(DelightConfig())
    compiled = torch.compile(found, backend="eager")
    advantage, log_prob = torch.randn(8), -torch.rand(8)
    torch.testing.assert_close(
        compiled(advantage, log_prob), Gating(found.config)(log_prob, advantage)
    )
    assert found.diagnosis is None
