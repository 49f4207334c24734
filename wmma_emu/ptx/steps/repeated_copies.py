# SPDX-License-Identifier: MIT
"""Bulk copies that several lanes of a warp issue, although one of them would do."""

from collections.abc import Iterable

import numpy as np

from wmma_emu.ptx.findings import Diagnosis
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operations import Active
from wmma_emu.ptx.threads import Array

REPEATED = "copy by several lanes"

_TEXT = (
    "this lane copies the same bytes as the first active lane of its warp: each active lane issues a separate copy, "
    "and an mbarrier counts the bytes of each"
)


def note_repeated(state: State, instruction: PtxInstruction, active: Active, operands: Iterable[Array]) -> None:
    """Report lanes that issue the same copy as another lane of their warp, by the values of its operands."""
    issues = np.broadcast_to(state.live if active is None else active & state.live, state.shape)
    if int(issues.sum(axis=-1).max(initial=0)) < 2:
        return
    first = issues.argmax(axis=-1)[..., None]
    same = issues & (np.arange(state.shape[-1]) != first)
    for values in operands:
        full = np.broadcast_to(values, state.shape)
        same = same & (full == np.take_along_axis(full, first, axis=-1))
    note(state, instruction, REPEATED, same, Diagnosis((_TEXT,), "one lane"))
