"""Token Reversal as a program of the lab: its config, and what a run costs."""

from delightful.agents.tokens.config import TokensConfig
from delightful.lab.cells import Program


def tokens(config: TokensConfig) -> int:
    """Tokens that pass through the network for one batch, each prompt's only once.

    An answer's last token is never fed in: nothing is predicted from it.
    """
    return config.prompts * config.length + config.batch * (config.length - 1)


def flops(config: TokensConfig) -> float:
    """Floating-point operations of one training step's products with weights."""
    layer = 4 * config.width**2 + 2 * config.width * config.feedforward
    out = config.batch * config.length * config.width * config.vocabulary
    once = 2.0 * (tokens(config) * config.layers * layer + out)
    return once * (1 + 3 * config.epochs)  # sampling; and forward and backward for each epoch


def _seconds(config: TokensConfig) -> float:
    """On one core: products at what XLA reaches, attention by its own count, and an overhead."""
    keys = config.length * 1.5
    attention = tokens(config) * config.layers * config.width * keys * (2 + 6 * config.epochs)
    step = flops(config) / 1.0e11 + attention / 7e9 + 1.5e-3 * (1 + config.updates)
    return config.steps * step


TRAIN = Program("tokens/train", 1, "delightful.paper.tokens.train:run", 2, 6.0, _seconds)
