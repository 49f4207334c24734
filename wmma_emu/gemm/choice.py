# SPDX-License-Identifier: MIT
"""The default instruction for matrices, chosen by their formats and their scales."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.errors import ArgumentError, OptionError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.dtypes import dtype_of, format_of_dtype
from wmma_emu.gemm.options import Factors
from wmma_emu.instructions import ARCHS, Arch, Instruction, default_instruction, instructions_of
from wmma_emu.instructions.tensor import TENSOR_KINDS, tensor_instruction

_TILE = 128
"""Rows and columns of the default `tcgen05.mma`: the product is the same for every size."""

_DTYPE_NAMES = {"ue8m0": "float8_e8m0fnu", "ue4m3": "float8_e4m3fn"}

_BLOCKS = (32, 16)
"""The possible numbers of k that share a block scale, the default first."""


def operand_format(matrix: ArrayLike, name: str, named: str | None) -> Format:
    """Return the format of a user's matrix: the named format, or the format of its dtype."""
    if named is not None:
        return format_of(named)
    array = as_numpy(matrix, name)
    fmt = format_of_dtype(array.dtype)
    if fmt is None:
        raise ArgumentError(
            f"{name} is an array of {shorten(array.dtype, str)}, which does not determine a format; pass one whose "
            "dtype "
            "does (float16, ml_dtypes.bfloat16, int8, ...), or name the instruction with instr="
        )
    return fmt


def kind_of_scales(scale_a: object, scale_b: object) -> Literal["", "float", "block"]:
    """Return the kind of the given scales.

    None, float32 scales that a kernel applies, or the instruction's 8-bit block scales.

    Raises
    ------
    UnsupportedInstructionError
        If only one of the two is given.
    FragmentMismatchError
        If one has 8-bit elements and the other does not.
    """
    if scale_a is None and scale_b is None:
        return ""
    for given, missing, other in ((scale_a, "scale_a", "scale_b"), (scale_b, "scale_b", "scale_a")):
        if given is None:
            raise OptionError(
                f"{other} was given without {missing}; scales apply to both operands: 1.0 everywhere changes nothing"
            )
    narrow = [_is_of_8_bits(x, name) for x, name in ((scale_a, "scale_a"), (scale_b, "scale_b"))]
    if narrow[0] != narrow[1]:
        raise ArgumentError(
            "one of scale_a and scale_b has 8-bit elements and the other does not; pass 8-bit block scales for "
            "both operands, or the scales of FP8 kernels, float32, for both"
        )
    return "block" if narrow[0] else "float"


class Requirements(NamedTuple):
    """The requirements of matrices and their scales on an instruction.

    Without block scales, no scale format and 0 k.
    """

    a: Format
    b: Format
    scale: Format | None = None
    block: int = 0


def requirements_of(factors: Factors) -> Requirements:
    """Read the formats of matrices and of their block scales; float32 scales are not a requirement."""
    a, b = operand_format(factors.a, "A", factors.a_format), operand_format(factors.b, "B", factors.b_format)
    if kind_of_scales(factors.scale_a, factors.scale_b) != "block":
        return Requirements(a, b)
    return Requirements(a, b, *_scale_of(factors, a, b))


def chosen_instruction(what: Requirements, chip: Arch) -> Instruction:
    """Choose the instruction of a chip that meets the requirements.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> fp8 = Requirements(format_of("e4m3"), format_of("e5m2"), format_of("ue8m0"), 32)
    >>> print(chosen_instruction(fp8, arch_of("sm_100")))
    tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X.m128n128k32.f32.e4m3.e5m2.ue8m0
    """
    if what.scale is None:
        return _without_scales(what.a, what.b, chip)
    return _with_block_scales(what.a, what.b, what.scale, what.block, chip)


def _without_scales(a: Format, b: Format, chip: Arch) -> Instruction:
    """Return the default of the table; for FP6 and FP4 without an `mma.sync`, ``kind::f8f6f4`` of tensor memory."""
    kind = "f8f6f4"
    if {a.name, b.name} <= set(TENSOR_KINDS[kind].operands) and not _is_plain(a, b):
        entry = tensor_instruction(kind, _TILE, _TILE, "f32", a.name, b.name)
        if chip.name in entry.archs:
            return entry
        everywhere = {x for fit in instructions_of(family="mma.sync", a=a, b=b) for x in fit.archs}
        if chip.name not in everywhere:
            raise UnsupportedInstructionError(
                f"{chip.name} ({chip.generation}) does not multiply {a} by {b}; chips that do are "
                f"{', '.join(x for x in ARCHS if x in everywhere or x in entry.archs)}"
            )
    return default_instruction(a.name, b.name, chip.name)


def _is_plain(a: Format, b: Format) -> bool:
    """Return whether an `mma.sync` without a kind multiplies them."""
    return any(not x.modifiers for x in instructions_of(family="mma.sync", a=a, b=b))


