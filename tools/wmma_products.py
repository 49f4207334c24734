# SPDX-License-Identifier: MIT
"""The recorded products of mma.h: their list, the order of matrices in memory, and the kernels."""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tools.record_wmma_layouts import INCLUDES, Fragment
from tools.recording_inputs import generators_of
from tools.recordings import all_inputs
from wmma_emu.api import instruction
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.instructions import Instruction, instructions_of
from wmma_emu.instructions.spec import OPERANDS, Operand

GENERATORS = ("normal", "wide", "special", "tiny", "extremes", "limits", "raw")
"""The recorded generators of `tools.recording_inputs`; the recording of registers has the others."""

TILES = 2

GAP = 0x5A
"""Every byte between the lines of A, B and C."""

_HELPERS = """
// The matrix of this block's tile.
template <class T>
__device__ const T* tile(const void* first, unsigned bytes)
{
    return reinterpret_cast<const T*>(static_cast<const char*>(first) + size_t(blockIdx.x) * bytes);
}

__device__ wmma::layout_t order(unsigned row_major)
{
    return row_major ? wmma::mem_row_major : wmma::mem_col_major;
}
"""

HEAD = INCLUDES + _HELPERS
"""The beginning of the kernels' file."""

Bits = NDArray[Any]
RunTwice = Callable[..., tuple[NDArray[Any], NDArray[Any]]]


