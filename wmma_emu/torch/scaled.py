# SPDX-License-Identifier: MIT
"""ATen's products of FP8 with scales in float32, and products of groups of rows, columns or k."""

from collections.abc import Iterator
from typing import Any

import torch

from wmma_emu.torch.products import Multiplier, TensorProduct

_BLOCK = 128


def scaled_mm(
    multiply: Multiplier, a: Any, b: Any, scale_a: Any, scale_b: Any, bias: Any = None, scale_result: Any = None,
    out_dtype: Any = None, use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """Multiply FP8 matrices with scales of matrices, of rows and columns, or of 128 k: `aten._scaled_mm`."""
    if scale_result is not None or a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        return NotImplemented
    scales = [_scales(x, sides) for x, sides in ((scale_a, (a.shape[0], 1)), (scale_b, (1, b.shape[1])))]
    if any(x is None for x in scales):
        return NotImplemented
    return multiply(TensorProduct(
        operation="_scaled_mm", a=a, b=b, out_dtype=out_dtype or a.dtype, bias=bias, scale_a=scales[0],
        scale_b=scales[1], precise=not use_fast_accum,
    ))  # fmt: skip


def _scales(scale: Any, sides: tuple[int, int]) -> Any:
    """Return scales as `gemm` takes them; None for block scales in the layout of tensor memory."""
    if scale.dtype != torch.float32:
        return None
    if scale.numel() == 1:
        return scale.reshape(())
    return scale.reshape(sides) if scale.dim() == 1 and scale.numel() == max(sides) else scale


def grouped_mm(multiply: Multiplier, a: Any, b: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Multiply groups: `aten._grouped_mm`. ``offs`` has the end of each group: of rows, of columns, or of k."""
    if bias is not None or a.dtype != b.dtype:
        return NotImplemented
    return _by_groups(multiply, "_grouped_mm", a, b, offs, out_dtype or a.dtype)


def scaled_grouped_mm(
    multiply: Multiplier, a: Any, b: Any, scale_a: Any, scale_b: Any, offs: Any = None, bias: Any = None,
    scale_result: Any = None, out_dtype: Any = None, use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """Multiply groups of rows in FP8 with scales of rows and columns: `aten._scaled_grouped_mm`."""
    is_plain = bias is None and scale_result is None and a.dim() == 2 and b.dim() == 3 and scale_a.dim() == 1
    if not is_plain or scale_a.dtype != torch.float32:
        return NotImplemented
    out = torch.zeros(a.shape[0], b.shape[2], dtype=out_dtype or torch.bfloat16, device=a.device)
    for i, (start, stop) in enumerate(_groups(offs)):
        out[start:stop] = multiply(TensorProduct(
            operation="_scaled_grouped_mm", a=a[start:stop], b=b[i], out_dtype=out.dtype,
            scale_a=scale_a[start:stop, None], scale_b=scale_b[i][None], precise=not use_fast_accum,
        ))  # fmt: skip
    return out


def _groups(offs: Any) -> Iterator[tuple[int, int]]:
    start = 0
    for stop in offs.tolist():
        yield start, stop
        start = stop


def _by_groups(multiply: Multiplier, name: str, a: Any, b: Any, offs: Any, out_dtype: Any) -> Any:
    """Multiply the groups of rows, columns or k one by one; rows and columns outside of all groups are 0."""

    def product(x: Any, y: Any) -> Any:
        return multiply(TensorProduct(operation=name, a=x, b=y, out_dtype=out_dtype))

    ranks = (a.dim(), b.dim())
    if ranks == (3, 3):
        return product(a, b)
    if offs is None or multiply.kind(TensorProduct(operation=name, a=a, b=b, out_dtype=out_dtype)) is None:
        return NotImplemented
    ends = list(_groups(offs))
    if ranks == (2, 2):
        return torch.stack([product(a[:, i:j], b[i:j]) for i, j in ends])
    rows, columns = a.shape[-2], b.shape[-1]
    out = torch.zeros(rows, columns, dtype=out_dtype, device=a.device)
    for group, (i, j) in enumerate(ends):
        if ranks == (2, 3):
            out[i:j] = product(a[i:j], b[group])
        elif ranks == (3, 2):
            out[:, i:j] = product(a[group], b[:, i:j])
        else:
            return NotImplemented
    return out
