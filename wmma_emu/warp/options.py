# SPDX-License-Identifier: MIT
"""Options of `execute` other than the operands: metadata, block scales, selectors, scale-d, signs; and their checks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wmma_emu.errors import ArgumentError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import metadata_map
from wmma_emu.layouts.block_scales import SCALED, scale_map
from wmma_emu.warp.block_scales import Selectors

_LOWEST = Selectors()


@dataclass(frozen=True, slots=True, eq=False)
class ExecuteOptions:
    """The keywords of `execute`, of all kinds of instructions, unchanged."""

    metadata: Any = None
    selector: Any = 0
    scale_a: Any = None
    scale_b: Any = None
    selectors: Selectors = _LOWEST
    scale_d: Any = 1
    negate_a: Any = False
    negate_b: Any = False
    engine: str = "auto"


def check_options(instruction: Instruction, options: ExecuteOptions) -> bool:
    """Check the options of an instruction; return whether it adds C.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> check_options(lookup("wgmma.m64n8k16.f32.f16.f16", "sm_90"), ExecuteOptions(scale_d=0, negate_a=True))
    False
    >>> check_options(lookup("m16n8k16.f32.f16.f16.f32"), ExecuteOptions(scale_d=0))
    Traceback (most recent call last):
        ...
    wmma_emu.errors.OptionError: scale_d, negate_a and negate_b are options of wgmma, not of
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    """
    given = options.scale_d
    adds_c = int(given) if isinstance(given, bool | np.bool_) else integer_of(given)
    if adds_c not in (0, 1):
        raise OptionError(f"scale_d is 1, or 0 to omit C, not {shorten(given)}")
    signs = {"a": options.negate_a, "b": options.negate_b}
    negated = [x for x, sign in signs.items() if check_flag(f"negate_{x}", sign)]
    if not instruction.is_warpgroup and (negated or not adds_c):
        raise OptionError(f"scale_d, negate_a and negate_b are options of wgmma, not of {instruction.mnemonic}")
    for operand in negated:
        fmt = instruction.format("a" if operand == "a" else "b")
        if not fmt.is_float:
            raise OptionError(
                f"{instruction.mnemonic} multiplies {fmt}: negate_{operand} is for floating point; negate the elements"
            )
    check_metadata(instruction, options.metadata, options.selector)
    check_scales(instruction, options.scale_a, options.scale_b, options.selectors)
    return adds_c == 1


def check_metadata(instruction: Instruction, metadata: Any, selector: Any) -> None:
    """Check that metadata is present if required, and that its selector is legal."""
    if instruction.is_sparse:
        if metadata is None:
            raise ArgumentError(
                f"{instruction.mnemonic} needs metadata=, a uint32 register a lane with the positions of the "
                "elements of A; ins.compress(A) returns the packed elements and the metadata of a matrix"
            )
        metadata_map(instruction, selector)  # rejects selectors that are not legal for the instruction
    elif metadata is not None or (selector is not False and integer_of(selector) != 0):
        raise ArgumentError(
            f"{instruction.mnemonic} takes no metadata and no selector: its A is dense; sparse ones begin with mma.sp, "
            "mma.sp::ordered_metadata or wgmma.mma_async.sp"
        )


def check_scales(instruction: Instruction, scale_a: Any, scale_b: Any, selectors: Selectors = _LOWEST) -> None:
    """Check that block scales are present if required, and that their selectors are legal."""
    scales = {"a": scale_a, "b": scale_b}
    given = [f"scale_{x}" for x in scales if scales[x] is not None]
    if instruction.is_block_scaled:
        missing = [f"scale_{x}=" for x in scales if scales[x] is None]
        if missing:
            machine = "registers of them, which ins.scale_a.pack(S) and ins.scale_b.pack(S) return"
            if instruction.is_tensor:
                machine = "addresses of tensor memory, where ins.store writes them"
            raise ArgumentError(
                f"{instruction.mnemonic} needs {' and '.join(missing)}, block scales of {instruction.scale}: "
                f"matrices of ({instruction.m}, {instruction.scale_vec}) for A and "
                f"({instruction.scale_vec}, {instruction.n}) for B; execute takes {machine}"
            )
        for operand in SCALED if not instruction.is_tensor else ():  # tensor memory has no selectors of lanes
            scale_map(
                instruction, operand, *selectors.of(operand)
            )  # rejects selectors that are not legal for the instruction
        return
    if given or any(integer_of(x) != 0 for operand in SCALED for x in selectors.of(operand)):
        raise ArgumentError(
            f"{instruction.mnemonic} takes no {' and no '.join(given) or 'byte-id and no thread-id'}: it has no block "
            "scales; instructions with .block_scale have (kind::mxf8f6f4, kind::mxf4, kind::mxf4nvf4)"
        )


def check_flag(name: str, given: object) -> bool:
    """Return an option that is True or False.

    Examples
    --------
    >>> check_flag("negate_a", True)
    True
    """
    if not isinstance(given, bool | np.bool_):
        raise OptionError(f"{name} is True or False, not {shorten(given)}")
    return bool(given)
