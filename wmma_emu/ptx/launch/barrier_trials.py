# SPDX-License-Identifier: MIT
"""Runs of a launch with an additional barrier, to test whether it fixes a finding."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx.findings import Sighting
from wmma_emu.ptx.launch.replay import Replay
from wmma_emu.ptx.machine.compile import compile_program
from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.program.rewriting import with_instructions
from wmma_emu.ptx.reports.fixes import Trial

_MOST_INSTRUCTIONS = 4_000_000
"""The maximum number of instructions, counted for each thread, of a launch that is tried again: about half a second."""

MOST_TRIALS = 24
"""The maximum number of trials for all findings of one report."""

_PATIENCE = 4
"""The limit on the steps of a trial, as a multiple of the launch's steps."""

_BARRIERS = ".version 7.0 .target sm_70 .address_size 64 .entry k() { bar.sync 0; bar.warp.sync 0xffffffff; ret; }"


def make_trial(replay: Replay, left: Iterator[int], sighting: Sighting, steps: int, instructions: int) -> Trial | None:
    """Return a function that runs a launch with a barrier inserted, in the order of warps that showed the finding.

    Return None if a run would take too long. Each trial takes one number from ``left``, the budget of the report.
    """
    if replay.kept is None or instructions > _MOST_INSTRUCTIONS:
        return None
    kernel = replay.launch.kernel
    options = replace(replay.options, max_steps=min(replay.options.max_steps, _PATIENCE * steps))
    course = replay.course_of(sighting)

    def trial(places: Sequence[int], opcode: str) -> Sequence[Sighting] | None:
        if next(left, None) is None:
            return None
        code, barrier = kernel.program.instructions, _barriers()[opcode]
        program = with_instructions(kernel.program, {i: (barrier, code[i]) for i in places})
        try:
            return replace(replay, options=options).run(course, compiled=compile_program(program, kernel.binding))
        except WmmaEmuError:
            return None

    return trial


@cache
def _barriers() -> dict[str, PtxInstruction]:
    """Return the barriers of a block and of a warp, by their opcodes; they belong to no line."""
    code = program_of(_BARRIERS).kernels["k"].instructions
    return {x.opcode: replace(x, line=0) for x in code if x.mnemonic == "bar"}
