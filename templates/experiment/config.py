"""What a run is made of, where each value comes from, and what a run costs."""

from dataclasses import dataclass

from delightful.lab.cells import Program
from delightful.lab.config import chosen, require, stated


@dataclass(frozen=True)
class ArmsConfig:
    """Training two logits, the better arm unlikely at first. Floats are traced, the rest static."""

    method: str = stated("dg", "the method that is tested; any registered one runs")
    start: float = chosen(-2.0, "the better arm's first logit, that of the other is 0")
    step_size: float = chosen(0.5, "gradient ascent; both methods learn with it")
    batch: int = chosen(20, "actions drawn for each step")
    steps: int = chosen(100, "enough for the error to fall below 5%")

    def check(self) -> None:
        """Refuse values that make no sense, in one sentence each."""
        require(self.step_size > 0, "step_size must be > 0", self.step_size)
        require(self.batch >= 1, "batch must be at least 1", self.batch)
        require(self.steps >= 2, "steps must be at least 2", self.steps)


def _seconds(config: ArmsConfig) -> float:
    """On one core of the reference machine, for each seed: it need not be exact."""
    return 1e-7 * config.steps * config.batch


# Raise the version when a run's numbers change: its cells get new ids and are run again.
TRAIN = Program(
    name="experiment/train",
    version=1,
    entry="delightful.paper.experiment.train:run",
    block=10,
    start=1.0,
    seconds=_seconds,
)
