# SPDX-License-Identifier: MIT
"""Products of tensors on a GPU, which the engine ``cupy`` multiplies there: the elements do not leave the GPU.

CuPy and PyTorch share memory through DLPack, and PyTorch's current stream runs the kernels of both.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack, to_dlpack

from wmma_emu.arithmetic import ENGINES, FMA_F32, is_installed
from wmma_emu.errors import BackendUnavailableError
from wmma_emu.formats.dtypes import format_meant
from wmma_emu.formats.extension_dtypes import ml_dtype_of
from wmma_emu.gemm.device_arrays import DeviceArray
from wmma_emu.models import ArrayProduct, ModelMultiplier, ProductKind
from wmma_emu.scalar import APPROX_STATUS, approx

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

_EX2 = r"""
extern "C" __global__ void ex2_all(
    const unsigned *x, const unsigned *shift, unsigned *y, long long count, long long columns, long long factor) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float power = __fmaf_ieee_rn(
            __uint_as_float(x[i]), __uint_as_float((unsigned)factor), -__uint_as_float(shift[i / columns]));
        asm("ex2.approx.ftz.f32 %0, %1;" : "=r"(y[i]) : "f"(power));
    }
}
"""


def is_on_gpu(tensor: Any) -> bool:
    """Return whether a tensor is in the memory of a GPU that the engine ``cupy`` can use."""
    return tensor.device.type == "cuda" and _has_cupy()


@cache
def _has_cupy() -> bool:
    try:
        return is_installed("cupy") and bool(ENGINES["cupy"].load().require_cupy())
    except BackendUnavailableError:
        return False


def stays_on_gpu(multiply: ModelMultiplier, kind: ProductKind, product: Any) -> bool:
    """Return whether the engine ``cupy`` multiplies a `TensorProduct`; the host multiplies all others."""
    options, dot = multiply.options, FMA_F32 if kind.instruction is None else kind.instruction.product
    given = [x for x in (product.a, product.b, product.c, product.bias) if x is not None]
    if options.engine not in ("auto", "cupy") or not all(is_on_gpu(x) and x.numel() for x in given):
        return False
    if kind.operand_format == "tf32" and options.tf32_conversion != "truncate":
        return False
    if any(x is not None and x.numel() != 1 for x in (product.scale_a, product.scale_b)):
        return False
    is_plain = product.alpha is None and product.c is None and product.bias is None and options.k_order is None
    return (dot.d.name in ("f16", "f32") or is_plain) and ENGINES["cupy"].has(dot)


def product_on_gpu(multiply: ModelMultiplier, product: Any) -> Any:
    """Multiply a `TensorProduct` for which `stays_on_gpu` is true."""
    with _pytorch_stream(product.a):
        alpha = product.alpha
        if product.scale_a is not None:  # one scale for each matrix: gemm makes their product part of alpha
            alpha = float(np.float32(product.scale_a.item()) * np.float32(product.scale_b.item()))
        d = multiply(ArrayProduct(
            operation=product.operation, out_dtype=_format(product.out_dtype), alpha=alpha, beta=product.beta,
            settings=product.settings, is_fused=product.is_fused, convolves=product.convolves,
            kernel=product.kernel,
            a=_array(product.a), b=_array(product.b), c=_array(product.c), bias=_array(product.bias),
        ))  # fmt: skip
        return d if d is NotImplemented else _tensor(d)


def ex2(s: Any, factor: float, shift: Any) -> Any:
    """Return ``ex2.approx.ftz(fma(s, factor, -shift))``, of rows of ``s`` that each have a shift.

    The bits are a Hopper GPU's: its own instruction where the GPU has the same one, otherwise computed.
    """
    cupy: Any = sys.modules["cupy"]
    with _pytorch_stream(s):
        words, of_rows = (_array(x.contiguous()).patterns for x in (s, shift))
        pattern = int(np.float32(factor).view(np.uint32))
        if not _has_ex2(cupy):
            power = ENGINES["cupy"].load().fma(words, pattern, (of_rows ^ np.uint32(1 << 31))[..., None])
            return _tensor(DeviceArray(cupy.asarray(approx("ex2", power, ftz=True)), np.dtype(np.float32)))
        y = cupy.empty(words.shape, np.uint32)
        numbers = (np.int64(y.size), np.int64(y.shape[-1]), np.int64(pattern))
        kernel = _ex2_kernel(cupy.cuda.runtime.getDevice())
        kernel((min(-(-y.size // 256), 1 << 16),), (256,), (words, of_rows, y, *numbers))
        return _tensor(DeviceArray(y, np.dtype(np.float32)))


def _has_ex2(cupy: Any) -> bool:
    """Return whether the GPU's own ``ex2`` is known to have the bits."""
    found = APPROX_STATUS.get(("ex2", "f32", f"sm_{cupy.cuda.Device().compute_capability}"))
    return found is not None and found.status in ("measured", "recorded")


@cache
def _ex2_kernel(device: int) -> Any:
    cupy: Any = sys.modules["cupy"]
    return cupy.RawModule(code=_EX2, options=("--std=c++17",)).get_function("ex2_all")


@contextmanager
def _pytorch_stream(tensor: Any) -> Iterator[None]:
    """Let CuPy run on PyTorch's current stream of a tensor's device."""
    cupy: Any = sys.modules["cupy"]
    number = tensor.device.index
    with cupy.cuda.Device(number), cupy.cuda.ExternalStream(torch._C._cuda_getCurrentRawStream(number), number):
        yield


@dataclass(frozen=True, slots=True)
class _Shared:
    """A tensor for DLPack, without the synchronisation of streams: both libraries use the same one."""

    tensor: Any

    def __dlpack__(self, **options: Any) -> Any:
        return to_dlpack(self.tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()  # type: ignore[no-any-return]


@cache
def _format(dtype: Any) -> Any:
    """Return the format of a dtype, which is found faster if it is kept."""
    return format_meant(dtype) or dtype


def _array(tensor: Any) -> Any:
    """Return a tensor as patterns in the same memory; None is returned as it is."""
    if tensor is None:
        return None
    name = str(tensor.dtype).removeprefix("torch.")
    dtype = ml_dtype_of(name) or np.dtype(name)
    plain = tensor.resolve_neg() if tensor.is_neg() else tensor
    shared = sys.modules["cupy"].from_dlpack(_Shared(plain.view(_INTEGERS[tensor.element_size()])))
    return DeviceArray(shared.view(f"u{tensor.element_size()}"), dtype)


def _tensor(array: DeviceArray) -> Any:
    """Return a new array as a tensor in the same memory."""
    size = array.dtype.itemsize
    integers = from_dlpack(array.patterns.view("u1" if size == 1 else f"i{size}").__dlpack__(stream=-1))
    return integers.view(getattr(torch, array.dtype.name))
