# SPDX-License-Identifier: MIT
"""The arguments of an analysis as patterns: the product and its matrices."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.arithmetic import DotProduct
from wmma_emu.errors import ArgumentError, OptionError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.choice import kind_of_scales
from wmma_emu.gemm.element import resolve_product
from wmma_emu.gemm.k_order import Run
from wmma_emu.gemm.operands import check_c, missing_k, result_shape, step_of_k
from wmma_emu.gemm.options import Factors
from wmma_emu.gemm.scales import scales_of
from wmma_emu.instructions import Arch, Instruction
from wmma_emu.warp import BoundMatrixInstruction, matrix_bits
from wmma_emu.warp.sparse import compress

Pairs = tuple[list[int], list[list[int]]]
"""A row of A, and the matching columns of B, as the datapath receives them."""


class BlockScales(NamedTuple):
    """Patterns of the block scales, including the padding of the last instruction; ``block`` elements of k share one.

    Shapes are (batch, M, blocks) and (batch, blocks, N).
    """

    a: Bits
    b: Bits
    format: Format
    block: int


@dataclass(frozen=True, slots=True, eq=False)
class Multiplication:
    """One product of matrices, as `wmma_emu.gemm` computes it over ascending k.

    Matrices of patterns have shapes (batch, M, K), (batch, K, N), (batch, M, N); ``shape`` is the shape of D, with the
    batch's own axes.
    """

    name: str
    arch: str
    product: DotProduct
    instruction: Instruction | None
    a: Bits
    b: Bits
    c: Bits
    shape: tuple[int, ...]
    scales: BlockScales | None = None

    @property
    def k(self) -> int:
        """The number of products that the datapath adds for one element, including the padding."""
        if self.instruction is None:
            return self.product.k
        executions: int = -(-self.a.shape[-1] // self.instruction.k)
        return executions * self.product.k

    def scales_of(self, batch: int, row: int, column: int) -> tuple[list[int], list[int]]:
        """Return patterns of the block scales of a row and a column; empty without scales."""
        if self.scales is None:
            return [], []
        return self.scales.a[batch, row].tolist(), self.scales.b[batch, :, column].tolist()

    def pairs(self, batch: int) -> Iterator[Pairs]:
        """Yield row after row of one matrix."""
        a, b = self.a[batch], self.b[batch]
        missing = -a.shape[1] % step_of_k(self.product, self.instruction)
        a, b = np.pad(a, ((0, 0), (0, missing))), np.pad(b, ((0, missing), (0, 0)))
        if self.instruction is not None and self.instruction.is_sparse:
            packed, ks = compress(self.instruction, a)
            for row, places in zip(packed, ks, strict=True):
                yield row.tolist(), b[places].T.tolist()
            return
        columns = b.T.tolist()
        for row in a:
            yield row.tolist(), columns


def read_operands(
    ins: BoundMatrixInstruction | Instruction | str | None,
    factors: Factors,
    C: ArrayLike | None,
    arch: str | Arch | None,
    lowering: str | None,
    model: str | None = None,
) -> Multiplication:
    """Determine the product, and read its matrices; errors are the same as for `wmma_emu.gemm`."""
    if not isinstance(ins, BoundMatrixInstruction | str | Instruction | None):
        raise ArgumentError(
            f"ins is {shorten(ins)}; pass the result of wmma_emu.instruction, a mnemonic, or None for the default. The "
            "instruction is the first argument: error_report(ins, A, B, C)"
        )
    name, chip, product, row = resolve_product(ins, factors, arch, lowering, model)
    if not product.a.is_float:
        raise UnsupportedInstructionError(
            f"{name} multiplies {product.a}: integer products are exact, wrapped or clamped once, and have no rounding "
            "errors to report; compare its results with NumPy's int64 by wmma_emu.testing.assert_bits_equal"
        )
    a = matrix_bits(factors.a, product.a, "A", packed_axis=-1, named=factors.a_format)
    b = matrix_bits(factors.b, product.b, "B", packed_axis=-2, named=factors.b_format)
    shape = result_shape(a.shape, b.shape)
    if C is None:
        c: Bits = np.zeros(shape, product.c.storage)
    else:
        c = matrix_bits(C, product.c, "C")
        shape = check_c(c.shape, shape)
    k = a.shape[-1]
    if row is None:  # one chain of any length
        product = replace(product, k=max(k, 1))
    missing_k(k, product, step_of_k(product, row))
    scales = _block_scales(name, product, row, factors, (*shape[-2:], k))
    if scales is not None:
        shape = (*_common(shape[:-2], scales), *shape[-2:])
    batch, count = shape[:-2], prod(shape[:-2])
    if scales is not None:
        of_a, of_b = (np.broadcast_to(x, batch + x.shape[-2:]).reshape(count, *x.shape[-2:]) for x in scales[:2])
        scales = scales._replace(a=of_a, b=of_b)
    a, b, c = (np.broadcast_to(x, batch + x.shape[-2:]).reshape(count, *x.shape[-2:]) for x in (a, b, c))
    return Multiplication(name, chip, product, row, a, b, c, shape, scales)


def _block_scales(
    name: str, product: DotProduct, entry: Instruction | None, factors: Factors, sizes: tuple[int, int, int]
) -> BlockScales | None:
    """Read the block scales of whole instructions; the pattern 0 pads the last one."""
    if kind_of_scales(factors.scale_a, factors.scale_b) == "float":
        raise OptionError(
            "scale_a and scale_b are float32, which a kernel applies after the sums; error reports cover only "
            "instructions: leave them out"
        )
    blocks = scales_of(factors, None, product, entry, sizes, name).blocks
    if blocks is None or entry is None:
        return None
    significant = np.uint8(0x7F if entry.scale == "ue4m3" else 0xFF)  # the top bit of ue4m3 is padding
    a, b = (x.of_run((slice(None),) * len(x.shape), Run(0, sizes[2]), entry.k) & significant for x in blocks)
    return BlockScales(a, b, format_of(entry.scale), entry.scale_block)


def _common(batch: tuple[int, ...], scales: BlockScales) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(batch, *(x.shape[:-2] for x in scales[:2]))
    except ValueError:
        raise ShapeError(
            f"the leading axes of the scales, {scales.a.shape[:-2]} and {scales.b.shape[:-2]}, do not broadcast to "
            "those "
            f"of D, {batch}"
        ) from None
