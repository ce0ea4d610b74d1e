"""How old the data of `delightful run stacks/staleness` are, in each framework."""

from importlib.util import find_spec

import pytest


def needs(*packages):
    absent = [package for package in packages if find_spec(package) is None]
    return pytest.mark.skipif(bool(absent), reason=f"{', '.join(absent)} is not installed")


@needs("stable_baselines3")
@pytest.mark.parametrize("algorithm", ["ppo", "a2c"])
def test_sb3_fills_its_buffer_with_the_weights_of_the_last_sync(algorithm):
    import torch

    from delightful.paper.stacks.sb3 import act_with_old_weights, model

    training = model(algorithm, "CartPole-v1", None, seed=0)
    ages = []
    before = [weights_of(training.policy)]
    act_with_old_weights(training, staleness=1)
    train = training.train

    def aged_train():
        buffer = training.rollout_buffer
        seen = torch.as_tensor(buffer.observations).flatten(0, 1)
        actions = torch.as_tensor(buffer.actions).flatten()
        stored = torch.as_tensor(buffer.log_probs).flatten()
        latest = weights_of(training.policy)
        found = []
        for age, weights in enumerate(reversed(before)):
            training.policy.load_state_dict(weights)
            with torch.no_grad():
                _, log_prob, _ = training.policy.evaluate_actions(seen, actions)
            found += [age] if torch.allclose(log_prob, stored, atol=1e-6) else []
        training.policy.load_state_dict(latest)
        ages.append(found)
        train()
        before.append(weights_of(training.policy))

    training.train = aged_train
    training.learn(5 * training.n_steps * training.n_envs)
    assert ages == [[0], [1], [0], [1], [0]]


def weights_of(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


@needs("stable_baselines3")
def test_sb3_with_a_copy_of_staleness_0_is_sb3():
    from delightful.paper.stacks.sb3 import act_with_old_weights, model

    trained = []
    for acting in (lambda _: None, lambda training: act_with_old_weights(training, 0)):
        training = model("a2c", "CartPole-v1", None, seed=0)
        acting(training)
        training.learn(400)
        trained.append(weights_of(training.policy))
    for name, value in trained[0].items():
        assert value.equal(trained[1][name]), name


@needs("torchrl")
def test_torchrl_acts_with_the_weights_of_the_last_sync(monkeypatch):
    import torch

    from delightful.paper.stacks import torchrl

    monkeypatch.setattr(torchrl, "FRAMES", 20)
    training = torchrl.Training("a2c", "CartPole-v1", None, seed=0, staleness=2)
    before, ages = [weights_of(training.actor)], []
    for _ in range(7):
        acting = weights_of(training.collector.policy).values()
        same = [all(map(torch.equal, acting, weights.values())) for weights in reversed(before)]
        ages.append([age for age, equal in enumerate(same) if equal])
        training.step()
        before.append(weights_of(training.actor))
    training.collector.shutdown()
    assert ages == [[0], [1], [2], [0], [1], [2], [0]]


@needs("trl", "datasets")
@pytest.mark.parametrize("staleness", [0, 3])
def test_trl_generates_once_for_several_steps_and_corrects_by_ratios(tmp_path, staleness):
    from delightful.paper.stacks.trl import trainer

    training = trainer(None, 0, 8, str(tmp_path), staleness)
    generate, loss, completions, corrected = (
        training._generate_and_score_completions,
        training._compute_loss,
        [],
        [],
    )

    def counted(inputs):
        completions.append(len(inputs))
        return generate(inputs)

    def seen(model, inputs):
        corrected.append(inputs.get("old_per_token_logps") is not None)
        assert len(inputs["advantages"]) == 64
        return loss(model, inputs)

    training._generate_and_score_completions, training._compute_loss = counted, seen
    training.train()
    assert completions == [64 * (staleness + 1)] * (8 // (staleness + 1))
    assert corrected == [staleness > 0] * 8
    rewards = [row["step"] for row in training.state.log_history if "reward" in row]
    assert rewards == list(range(1, 9, staleness + 1))


@needs("verl")
@pytest.mark.parametrize("staleness", [0, 3])
def test_verl_generates_once_for_several_steps(staleness):
    from delightful.paper.stacks import verl
    from delightful.paper.stacks.config import StackConfig

    sizes, updates = [], []
    generate, update = verl.Training._generate, verl.Training._update

    def generated(self, prompts):
        sizes.append(len(prompts))
        return generate(self, prompts)

    def updated(self, batch):
        optimiser = self.worker.engine.optimizer
        before = next(iter(optimiser.state.values()))["step"].item() if optimiser.state else 0
        metrics = update(self, batch)
        updates.append(next(iter(optimiser.state.values()))["step"].item() - before)
        return metrics

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verl.Training, "_generate", generated)
        patch.setattr(verl.Training, "_update", updated)
        config = StackConfig("pg", "verl", "grpo", "reversal", 8, 2, staleness)
        found = verl.scores(config, None, 0)
    rollouts = 8 // (staleness + 1)
    assert sizes == [verl.PROMPTS * (staleness + 1)] * rollouts
    assert updates == [2 * (staleness + 1)] * rollouts
    assert [step for step, _ in found] == list(range(1, 9, staleness + 1))
