"""DG in TRL's GRPO trainer, on a tiny Llama made on the spot: it learns to reverse four tokens.

Needs `pip install -e '.[trl]'`; nothing is downloaded. Surprisal is that of the whole completion
(`level="sequence"`), as pretrained models want it: their single tokens are hardly ever surprising.

prints, after TRL's log; first 30 steps and last 30:
    reward             0.28 0.73
    gate_mean_positive 0.73 0.53
    gate_mean_negative 0.30 0.36
    neutral            0.26 0.76
"""

import random
import tempfile

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig

from delightful.plugins.trl import DelightConfig, DelightGRPOTrainer

LENGTH, STEPS, WORDS = 4, 150, ("<pad>", "<eos>", "=", "a", "b")
torch.set_num_threads(1)


def right_tokens(completions: list[str], answer: list[str], **_: object) -> list[float]:
    """The fraction of right tokens of each completion."""
    pairs = zip(completions, answer, strict=True)  # a completion may be shorter than its answer
    return [sum(map(str.__eq__, got.split(), want.split())) / LENGTH for got, want in pairs]


def prompt() -> dict[str, str]:
    """Such as "a a b a =", and its answer "a b a a"."""
    words = random.choices(WORDS[3:], k=LENGTH)
    return {"prompt": " ".join([*words, "="]), "answer": " ".join(reversed(words))}


random.seed(0)
torch.manual_seed(0)
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "<pad>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
special = {"pad_token": "<pad>", "eos_token": "<eos>", "padding_side": "left"}
sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
ids = {"vocab_size": len(WORDS), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}

with tempfile.TemporaryDirectory() as folder:
    trainer = DelightGRPOTrainer(
        model=LlamaForCausalLM(LlamaConfig(**sizes, **ids, num_attention_heads=2)),
        processing_class=PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special),
        reward_funcs=right_tokens,
        train_dataset=Dataset.from_list([prompt() for _ in range(8 * STEPS)]),
        args=GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=LENGTH,
            max_steps=STEPS,
            learning_rate=1e-3,
            lr_scheduler_type="constant",
            logging_steps=30,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
            seed=0,
        ),
        delight=DelightConfig(level="sequence"),
    )
    trainer.train()

first, *_, last = (entry for entry in trainer.state.log_history if "reward" in entry)
print(f"{'reward':<18} {first['reward']:.2f} {last['reward']:.2f}")
for name in ("gate_mean_positive", "gate_mean_negative", "neutral"):
    print(f"{name:<18} {first[f'delight/{name}']:.2f} {last[f'delight/{name}']:.2f}")
