# SPDX-License-Identifier: MIT
"""The CuPy engine: any chip's arithmetic on the available GPU, where arrays remain.

One kernel is generated from the model (`wmma_emu.arithmetic.cuda_source`) and compiled once per product.
"""

import importlib
from functools import cache, lru_cache
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.blocks import Progress
from wmma_emu.arithmetic.cuda_source import (
    EpilogueForm,
    conversion_source,
    epilogue_source,
    kernel_source,
    shape_of,
)
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.table import FMA_F32, MODELS
from wmma_emu.documentation import how_to_install
from wmma_emu.errors import BackendUnavailableError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.scalar import convert as scalar_convert

_INSTALL = f"install the extra `gpu` ({how_to_install('gpu')}), or `gpu12` for a driver of CUDA 12"

_PRODUCTS_OF_A_LAUNCH = 10**11
"""The multiply-adds between two reports of progress: a few tenths of a second."""

_KNOWN = frozenset({FMA_F32.model.parameters, *(entry.parameters for entry in MODELS)})

_MOST_BLOCKS = 2**31 - 1
_THREADS = 256
_OPTIONS = ("--std=c++17",)


def require_cupy() -> ModuleType:
    """Import CuPy and check that it has a GPU; an error names the missing part and the way to install it."""
    try:
        cupy = importlib.import_module("cupy")
    except (ImportError, RuntimeError) as error:
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == "cupy"
        problem = "is not installed" if missing else f"cannot be imported ({shorten(error, str)})"
        raise BackendUnavailableError(f"engine='cupy' needs CuPy, which {problem}; {_INSTALL}") from error
    _require_device(cupy)
    return cupy


