# SPDX-License-Identifier: MIT
"""The native engine: blocks of dot products in code that LLVM compiles for a kind of products, from its model.

It supports aligned sums and chains in float32 and float64. Integers and bits use exact products in BLAS, as in the
NumPy engine, which no compiled code beats.
"""

from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, c_int64, c_void_p
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import numpy_engine
from wmma_emu.arithmetic.blocks import Progress
from wmma_emu.arithmetic.compiled_code import note_ready
from wmma_emu.arithmetic.exact import multiply_or
from wmma_emu.arithmetic.group_sums import scale_tables
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.native.operands import SPECIAL
from wmma_emu.arithmetic.native.panel import LINES, Panel
from wmma_emu.arithmetic.native.panel_product import define_panel_product
from wmma_emu.arithmetic.native.product import reason_against
from wmma_emu.arithmetic.scaled_codes import split_codes
from wmma_emu.formats.codec import Bits
from wmma_emu.llvm.library import NativeLibrary
from wmma_emu.scalar import in_ieee_arithmetic

_LIBRARY = NativeLibrary(Path(__file__).parents[1] / x for x in ("arithmetic", "formats", "llvm"))

_DEPTH = 256
"""The products that are packed at once: a block of A and one of B then fit in the first-level cache."""

_PACKED = 1 << 20
"""The elements of A or B that are packed at once, 5 to 12 bytes each."""

_ADDRESS, _NUMBER = c_void_p, c_int64


class _Kernel(NamedTuple):
    """The form of the panels of a product, and its functions."""

    panel: Panel
    pack_a: Callable[..., None]
    pack_b: Callable[..., None]
    multiply: Callable[..., None]


class _Packed(NamedTuple):
    """A panel in memory; arrays that do not exist are empty."""

    values: NDArray[Any]
    exponents: NDArray[np.int32]
    scales: NDArray[np.int32]


def has(product: DotProduct) -> bool:
    """Return whether the engine supports a product."""
    return product.model.arithmetic in ("integer", "popcount") or reason_against(product) is None


def is_kept(product: DotProduct) -> bool:
    """Return whether the compiled code for a product is loaded, or cached on disk."""
    return _LIBRARY.has(_names(product))


def multiply_block(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None) -> None:
    """Compute D = A B + C for every matrix of a batch, like `wmma_emu.arithmetic.numpy_engine.multiply_block`."""
    if product.model.arithmetic in ("integer", "popcount"):
        numpy_engine.multiply_block(product, a, b, c, d, progress)
    elif product.model.arithmetic == "aligned_sum" and product.scale is None and not Panel(product).has_sizes:
        multiply_or(_multiply, product, a, b, c, d, progress)
    else:
        _multiply(product, a, b, c, d, progress)


