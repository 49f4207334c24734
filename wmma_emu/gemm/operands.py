# SPDX-License-Identifier: MIT
"""From a user's matrices to the instruction that multiplies them, and to the shape of the result."""

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.arithmetic import FMA_F32, DotProduct
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.dtypes import format_of_dtype
from wmma_emu.instructions import Arch, Instruction, arch_of, default_instruction, lookup
from wmma_emu.warp import BoundInstruction, bound_instruction

__all__ = ["bind", "check_c", "missing_k", "operand_format", "product_for", "result_shape", "step_of_k"]


def operand_format(matrix: ArrayLike, name: str, named: str | None) -> Format:
    """Format of a user's matrix: the one that is named, or what the dtype means."""
    if named is not None:
        return format_of(named)
    array, format_name = as_numpy(matrix, name)
    fmt = format_of_dtype(array.dtype) if format_name is None else format_of(format_name)
    if fmt is None:
        raise FragmentMismatchError(
            f"{name} is an array of {shorten(array.dtype, str)}, which does not say a format; pass one whose dtype "
            "does (float16, ml_dtypes.bfloat16, int8, ...), or name the instruction with instr="
        )
    return fmt


def bind(
    A: ArrayLike,
    B: ArrayLike,
    instr: str | Instruction | None,
    arch: str | Arch,
    lowering: str | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> BoundInstruction:
    """Bind the instruction that is named, or the default one for the matrices' formats."""
    chip = arch_of(arch)
    if instr is None:
        formats = operand_format(A, "A", a_format), operand_format(B, "B", b_format)
        row = default_instruction(formats[0].name, formats[1].name, chip.name)
    else:
        row = lookup(instr, chip.name)
    return bound_instruction(row, chip, lowering)


def product_for(
    A: ArrayLike,
    B: ArrayLike,
    instr: str | Instruction | None,
    arch: str | Arch,
    lowering: str | None,
    a_format: str | None,
    b_format: str | None,
) -> tuple[DotProduct, Instruction | None]:
    """What is computed: by an instruction, or by the CUDA cores' multiply-adds, which are none."""
    if not isinstance(instr, str) or instr != "fma.f32":
        bound = bind(A, B, instr, arch, lowering, a_format, b_format)
        return bound.product, bound.instruction
    arch_of(arch)
    if lowering is not None:
        raise UnsupportedInstructionError(f"fma.f32 has no lowerings; lowering={shorten(lowering)} was given")
    return FMA_F32, None


def step_of_k(product: DotProduct, instruction: Instruction | None) -> int:
    """How far along K one instruction reaches: where A is sparse, twice as far as it has products."""
    return instruction.k if instruction is not None else product.k


def result_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of A B, from those of A and B in elements."""
    for name, shape, axes in (("A", a, "(..., M, K)"), ("B", b, "(..., K, N)")):
        if len(shape) < 2:
            raise FragmentMismatchError(f"{name} has shape {shape}; {axes} is wanted: add an axis of length 1")
    if a[-1] != b[-2]:
        fix = "; B.T would fit" if a[-1] == b[-1] else ""
        raise FragmentMismatchError(f"A has shape {a} and B {b}: K is {a[-1]} in A and {b[-2]} in B{fix}")
    try:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise FragmentMismatchError(f"the leading axes of A {a} and B {b} do not broadcast") from None
    return (*batch, a[-2], b[-1])


def check_c(c: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of A B + C, from those of C and A B."""
    if len(c) < 2 or c[-2:] != shape[-2:]:
        raise FragmentMismatchError(f"C has shape {c}; A B has shape {shape}")
    try:
        return (*np.broadcast_shapes(c[:-2], shape[:-2]), *shape[-2:])
    except ValueError:
        raise FragmentMismatchError(f"the leading axes of C {c} do not broadcast to those of A B {shape}") from None


def missing_k(k: int, product: DotProduct, step: int) -> int:
    """How many k of +0 fill the last instruction, as a kernel does; raises where instructions cannot follow."""
    missing = -k % step
    if not k and not product.chains:
        raise FragmentMismatchError(
            f"A B has no products (K = 0), and C is {product.c}, D {product.d}, so that C cannot be D; "
            f"use the instruction whose C and D are both {product.d}"
        )
    if k + missing > step and not product.chains:
        raise FragmentMismatchError(
            f"C is {product.c} and D is {product.d}, so D of one instruction cannot be C of the next, and K = {k} "
            f"takes more than one (k = {step}); use the instruction whose C and D are both {product.d}"
        )
    return missing