@cache
def _require_device(cupy: Any) -> None:
    """Check once that CuPy has a GPU."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise BackendUnavailableError(
            f"CuPy finds no GPU ({shorten(error, str)}); run where nvidia-smi shows one, or use engine='numpy'"
        ) from error
    if not count:
        raise BackendUnavailableError("a driver is installed, but no GPU is visible; CUDA_VISIBLE_DEVICES may hide it")


def has(product: DotProduct) -> bool:
    """Return whether the engine supports a product: of multiply-adds or a model of the table, without block scales."""
    return product.scale is None and product.model.parameters in _KNOWN


def matmul(product: DotProduct, a: Any, b: Any, c: Any, progress: Progress | None = None) -> Any:
    """Compute D = A B + C on bit patterns, on the current GPU, with the model of any chip.

    Operands are NumPy or CuPy arrays of patterns with any strides; D is a new CuPy array if an operand is one,
    otherwise a NumPy array. K is a multiple of ``product.k``.
    """
    cupy = require_cupy()
    stays = any(isinstance(x, cupy.ndarray) for x in (a, b, c))
    try:
        d = _on_gpu(cupy, product, a, b, c, progress)
        return d if stays else d.get()
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise BackendUnavailableError(f"too little memory is free on the GPU: {shorten(error, str)}") from error


def _on_gpu(cupy: Any, product: DotProduct, a: Any, b: Any, c: Any, progress: Progress | None) -> Any:
    a, b, c = (_moved(cupy, x, fmt) for x, fmt in ((a, product.a), (b, product.b), (c, product.c)))
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    (m, n), k = c.shape[-2:], a.shape[-1]
    if k == 0:
        return cupy.array(cupy.broadcast_to(c, (*batch, m, n)), product.d.storage, order="C")
    d = cupy.empty((*batch, m, n), product.d.storage)
    if not d.size:
        return d
    shape = shape_of(product)
    blocks = prod(batch) * -(-m // shape.tile_rows) * -(-n // shape.tile_columns)
    device = cupy.cuda.runtime.getDevice()
    offsets = _offsets(tuple((x.shape[:-2], x.strides[:-2], x.itemsize) for x in (a, b, c)), batch, device)
    positions = k // product.k * shape.positions
    steps = [step // x.itemsize for x in (a, b, c) for step in x.strides[-2:]]
    numbers = [np.int64(x) for x in (prod(batch), m, n, positions, *steps)]
    kernel = _kernel(product, device)
    at_once = _MOST_BLOCKS
    if progress is not None:
        at_once = max(_PRODUCTS_OF_A_LAUNCH // (shape.tile_rows * shape.tile_columns * k), 1)
    for first in range(0, blocks, at_once):
        count = min(at_once, blocks - first)
        arguments = (a, b, c, d, offsets, *numbers, np.int64(first))
        kernel((count,), (shape.threads,), arguments, shared_mem=shape.shared_bytes)
        if progress is not None:
            cupy.cuda.get_current_stream().synchronize()
            progress((first + count) / blocks)
    return d


def _moved(cupy: Any, bits: Any, fmt: Format) -> Any:
    """Copy patterns to the GPU, without repetitions from broadcasting; strides are multiples of the element size."""
    if isinstance(bits, cupy.ndarray):
        moved = bits.astype(fmt.storage, copy=False)
        whole = all(step % moved.itemsize == 0 for step in moved.strides)
        return moved if whole else cupy.ascontiguousarray(moved)
    given: NDArray[Any] = np.asarray(bits, fmt.storage)
    axes = zip(given.strides, given.shape, strict=True)
    once = given[tuple(slice(0, 1) if step == 0 and size else slice(None) for step, size in axes)]
    return cupy.broadcast_to(cupy.asarray(np.array(once, order="C")), given.shape)


@lru_cache(maxsize=256)
def _offsets(arrays: tuple[tuple[Any, Any, int], ...], batch: tuple[int, ...], device: int) -> Any:
    """Return the offset of each matrix of the batch, in elements, on a device.

    Arrays are given as their leading axes, the strides of these axes, and the size of an element.
    """
    offsets = np.zeros((len(arrays), *batch), np.int64)
    for of_array, (shape, strides, size) in zip(offsets, arrays, strict=True):
        for axis, (length, step) in enumerate(zip(reversed(shape), reversed(strides), strict=True)):
            if length > 1:
                of_array += (np.arange(length, dtype=np.int64) * (step // size)).reshape(-1, *[1] * axis)
    cupy: Any = importlib.import_module("cupy")
    return cupy.asarray(offsets)


def convert(bits: Any, source: Format, target: Format) -> Any:
    """Round CuPy patterns to another floating-point format, to nearest even, like `wmma_emu.scalar.convert`.

    Formats of 64 bits are converted on the host.
    """
    cupy = require_cupy()
    if source == target or not bits.size:
        return bits.astype(target.storage)
    if 64 in (source.bits, target.bits):
        return cupy.asarray(scalar_convert(bits.get(), source, target))
    given = cupy.ascontiguousarray(bits)
    result = cupy.empty(bits.shape, target.storage)
    blocks = min(-(-bits.size // _THREADS), 1 << 16)
    kernel = _conversion(source, target, cupy.cuda.runtime.getDevice())
    kernel((blocks,), (_THREADS,), (given, result, np.int64(bits.size)))
    return result


def finish(epilogue: EpilogueForm, sums: Any, c: Any = None, bias: Any = None, alpha: int = 0, beta: int = 0) -> Any:
    """Apply an epilogue to CuPy patterns; C broadcasts to their shape, alpha and beta are patterns of float32."""
    cupy = require_cupy()
    d = cupy.empty(sums.shape, epilogue.result.storage)
    if not d.size:
        return d
    given = cupy.ascontiguousarray(sums)
    addend = given if c is None else cupy.ascontiguousarray(cupy.broadcast_to(c, sums.shape))
    row = given if bias is None else cupy.ascontiguousarray(bias)
    numbers = [np.int64(x) for x in (d.size, sums.shape[-1], alpha, beta)]
    kernel = _epilogue(epilogue, cupy.cuda.runtime.getDevice())
    kernel((min(-(-d.size // _THREADS), 1 << 16),), (_THREADS,), (given, addend, row, d, *numbers))
    return d


_ADDITION = EpilogueForm(format_of("f32"), format_of("f32"), format_of("f32"))


def add(x: Any, y: Any) -> Any:
    """Add CuPy patterns of float32, rounded to nearest even, like `wmma_emu.scalar.add`."""
    return finish(_ADDITION, x, y)


def fma(x: Any, factor: int, y: Any) -> Any:
    """Compute ``factor * x + y`` on CuPy patterns of float32, rounded once, like `wmma_emu.scalar.fma`."""
    return finish(_ADDITION._replace(has_alpha=True), x, y, alpha=factor)


@cache
def _epilogue(epilogue: EpilogueForm, device: int) -> Any:
    """Compile an epilogue for a device."""
    cupy: Any = importlib.import_module("cupy")
    return cupy.RawModule(code=epilogue_source(epilogue), options=_OPTIONS).get_function("finish_all")


@cache
def _conversion(source: Format, target: Format, device: int) -> Any:
    """Compile a conversion for a device."""
    cupy: Any = importlib.import_module("cupy")
    return cupy.RawModule(code=conversion_source(source, target), options=_OPTIONS).get_function("convert_all")


@cache
def _kernel(product: DotProduct, device: int) -> Any:
    """Compile a product's program for a device."""
    cupy: Any = importlib.import_module("cupy")
    kernel = cupy.RawModule(code=kernel_source(product), options=_OPTIONS).get_function("matmul")
    shared_bytes = shape_of(product).shared_bytes
    if shared_bytes > 48 * 1024:  # more than the default of a kernel
        kernel.max_dynamic_shared_size_bytes = shared_bytes
    return kernel
