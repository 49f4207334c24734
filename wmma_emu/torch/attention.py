# SPDX-License-Identifier: MIT
"""Fused attention, by the algorithm of FlashAttention-2, whose arithmetic is stated step by step.

Forward, for tiles of ``attention_tile`` keys in ascending order, everything in float32 unless stated:

1. S = Q K^T, the accumulators of the tensor core; -inf above the diagonal if it is causal. With a mask, S = S * scale
   + mask, each rounded, and the scale is 1 from then on. A scale of 0 has a mask of zeros; with a negative scale, Q and
   the scale are negated first.
2. m = max(m, the largest of each row of S), 0 where all are -inf; c = scale * log2(e), rounded once.
3. P = ex2.approx.ftz(fma(S, c, -(m * c))), and r = ex2.approx.ftz((m before - m) * c).
4. sum = sum * r + the sum of P, whose halves are added until one number is left (an odd last number is carried).
5. O = O * r, from which the accumulators of P V start, with P rounded to the dtype of V.

At the end O * (1 / sum) is rounded to the dtype of Q, and logsumexp = m * scale + log(sum). Rows without keys are 0.
`ex2.approx` is Hopper's on every chip.

Backward, not in tiles: P = ex2.approx.ftz(fma(S, c, -(logsumexp * log2(e)))); dV = P^T dO; dP = dO V^T in float32;
dS = P * (dP - the sum of dO * O); dQ = dS K * scale, dK = dS^T Q * scale, with P and dS rounded to the dtype of Q.
"""

import math
from typing import Any

import numpy as np
import torch

from wmma_emu.scalar import approx, fma
from wmma_emu.torch.cuda_tensors import ex2, is_on_gpu
from wmma_emu.torch.products import Multiplier, TensorProduct

DTYPES = frozenset({torch.float16, torch.bfloat16, torch.float32})
"""The dtypes of fused attention; PyTorch has none for float64 on CUDA."""

_LOG2_E = float(np.float32(math.log2(math.e)))


def attention(
    multiply: Multiplier, q: Any, k: Any, v: Any, mask: Any = None, is_causal: bool = False, scale: float | None = None
) -> Any:
    """Return the output and logsumexp, for queries (..., heads, queries, E) and keys of as many or fewer heads."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    k, v = (_for_heads(x, q) for x in (k, v))
    mask, hidden = _mask(mask, q, k, scale), _hidden(is_causal, q, k)
    q, scale = (-q, -scale) if scale < 0 else (q, scale)
    rows = q.shape[:-1]
    largest = torch.full(rows, -math.inf, device=q.device)
    total, o = torch.zeros(rows, device=q.device), torch.zeros(*rows, v.shape[-1], device=q.device)
    factor = _factor(scale, mask is not None)
    for start in range(0, k.shape[-2], multiply.options.attention_tile):
        tile = slice(start, start + multiply.options.attention_tile)
        added, blind = (None if x is None else x[..., tile] for x in (mask, hidden))
        s = _scores(multiply, q, k[..., tile, :], added, blind, scale)
        if s is NotImplemented:
            return s
        before, largest = largest, torch.maximum(largest, s.amax(-1))
        shift = torch.where(largest == -math.inf, 0.0, largest)
        p = _ex2(s, factor, shift * factor)
        shrink = _ex2_of((torch.where(before == -math.inf, -math.inf, before - shift)) * factor)
        total = total * shrink + _sum(p)
        o = multiply(TensorProduct(
            operation="attention:values", a=p.to(v.dtype), b=v[..., tile, :], c=o * shrink[..., None],
            out_dtype=torch.float32, is_fused=True,
        ))  # fmt: skip
    is_empty = total == 0
    inverse = torch.where(is_empty, 1.0, 1 / total)
    logs = torch.where(is_empty, -math.inf, shift * (1.0 if mask is not None else scale) + _log(total))
    return (o * inverse[..., None]).to(q.dtype), logs


def attention_backward(
    multiply: Multiplier, grad: Any, q: Any, k: Any, v: Any, out: Any, logs: Any, mask: Any = None,
    is_causal: bool = False, scale: float | None = None,
) -> Any:  # fmt: skip
    """Return the gradients of queries, keys and values."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    heads, (k, v) = k.shape[-3], (_for_heads(x, q) for x in (k, v))
    mask = _mask(mask, q, k, scale)
    s = _scores(multiply, -q if scale < 0 else q, k, mask, _hidden(is_causal, q, k), abs(scale))
    if s is NotImplemented:
        return s
    logs = torch.where(logs == -math.inf, 0.0, logs.float())
    p = _ex2(s, _factor(abs(scale), mask is not None), logs * _LOG2_E)

    def product(name: str, a: Any, b: Any, dtype: Any, alpha: float | None = None) -> Any:
        return multiply(
            TensorProduct(operation=f"attention:{name}", a=a, b=b, out_dtype=dtype, alpha=alpha, is_fused=True)
        )

    dv = product("values", p.to(q.dtype).mT, grad, q.dtype)
    dp = product("probabilities", grad, v.mT, torch.float32)
    ds = (p * (dp - _sum(grad.float() * out.float())[..., None])).to(q.dtype)
    dq, dk = product("queries", ds, k, q.dtype, scale), product("keys", ds.mT, q, q.dtype, scale)
    return dq, _of_heads(dk, heads), _of_heads(dv, heads)


