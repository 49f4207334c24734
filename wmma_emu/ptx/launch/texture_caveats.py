# SPDX-License-Identifier: MIT
"""The fetches of a launch that are not proved to be bit-exact, which depends on the textures among its arguments."""

from collections.abc import Iterable

from wmma_emu.ptx.launch.arguments import Argument
from wmma_emu.ptx.launch.struct_arrays import objects_in
from wmma_emu.ptx.machine.compile import CompiledProgram
from wmma_emu.ptx.program.program import NotBitExact, PtxInstruction
from wmma_emu.ptx.steps.texture_steps import IF_FILTERED
from wmma_emu.ptx.textures.objects import Texture


def caveats_of(compiled: CompiledProgram, values: Iterable[Argument]) -> tuple[NotBitExact, ...]:
    """Return the instructions of a launch that are not proved to be bit-exact, each with its reasons."""
    textures = [
        x for value in values if type(value.value) is not bytes for x in objects_in(value.value)
        if isinstance(x, Texture)
    ]  # fmt: skip
    known = tuple(x for x in compiled.not_bit_exact if x.reason != IF_FILTERED)
    if not textures:
        return known
    fetches = (x for x in compiled.program.instructions if x.mnemonic == "tex")
    return known + tuple(y for x in fetches for y in _of_fetch(x, textures))


def _of_fetch(instruction: PtxInstruction, textures: list[Texture]) -> list[NotBitExact]:
    by_floats = instruction.modifiers[-1] == "f32"
    reasons = [reason for x in textures if by_floats for reason in x.caveats]
    return [NotBitExact(instruction.opcode, instruction.line, reason) for reason in dict.fromkeys(reasons)]
