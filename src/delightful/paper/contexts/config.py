"""The contextual bandit with exact population gradients."""

from dataclasses import dataclass

from delightful.lab.cells import Program
from delightful.lab.config import at_least, chosen, require, stated
from delightful.registry import METHODS, weighs_batches


@dataclass(frozen=True)
class ContextsConfig:
    """N tables of K logits, summed population gradients, one normalised step for all."""

    method: str = stated("dg", "PG, DG and CE are compared; any per-sample method runs")
    contexts: int = stated(100, "N = 100")
    actions: int = stated(10, "K = 10")
    step_size: float = stated(0.1, "α = 0.1")
    init_scale: float = stated(1.0, "N(0, 1) logits at the start")
    baseline: float = stated(0.0, "b = 0 isolates the cross-context reweighting")
    steps: int = chosen(
        800, "long enough for PG's average error to fall below 0.05, before all contexts are solved"
    )

    def check(self) -> None:
        if weighs_batches(self.method):
            alone = ", ".join(name for name, m in METHODS.items() if not m.batchwise)
            raise ValueError(
                f"contexts takes exact expectations over single samples, so method must be one of "
                f"{alone}, got {self.method}, which weighs whole batches"
            )
        at_least(1, self, "contexts")
        at_least(2, self, "actions", "steps")
        require(self.step_size > 0, "step_size must be > 0", self.step_size)


def _seconds(config: ContextsConfig) -> float:
    return 1.2e-8 * config.steps * config.contexts * config.actions


TRAIN = Program("contexts/train", 2, "delightful.paper.contexts.train:run", 25, 1.2, _seconds)
