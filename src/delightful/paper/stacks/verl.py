"""verl: GRPO on a tiny Transformer that learns to reverse tokens, in one process and without Ray.

verl's own: HFRollout, TrainingWorker over the FSDP2 engine (log-probabilities, update,
checkpoints), ppo_loss with the registered policy loss, GRPO advantages, DataProto and the paddings.
Ours: the CPU platform (verl has none), the model, the reward, and the loop, which is that of
RayPPOTrainer.fit: verl's own entry, main_ppo, samples with vLLM, SGLang or TensorRT only.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from delightful.paper.stacks import verl_cpu  # noqa: F401  before anything of verl's

# isort: split
import numpy as np
import torch
from verl import DataProto
from verl.trainer.config import CheckpointConfig
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage
from verl.utils import tensordict_utils as tu
from verl.utils.model import compute_position_id_with_mask
from verl.workers.config import (
    FSDPActorConfig,
    FSDPEngineConfig,
    FSDPOptimizerConfig,
    HFModelConfig,
    PolicyLossConfig,
    RolloutConfig,
    TrainingWorkerConfig,
)
from verl.workers.engine_workers import TrainingWorker
from verl.workers.rollout.hf_rollout import HFRollout
from verl.workers.utils.losses import ppo_loss
from verl.workers.utils.padding import left_right_2_no_padding, no_padding_2_padding

from delightful.paper.stacks import reversal
from delightful.paper.stacks.config import Scores, StackConfig
from delightful.plugins import verl as plugin
from delightful.plugins.gating import DelightConfig

GROUP, PROMPTS = 8, 8  # completions per prompt, prompts per step
_ALONE = {
    "RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "127.0.0.1",
    "VERL_ENGINE_DEVICE": "cuda",  # for which the engine's class is listed
}


def scores(config: StackConfig, delight: DelightConfig | None, seed: int) -> Scores:
    """(step, mean reward of the completions that were generated for it)."""
    per_rollout = config.staleness + 1
    with alone():
        training = Training(loss_mode(delight), seed, config.steps, per_rollout=per_rollout)
        starts = range(0, config.steps, per_rollout)
        return [(start + 1, training.step(start)["reward"]) for start in starts]


@contextmanager
def alone() -> Iterator[None]:
    """A process group of this process only. The variables that say so are taken back at the end:
    left behind, they would make what runs next in this process distributed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        given = _ALONE | {"MASTER_PORT": str(free.getsockname()[1])}
    before = {name: os.environ.get(name) for name in given}
    os.environ |= given
    try:
        torch.distributed.init_process_group("gloo")
        yield
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def loss_mode(delight: DelightConfig | None) -> str:
    """The name of the policy loss; the advantages below are centred, and so is what is raw."""
    if delight is None:
        return "vanilla"
    plugin.configure(replace(delight, gate_advantage="raw"))
    return "delight"


class _Rollout(HFRollout):  # type: ignore[misc]
    """verl's, which 0.9.1 left abstract: its base class gained a constructor and three methods."""

    def __init__(self, module: Any, config: Any) -> None:
        self.module, self.config = module, config

    async def resume(self, *_: Any, **__: Any) -> None:
        """The module is the engine's own: there is nothing to wake, send or free."""

    update_weights = release = resume


