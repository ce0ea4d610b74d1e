"""MNIST as a contextual bandit: what a run is made of, and what it costs."""

from dataclasses import dataclass

from delightful.lab.cells import Program
from delightful.lab.config import at_least, chosen, require, stated
from delightful.registry import parse_method, weighs_batches

BASELINES = ("zero", "constant", "expected", "oracle")
PIXELS, DIGITS = 784, 10


@dataclass(frozen=True)
class MnistConfig:
    """Training a ReLU network on images whose labels it never sees, only right or wrong."""

    method: str = stated("dg", "PG, DG and CE are compared; any registered method runs")
    baseline: str = chosen(
        "expected",
        "b in U = R − b. Figure 3 names four; which one Figures 2, 4 and 14–19 use is not stated. "
        "The text singles out expected, and in a trial of all four it came nearest to what the "
        "text says of Figure 2. It needs no label: Σπ² "
        "is the probability of a right answer if the label were sampled from π",
    )
    samples: int = stated(
        1, "S actions per image; 0 stands for S → ∞, the exact expectation over actions"
    )
    learning_rate: float = stated(1e-3, "Adam, 10⁻³")
    entropy: float = stated(0.0, "coefficient of an entropy bonus, in Appendix B.2 only")
    batch: int = stated(100, "B = 100")
    width: int = stated(100, "hidden width 100")
    layers: int = chosen(
        2, "hidden layers: the paper says 'two-layer MLP', which may also mean one; 1 is run too"
    )
    steps: int = stated(
        10_000, "K = 10,000 'episodes', read as gradient steps: a batch of B actions is one update"
    )
    records: int = chosen(25, "how often along training everything is measured")
    looks: int = chosen(
        20, "batches that a record averages misalignment and gates over: a single one is too noisy"
    )

    def check(self) -> None:
        by_token = parse_method(self.method)[1].get("level") != "sequence"
        require(by_token, "method must have level=token: there are no sequences", self.method)
        alone = not (self.samples == 0 and weighs_batches(self.method))
        require(alone, "with samples=0, method must weigh samples one by one", self.method)
        known = self.baseline in BASELINES
        require(known, f"baseline must be one of {', '.join(BASELINES)}", self.baseline)
        at_least(0, self, "samples", "entropy")
        at_least(1, self, "batch", "width", "layers", "records", "looks")
        require(self.learning_rate > 0, "learning_rate must be > 0", self.learning_rate)
        divides = self.steps >= 1 and self.steps % self.records == 0
        require(divides, "steps must be a multiple of records", f"{self.steps}/{self.records}")


def flops(config: MnistConfig) -> float:
    """Floating-point operations of one training step's matrix products."""
    first = PIXELS * config.width
    rest = (config.layers - 1) * config.width**2 + config.width * DIGITS
    # Forward, and backward to the weights; backward to the inputs for all layers but the first.
    return 2.0 * config.batch * (2 * first + 3 * rest)


def parameters(config: MnistConfig) -> int:
    hidden = (config.layers - 1) * config.width * (config.width + 1)
    return (PIXELS + 1) * config.width + hidden + DIGITS * (config.width + 1)


def _seconds(config: MnistConfig) -> float:
    """On one core: products, Adam, draws, and an overhead per step; then the evaluations."""
    weights = parameters(config)
    # Beyond 300,000 parameters Adam's state does not fit into the cache.
    step = flops(config) / 1.3e11 + 8e-10 * weights + 3e-9 * max(0, weights - 300_000)
    step += 8e-9 * config.batch * (config.samples + 20) + 5e-5
    evaluation = 10_000 * flops(config) / config.batch / 2 / 1e11
    return config.steps * step + config.records * (evaluation + 2 * config.looks * step)


TRAIN = Program(
    "mnist/train",
    1,
    "delightful.paper.mnist.train:run",
    3,
    2.0,
    _seconds,
    prepare="delightful.paper.mnist.data:fetch",
    data="delightful.paper.mnist.data:load",
)
