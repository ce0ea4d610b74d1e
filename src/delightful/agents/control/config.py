"""The settings of a control run."""

from dataclasses import dataclass

from delightful.agents.control.tasks import check_name
from delightful.lab.config import at_least, chosen, require, stated

CHUNK = 91  # steps that actors collect at a time; a suite's episode and its reset are eleven chunks
EVALUATED_EVERY = 10_000  # environment steps, by `delightful train`
VERSION = 2  # of the program: raise it when the numbers of a run change
ADVANTAGES = ("critic", "retrace")
SURPRISALS = ("density", "mode")
READINGS = ("replayed", "fresh")  # of the actor's update: see `readings`
LEAST_DRAWS = {"replayed": 2, "fresh": 4}  # a single pair has no gradient of the deviation
LEAST_WEIGHT = 0.05  # bounds how far small score weights are scaled up


@dataclass(frozen=True)
class ControlConfig:
    """An actor and a critic, trained on one task from replayed sequences."""

    method: str = stated("dg", "DG with η = 1, PG, PPO with ε = 0.2 and MPO with temperature 1")
    task: str = stated("cheetah:run", "one of 28 Control Suite tasks, which are not listed")
    steps: int = stated(10_000_000, "10 million environment steps")
    actors: int = stated(4, "4 parallel actors")
    replay: int = stated(2_000_000, "a replay buffer of size 2 × 10⁶")
    batch: int = stated(
        256, "batch size 256, read as replayed steps: batch / length sequences for each update"
    )
    learning_rate: float = stated(3e-4, "Adam with learning rate 3 × 10⁻⁴, for actor and critic")
    width: int = stated(256, "a 2-layer MLP with 256 hidden units for both actor and critic")
    target_period: int = stated(100, "target networks are updated every 100 learner steps")
    reward_decay: float = stated(0.999, "an exponential moving average (decay 0.999), all methods")
    max_surprisal: float = stated(10.0, "we clip surprisal to [−10, 10] (Algorithm 2); DG's own")
    reading: str = chosen(
        "fresh",
        "the actor's update scores actions sampled from the policy at replayed states, valued by "
        "the critic; or replayed: the replayed actions, as Algorithm 2 loops over a batch of A_t",
        before="fresh",
    )
    advantage: str = chosen(
        "critic",
        "of a replayed action: critic, its value by the target critic − E_π Q; or retrace, its "
        "Retrace target − E_π Q, whose noise is that of whole trajectories. control/grid has both",
        before="critic",
    )
    max_ratio: float = chosen(
        3.0,
        "PPO's dual clip (Ye et al. 2020): for samples of the current policy, the ratio to the "
        "target policy is unbounded where U < 0, and PPO diverged on cartpole:swingup",
    )
    length: int = chosen(
        8, "transitions of a replayed sequence; long enough for Retrace to look ahead"
    )
    draws: int = chosen(
        4,
        "actions sampled from the policy at each replayed state, in antithetic pairs, mean ± noise",
    )
    discount: float = chosen(0.99, "usual on the Control Suite, whose episodes have 1,000 steps")
    trace: float = chosen(1.0, "λ of Retrace: Munos et al. (2016) use 1")
    every: int = chosen(
        4,
        "environment steps per learner step; 8 is common, but learning is limited by the number "
        "of learner steps: with 8, PG had a third to two thirds of the return after 100,000 steps",
    )
    random_steps: int = chosen(5000, "environment steps with uniform actions, before learning")
    deviation: float = chosen(
        0.5, "the policy's initial standard deviation; actions lie in [−1, 1]"
    )
    least_deviation: float = chosen(0.05, "the smallest standard deviation")
    most_deviation: float = chosen(1.0, "the largest: actions beyond 1 are clipped")
    kl: float = chosen(
        6.0,
        "coefficient of KL(target policy ‖ policy) for the mean, in every method's loss, after its "
        "score weights are divided by their root mean square; PG was slower with 20",
    )
    kl_deviation: float = chosen(
        200.0,
        "the same for the deviation, which otherwise reaches its smallest or largest value within "
        "20,000 steps",
    )
    surprisal: str = chosen(
        "density",
        "−log π(a), the paper's; or mode, log π(mode) − log π(a), which is never negative",
    )
    records: int = chosen(100, "how often along training the policy is evaluated")
    episodes: int = chosen(4, "per evaluation, of the mean action; and as many of sampled actions")

    @property
    def chunks(self) -> int:
        """Chunks that the actors collect in a run."""
        return -(-self.steps // (CHUNK * self.actors))

    def check(self) -> None:
        """Raise ValueError, or LabError for an unknown task, if the values do not make a run."""
        check_name(self.task)
        at_least(1, self, "actors", "width", "target_period", "length", "every")
        at_least(1, self, "records", "episodes")
        known = self.reading in READINGS
        require(known, f"reading must be one of {', '.join(READINGS)}", self.reading)
        known = self.advantage in ADVANTAGES
        require(known, f"advantage must be one of {', '.join(ADVANTAGES)}", self.advantage)
        least = LEAST_DRAWS[self.reading]
        rule = f"draws must be even and, with reading {self.reading}, at least {least}"
        require(self.draws >= least and self.draws % 2 == 0, rule, self.draws)
        split = self.batch >= 1 and self.batch % self.length == 0
        require(split, "length must divide batch", f"{self.length}, {self.batch}")
        for name in ("learning_rate", "max_surprisal", "max_ratio"):
            require(getattr(self, name) > 0, f"{name} must be > 0", getattr(self, name))
        for name in ("reward_decay", "trace"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} must lie between 0 and 1", value)
        require(0 <= self.discount < 1, "discount must be at least 0 and below 1", self.discount)
        at_least(0, self, "kl", "kl_deviation")
        low, initial, most = self.least_deviation, self.deviation, self.most_deviation
        rule = "least_deviation, deviation and most_deviation must rise, from above 0"
        require(0 < low < initial < most, rule, f"{low}, {initial}, {most}")
        known = self.surprisal in SURPRISALS
        require(known, f"surprisal must be one of {', '.join(SURPRISALS)}", self.surprisal)
        divides = self.steps >= 1 and self.steps % self.records == 0
        require(divides, "steps must be a multiple of records", f"{self.steps}/{self.records}")
        chunk = CHUNK * self.actors
        apart = self.records == 1 or self.steps >= 2 * chunk * self.records
        rule = f"records must be at least {2 * chunk} steps apart"
        require(apart, rule, f"{self.records} in {self.steps} steps")
        room = self.replay >= max(chunk, 2 * self.length * self.actors)
        require(room, f"replay must hold a chunk of {chunk} steps and sequences", self.replay)
        rule = "steps must be more than random_steps, before which nothing is learned"
        require(self.steps > self.random_steps, rule, f"{self.steps}, {self.random_steps}")
        rule = "random_steps must fill a sequence of every actor"
        require(self.random_steps >= self.actors * (self.length + 1), rule, self.random_steps)
