"""The settings of a Token Reversal run."""

from dataclasses import dataclass

from delightful.lab.config import at_least, chosen, require, stated
from delightful.registry import weighs_batches

TASKS = ("copy", "flip", "reverse-copy", "reverse-flip")
REWARDS = ("bag", "sequential", "all")
BASELINES = ("prompt", "batch")
AGES = ("fixed", "uniform", "batch")


@dataclass(frozen=True)
class TokensConfig:
    """Training a Transformer to answer a prompt of tokens, by reward alone."""

    method: str = stated("dg", "REINFORCE, PPO, PMPO and DG are compared; any registered one runs")
    task: str = stated("reverse-copy", "Reverse Copy is the default of four target logics")
    reward: str = stated(
        "bag",
        "Bag-of-Tokens; or sequential, up to the first mistake. Beyond the paper: all, 1 for a "
        "faultless answer and 0 for any other",
    )
    length: int = stated(10, "H = 10")
    vocabulary: int = stated(2, "M = 2")
    prompts: int = stated(10, "10 actors, read as 10 prompts per gradient step")
    samples: int = stated(10, "each collects 10 trajectories; in the author's code, of one prompt")
    baseline: str = chosen(
        "prompt",
        "the paper says 'standard empirical mean baseline'; the author's code takes the mean over "
        "the samples of one prompt; batch, the mean over all samples, is the other reading",
    )
    learning_rate: float = chosen(
        1e-3,
        "Adam is stated, its rate is not; the author's code has 3e-4. Figures use a rate for "
        "each method, chosen on the grid that Figure 21a shows",
    )
    kl: float = chosen(
        0.0, "β of a penalty β·KL(π‖π that acted), of PPO and PMPO in Figure 20; 0 elsewhere"
    )
    epochs: int = chosen(1, "passes over each batch; not stated, 1 in the author's code")
    minibatches: int = chosen(1, "updates per pass, each on its share of the prompts")
    delay: int = chosen(
        0,
        "D: how many updates old the actors' parameters are; the paper's actors run in parallel "
        "with the learner, and it does not say how old theirs are",
    )
    ages: str = chosen(
        "fixed",
        "fixed: every actor is D updates old; uniform: for each actor and batch uniform over the "
        "last D + 1 updates; batch: the same, with one age for all actors of a batch, as in the "
        "author's code",
        before="fixed",
    )
    width: int = stated(64, "d_model = 64")
    layers: int = stated(2, "2 layers; the author's code has 3")
    heads: int = stated(2, "2 attention heads; the author's code has 4")
    feedforward: int = chosen(128, "hidden units of a feed-forward block, as in the author's code")
    final_norm: bool = chosen(
        True, "LayerNorm before the logits; the author's code has none", before=True
    )
    steps: int = stated(
        1000, "K = 1,000 'episodes', which the author's code reads as batches of 100 episodes"
    )
    records: int = chosen(50, "how often along training the means since the last record are kept")

    @property
    def batch(self) -> int:
        return self.prompts * self.samples

    @property
    def updates(self) -> int:
        """Gradient steps per batch of episodes."""
        return self.epochs * self.minibatches

    def check(self) -> None:
        words = {"task": TASKS, "reward": REWARDS, "baseline": BASELINES, "ages": AGES}
        for name, known in words.items():
            value = getattr(self, name)
            require(value in known, f"{name} must be one of {', '.join(known)}", value)
        at_least(2, self, "length", "vocabulary")
        at_least(1, self, "prompts", "samples", "epochs", "minibatches")
        at_least(1, self, "layers", "heads", "feedforward", "records")
        at_least(0, self, "kl", "delay")
        require(self.batch >= 2, "prompts × samples must be at least 2", self.batch)
        several = self.baseline == "batch" or self.samples >= 2
        require(several, "samples must be at least 2 for a baseline per prompt", self.samples)
        several = self.samples >= 2 or not weighs_batches(self.method)
        require(several, f"samples must be at least 2 for {self.method}", self.samples)
        require(self.learning_rate > 0, "learning_rate must be > 0", self.learning_rate)
        shares = self.prompts % self.minibatches == 0
        require(shares, "minibatches must divide prompts", f"{self.minibatches}, {self.prompts}")
        split = self.width >= 1 and self.width % self.heads == 0
        require(split, "heads must divide width", f"{self.heads}, {self.width}")
        divides = self.steps >= 1 and self.steps % self.records == 0
        require(divides, "steps must be a multiple of records", f"{self.steps}/{self.records}")
