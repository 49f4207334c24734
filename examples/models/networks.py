# SPDX-License-Identifier: MIT
"""Networks with random weights, in two sizes: a decoder like GPT-2, a block like Llama's, a ViT, and a ResNet-18."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 50257


class Attention(nn.Module):
    """Attention with fewer heads of keys than of queries, and rotary positions, if wanted."""

    def __init__(self, width: int, heads: int, key_heads: int, rotates: bool, is_causal: bool, bias: bool) -> None:
        super().__init__()
        self.heads, self.key_heads, self.size = heads, key_heads, width // heads
        self.rotates, self.is_causal = rotates, is_causal
        self.query = nn.Linear(width, width, bias=bias)
        self.key_value = nn.Linear(width, 2 * key_heads * self.size, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.query(x).unflatten(-1, (self.heads, self.size)).transpose(1, 2)
        k, v = self.key_value(x).unflatten(-1, (2, self.key_heads, self.size)).permute(2, 0, 3, 1, 4)
        if self.rotates:
            q, k = rotated(q), rotated(k)
        grouped = self.heads != self.key_heads
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal, enable_gqa=grouped)
        return self.out(y.transpose(1, 2).flatten(2))


def rotated(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Block(nn.Module):
    """A layer of GPT-2 or of a ViT."""

    def __init__(self, width: int, heads: int, is_causal: bool) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, heads, False, is_causal, True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm_1(x))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class Decoder(nn.Module):
    """A decoder like GPT-2."""

    def __init__(self, width: int, heads: int, layers: int, positions: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(positions, width)
        self.blocks = nn.Sequential(*[Block(width, heads, True) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class LlamaBlock(nn.Module):
    """A layer like Llama's: grouped attention with rotary positions, a gated MLP, and no biases."""

    def __init__(self, width: int, heads: int, key_heads: int, hidden: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width, heads, key_heads, True, True, False)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm_1(x))
        y = self.norm_2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class ViT(nn.Module):
    """A vision transformer for pictures of 3 channels and 1000 classes."""

    def __init__(self, width: int, heads: int, layers: int, side: int, patch: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*[Block(width, heads, False) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).mT
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


class Residual(nn.Module):
    """Two convolutions of ResNet-18 and a shortcut."""

    def __init__(self, given: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv_1, self.norm_1 = nn.Conv2d(given, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv_2, self.norm_2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.shortcut = nn.Identity()
        if stride > 1 or given != width:
            self.shortcut = nn.Sequential(nn.Conv2d(given, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm_2(self.conv_2(F.relu(self.norm_1(self.conv_1(x)))))
        return F.relu(y + self.shortcut(x))


def resnet_18(width: int) -> nn.Module:
    layers = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    given = width
    for stage in range(4):
        for i in range(2):
            layers.append(Residual(given, width << stage, 2 if stage and not i else 1))
            given = width << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(given, 1000))


class Network(NamedTuple):
    """A network: functions that make it and its inputs, for a size between "small" and "full"."""

    make: Callable[[bool], nn.Module]
    inputs: Callable[[bool, torch.dtype], torch.Tensor]


def _tokens(full: bool, dtype: torch.dtype) -> torch.Tensor:
    return torch.randint(VOCABULARY, (1, 512 if full else 32))


def _pictures(full: bool, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(1, 3, 224 if full else 64, 224 if full else 64).to(dtype)


NETWORKS = {
    "gpt2": Network(lambda full: Decoder(*((768, 12, 12, 1024) if full else (128, 4, 2, 64))), _tokens),
    "llama": Network(
        lambda full: LlamaBlock(*((2048, 32, 8, 5632) if full else (128, 8, 2, 256))),
        lambda full, dtype: torch.randn(1, 512 if full else 32, 2048 if full else 128).to(dtype),
    ),
    "vit": Network(lambda full: ViT(*((768, 12, 12, 224, 16) if full else (128, 4, 2, 64, 16))), _pictures),
    "resnet18": Network(lambda full: resnet_18(64 if full else 16), _pictures),
}
"""The networks by name."""


def made(name: str, size: str = "small", dtype: str = "bfloat16", seed: int = 0) -> tuple[nn.Module, torch.Tensor]:
    """Return a network with random weights, and inputs."""
    torch.manual_seed(seed)
    kind, full = getattr(torch, dtype), size == "full"
    network = NETWORKS[name]
    return network.make(full).to(kind).eval(), network.inputs(full, kind)
