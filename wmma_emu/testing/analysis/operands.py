# SPDX-License-Identifier: MIT
"""From what a user hands to an analysis to patterns: the product that is computed, and its matrices."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.arithmetic import FMA_F32, DotProduct
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, shorten
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.operands import bind, check_c, missing_k, product_for, result_shape, step_of_k
from wmma_emu.instructions import DEFAULT_ARCH, Arch, Instruction, arch_of
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
    name, chip, product, row = _resolve(ins, A, B, arch, lowering, a_format, b_format)
    if not product.a.is_float:
        raise UnsupportedInstructionError(
            f"{name} multiplies {product.a}: integer products are exact, wrapped or clamped once, and have no rounding "
            "errors to report; hold its results against NumPy's int64 with wmma_emu.testing.assert_bits_equal"
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


def _resolve(
    ins: BoundInstruction | Instruction | str | None,
    A: ArrayLike,
    B: ArrayLike,
    arch: str | Arch | None,
    lowering: str | None,
    a_format: str | None,
    b_format: str | None,
) -> tuple[str, str, DotProduct, Instruction | None]:
    if isinstance(ins, BoundInstruction):
        for what, given, bound in (
            ("arch", arch if arch is None else arch_of(arch).name, ins.arch.name),
            ("lowering", lowering, ins.model.lowering),
        ):
            if given not in (None, bound):
                raise UnsupportedInstructionError(
                    f"{what}={shorten(given)} was given, but {shorten(ins)} is bound to {bound!r} already; "
                    f"pass the mnemonic with {what}=, or leave {what} out"
                )
        return ins.mnemonic, ins.arch.name, ins.product, ins.instruction
    if not isinstance(ins, str | Instruction | None):
        raise FragmentMismatchError(
            f"ins is {shorten(ins)}; pass what wmma_emu.instruction returns, a mnemonic, or None for the default. The "
            "instruction comes first: error_report(ins, A, B, C)"
        )
    chip = arch_of(DEFAULT_ARCH if arch is None else arch)
    if isinstance(ins, str) and ins == "fma.f32":
        product, row = product_for(A, B, ins, chip, lowering, a_format, b_format)
        return ins, FMA_F32.model.arch, product, row
    bound_ins = bind(A, B, ins, chip, lowering, a_format, b_format)
    return bound_ins.mnemonic, chip.name, bound_ins.product, bound_ins.instruction
