# SPDX-License-Identifier: MIT
"""The table of ATen's operations that are emulated: the name of each, and the function that makes products of it.

In-place operations and those with ``out=`` have no entries: the result is copied. What ATen composes of other
operations (`linear`, `matmul`, `einsum`, `conv2d`, ...) has none either: its parts have.
"""

from collections.abc import Mapping
from typing import Any

import torch

from wmma_emu.torch import attention, convolutions, matrices, scaled
from wmma_emu.torch.matrices import Operation
from wmma_emu.torch.products import Multiplier


def _sdpa_cpu(
    multiply: Multiplier, q: Any, k: Any, v: Any, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    return _forward(multiply, q, k, v, attn_mask, dropout_p, is_causal, scale)


def _sdpa_cpu_backward(
    multiply: Multiplier, grad: Any, q: Any, k: Any, v: Any, out: Any, logs: Any, dropout_p: float, is_causal: bool, *,
    attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    if dropout_p or q.dtype not in attention.DTYPES:
        return NotImplemented
    return attention.attention_backward(multiply, grad, q, k, v, out, logs, attn_mask, is_causal, scale)


def _sdpa_flash(
    multiply: Multiplier, q: Any, k: Any, v: Any, dropout_p: float = 0.0, is_causal: bool = False,
    return_debug_mask: bool = False, *, scale: float | None = None,
) -> Any:  # fmt: skip
    found = _forward(multiply, q, k, v, None, dropout_p, is_causal, scale)
    if found is NotImplemented:
        return found
    state = torch.zeros(2, dtype=torch.uint64, device=q.device), torch.zeros((), dtype=torch.uint64, device=q.device)
    return (*found, None, None, q.shape[-2], k.shape[-2], *state, q.new_empty(0))


def _sdpa_flash_backward(
    multiply: Multiplier, grad: Any, q: Any, k: Any, v: Any, out: Any, logs: Any, cum_q: Any, cum_k: Any, max_q: Any,
    max_k: Any, dropout_p: float, is_causal: bool, seed: Any, offset: Any, *, scale: float | None = None,
) -> Any:  # fmt: skip
    return _sdpa_cpu_backward(multiply, grad, q, k, v, out, logs, dropout_p, is_causal, scale=scale)


def _sdpa_efficient(
    multiply: Multiplier, q: Any, k: Any, v: Any, attn_bias: Any, compute_log_sumexp: bool, dropout_p: float = 0.0,
    is_causal: bool = False, *, scale: float | None = None,
) -> Any:  # fmt: skip
    found = _forward(multiply, q, k, v, attn_bias, dropout_p, is_causal, scale)
    if found is NotImplemented:
        return found
    zero = torch.zeros((), dtype=torch.int64, device=q.device)
    return (*found, zero, zero)


def _sdpa_efficient_backward(
    multiply: Multiplier, grad: Any, q: Any, k: Any, v: Any, bias: Any, out: Any, logs: Any, seed: Any, offset: Any,
    dropout_p: float, grad_input_mask: Any, is_causal: bool = False, *, scale: float | None = None,
) -> Any:  # fmt: skip
    if bias is not None and grad_input_mask[3]:
        return NotImplemented
    found = _sdpa_cpu_backward(multiply, grad, q, k, v, out, logs, dropout_p, is_causal, attn_mask=bias, scale=scale)
    return found if found is NotImplemented else (*found, None)


def _sdpa_cudnn(
    multiply: Multiplier, q: Any, k: Any, v: Any, attn_bias: Any, compute_log_sumexp: bool, dropout_p: float = 0.0,
    is_causal: bool = False, return_debug_mask: bool = False, *, scale: float | None = None,
) -> Any:  # fmt: skip
    found = _forward(multiply, q, k, v, attn_bias, dropout_p, is_causal, scale)
    if found is NotImplemented:
        return found
    zero = torch.zeros((), dtype=torch.int64, device=q.device)
    return found[0], found[1][..., None], None, None, q.shape[-2], k.shape[-2], zero, zero, None


def _sdpa_cudnn_backward(
    multiply: Multiplier, grad: Any, q: Any, k: Any, v: Any, out: Any, logs: Any, seed: Any, offset: Any, bias: Any,
    cum_q: Any, cum_k: Any, max_q: Any, max_k: Any, dropout_p: float, is_causal: bool, *, scale: float | None = None,
) -> Any:  # fmt: skip
    logs = logs.squeeze(-1)
    return _sdpa_cpu_backward(multiply, grad, q, k, v, out, logs, dropout_p, is_causal, attn_mask=bias, scale=scale)


def _forward(
    multiply: Multiplier, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: float | None
) -> Any:
    """Return the output, in the memory order of the queries, and logsumexp."""
    if dropout_p or q.dtype not in attention.DTYPES or not (q.dtype == k.dtype == v.dtype):
        return NotImplemented
    found = attention.attention(multiply, q, k, v, mask, is_causal, scale)
    if found is NotImplemented:
        return found
    out = torch.empty_like(q) if found[0].shape == q.shape else torch.empty_like(found[0])
    return out.copy_(found[0]), found[1]


OPERATIONS: Mapping[str, Operation] = {
    "mm": matrices.mm,
    "bmm": matrices.bmm,
    "addmm": matrices.addmm,
    "baddbmm": matrices.baddbmm,
    "addbmm": matrices.addbmm,
    "_int_mm": matrices.int_mm,
    "_scaled_mm": scaled.scaled_mm,
    "_grouped_mm": scaled.grouped_mm,
    "_scaled_grouped_mm": scaled.scaled_grouped_mm,
    "convolution": convolutions.convolution,
    "convolution_backward": convolutions.convolution_backward,
    "_scaled_dot_product_flash_attention_for_cpu": _sdpa_cpu,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _sdpa_cpu_backward,
    "_scaled_dot_product_flash_attention": _sdpa_flash,
    "_scaled_dot_product_flash_attention_backward": _sdpa_flash_backward,
    "_scaled_dot_product_cudnn_attention": _sdpa_cudnn,
    "_scaled_dot_product_cudnn_attention_backward": _sdpa_cudnn_backward,
    "_scaled_dot_product_efficient_attention": _sdpa_efficient,
    "_scaled_dot_product_efficient_attention_backward": _sdpa_efficient_backward,
}
"""The function of each operation, by its name in ATen."""
