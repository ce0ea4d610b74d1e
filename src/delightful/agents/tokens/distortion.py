"""Token Reversal with frictions: what the learner receives is not what the policy answered."""

import jax
import jax.numpy as jnp

from delightful.agents.distortion import draw_hits
from delightful.agents.tokens.environment import advantages, earned, targets
from delightful.agents.tokens.frictions import FrictionTokensConfig
from delightful.agents.tokens.training import Episodes


def distort(config: FrictionTokensConfig, episodes: Episodes, key: jax.Array) -> Episodes:
    """Replace answers and rewards on their way to the learner.

    Args:
        config: the run's, with the probabilities of bugs, corruption and discovery.
        episodes: what the actors answered.
        key: the step's.

    Returns:
        The batch that the learner sees. Replaced answers have behaviour log-probability 0; their
        rewards are what they earn, unless corrupted; advantages follow from these.
    """
    hits = draw_hits(config, key, config.batch)
    prompts, answers, log_policy, _ = episodes
    answers = jnp.where(hits.bug, 0, answers)
    wanted = jnp.repeat(targets(config.task, config.vocabulary, prompts), config.samples, axis=1)
    answers = jnp.where(hits.discovery, wanted, answers)
    taken = jnp.arange(config.vocabulary)[:, None, None] == answers
    log_policy = jnp.where(taken & hits.replaced, 0.0, log_policy)
    _, reward = earned(config, prompts, answers)
    corrupted, instead = (x.reshape(reward.shape) for x in (hits.corrupted, hits.reward))
    reward = jnp.where(corrupted, instead, reward)
    advantage = advantages(config.baseline, reward, config.length)
    return Episodes(prompts, answers, log_policy, advantage)
