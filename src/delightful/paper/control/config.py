"""Control as programs of the lab: ours and a third-party baseline, and what a run costs."""

from dataclasses import dataclass

from delightful.agents.control.config import VERSION, ControlConfig
from delightful.agents.control.tasks import check_name
from delightful.lab.cells import Program
from delightful.lab.config import at_least, chosen, require, stated

SHARED = ("batch", "width", "learning_rate", "discount", "actors", "random_steps")
"""What the third-party baseline takes from the defaults of ControlConfig."""


@dataclass(frozen=True)
class SacConfig:
    """SBX's SAC, a third-party baseline, with its authors' defaults except for `sac.Settings`:
    networks, batches, learning rate, discount, environments and random steps are ours."""

    agent: str = stated(
        "SAC (SBX)", "SAC with automatic entropy adjustment, in a third-party codebase"
    )
    task: str = stated("cheetah:run", "the tasks of the others")
    steps: int = stated(10_000_000, "10 million environment steps")
    every: int = chosen(
        4, "environment steps per update, as ours; 1, its own default, at the paper's scale"
    )
    records: int = chosen(100, "how often along training the policy is evaluated, as ours")
    episodes: int = chosen(4, "per evaluation, of the mean action, as ours")

    def check(self) -> None:
        check_name(self.task)
        at_least(1, self, "records", "episodes")
        known = self.every >= 1 and (4 % self.every == 0 or self.every % 4 == 0)
        require(known, "every must divide 4, its environments, or be a multiple of it", self.every)
        divides = self.steps >= 1 and self.steps % self.records == 0
        require(divides, "steps must be a multiple of records", f"{self.steps}/{self.records}")


SLOW = {"dog": 25.0, "humanoid_CMU": 8.0, "humanoid": 4.0, "quadruped": 4.0, "swimmer": 2.0}
"""How much longer than most a domain's steps take, roughly."""


def _seconds(config: ControlConfig) -> float:
    """On one core: products with weights, most of them for the draws; and acting."""
    states = config.batch / 256 * (config.width / 256) ** 2
    update = 4.5e-3 * states + 1.2e-3 * states * config.draws + 0.3e-3
    acting = 1.5e-4 * SLOW.get(config.task.partition(":")[0], 1.0)
    evaluated = 2 * config.records * config.episodes * 1000
    return config.steps / config.every * update + (config.steps + evaluated) * acting


_SHARE = "delightful.agents.control.checkpoints:share"

TRAIN = Program(
    "control/train", VERSION, "delightful.paper.control.train:run", 1, 15.0, _seconds, share=_SHARE
)


def _sac_seconds(config: SacConfig) -> float:
    acting = 4e-4 * SLOW.get(config.task.partition(":")[0], 1.0)
    evaluated = config.records * config.episodes * 1000
    return config.steps / config.every * 7e-3 + (config.steps + evaluated) * acting


SAC = Program("control/sac", 1, "delightful.paper.control.sac:run", 1, 15.0, _sac_seconds)