def _with_block_scales(a: Format, b: Format, scale: Format, block: int, chip: Arch) -> Instruction:
    fits = [
        x
        for x in instructions_of(family="mma.sync", a=a, b=b)
        if x.scale == scale.name and x.scale_block == block
    ]  # fmt: skip
    here = [x for x in fits if chip.name in x.archs]
    if here:
        return max(here, key=lambda entry: entry.k)
    kinds = [
        (kind.name, vector)
        for kind in TENSOR_KINDS.values()
        for fmt, vectors in kind.scales
        for vector in vectors
        if fmt == scale.name and {a.name, b.name} <= set(kind.operands) and kind.k // vector == block
    ]
    if not kinds:
        raise UnsupportedInstructionError(
            f"no instruction multiplies {a} by {b} with a scale of {scale} for each {block} k; block "
            "scales are ue8m0 for 32 k, and for e2m1 also ue8m0 or ue4m3 for 16 k"
        )
    name, vector = max(kinds, key=lambda x: TENSOR_KINDS[x[0]].k)
    entry = tensor_instruction(name, _TILE, _TILE, "f32", a.name, b.name, scale=scale.name, scale_vec=vector)
    if chip.name in entry.archs:
        return entry
    chips = [x for x in ARCHS if x in entry.archs or any(x in y.archs for y in fits)]
    instead = "; on this chip a kernel can multiply by float32 scales: pass float32 arrays, for rows or for 128 k"
    plain = any(chip.name in x.archs for x in instructions_of(family="mma.sync", a=a, b=b))
    raise UnsupportedInstructionError(
        f"{chip.name} ({chip.generation}) has no instruction with block scales; chips that have one for {a} times {b} "
        f"are {', '.join(chips)}" + instead * plain
    )


def _is_of_8_bits(scale: object, name: str) -> bool:
    if isinstance(scale, int | float):
        return False
    return as_numpy(scale, name).dtype.itemsize == 1


def _scale_of(factors: Factors, a: Format, b: Format) -> tuple[Format, int]:
    """Return the format of the scales, and how many k share one, from their dtype and their number."""
    k = _length_of_k(factors.a, a, factors.a_format)
    given = [_scale_format(factors.scale_a, "scale_a"), _scale_format(factors.scale_b, "scale_b")]
    shape = as_numpy(factors.scale_a, "scale_a").shape
    blocks = [x for x in _BLOCKS if shape and shape[-1] == -(-k // x)]
    if given[0] != given[1]:
        known = given[0] or given[1]
        fix = f"view the bytes as ml_dtypes.{_DTYPE_NAMES[str(known)]}, if they are {known}, or name it with instr="
        raise ArgumentError(
            f"scale_a is of {given[0] or 'raw bytes'} and scale_b of {given[1] or 'raw bytes'}; an instruction has one "
            f"format for both: {'quantise both to one block format' if None not in given else fix}"
        )
    if not blocks:
        raise ShapeError(
            f"scale_a has shape {shape}, and A has K = {k}: expected a scale for each 32 k, (..., M, {-(-k // 32)}), "
            f"or for each 16 k of e2m1, (..., M, {-(-k // 16)})"
        )
    both_e2m1 = a.name == b.name == "e2m1"
    if given[0] is not None:
        # ue4m3 is only for 16 k.
        return format_of(given[0]), 16 if given[0] == "ue4m3" and 16 in blocks else blocks[0]
    if 16 not in blocks or not both_e2m1 or not k:
        return format_of("ue8m0"), blocks[0]
    raise OptionError(
        f"scale_a and scale_b are raw bytes for each {min(k, 16)} k, ue8m0 or ue4m3; view them as "
        "ml_dtypes.float8_e8m0fnu or ml_dtypes.float8_e4m3fn, or name the instruction with instr="
    )


def _scale_format(scale: object, name: str) -> str | None:
    """Return the format of block scales by dtype; None for raw bytes, which do not determine it."""
    dtype = as_numpy(scale, name).dtype
    meanings = {dtype_of("ue8m0"): "ue8m0", dtype_of("e4m3"): "ue4m3", np.dtype(np.uint8): None}
    if dtype in meanings:
        return meanings[dtype]
    raise ArgumentError(
        f"{name} is an array of {shorten(dtype, str)}; block scales are ml_dtypes.float8_e8m0fnu (ue8m0), "
        "ml_dtypes.float8_e4m3fn (ue4m3), or uint8"
    )


def _length_of_k(A: ArrayLike, a: Format, a_format: str | None) -> int:
    given = as_numpy(A, "A")
    if given.ndim < 2:
        raise ShapeError(f"A has shape {given.shape}; expected (..., M, K): add an axis of length 1")
    packed = a_format is not None and given.dtype == np.uint8 and a.bits in (1, 4)
    return int(given.shape[-1]) * (8 // a.bits if packed else 1)
