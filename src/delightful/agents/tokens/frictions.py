"""The settings of Token Reversal with frictions; `distortion` does what they say."""

from dataclasses import dataclass

from delightful.agents.frictions import Frictions, check_frictions
from delightful.agents.tokens.config import TokensConfig
from delightful.lab.config import chosen, require


@dataclass(frozen=True)
class FrictionTokensConfig(Frictions, TokensConfig):
    """Token Reversal with stale actors, bugs, corrupted rewards and rare discoveries."""

    ages: str = chosen(
        "uniform", "for each actor and batch uniform over the last D + 1 updates: one of the four"
    )

    def check(self) -> None:
        TokensConfig.check(self)
        check_frictions(self)
        require(self.kl == 0, "kl must be 0: no policy gave the replaced answers", self.kl)
