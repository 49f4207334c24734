# SPDX-License-Identifier: MIT
"""Users' matrices as arguments of an instruction: conversion to patterns, and checks of shapes."""

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.errors import ArgumentValueError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.instructions import Instruction
from wmma_emu.layouts.spec import Ints


def matrix_bits(
    matrix: ArrayLike, fmt: Format, name: str, packed_axis: int | None = None, named: str | None = None
) -> Bits:
    """Convert a user's matrix to patterns of a format; ``named`` is the format that the user named."""
    if named is None:
        return to_bits(matrix, fmt, name)
    if not isinstance(named, str) or named != fmt.name:
        raise ArgumentValueError(
            f"{name.lower()}_format={shorten(named)} was given, but {name} of this instruction is {fmt.name}"
        )
    return to_bits(matrix, fmt, name, packed_axis=packed_axis)


def broadcast(*matrices: Bits | Ints) -> bool:
    """Return whether leading axes broadcast."""
    try:
        np.broadcast_shapes(*(x.shape[:-2] for x in matrices))
    except ValueError:
        return False
    return True


def check_logical_a(instruction: Instruction, matrix: Bits) -> None:
    """Check a complete sparse A, zeros included."""
    if not instruction.is_sparse:
        raise UnsupportedInstructionError(f"{instruction.mnemonic} takes a dense A: there is nothing to compress")
    if matrix.ndim >= 2 and matrix.shape[-2:] == (instruction.m, instruction.terms):
        raise ShapeError(
            f"A has shape {matrix.shape}, which is packed; pass all of A, (..., {instruction.m}, {instruction.k}), "
            "zeros included. Packed elements are arguments of execute, with their metadata"
        )
    check_matrix(instruction, "A", matrix, (instruction.m, instruction.k))


def check_matrix(instruction: Instruction, name: str, matrix: Bits, legal: tuple[int, int]) -> None:
    """Reject a matrix of the wrong shape, ignoring leading axes."""
    if matrix.ndim >= 2 and matrix.shape[-2:] == legal:
        return
    fix = "wmma_emu.gemm takes any shape"
    if matrix.ndim >= 2 and matrix.shape[:-3:-1] == legal:
        fix = f"pass {name}.T, or its last two axes exchanged"
    raise ShapeError(
        f"{name} has shape {matrix.shape}; {instruction.mnemonic} takes (..., {legal[0]}, {legal[1]}); {fix}"
    )
