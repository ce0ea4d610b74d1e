"""The bandit's two programs: training it, and measuring alignment at a frozen policy."""

from dataclasses import dataclass

from delightful.lab.cells import Program
from delightful.lab.config import at_least, chosen, require, stated
from delightful.registry import parse_method, weighs_batches


@dataclass(frozen=True)
class BanditConfig:
    """Training a table of logits with normalised steps z ← z + α g/‖g‖."""

    method: str = stated("dg", "PG and DG are compared; any registered method runs")
    actions: int = stated(100, "K = 100")
    batch: int = stated(100, "B = 100")
    step_size: float = stated(0.1, "α = 0.1")
    baseline: float = chosen(
        0.5, "the paper says b in (0, 1) and evaluates its bound at ½; R is 0 or 1, so ½ is central"
    )
    steps: int = chosen(
        130,
        "PG's error is below 1% and its misalignment has rebounded; soon after, most batches "
        "hold no mistake at all and misalignment means little",
    )

    def check(self) -> None:
        by_token = parse_method(self.method)[1].get("level") != "sequence"
        require(by_token, "method must have level=token: there are no sequences", self.method)
        at_least(3, self, "actions")
        at_least(2, self, "steps")
        at_least(1, self, "batch")
        require(self.step_size > 0, "step_size must be > 0", self.step_size)


@dataclass(frozen=True)
class AlignmentConfig:
    """Monte Carlo of cos(ḡ, g*_PG) for batches drawn from one frozen symmetric policy."""

    method: str = stated(
        "dg", "PG and DG are compared; any method that weighs samples one by one runs"
    )
    actions: int = stated(100, "K = 100")
    error: float = stated(0.5, "ε = 0.5 and ε = 0.1")
    batch: int = chosen(
        100_000, "large enough for the batch mean to concentrate, as the claim asks"
    )
    baseline: float = stated(0.5, "b = ½ where the paper evaluates the ratio")
    batches: int = chosen(20, "batches per seed; the interval comes from the seeds")

    def check(self) -> None:
        alone = not weighs_batches(self.method)
        require(alone, "method must weigh samples one by one", self.method)
        at_least(3, self, "actions")
        require(0 < self.error < 1, "error must lie strictly between 0 and 1", self.error)
        at_least(1, self, "batch", "batches")


def _training_seconds(config: BanditConfig) -> float:
    return 2e-9 * config.steps * config.batch * config.actions


def _alignment_seconds(config: AlignmentConfig) -> float:
    return 1e-4 + 1e-7 * config.batches * config.actions


TRAIN = Program("bandit/train", 2, "delightful.paper.bandit.train:run", 100, 1.2, _training_seconds)
ALIGN = Program(
    "bandit/align", 1, "delightful.paper.bandit.alignment:run", 1000, 0.0, _alignment_seconds
)