class Training:
    """What RayPPOTrainer holds, for one process.

    A rollout is for `per_rollout` steps: data.train_batch_size is so many times as large, and the
    mini-batches are as before.
    """

    def __init__(
        self, loss_mode: str, seed: int, steps: int, rate: float = 2e-3, per_rollout: int = 1
    ) -> None:
        self.prompts = PROMPTS * per_rollout
        self.tokenizer = reversal.tokenizer()
        self.rows = reversal.prompts(PROMPTS * steps, seed)
        with TemporaryDirectory() as folder:
            reversal.network(seed).save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
            self.worker, self.actor = _worker(folder, loss_mode, rate)
        options = RolloutConfig(name="hf", response_length=reversal.LENGTH)
        self.rollout = _Rollout(self.worker.engine.module, options)
        torch.manual_seed(seed)

    def step(self, now: int) -> dict[str, Any]:
        """One step of RayPPOTrainer.fit: the mean reward and the update's metrics."""
        rows = self.rows[PROMPTS * now :][: self.prompts]
        batch = self._generate([row["prompt"] for row in rows])
        mask = batch.batch["attention_mask"][:, -reversal.LENGTH :]
        batch.batch["response_mask"] = mask
        texts = self.tokenizer.batch_decode(batch.batch["responses"], skip_special_tokens=True)
        answers = [row["answer"] for row in rows for _ in range(GROUP)]
        rewards = torch.tensor(reversal.reward(texts, answers))
        given = torch.zeros(mask.shape)
        given[torch.arange(len(given)), mask.sum(1) - 1] = rewards
        # As RayPPOTrainer._compute_old_log_prob has it.
        data = left_right_2_no_padding(batch.to_tensordict())
        tu.assign_non_tensor(data, calculate_entropy=True, compute_loss=False)
        found = tu.get(self.worker.infer_batch(data), "log_probs")
        batch.batch["old_log_probs"] = no_padding_2_padding(found, data).float()
        batch.batch["advantages"], _ = compute_grpo_outcome_advantage(
            given, mask, batch.non_tensor_batch["uid"], norm_adv_by_std_in_grpo=False
        )
        return {"reward": rewards.mean().item(), **self._update(batch)}

    def _generate(self, prompts: list[str]) -> Any:
        asked = self.tokenizer(prompts, return_tensors="pt", padding=True)
        ids, mask = asked["input_ids"], asked["attention_mask"]
        positions = compute_position_id_with_mask(mask)
        tensors = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
        ends = {name: getattr(self.tokenizer, name) for name in ("eos_token_id", "pad_token_id")}
        names = {"uid": np.arange(len(prompts)).astype(str).astype(object)}
        asked = DataProto.from_dict(tensors, names, meta_info=ends | {"temperature": 1.0})
        asked = asked.repeat(GROUP, interleave=True)
        batch = self.rollout.generate_sequences(asked)
        batch.non_tensor_batch, batch.meta_info = asked.non_tensor_batch, asked.meta_info
        return batch

    def _update(self, batch: Any) -> dict[str, Any]:
        """RayPPOTrainer._update_actor."""
        data = left_right_2_no_padding(batch.to_tensordict())
        size = self.actor.ppo_mini_batch_size * GROUP
        tu.assign_non_tensor(
            data,
            calculate_entropy=False,
            global_batch_size=size,
            mini_batch_size=size,
            epochs=self.actor.ppo_epochs,
            seed=self.actor.data_loader_seed,
            dataloader_kwargs={"shuffle": self.actor.shuffle},
            compute_loss=True,
        )
        metrics: dict[str, Any] = tu.get(self.worker.train_mini_batch(data), "metrics")
        return metrics


def _worker(folder: str, loss_mode: str, rate: float) -> tuple[Any, Any]:
    model = HFModelConfig(
        path=folder,
        use_remove_padding=False,  # packing needs flash attention
        enable_gradient_checkpointing=False,
        override_config={"attn_implementation": "eager"},
    )
    micro_batch = GROUP * PROMPTS // 4
    engine = FSDPEngineConfig(
        strategy="fsdp2",  # its predecessor fails on a CPU
        model_dtype="fp32",
        mixed_precision=dict.fromkeys(("param_dtype", "reduce_dtype", "buffer_dtype"), "fp32"),
        use_torch_compile=False,
        use_dynamic_bsz=False,
        micro_batch_size_per_gpu=micro_batch,
        infer_micro_batch_size_per_gpu=GROUP * PROMPTS,
    )
    actor = FSDPActorConfig(
        strategy="fsdp2",
        rollout_n=GROUP,
        ppo_mini_batch_size=PROMPTS // 2,  # in prompts, so there are two updates a step
        ppo_micro_batch_size_per_gpu=micro_batch,
        policy_loss=PolicyLossConfig(loss_mode=loss_mode),
        fsdp_config=engine,
        optim=FSDPOptimizerConfig(lr=rate, weight_decay=0.0, total_training_steps=1000),
    )
    worker = TrainingWorker(
        TrainingWorkerConfig(
            model_type="language_model",
            model_config=model,
            engine_config=actor.engine,
            optimizer_config=actor.optim,
            checkpoint_config=CheckpointConfig(),
        )
    )
    worker.reset()
    worker.set_loss_fn(partial(ppo_loss, config=actor))
    return worker, actor
