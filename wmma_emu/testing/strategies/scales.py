# SPDX-License-Identifier: MIT
"""The block scales of an instruction: all one, near one, of any size, or any bits."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import format_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.generators.operands import row_of
from wmma_emu.generators.words import random_words
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import scale_map, scale_selectors_of
from wmma_emu.layouts.block_scales import SCALED
from wmma_emu.layouts.spec import LANES
from wmma_emu.testing.strategies.checks import Allowed, with_names_as_tuples
from wmma_emu.testing.strategies.matrices import draw_patterns, seeds
from wmma_emu.warp import BoundInstruction


@with_names_as_tuples
@st.composite
def scales(
    draw: st.DrawFn, instruction: BoundInstruction | Instruction | str, *, allow_nan: bool = True
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw the block scales of A and of B, as a call takes them: ``ins(*drawn, scale_a=a, scale_b=b)``.

    Both are all one, or each is drawn as `matrices` does: near one, of any size, any bits. They shrink to ones.

    Parameters
    ----------
    instruction : BoundInstruction, Instruction or str
    allow_nan : bool
        Whether a scale may be NaN, which makes everything that it scales NaN.

    Returns
    -------
    strategy of (array, array)
        Arrays of shapes (m, scale_vec) and (scale_vec, n), in float8_e8m0fnu, or uint8 patterns of ue4m3.

    Raises
    ------
    UnsupportedInstructionError
        When drawn, if the instruction does not exist, or has no block scales.

    Examples
    --------
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> ins = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
    >>> a, b = find(scales(ins), lambda drawn: True, settings=anew)
    >>> a.shape, b.shape, a.dtype.name
    ((16, 2), (2, 8), 'float8_e8m0fnu')
    """
    entry = row_of(instruction)
    a, b = draw_scales(draw, entry, Allowed(nan=allow_nan).checked())
    fmt = entry.scale
    return from_bits(a, fmt), from_bits(b, fmt)


def draw_scales(draw: st.DrawFn, entry: Instruction, allowed: Allowed) -> tuple[Bits, Bits]:
    """Draw patterns of the scales of A and of B."""
    if not entry.is_block_scaled:
        raise UnsupportedInstructionError(
            f"{entry.mnemonic} has no block scales; use an instruction with .block_scale, such as "
            "'m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0'"
        )
    shapes = (entry.m, entry.scale_vec), (entry.scale_vec, entry.n)
    fmt = format_of(entry.scale)
    if not draw(st.booleans()):
        one = fmt.bias << fmt.fraction_bits
        a, b = (np.full(shape, one, np.uint8) for shape in shapes)
        return a, b
    names = [f"scale_{x}" for x in SCALED]
    a, b = (draw_patterns(draw, fmt, shape, allowed, name) for shape, name in zip(shapes, names, strict=True))
    return a, b


def draw_scale_registers(draw: st.DrawFn, ins: BoundInstruction, allowed: Allowed) -> dict[str, Any]:
    """Draw the block-scale arguments of ``ins.execute``.

    Registers and selectors, with any bits where nothing is read.
    """
    entry = ins.instruction
    options: dict[str, Any] = {}
    patterns = draw_scales(draw, entry, allowed)
    seed = draw(seeds())
    for x, bits in zip(SCALED, patterns, strict=True):
        legal = scale_selectors_of(entry, x)
        byte_id, thread_id = draw(st.sampled_from(legal.byte_ids)), draw(st.sampled_from(legal.thread_ids))
        places = scale_map(entry, x, byte_id, thread_id)
        words = random_words(f"wmma_emu scales|{seed}|{x}", LANES) if seed else np.zeros(LANES, np.uint64)
        read = words.astype("<u4").view(np.uint8).reshape(LANES, 4).copy()
        read[places.lane, places.byte] = bits
        options[f"scale_{x}"] = read.view("<u4")[:, 0].astype(np.uint32)
        options |= {f"byte_id_{x}": byte_id, f"thread_id_{x}": thread_id}
    return options
