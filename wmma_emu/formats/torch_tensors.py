# SPDX-License-Identifier: MIT
"""Conversion between PyTorch tensors and NumPy arrays, bit for bit; torch is never imported: a tensor implies it."""

import re
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, BackendUnavailableError, shorten
from wmma_emu.formats.extension_dtypes import fills_its_bytes, ml_dtype_of

_INTEGERS = {1: "uint8", 2: "int16"}
"""The torch integers by size in bytes, as which NumPy can read elements of dtypes that it lacks."""


def read(tensor: Any, name: str) -> NDArray[Any]:
    """Read a host tensor: a view of its memory, in the dtype of NumPy or ml_dtypes with the same name as torch's.

    Tensors on other devices, without data, sparse, quantised by torch, or packed are rejected, and so are tensors that
    require a gradient while gradients are recorded. The message gives the replacement.
    """
    _refuse(tensor, name)
    dtype = ml_dtype_of(name_of_dtype(tensor.dtype) or "")
    try:
        plain = tensor.detach().resolve_conj().resolve_neg()
        if dtype is None or not fills_its_bytes(dtype):
            return np.asarray(plain.numpy())
        integers = getattr(sys.modules["torch"], _INTEGERS[dtype.itemsize])
        return np.asarray(plain.view(integers).numpy().view(dtype))
    except (TypeError, RuntimeError) as error:  # fake tensors of a compiler, tensors within vmap
        raise ArgumentError(
            f"{name} is a torch {type(tensor).__name__} that NumPy cannot read: {shorten(error, str)}. Pass a tensor "
            f"that has data, outside torch.compile, torch.vmap and torch.func, with a dtype that NumPy or ml_dtypes "
            "also has"
        ) from error


def write(array: NDArray[Any]) -> Any:
    """Return a tensor of a new array; formats without a dtype in this torch become uint8 patterns, one per byte.

    Integers that an old torch lacks, such as the uint32 of registers, are rejected.
    """
    torch = sys.modules["torch"]
    array = np.require(array, requirements=["C", "W"])
    kind = array.dtype.name
    if ml_dtype_of(kind) is not None:
        tensor, dtype = torch.from_numpy(array.view(_INTEGERS[array.itemsize])), getattr(torch, kind, None)
        return tensor if dtype is None or not fills_its_bytes(array.dtype) else tensor.view(dtype)
    try:
        return torch.from_numpy(array)
    except TypeError as error:
        raise BackendUnavailableError(
            f"torch {torch.__version__} has no {kind}; use torch 2.3 or later, or pass NumPy arrays: x.numpy()"
        ) from error


def respelled(message: str) -> str:
    """Rewrite conversions of NumPy arrays in a message as conversions of tensors.

    Examples
    --------
    >>> respelled("C.astype(numpy.float32) is exact")
    'C.to(torch.float32) is exact'
    """
    message = re.sub(r"\.astype\((?:numpy|ml_dtypes)\.(\w+)\)", r".to(torch.\1)", message)
    return re.sub(r"\.view\((?:numpy|ml_dtypes)\.(\w+)\)", r".view(torch.\1)", message)


def name_of_dtype(given: object) -> str | None:
    """Return the name of a torch dtype, which NumPy or ml_dtypes may have too; None for anything else.

    Examples
    --------
    >>> name_of_dtype(np.float32) is None
    True
    """
    dtype_type = getattr(sys.modules.get("torch"), "dtype", None)
    if dtype_type is None or not isinstance(given, dtype_type):
        return None
    return str(given).removeprefix("torch.")


def _refuse(tensor: Any, name: str) -> None:
    torch = sys.modules["torch"]
    what, fix = "", ""
    if tensor.is_nested:
        what, fix = "is nested", f"pass {name}.to_padded_tensor(0.0), or its matrices one by one"
    elif tensor.layout != torch.strided:
        what, fix = f"has the layout {tensor.layout}", f"pass {name}.to_dense()"
    elif tensor.is_quantized:
        what, fix = "is quantised by torch", f"pass {name}.int_repr(), its integers, or {name}.dequantize()"
    elif tensor.is_meta:
        what, fix = "is on the device meta, where tensors have no data", "pass a tensor that has data"
    elif tensor.device.type != "cpu":
        what, fix = f"is on the device {tensor.device}", f"bring it to the host: {name}.detach().cpu()"
    elif tensor.requires_grad and torch.is_grad_enabled():
        what = "requires a gradient, and the emulator does not record gradients"
        fix = (
            f"pass {name}.detach(), or call it under torch.no_grad(); to train through it, write an autograd.Function "
            "(docs/how-to/use-with-pytorch.md)"
        )
    elif name_of_dtype(tensor.dtype) == "float4_e2m1fn_x2":
        what = "is a tensor of torch.float4_e2m1fn_x2, two numbers per byte"
        fix = f"pass {name}.view(torch.uint8), packed along k, with {name.lower()}_format='e2m1'"
    if what:
        raise ArgumentError(f"{name} {what}; {fix}")