@in_ieee_arithmetic
def _multiply(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None) -> None:
    """Multiply some matrices at a time, and depth by depth of K."""
    kernel = _kernel(product)
    note_ready(product)
    (batch, m, n), rows = d.shape, kernel.panel.rows
    lines = -(-max(m, n) // LINES) * LINES
    depth = min(max(_PACKED // lines, product.k), _DEPTH, a.shape[-1]) // product.k * product.k or product.k
    many = max(_PACKED // (lines * depth), 1)
    parts = list(_parts(batch, many, a.shape[-1], depth))
    sums: Any = None
    for done, (matrices, ks) in enumerate(parts):
        if ks.start == 0:
            sums = _padded(c[matrices], (rows, LINES), np.uint64 if product.d.bits == 64 else np.uint32)
        left, right = _pack(kernel, "a", a[matrices, :, ks]), _pack(kernel, "b", b[matrices, ks].swapaxes(1, 2))
        pointers = [x.ctypes.data for pair in zip(left, right, strict=True) for x in pair]
        count, height, width = sums.shape
        sizes = count, height // rows, width // LINES, (ks.stop - ks.start) // product.k
        kernel.multiply(sums.ctypes.data, *pointers, *sizes)
        if ks.stop == a.shape[-1]:
            d[matrices] = sums[:, :m, :n]
        if progress is not None:
            progress((done + 1) / len(parts))


def _parts(batch: int, many: int, k: int, depth: int) -> Iterator[tuple[slice, slice]]:
    for first in range(0, batch, many):
        for start in range(0, k, depth):
            yield slice(first, min(first + many, batch)), slice(start, min(start + depth, k))


def _padded(x: NDArray[Any], multiples: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Copy matrices, with zeros after their rows and columns up to multiples."""
    sides = [-(-size // multiple) * multiple for size, multiple in zip(x.shape[1:], multiples, strict=True)]
    found = np.empty((len(x), *sides), dtype)
    _, m, n = x.shape
    found[:, :m, :n], found[:, m:], found[:, :m, n:] = x, 0, 0
    return found


def _pack(kernel: _Kernel, operand: str, lines: Bits) -> _Packed:
    """Return a panel of lines: rows of A, or columns of B, (matrices, lines, K)."""
    product, panel = kernel.panel.product, kernel.panel
    fmt, pack = (product.a, kernel.pack_a) if operand == "a" else (product.b, kernel.pack_b)
    scales = np.empty(0, np.int32)
    if product.scale is not None:
        lines, codes = split_codes(lines)
        scales = _packed_scales(product, codes[..., :: product.scale_block])
    patterns = _in_blocks(lines, fmt.storage)
    count = patterns.size // (product.k * LINES)
    values = np.empty(patterns.shape, panel.value_dtype)
    exponents = np.empty((count, panel.words, LINES), np.int32)
    pack(values.ctypes.data, exponents.ctypes.data, patterns.ctypes.data, count)
    return _Packed(values, exponents, scales)


def _in_blocks(lines: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return lines (matrices, lines, K) in blocks: (matrices, blocks, K, lines of a block)."""
    matrices, m, k = lines.shape
    blocks, rest = divmod(m, LINES)
    found = np.empty((matrices, blocks + (rest > 0), k, LINES), dtype)
    whole = lines[:, : blocks * LINES].reshape(matrices, blocks, LINES, k)
    found[:, :blocks] = whole.transpose(0, 1, 3, 2)
    if rest:
        found[:, -1, :, :rest], found[:, -1, :, rest:] = lines[:, blocks * LINES :].swapaxes(1, 2), 0
    return found


def _packed_scales(product: DotProduct, patterns: Bits) -> NDArray[np.int32]:
    """Return significands, as words, and exponents of scales: (matrices, blocks, instructions, 2, scale_vec, lines)."""
    tables = np.stack(_scale_numbers(product))
    blocks = _in_blocks(patterns, np.uint8)
    found = tables[:, blocks.reshape(*blocks.shape[:2], -1, product.scale_vec, LINES)]
    return np.ascontiguousarray(found.transpose(1, 2, 3, 0, 4, 5))


@cache
def _scale_numbers(product: DotProduct) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return significand and exponent of every pattern of a scale; where only exponents count, significands are 1."""
    significands, exponents = scale_tables(product.scale)
    if product.model.scaling == "exponents":
        significands = np.where(np.isnan(significands), significands, np.float32(1))
    return significands.view(np.int32), np.where(np.isnan(significands), np.int32(SPECIAL), exponents)


@lru_cache(maxsize=256)
def _names(product: DotProduct) -> tuple[str, str, str]:
    """Return the names of the functions of a product, which differ from those of all other code."""
    formats = [x.name for x in (product.a, product.b, product.c, product.d)]
    known = product.model.parameters, product.k, product.rounding, formats, str(product.scale), product.scale_vec
    digest = sha256(repr(known).encode()).hexdigest()[:16]
    return f"pack a {digest}", f"pack b {digest}", f"panels {digest}"


@lru_cache(maxsize=256)
def _kernel(product: DotProduct) -> _Kernel:
    """Return the functions of a product, which are compiled if no process has compiled them before."""
    panel, (pack_a, pack_b, multiply) = Panel(product), _names(product)
    addresses = _LIBRARY.addresses({
        pack_a: lambda module: panel.define_packing(module, pack_a, "a"),
        pack_b: lambda module: panel.define_packing(module, pack_b, "b"),
        multiply: lambda module: define_panel_product(module, panel, multiply),
    })  # fmt: skip
    pack = CFUNCTYPE(None, *[_ADDRESS] * 3, _NUMBER)
    whole = CFUNCTYPE(None, *[_ADDRESS] * 7, *[_NUMBER] * 4)
    return _Kernel(panel, pack(addresses[pack_a]), pack(addresses[pack_b]), whole(addresses[multiply]))
