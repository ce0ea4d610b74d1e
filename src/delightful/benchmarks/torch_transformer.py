"""A small decoder-only Transformer in plain PyTorch, for benchmarks."""

from typing import Any

import torch
from torch import nn


class Transformer(nn.Module):
    def __init__(self, vocabulary: int, tokens: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.zeros(tokens, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(width, vocabulary)
        self.causal = nn.Transformer.generate_square_subsequent_mask(tokens)

    def forward(self, tokens: Any) -> Any:
        hidden = self.embed(tokens) + self.position
        return self.out(self.layers(hidden, mask=self.causal, is_causal=True))
