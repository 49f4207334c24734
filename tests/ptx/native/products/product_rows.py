# SPDX-License-Identifier: MIT
"""Rows of matrix products, compiled and run on many warps, together with the product of the NumPy machine."""

import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from wmma_emu.generators import draw, draw_scales, generators_of
from wmma_emu.instructions import INSTRUCTIONS, Instruction, arch_of
from wmma_emu.layouts import pack_metadata
from wmma_emu.llvm.compile import load, object_code
from wmma_emu.ptx.native.context import Word
from wmma_emu.ptx.native.products.mma import WarpProduct
from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.warp import BoundInstruction, bound_instruction

FULL = 0xFFFF_FFFF

_NATIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)


class Registers(NamedTuple):
    """The registers of some warps: (registers, warps, 32); the metadata of a sparse A, and scales, (warps, 32)."""

    a: Any
    b: Any
    c: Any
    metadata: Any = None
    scale_a: Any = None
    scale_b: Any = None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments other than the matrices."""
        return {name: x for name, x in self._asdict().items() if len(name) > 1 and x is not None}


def native_products() -> Iterator[tuple[str, WarpProduct]]:
    """Yield every product that has separate native code, with the first chip that supports it."""
    found = set()
    for entry in INSTRUCTIONS.values():
        if entry.is_warpgroup or entry.is_tensor:
            continue
        for arch in entry.archs:
            try:
                product = WarpProduct.of(bound(entry, arch))
            except NotNativeError:
                continue
            if product.name not in found:
                found.add(product.name)
                yield f"{entry.mnemonic} {arch}", product


def bound(entry: Instruction, arch: str) -> BoundInstruction:
    """Bind an instruction to a chip."""
    return bound_instruction(entry, arch_of(arch), warns=False)


def compiled(product: WarpProduct) -> Any:
    """Compile the code of a product."""
    module = ir.Module()
    product.define(module)
    return _NATIVE(load(object_code(str(module)), [product.name])[product.name])


def drawn(matrix: BoundInstruction, tiles: int, seed: int, selector: int = 0) -> Registers:
    """Draw the registers of warps with every input generator that applies, some tiles each."""
    drawn = [draw(matrix, generator, seed, tiles, tiles, tiles) for generator in generators_of(matrix)]
    shapes = [x.matrix_shape[:-2] for x in (matrix.a, matrix.b, matrix.c)]
    a, b, c = (
        operand.pack_bits(_per_matrix(np.concatenate([x[i] for x in drawn]), shape))
        for i, (operand, shape) in enumerate(zip((matrix.a, matrix.b, matrix.c), shapes, strict=True))
    )
    found = Registers(a, b, c)
    if matrix.instruction.is_sparse:
        indices = np.concatenate([x.indices for x in drawn])
        found = found._replace(metadata=pack_metadata(matrix.instruction, indices, selector))
    if matrix.scale_a is None or matrix.scale_b is None:
        return found
    scales = [draw_scales(matrix, generator, seed, tiles, tiles) for generator in generators_of(matrix)]
    of_a, of_b = (np.concatenate([x[i] for x in scales]) for i in (0, 1))
    return found._replace(scale_a=matrix.scale_a.pack_bits(of_a), scale_b=matrix.scale_b.pack_bits(of_b))


def _per_matrix(tiles: Any, shape: tuple[int, ...]) -> Any:
    """Give each of the matrices of a warp another tile."""
    return np.stack([np.roll(tiles, i, 0) for i in range(shape[0])], 1) if shape else tiles


def computed(product: WarpProduct, given: Registers, mask: int = FULL) -> tuple[Any, int]:
    """Run the code of a product on warps; return the registers of D, (registers, warps, 32), and the flags."""
    operands = [given.a, given.b, given.c]
    layout = product.layouts[3]
    warps = given.a.shape[1]
    d = np.zeros((layout.num_registers, warps, 32), f"u{layout.register_bits // 8}")
    operands += [d, *(x[None] for x in given.options.values())]
    parts = [np.ascontiguousarray(x.swapaxes(0, 1)).view(np.uint8).reshape(warps, -1) for x in operands]
    ends = np.cumsum([x.shape[1] for x in parts])
    record = np.concatenate([
        np.arange(end - x.shape[1], end, 32 * given.dtype.itemsize, np.uint32)
        for end, x, given in zip(ends, parts, operands, strict=True)
    ])  # fmt: skip
    memory = _aligned(warps, int(ends[-1]))
    memory[:, : ends[-1]] = np.concatenate(parts, axis=1)
    context = np.zeros(Word.COUNT, np.uint64)
    code = compiled(product)
    for warp in memory:
        code(context.ctypes.data, warp.ctypes.data, record.ctypes.data, mask)
    found = memory[:, ends[2] : ends[3]].copy().view(d.dtype).reshape(warps, len(d), 32)
    return found.swapaxes(0, 1), int(context[Word.FLAGS])


def _aligned(warps: int, size: int) -> Any:
    stride = -(-size // 64) * 64
    memory = np.zeros(warps * stride + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + warps * stride].reshape(warps, stride)


def expected(matrix: BoundInstruction, given: Registers, selector: int = 0, engine: str = "numpy") -> Any:
    """Return the registers of D that the NumPy machine computes."""
    return matrix.execute(given.a, given.b, given.c, selector=selector, engine=engine, **given.options)
