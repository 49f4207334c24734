# SPDX-License-Identifier: MIT
"""All lane operations."""

from wmma_emu.ptx.steps.approximations import APPROXIMATION_ENTRIES, FACTOR_ENTRIES
from wmma_emu.ptx.steps.bit_fields import FIELD_ENTRIES
from wmma_emu.ptx.steps.bits import BIT_ENTRIES
from wmma_emu.ptx.steps.carries import CARRY_ENTRIES
from wmma_emu.ptx.steps.compare import COMPARE_ENTRIES
from wmma_emu.ptx.steps.conversions import CONVERSION_ENTRIES, build_cvt
from wmma_emu.ptx.steps.floats import FLOAT_ENTRIES, SCALED_ENTRIES
from wmma_emu.ptx.steps.halves import HALF_ENTRIES
from wmma_emu.ptx.steps.integers import INTEGER_ENTRIES
from wmma_emu.ptx.steps.lane_operations import ValueStep
from wmma_emu.ptx.steps.moves import MOVE_ENTRIES, VECTOR_ENTRIES
from wmma_emu.ptx.steps.operation_entries import Entries, builders
from wmma_emu.ptx.steps.video import REFUSED_OF_VIDEO, VIDEO_ENTRIES, VIDEO_WORD_ENTRIES

REFUSED = {
    "b128": "mov.b128 moves a register of .b128, or a vector of two .b64 or four .b32, to a register of .b128 or to "
    "such a vector, or an integer or address of 64 bits to a register of .b128",
}
"""The modifiers without an entry, and the reason."""

VALUE_ENTRIES: Entries = {
    **INTEGER_ENTRIES,
    **CARRY_ENTRIES,
    **BIT_ENTRIES,
    **FIELD_ENTRIES,
    **MOVE_ENTRIES,
    **COMPARE_ENTRIES,
    **FLOAT_ENTRIES,
    **HALF_ENTRIES,
    **APPROXIMATION_ENTRIES,
    **CONVERSION_ENTRIES,
}
"""Every legal spelling by opcode, except `cvt`, whose forms are in `wmma_emu.scalar.cvt_table`, and video
instructions."""

ALL_VIDEO_ENTRIES: Entries = {**VIDEO_ENTRIES, **VIDEO_WORD_ENTRIES}
"""Every legal spelling of a video instruction."""

VALUE_STEPS: dict[str, ValueStep] = {
    **builders({**VALUE_ENTRIES, **VECTOR_ENTRIES}, REFUSED),
    **builders(ALL_VIDEO_ENTRIES, REFUSED_OF_VIDEO),
    **builders(FACTOR_ENTRIES),
    **builders(SCALED_ENTRIES),
    "cvt": build_cvt,
}
"""The builders of lane operations, by mnemonic."""
