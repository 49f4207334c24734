# SPDX-License-Identifier: MIT
"""What may be said beside the operands: metadata, block scales, selectors, scale-d, signs. One check for all."""

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
    """The keywords of `execute`, which says what they mean; those of all kinds of instructions, as they were given."""

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
    """Check the options of an instruction; returns whether it adds C.

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
        raise OptionError(f"scale_d is 1, or 0 to leave C out, not {shorten(given)}")
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
    """Check whether metadata is there where it has to be, and that its selector is legal."""
    if instruction.is_sparse:
        if metadata is None:
            raise ArgumentError(
                f"{instruction.mnemonic} needs metadata=, a uint32 register a lane that says where the elements of A stand; "
                "ins.compress(A) makes packed elements and metadata of a matrix"
            )
        metadata_map(instruction, selector)  # refuses selectors that the instruction does not take
    elif metadata is not None or (selector is not False and integer_of(selector) != 0):
        raise ArgumentError(
            f"{instruction.mnemonic} takes no metadata and no selector: its A is dense; sparse ones begin with mma.sp, "
            "mma.sp::ordered_metadata or wgmma.mma_async.sp"
        )


def check_scales(instruction: Instruction, scale_a: Any, scale_b: Any, selectors: Selectors = _LOWEST) -> None:
    """Check whether block scales are there where they have to be, and that their selectors are legal."""
    scales = {"a": scale_a, "b": scale_b}
    given = [f"scale_{x}" for x in scales if scales[x] is not None]
    if instruction.is_block_scaled:
        missing = [f"scale_{x}=" for x in scales if scales[x] is None]
        if missing:
            machine = "registers of them, which ins.scale_a.pack(S) and ins.scale_b.pack(S) make"
            if instruction.is_tensor:
                machine = "addresses of tensor memory, where ins.store puts them"
            raise ArgumentError(
                f"{instruction.mnemonic} needs {' and '.join(missing)}, block scales of {instruction.scale}: matrices of "
                f"({instruction.m}, {instruction.scale_vec}) for A and ({instruction.scale_vec}, {instruction.n}) for B; execute takes {machine}"
            )
        for operand in SCALED if not instruction.is_tensor else ():  # in tensor memory no lane has to be selected
            scale_map(
                instruction, operand, *selectors.of(operand)
            )  # refuses selectors that the instruction does not take
        return
    if given or any(integer_of(x) != 0 for operand in SCALED for x in selectors.of(operand)):
        raise ArgumentError(
            f"{instruction.mnemonic} takes no {' and no '.join(given) or 'byte-id and no thread-id'}: it has no block scales; "
            "instructions with .block_scale have (kind::mxf8f6f4, kind::mxf4, kind::mxf4nvf4)"
        )


def check_flag(name: str, given: object) -> bool:
    """Read an option that is on or off.

    Examples
    --------
    >>> check_flag("negate_a", True)
    True
    """
    if not isinstance(given, bool | np.bool_):
        raise OptionError(f"{name} is True or False, not {shorten(given)}")
    return bool(given)
