"""Token reversal for trainers of language models: a tokenizer, prompts, a reward, a tiny model."""

import random
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SYMBOLS = ("a", "b")
LENGTH = 4
_SPECIAL = ("<pad>", "<eos>", "=")


def tokenizer() -> Any:
    words = {word: index for index, word in enumerate((*_SPECIAL, *SYMBOLS))}
    inner = Tokenizer(WordLevel(words, unk_token="<pad>"))
    inner.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )


def network(seed: int) -> Any:
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(_SPECIAL) + len(SYMBOLS),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=32,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
            tie_word_embeddings=False,
        )
    )


def prompts(count: int, seed: int) -> list[dict[str, str]]:
    """Rows of a prompt such as "a b a b =" and its answer."""
    chosen = random.Random(seed)
    words = [[chosen.choice(SYMBOLS) for _ in range(LENGTH)] for _ in range(count)]
    return [{"prompt": " ".join([*w, "="]), "answer": " ".join(reversed(w))} for w in words]


def reward(completions: list[str], answer: list[str], **_: Any) -> list[float]:
    """The fraction of right tokens."""
    return [
        sum(a == b for a, b in zip(got.split()[:LENGTH], want.split(), strict=False)) / LENGTH
        for got, want in zip(completions, answer, strict=True)
    ]
