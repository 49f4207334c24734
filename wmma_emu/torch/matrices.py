# SPDX-License-Identifier: MIT
"""ATen's operations on matrices, as products: their operands, their epilogue, and the dtype of their result."""

from collections.abc import Callable
from typing import Any

import torch

from wmma_emu.torch.products import Multiplier, TensorProduct


def mm(multiply: Multiplier, a: Any, b: Any, out_dtype: Any = None) -> Any:
    """Multiply two matrices: `aten.mm`."""
    return _product(multiply, "mm", 2, None, a, b, out_dtype)


def bmm(multiply: Multiplier, a: Any, b: Any, out_dtype: Any = None) -> Any:
    """Multiply matrices of a batch: `aten.bmm`."""
    return _product(multiply, "bmm", 3, None, a, b, out_dtype)


def int_mm(multiply: Multiplier, a: Any, b: Any) -> Any:
    """Multiply matrices of int8: `aten._int_mm`."""
    return _product(multiply, "_int_mm", 2, None, a, b, torch.int32)


def addmm(multiply: Multiplier, c: Any, a: Any, b: Any, out_dtype: Any = None, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Add to a product: `aten.addmm`. A row is a bias of cuBLASLt's epilogue, anything else is C of cuBLAS."""
    return _product(multiply, "addmm", 2, c, a, b, out_dtype, beta=beta, alpha=alpha)


def baddbmm(
    multiply: Multiplier, c: Any, a: Any, b: Any, out_dtype: Any = None, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Add to products of a batch: `aten.baddbmm`."""
    return _product(multiply, "baddbmm", 3, c, a, b, out_dtype, beta=beta, alpha=alpha)


def addbmm(multiply: Multiplier, c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Add all products of a batch, one after another, each rounded to the result's dtype: `aten.addbmm`, as on CUDA."""
    if a.dim() != 3 or b.dim() != 3 or not len(a):
        return NotImplemented
    total = c
    for i in range(len(a)):
        total = _product(multiply, "addbmm", 2, total, a[i], b[i], None, beta=beta if i == 0 else 1, alpha=alpha)
        if total is NotImplemented:
            return total
    return total


def _product(
    multiply: Multiplier, name: str, rank: int, c: Any, a: Any, b: Any, out_dtype: Any, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Multiply, with the addend as C or as bias; NotImplemented lets PyTorch compute, or raise its error."""
    if not (a.dim() == b.dim() == rank and a.shape[:-2] == b.shape[:-2] and a.shape[-1] == b.shape[-2]):
        return NotImplemented
    if a.dtype != b.dtype or (c is not None and c.dtype not in (a.dtype, out_dtype)):
        return NotImplemented
    shape = (*a.shape[:-1], b.shape[-1])
    if c is not None and not _broadcasts(c, shape):
        return NotImplemented
    given: dict[str, Any] = {} if alpha == 1 else {"alpha": alpha}
    if c is not None and beta == 1 and c.dim() == 1 and len(c) == shape[-1]:
        given["bias"] = c
    elif c is not None and beta != 0:
        given |= {"c": c.expand(shape), "beta": beta}
    return multiply(TensorProduct(operation=name, a=a, b=b, out_dtype=out_dtype or a.dtype, **given))


def _broadcasts(c: Any, shape: tuple[int, ...]) -> bool:
    try:
        return tuple(torch.broadcast_shapes(c.shape, shape)) == shape
    except RuntimeError:
        return False


Operation = Callable[..., Any]
"""A function of a `Multiplier` and the arguments of an operation of ATen; NotImplemented leaves it to PyTorch."""
