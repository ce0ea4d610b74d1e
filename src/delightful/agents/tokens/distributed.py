"""Token Reversal for the actor–learner: an actor that samples answers, a learner that updates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from delightful.agents import adam
from delightful.agents.actor_learner.protocols import Arrays, Spec
from delightful.agents.serialization import unflatten_like
from delightful.agents.tokens import network
from delightful.agents.tokens.config import TokensConfig
from delightful.agents.tokens.environment import judge
from delightful.agents.tokens.training import Episodes, act, learn
from delightful.lab.compiling import Fixed, separate

PARAMETERS = "policy"  # all in one array: one buffer travels, not one for each layer


class TokensActor:
    """Answers prompts of its own, `samples` times each."""

    def __init__(self, config: TokensConfig, prompts: int = 1) -> None:
        """Compile nothing yet.

        Args:
            config: the run's.
            prompts: in one batch.
        """
        config = replace(config, prompts=prompts)
        unravel = ravel_pytree(_initial(config, 0))[1]

        def sample(parameters: jax.Array, seed: jax.Array) -> dict[str, jax.Array]:
            episodes, _ = act(config, unravel(parameters), jax.random.key(seed))
            # The learner computes rewards and advantages: a baseline may need the whole step.
            return {name: getattr(episodes, name) for name in layout(config, prompts)}

        self._sample = jax.jit(sample)

    def sample(self, parameters: Arrays, rng: np.random.Generator) -> Arrays:
        """Sample a batch of answers to fresh prompts.

        Args:
            parameters: as the learner gave them.
            rng: determines prompts and answers.

        Returns:
            Prompts, answers and log π of the policy that acted, as in `layout`.
        """
        seed = rng.integers(2**32, dtype=np.uint32)
        return {
            name: np.asarray(a) for name, a in self._sample(parameters[PARAMETERS], seed).items()
        }


class TokensLearner:
    """The policy in training and its Adam."""

    def __init__(self, config: TokensConfig, seed: int, prompts: int = 1) -> None:
        """Make a new policy.

        Args:
            config: the run's, with any registered method.
            seed: determines the initial policy.
            prompts: in one batch of an actor.
        """
        static, fixed, floats, traced = separate(config)
        self.policy = _initial(config, seed)
        self.optimiser = adam.start(self.policy)
        self.layout: Mapping[str, Spec] = layout(config, prompts)
        self._floats = floats, traced
        self._parameters = np.asarray(ravel_pytree(self.policy)[0])
        assert isinstance(static, TokensConfig)
        self._update = _compiled(static, fixed)

    def parameters(self) -> Arrays:
        """The policy's weights in one array."""
        return {PARAMETERS: self._parameters}

    def update(self, batches: Sequence[Arrays]) -> dict[str, float]:
        """Learn from batches as from one: `epochs` passes in `minibatches` updates each.

        Args:
            batches: of `prompts` of the config together.

        Returns:
            The mean error and reward of their answers.
        """
        joined = [
            np.concatenate([batch[name] for batch in batches], axis=-1) for name in self.layout
        ]
        state = self.policy, self.optimiser
        self.policy, self.optimiser, parameters, seen = self._update(*self._floats, state, joined)
        self._parameters = np.asarray(parameters)
        return {name: float(value) for name, value in seen.items()}

    def state(self) -> Arrays:
        """Policy and optimiser by path; nothing here draws random numbers."""
        tree = {"policy": self.policy, "optimiser": self.optimiser}
        leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
        named = ((jax.tree_util.keystr(p, simple=True, separator="/"), leaf) for p, leaf in leaves)
        return {name: np.asarray(leaf) for name, leaf in named}

    def restore(self, state: Arrays) -> None:
        """Go on from a checkpoint.

        Args:
            state: what `state` gave.
        """
        like = {"policy": self.policy, "optimiser": self.optimiser}
        tree = jax.tree.map(jnp.asarray, unflatten_like(like, state))
        self.policy, self.optimiser = tree["policy"], tree["optimiser"]
        self._parameters = np.asarray(ravel_pytree(self.policy)[0])


def layout(config: TokensConfig, prompts: int) -> dict[str, Spec]:
    """The arrays of a batch of an actor, samples last.

    Args:
        config: sizes.
        prompts: in the batch.

    Returns:
        Shape and dtype by name.
    """
    h, m, answers = config.length, config.vocabulary, prompts * config.samples
    return {
        "prompts": Spec((h, prompts), np.int32),
        "answers": Spec((h, answers), np.int32),
        "log_policy": Spec((m, h, answers), np.float32),
    }


def _initial(config: TokensConfig, seed: int) -> network.Transformer:
    return network.initial(jax.random.key(seed), config)


@cache
def _compiled(static: TokensConfig, fixed: Fixed) -> Callable[..., Any]:
    """Compile an update; the floats of config and method are traced."""
    return jax.jit(partial(_update, static, dict(fixed)))


def _update(
    static: TokensConfig,
    fixed: dict[str, Any],
    floats: dict[str, Any],
    traced: dict[str, Any],
    state: tuple[network.Transformer, adam.Adam],
    joined: Sequence[jax.Array],
) -> tuple[network.Transformer, adam.Adam, jax.Array, dict[str, jax.Array]]:
    config = replace(static, **floats)
    prompts, answers, log_policy = joined
    error, reward, advantage = judge(config, prompts, answers)
    episodes = Episodes(prompts, answers, log_policy, advantage)
    policy, optimiser = learn(config, {**fixed, **traced}, *state, episodes)
    return policy, optimiser, ravel_pytree(policy)[0], {"error": error, "reward": reward}