class Matrix:
    """One operand of a product, and the order of its matrix in memory.

    Parameters
    ----------
    row : Instruction
    operand : {"a", "b", "c", "d"}
    stored : {"row", "col"}
    gap : int
        By how many steps ldm, the distance of two lines, is larger than a line. A step is the least that ldm may
        change by: 16 bytes, 8 for 8-bit elements, 32 elements of 4 bits, 128 of 1 bit.
    """

    def __init__(self, entry: Instruction, operand: Operand, stored: Literal["row", "col"], gap: int) -> None:
        self.operand, self.stored = operand, stored
        self.format, self.shape = entry.format(operand), entry.matrix_shape(operand)
        bits = self.format.bits
        step = {8: 8, 4: 32, 1: 128}.get(bits, 128 // bits)
        self.lines, self.line = self.shape if stored == "row" else self.shape[::-1]
        self.ldm = self.line + gap * step
        use = {"a": "matrix_a", "b": "matrix_b"}.get(operand, "accumulator")
        accumulator = self.format.name if use == "accumulator" else ""
        memory_layout = ("mem_" if accumulator else "") + stored + "_major"
        self.fragment = Fragment(use, entry.m, entry.n, entry.k, entry.a, accumulator, memory_layout)

    @property
    def nbytes(self) -> int:
        """Bytes of a tile's memory, a multiple of what cudaMalloc aligns to."""
        return -(-self.lines * self.ldm * self.format.bits // 8 // 256) * 256

    def image(self, matrices: Bits, fill: int = GAP) -> NDArray[np.uint8]:
        """Lay out patterns (tiles, rows, columns): bytes (tiles, nbytes), ``fill`` in every gap."""
        lines = matrices if self.stored == "row" else np.swapaxes(matrices, -1, -2)
        packed = np.full((len(matrices), self.nbytes), fill, np.uint8)
        size = self.ldm * self.format.bits // 8
        body = packed[:, : self.lines * size].reshape(len(matrices), self.lines, size)
        body[..., : self.line * self.format.bits // 8] = _pack(lines, self.format.bits)
        packed[:, : self.lines * size] = body.reshape(len(matrices), -1)
        return packed

    def read(self, image: NDArray[np.uint8]) -> Bits:
        """Read patterns (tiles, rows, columns) of whole bytes out of their image."""
        size = self.format.bits // 8
        body = image[:, : self.lines * self.ldm * size].view(self.format.storage)
        lines = body.reshape(len(image), self.lines, self.ldm)[..., : self.line]
        return np.ascontiguousarray(lines if self.stored == "row" else np.swapaxes(lines, -1, -2))


def _pack(lines: Bits, bits: int) -> NDArray[np.uint8]:
    """Return elements as the bytes of their lines, the first in the lowest bits."""
    lines = np.ascontiguousarray(lines)
    if bits >= 8:
        return lines.view(np.uint8)
    each = np.unpackbits(lines[..., np.newaxis].astype(np.uint8), axis=-1, count=bits, bitorder="little")
    return np.packbits(each.reshape(*lines.shape[:-1], -1), axis=-1, bitorder="little")


class WmmaOverload:
    """One overload of `mma_sync` or `bmma_sync`, with the memory layouts that it is recorded with.

    A and B lie as their fragments' types say. Those of C and D, and the gaps, follow from ``number``, so that all
    occur.
    """

    def __init__(self, entry: Instruction, number: int) -> None:
        self.row, self.mnemonic = entry, entry.mnemonic
        orders: tuple[Literal["row", "col"], ...] = ("row", "col")
        of_c, of_d = orders[(number + number // 4) % 2], orders[(number // 2 + number // 8) % 2]
        stored = (entry.a_layout, entry.b_layout, of_c, of_d)
        gaps = (number % 3, (number // 3) % 3, (number // 2) % 3, (number // 5) % 3)
        self.a, self.b, self.c, self.d = self.matrices = tuple(
            Matrix(entry, operand, *how) for operand, how in zip(OPERANDS, zip(stored, gaps, strict=True), strict=True)
        )

    def __repr__(self) -> str:
        return f"<WmmaOverload {self.mnemonic}>"

    @property
    def kernel(self) -> str:
        return re.sub(r"\W+", "_", self.mnemonic)

    @property
    def is_saturating(self) -> bool:
        return "satfinite" in self.row.modifiers

    @property
    def bit_operation(self) -> str:
        """``XOR`` or ``AND`` of `bmma_sync`, empty for `mma_sync`."""
        return next((x.split(".")[0].upper() for x in self.row.modifiers if x.endswith(".popc")), "")

    @property
    def generators(self) -> tuple[str, ...]:
        return tuple(x for x in generators_of(self.row) if x in GENERATORS)

    def inputs(self, seed: int) -> tuple[Bits, ...]:
        """Draw A, B and C of all input generators, as patterns (tiles, rows, columns)."""
        ins = instruction(self.mnemonic, arch="sm_90")
        drawn = all_inputs(self.mnemonic, GENERATORS, seed, TILES)
        operands = (ins.a, ins.b, ins.c)
        return tuple(to_bits(x.unpack(y), x.format) for x, y in zip(operands, drawn, strict=True))

    def images(self, seed: int) -> list[NDArray[np.uint8]]:
        """Lay out the inputs: A, B and C as their tiles' bytes."""
        return [x.image(y) for x, y in zip(self.matrices, self.inputs(seed), strict=False)]

    @property
    def scalars(self) -> tuple[int, ...]:
        """Return the kernel's arguments after its pointers."""
        sizes = [x for matrix in self.matrices for x in (matrix.ldm, matrix.nbytes)]
        return (*sizes, int(self.c.stored == "row"), int(self.d.stored == "row"))

    def record(self, run_twice: RunTwice, seed: int, fills: tuple[int, int]) -> Bits:
        """Return D of every tile from the GPU's memory; the GPU must write only its elements."""
        images = self.images(seed)
        tiles = len(images[0])
        outputs = run_twice(self.kernel, images, (tiles, self.d.nbytes), "u1", *self.scalars, blocks=tiles)
        d = self.d.read(outputs[0])
        for output, fill in zip(outputs, fills, strict=True):
            if not np.array_equal(self.d.image(d, fill), output):
                raise ValueError(f"{self.mnemonic}: the gaps of D were written, or two launches differ")
        return d

    @cached_property
    def source(self) -> str:
        """The kernel in CUDA C++."""
        a, b, c, d = (x.fragment for x in self.matrices)
        more = ", true" if self.is_saturating else ""
        call = f"mma_sync(fd, fa, fb, fc{more})"
        if self.bit_operation:
            names = (f"bmmaBitOp{self.bit_operation}", "bmmaAccumulateOpPOPC")
            call = f"bmma_sync(fd, fa, fb, fc, {', '.join('wmma::experimental::' + x for x in names)})"
        sizes = ", ".join(f"unsigned ld{x}, unsigned {x}_bytes" for x in OPERANDS)
        return f"""
extern "C" __global__ void {self.kernel}(const void* a, const void* b, const void* c, void* d,
    {sizes}, unsigned c_row_major, unsigned d_row_major)
{{
    {a.declared} fa;
    {b.declared} fb;
    {c.declared} fc;
    {d.declared} fd;
    wmma::load_matrix_sync(fa, tile<{a.memory_type}>(a, a_bytes), lda);
    wmma::load_matrix_sync(fb, tile<{b.memory_type}>(b, b_bytes), ldb);
    wmma::load_matrix_sync(fc, tile<{c.memory_type}>(c, c_bytes), ldc, order(c_row_major));
    wmma::{call};
    wmma::store_matrix_sync(const_cast<{d.memory_type}*>(tile<{d.memory_type}>(d, d_bytes)), fd, ldd,
                            order(d_row_major));
}}
"""


def products(arch: str) -> list[WmmaOverload]:
    """Return every product that mma.h has on a chip: `mma_sync`, that of integers with satf too, and `bmma_sync`.

    On Hopper 94 overloads, 26 of them saturating too, and two operations of bits.
    """
    not_in_header = {"rn", "rz", "rm", "rp"}
    rows = [x for x in instructions_of(arch) if x.family == "wmma.mma" and not_in_header.isdisjoint(x.modifiers)]
    return [WmmaOverload(row, i) for i, row in enumerate(rows)]
