# SPDX-License-Identifier: MIT
"""From what a user hands to an analysis to patterns: the product that is computed, and its matrices."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.arithmetic import DotProduct
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, shorten
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.element import resolve_product
from wmma_emu.gemm.operands import check_c, missing_k, result_shape, step_of_k
from wmma_emu.instructions import Arch, Instruction
from wmma_emu.warp import BoundInstruction, matrix_bits
from wmma_emu.warp.sparse import compress

__all__ = ["Multiplication", "Pairs", "read_operands"]

Pairs = tuple[list[int], list[list[int]]]
"""A row of A, and the columns of B that it meets, as the unit is given them."""


@dataclass(frozen=True, slots=True, eq=False)
class Multiplication:
    """One product of matrices, as `wmma_emu.gemm` computes it over ascending k.

    Parameters
    ----------
    name, arch : str
        The instruction and the chip.
    product : DotProduct
    instruction : Instruction or None
    a, b, c : unsigned integer arrays, shapes (batch, M, K), (batch, K, N), (batch, M, N)
    shape : tuple of int
        Of D, with the batch's own axes.
    """

    name: str
    arch: str
    product: DotProduct
    instruction: Instruction | None
    a: Bits
    b: Bits
    c: Bits
    shape: tuple[int, ...]

    @property
    def k(self) -> int:
        """Products that the unit adds up for one element, those of +0 that fill the last instruction included."""
        if self.instruction is None:
            return self.product.k
        executions: int = -(-self.a.shape[-1] // self.instruction.k)
        return executions * self.product.k

    def pairs(self, batch: int) -> Iterator[Pairs]:
        """Row after row of one matrix."""
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
    ins: BoundInstruction | Instruction | str | None,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None,
    arch: str | Arch | None,
    lowering: str | None,
    a_format: str | None,
    b_format: str | None,
) -> Multiplication:
    """Find the product that is meant, and read its matrices; raises as `wmma_emu.gemm` does."""
    if not isinstance(ins, BoundInstruction | str | Instruction | None):
        raise FragmentMismatchError(
            f"ins is {shorten(ins)}; pass what wmma_emu.instruction returns, a mnemonic, or None for the default. The "
            "instruction comes first: error_report(ins, A, B, C)"
        )
    name, chip, product, row = resolve_product(ins, A, B, arch, lowering, a_format, b_format)
    if not product.a.is_float:
        raise UnsupportedInstructionError(
            f"{name} multiplies {product.a}: integer products are exact, wrapped or clamped once, and have no rounding "
            "errors to report; hold its results against NumPy's int64 with wmma_emu.testing.assert_bits_equal"
        )
    if product.scale is not None:
        raise UnsupportedInstructionError(
            f"{name} has block scales, which error reports do not know; wmma_emu.testing.exact_matmul(A, B, C, "
            "scale_a=, scale_b=) is the exact product, and wmma_emu.explain says what was cut of an element"
        )
    a = matrix_bits(A, product.a, "A", packed_axis=-1, named=a_format)
    b = matrix_bits(B, product.b, "B", packed_axis=-2, named=b_format)
    shape = result_shape(a.shape, b.shape)
    if C is None:
        c: Bits = np.zeros(shape, product.c.storage)
    else:
        c = matrix_bits(C, product.c, "C")
        shape = check_c(c.shape, shape)
    k = a.shape[-1]
    if row is None:  # one chain, however long
        product = replace(product, k=max(k, 1))
    missing_k(k, product, step_of_k(product, row))
    batch, count = shape[:-2], prod(shape[:-2])
    a, b, c = (np.broadcast_to(x, batch + x.shape[-2:]).reshape(count, *x.shape[-2:]) for x in (a, b, c))
    return Multiplication(name, chip, product, row, a, b, c, shape)
