# SPDX-License-Identifier: MIT
"""Every instruction that each thread computes by itself."""

from wmma_emu.ptx.steps.approximations import APPROXIMATION_ROWS, FACTOR_ROWS
from wmma_emu.ptx.steps.bit_fields import FIELD_ROWS
from wmma_emu.ptx.steps.bits import BIT_ROWS
from wmma_emu.ptx.steps.carries import CARRY_ROWS
from wmma_emu.ptx.steps.compare import COMPARE_ROWS
from wmma_emu.ptx.steps.conversions import CONVERSION_ROWS, build_cvt
from wmma_emu.ptx.steps.floats import FLOAT_ROWS, SCALED_ROWS
from wmma_emu.ptx.steps.halves import HALF_ROWS
from wmma_emu.ptx.steps.integers import INTEGER_ROWS
from wmma_emu.ptx.steps.lane_operations import ValueStep
from wmma_emu.ptx.steps.moves import MOVE_ROWS, VECTOR_ROWS
from wmma_emu.ptx.steps.operation_entries import Rows, builders
from wmma_emu.ptx.steps.video import REFUSED_OF_VIDEO, VIDEO_ROWS, VIDEO_WORD_ROWS

REFUSED = {
    "f32x2": "two f32 in a register are of sm_100; write the instruction for each of them, with .f32",
    "abs": "min and max of three f32 are of sm_100; write two of them, of two",
    "b128": "registers of 128 bits are not modelled; use two of b64",
}
"""Modifiers that no row has, and why."""

VALUE_ROWS: Rows = {
    **INTEGER_ROWS,
    **CARRY_ROWS,
    **BIT_ROWS,
    **FIELD_ROWS,
    **MOVE_ROWS,
    **COMPARE_ROWS,
    **FLOAT_ROWS,
    **HALF_ROWS,
    **APPROXIMATION_ROWS,
    **CONVERSION_ROWS,
}
"""Every legal spelling by its opcode; but for `cvt`, whose rows are those of `wmma_emu.scalar.cvt_table`, and for video
instructions."""

ALL_VIDEO_ROWS: Rows = {**VIDEO_ROWS, **VIDEO_WORD_ROWS}
"""Every legal spelling of a video instruction."""

VALUE_STEPS: dict[str, ValueStep] = {
    **builders({**VALUE_ROWS, **VECTOR_ROWS}, REFUSED),
    **builders(ALL_VIDEO_ROWS, REFUSED_OF_VIDEO),
    **builders(FACTOR_ROWS),
    **builders(SCALED_ROWS),
    "cvt": build_cvt,
}
"""The builder of each mnemonic."""
