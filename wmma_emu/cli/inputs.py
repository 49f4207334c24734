# SPDX-License-Identifier: MIT
"""The operands of a product from files: the matrices that `gemm` and `explain` read, and their formats."""

from argparse import Namespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.cli.matrices import read_matrix
from wmma_emu.cli.names import one_instruction
from wmma_emu.cli.usage import UsageError, check_choice
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.formats.dtypes import dtype_of, reinterpret_void
from wmma_emu.instructions import INSTRUCTIONS, Arch

BASELINE = "fma.f32"
"""The CUDA-core baseline, which is not in the table of instructions."""


class Inputs(NamedTuple):
    """The operands of a product: matrices, the formats that were named for them, and block scales."""

    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any] | None
    a_format: str | None
    b_format: str | None
    scale_a: NDArray[Any] | None
    scale_b: NDArray[Any] | None


def read_inputs(arguments: Namespace, chip: Arch) -> Inputs:
    """Read A, B and C in the formats that options, files or the instruction name."""
    entry = None if arguments.instr in (None, BASELINE) else one_instruction([arguments.instr], chip).instruction
    if entry is not None:
        arguments.instr = entry.mnemonic
    operands = ("f32", *(name for x in INSTRUCTIONS.values() for name in (x.a, x.b)))
    a_format = check_choice("--a-format", arguments.a_format, operands)
    b_format = check_choice("--b-format", arguments.b_format, operands)
    anything_goes = arguments.instr is not None
    a = _operand(arguments.a, "--a-format", a_format, entry.a if entry else "", anything_goes)
    b = _operand(arguments.b, "--b-format", b_format, entry.b if entry else "", anything_goes)
    c = None if arguments.c is None else _operand(arguments.c, "", None, "", True)
    scale_a, scale_b = (_scale(getattr(arguments, x, None)) for x in ("scale_a", "scale_b"))
    return Inputs(a, b, c, a_format, b_format, scale_a, scale_b)


def _scale(path: str | None) -> NDArray[Any] | None:
    """Read block scales; elements that NumPy saved without their format are read as bit patterns."""
    if path is None:
        return None
    scales, _ = read_matrix(path)
    return scales.view(np.uint8) if scales.dtype.kind == "V" and scales.dtype.itemsize == 1 else scales


def _operand(path: str, option: str, named: str | None, in_instruction: str, anything_goes: bool) -> NDArray[Any]:
    matrix, in_file = read_matrix(path)
    if matrix.dtype.kind == "V":
        # Files of f16 and integers keep their dtype, so void elements never belong to an instruction of these formats.
        implied = in_instruction if in_instruction and dtype_of(in_instruction).isbuiltin != 1 else None
        name = in_file or named or implied
        if name is None:
            width = matrix.dtype.itemsize
            fitting = "bf16" if width == 2 else "e4m3, s4 or u4" if width == 1 else ""
            fix = f"name it: {option} {fitting}" if option and fitting else "save it with a NumPy dtype"
            raise UsageError(f"{path}: the file does not say the format of its {width}-byte elements; {fix}")
        try:
            return reinterpret_void(matrix, name)
        except FragmentMismatchError as error:
            raise UsageError(f"{path}: {error}") from None
    if named is None and not anything_goes and matrix.dtype.kind == "u" and matrix.dtype.itemsize > 1:
        fitting = {2: "bf16 or f16", 4: "tf32"}.get(matrix.dtype.itemsize, "f64")
        raise UsageError(f"{path}: {matrix.dtype} elements are the raw bits of a format; name it: {option} {fitting}")
    return matrix
