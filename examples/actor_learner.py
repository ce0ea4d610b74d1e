"""Your own environment and policy in the actor–learner: 4 actors on Ray, in NumPy.

A bandit with 20 contexts and 10 actions, of which one is right; the policy is a table of logits.
An actor samples, a learner updates; everything between them is `train`'s. Needs ray.

prints:
    error      0.900 before, 0.04 after
    staleness  1.1 updates on average
"""

import numpy as np

import delightful as dg
from delightful.agents.actor_learner import ActorLearnerConfig, Spec, train

CONTEXTS, ACTIONS, BATCH = 20, 10, 64
RIGHT = np.arange(CONTEXTS) % ACTIONS  # the right action in each context


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


class BanditActor:
    """Samples a batch of contexts, actions and rewards with the parameters that it is given."""

    def sample(self, parameters, rng):
        context = rng.integers(CONTEXTS, size=BATCH)
        probs = softmax(parameters["logits"][context])
        action = (rng.random((BATCH, 1)) > probs.cumsum(-1)).sum(-1).clip(max=ACTIONS - 1)
        reward = (action == RIGHT[context]).astype(np.float64)
        return {"context": context, "action": action, "reward": reward}


class BanditLearner:
    """Updates the logits with DG's score weight: Δ logits = mean of ω · ∇ log π."""

    def __init__(self):
        self.logits = np.zeros((CONTEXTS, ACTIONS))
        one = Spec((BATCH,), np.int64)
        self.layout = {"context": one, "action": one, "reward": Spec((BATCH,), np.float64)}

    def parameters(self):
        return {"logits": self.logits}  # a copy of it is sent

    def update(self, batches):
        context, action, reward = (np.concatenate([b[k] for b in batches]) for k in self.layout)
        probs = softmax(self.logits[context])
        log_prob = np.log(probs[np.arange(len(action)), action])
        weight = dg.score_weight(log_prob, reward - reward.mean(), method="dg")
        score = weight[:, None] * (np.eye(ACTIONS)[action] - probs)
        np.add.at(self.logits, context, 20 * score / len(action))
        return {"reward": reward.mean()}

    def state(self):  # what a checkpoint holds
        return {"logits": self.logits.copy()}

    def restore(self, state):
        self.logits = state["logits"].copy()

    def error(self):
        return 1 - softmax(self.logits)[np.arange(CONTEXTS), RIGHT].mean()


if __name__ == "__main__":
    learner = BanditLearner()
    before = learner.error()
    config = ActorLearnerConfig(actors=4, steps=600, batches=4, queue=4)
    result = train(BanditActor, learner, config)
    print(f"error      {before:.3f} before, {learner.error():.2f} after")
    print(f"staleness  {result.staleness.summary()['mean']:.1f} updates on average")
