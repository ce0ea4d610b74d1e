"""TRL: GRPO on a tiny Transformer with random weights that learns to reverse tokens."""

import tempfile
from functools import partial
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from delightful.paper.stacks import reversal
from delightful.paper.stacks.config import Scores, StackConfig
from delightful.plugins.gating import DelightConfig
from delightful.plugins.trl import DelightGRPOTrainer


def trainer(
    delight: DelightConfig | None, seed: int, steps: int, folder: str, staleness: int = 0
) -> Any:
    arguments = GRPOConfig(
        output_dir=folder,
        per_device_train_batch_size=64,
        num_generations=8,
        steps_per_generation=staleness + 1,
        max_completion_length=reversal.LENGTH,
        max_steps=steps,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        seed=seed,
        disable_tqdm=True,
    )
    kind = GRPOTrainer if delight is None else partial(DelightGRPOTrainer, delight=delight)
    return kind(
        model=reversal.network(seed),
        reward_funcs=reversal.reward,
        args=arguments,
        train_dataset=Dataset.from_list(reversal.prompts(8 * steps, seed)),
        processing_class=reversal.tokenizer(),
    )


def scores(config: StackConfig, delight: DelightConfig | None, seed: int) -> Scores:
    """(optimiser step, mean reward of the completions that were generated for it)."""
    with tempfile.TemporaryDirectory() as folder:
        training = trainer(delight, seed, config.steps, folder, config.staleness)
        training.train()
    return [(row["step"], row["reward"]) for row in training.state.log_history if "reward" in row]