def _for_heads(x: Any, q: Any) -> Any:
    """Repeat keys or values for the queries that share them."""
    return x if x.shape[-3] == q.shape[-3] else x.repeat_interleave(q.shape[-3] // x.shape[-3], -3)


def _of_heads(grad: Any, heads: int) -> Any:
    """Add the gradients of the queries that share a head."""
    if grad.shape[-3] == heads:
        return grad
    return grad.unflatten(-3, (heads, -1)).float().sum(-3).to(grad.dtype)


def _mask(mask: Any, q: Any, k: Any, scale: float) -> Any:
    """Return the addend of the scores; None if there is none."""
    if mask is None and scale == 0:
        mask = torch.zeros((), device=q.device)
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, device=q.device).masked_fill(~mask, -math.inf)
    return None if mask is None else mask.float().expand(*q.shape[:-1], k.shape[-2])


def _hidden(is_causal: bool, q: Any, k: Any) -> Any:
    """Return where a causal query must not look; None if it may look everywhere."""
    above = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device)
    return above.triu(1) if is_causal else None


def _scores(multiply: Multiplier, q: Any, k: Any, mask: Any, hidden: Any, scale: float) -> Any:
    s = multiply(TensorProduct(operation="attention:scores", a=q, b=k.mT, out_dtype=torch.float32, is_fused=True))
    if s is NotImplemented:
        return s
    s = s if mask is None else s * scale + mask
    return s if hidden is None else s.masked_fill(hidden, -math.inf)


def _log(x: Any) -> Any:
    """Return the logarithm in float64, rounded to float32, by the host's library wherever the tensor is."""
    with np.errstate(divide="ignore"):
        return torch.from_numpy(np.log(_array(x).astype(np.float64)).astype(np.float32)).to(x.device)


def _factor(scale: float, is_scaled: bool) -> float:
    return _LOG2_E if is_scaled else float(np.float32(scale * _LOG2_E))


def _ex2(s: Any, factor: float, shift: Any) -> Any:
    """Return 2**(s * factor - shift), with one rounding of the exponent."""
    if is_on_gpu(s):
        return ex2(s, factor, shift)
    words, c, by = (
        x.astype(np.float32).view(np.uint32) for x in (_array(s), np.array(factor), -_array(shift)[..., None])
    )
    return _ex2_of(torch.from_numpy(fma(words, c, by, "f32").view(np.float32)).to(s.device))


def _ex2_of(x: Any) -> Any:
    if is_on_gpu(x):
        return ex2(x, 1.0, torch.zeros_like(x[..., 0]))
    words = _array(x).view(np.uint32)
    return torch.from_numpy(np.asarray(approx("ex2", words, ftz=True)).view(np.float32)).to(x.device)


def _array(x: Any) -> Any:
    return x.detach().cpu().contiguous().numpy()


def _sum(x: Any) -> Any:
    """Add the last axis: its two halves, until one number is left; an odd last number joins the first half."""
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        pairs, odd = x[..., :half] + x[..., half : 2 * half], x[..., 2 * half :]
        x = torch.cat([pairs, odd], -1) if odd.shape[-1] else pairs
    return x[..., 0] if x.shape[-1] else x.sum(-1)
