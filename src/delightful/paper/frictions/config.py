"""MNIST with frictions: what a run is made of; and what runs with frictions cost."""

from dataclasses import dataclass

from delightful.agents.frictions import Frictions, check_frictions
from delightful.agents.tokens.frictions import FrictionTokensConfig
from delightful.lab.cells import Program
from delightful.lab.config import at_least, chosen, stated
from delightful.paper.mnist import config as mnist
from delightful.paper.tokens import config as tokens


@dataclass(frozen=True)
class FrictionMnistConfig(Frictions):
    """MNIST as a contextual bandit, one action per image, with frictions."""

    method: str = stated("dg", "DG and importance-weighted PG are compared; any method runs")
    baseline: str = chosen("expected", "b in U = R − b, as in Section 3; of the learner's policy")
    learning_rate: float = chosen(1e-3, "Adam, 10⁻³ in Section 3; here each method at its best")
    batch: int = chosen(100, "B = 100, as in Section 3")
    width: int = chosen(100, "hidden width, as in Section 3")
    layers: int = chosen(2, "hidden layers, as in Section 3")
    delay: int = chosen(
        0,
        "D: the batch's actor has parameters whose age is uniform over the last D + 1 updates",
    )
    steps: int = chosen(10_000, "K = 10,000, as in Section 3")
    records: int = chosen(50, "how often along training the errors since the last record are kept")

    @property
    def plain(self) -> mnist.MnistConfig:
        """The run without frictions."""
        return mnist.MnistConfig(
            method=self.method,
            baseline=self.baseline,
            learning_rate=self.learning_rate,
            batch=self.batch,
            width=self.width,
            layers=self.layers,
            steps=self.steps,
            records=self.records,
            looks=1,
        )

    def check(self) -> None:
        self.plain.check()
        check_frictions(self)
        at_least(0, self, "delay")


def _mnist_seconds(config: FrictionMnistConfig) -> float:
    """On one core: a third more where an actor of its own evaluates the batch, and the ring."""
    ring = 2e-9 * mnist.parameters(config.plain) * (1 if config.delay else 0)
    actor = mnist.flops(config.plain) / 3.9e11 if config.delay else 0.0
    return mnist.TRAIN.seconds(config.plain) + config.steps * (ring + actor)


def _tokens_seconds(config: FrictionTokensConfig) -> float:
    return tokens.TRAIN.seconds(config)


TOKENS = Program(
    "frictions/tokens", 1, "delightful.paper.frictions.train:tokens", 2, 6.0, _tokens_seconds
)
MNIST = Program(
    "frictions/mnist",
    1,
    "delightful.paper.frictions.train:mnist",
    2,
    2.0,
    _mnist_seconds,
    prepare=mnist.TRAIN.prepare,
    data=mnist.TRAIN.data,
)
