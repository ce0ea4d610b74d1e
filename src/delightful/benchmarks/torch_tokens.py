"""DG on Token Reversal in plain eager PyTorch, as a user would write it.

The task is the default one, Reverse Copy with a reward for each right token. Sampling keeps the
keys and values of what came before; training runs over whole sequences, prompt and answer, with
PyTorch's own causal attention. Each sample carries its own copy of the prompt.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, scaled_dot_product_attention

from delightful.agents.tokens.config import TokensConfig


class Block(nn.Module):
    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, bias=False)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.mix = nn.Linear(width, width, bias=False)
        self.norm2 = nn.LayerNorm(width, bias=False)
        self.up = nn.Linear(width, feedforward, bias=False)
        self.down = nn.Linear(feedforward, width, bias=False)

    def forward(self, x: Tensor, cache: Tensor | None = None, start: int = 0) -> Tensor:
        """x: (B, T, d), the places from `start` on; cache: (2, B, heads, 2H − 1, d/heads)."""
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if cache is not None:
            end = start + tokens
            cache[0, :, :, start:end], cache[1, :, :, start:end] = k, v
            k, v = cache[:, :, :, :end]
        # A single token may see all that is in the cache.
        mixed = scaled_dot_product_attention(q, k, v, is_causal=tokens > 1)
        x = x + self.mix(mixed.transpose(1, 2).reshape(batch, tokens, width))
        x = x + self.down(relu(self.up(self.norm2(x))))
        return x


class Transformer(nn.Module):
    def __init__(self, config: TokensConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Parameter(torch.randn(2 * config.length - 1, config.width))
        self.blocks = nn.ModuleList(
            Block(config.width, config.heads, config.feedforward) for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(config.width, bias=False)
        self.out = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens: Tensor, caches: list[Tensor] | None = None, start: int = 0) -> Tensor:
        """Logits after each token, (B, T, M)."""
        x = self.tokens(tokens) + self.positions[start : start + tokens.shape[1]]
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches else None, start)
        logits: Tensor = self.out(self.norm(x))
        return logits


class Trainer:
    def __init__(self, config: TokensConfig, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.config = config
        self.policy = Transformer(config)
        self.optimiser = torch.optim.Adam(self.policy.parameters(), lr=config.learning_rate)

    @torch.no_grad()
    def answer(self, prompts: Tensor) -> Tensor:
        """A sampled answer to each prompt; both are (B, H)."""
        config = self.config
        room = (2, len(prompts), config.heads, 2 * config.length - 1, config.width // config.heads)
        caches = [torch.empty(room) for _ in range(config.layers)]
        fed, start, answer = prompts, 0, []
        for _ in range(config.length):
            logits = self.policy(fed, caches, start)[:, -1]
            start += fed.shape[1]
            fed = torch.multinomial(torch.softmax(logits, dim=-1), 1)
            answer.append(fed)
        return torch.cat(answer, dim=1)

    def train(self, steps: int) -> float:
        """The mean error of the last hundred steps."""
        config, errors = self.config, []
        for _ in range(steps):
            prompts = torch.randint(config.vocabulary, (config.prompts, config.length))
            prompts = prompts.repeat_interleave(config.samples, dim=0)
            answers = self.answer(prompts)
            reward = (answers == prompts.flip(1)).float().mean(dim=1)
            of_prompt = reward.view(config.prompts, config.samples)
            advantage = (of_prompt - of_prompt.mean(dim=1, keepdim=True)).view(-1, 1)

            logits = self.policy(torch.cat([prompts, answers[:, :-1]], dim=1))
            log_policy = torch.log_softmax(logits[:, config.length - 1 :], dim=-1)
            log_prob = log_policy.gather(-1, answers[..., None])[..., 0]
            gate = torch.sigmoid(-advantage * log_prob.detach())
            loss = -(gate * advantage * log_prob).mean()
            self.optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            errors.append(1 - reward.mean())
        return float(torch.stack(errors[-100:]).mean())
