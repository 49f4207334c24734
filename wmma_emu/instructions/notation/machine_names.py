# SPDX-License-Identifier: MIT
"""Conversion between machine (SASS) instructions and PTX instructions, from the table of machine code."""

import re
from collections.abc import Iterable
from functools import cache

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions.machine import lowerings, machine_instructions
from wmma_emu.instructions.spec import Arch, Instruction
from wmma_emu.instructions.table import INSTRUCTIONS

MACHINE_NAME = re.compile(r"\b([HIQDBO]|[HIQB]G)MMA(?![a-z_])(\.[0-9A-Z_]+)*", re.IGNORECASE | re.ASCII)
"""A machine instruction that multiplies matrices, anywhere in a line of disassembly."""

_COUNTED = re.compile(r"(\d+)x ([0-9A-Za-z.]+)")


def opcodes(text: str) -> dict[str, int]:
    """Return the machine instructions in a `MachineCode`'s text, and the number of each.

    Examples
    --------
    >>> opcodes("1x HMMA.884.F16.F16.STEP0 + 1x HMMA.884.F16.F16.STEP1")
    {'HMMA.884.F16.F16.STEP0': 1, 'HMMA.884.F16.F16.STEP1': 1}
    """
    found: dict[str, int] = {}
    for count, name in _COUNTED.findall(text):
        found[name] = found.get(name, 0) + int(count)
    return found


def machine_names(instruction: Instruction, arch: "str | Arch") -> tuple[str, ...]:
    """Return the machine instructions of an instruction on a chip; an empty tuple for a software routine.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> machine_names(lookup("m16n8k32.f32.e4m3.e4m3.f32"), "sm_89")
    ('QMMA.16832.F32.E4M3.E4M3',)
    >>> machine_names(lookup("m16n8k32.f32.e4m3.e4m3.f32"), "sm_90")
    ('HMMA.16816.F32',)
    """
    try:
        found = [machine_instructions(instruction, arch, x).text for x in lowerings(instruction, arch)]
    except UnsupportedInstructionError:  # tcgen05.mma, whose machine code is not in the table
        return ()
    return tuple(dict.fromkeys(name for text in found for name in opcodes(text)))


_Use = tuple[int, Instruction, str]
"""The number of machine instructions, the PTX instruction that becomes them, and the chip."""


@cache
def _uses() -> dict[str, tuple[_Use, ...]]:
    found: dict[str, list[_Use]] = {}
    for entry in INSTRUCTIONS.values():
        for arch in entry.archs:
            for name, count in opcodes(machine_instructions(entry, arch).text).items():
                found.setdefault(name, []).append((count, entry, arch))
    return {name: tuple(uses) for name, uses in found.items()}


def machine_uses(name: str) -> dict[str, tuple[_Use, ...]]:
    """Return the PTX instructions that become a machine instruction, by its name or by the beginning of names.

    Case is ignored; modifiers that the table does not have (``.reuse``) may follow.

    Examples
    --------
    >>> found = machine_uses("hmma.1688.f32")
    >>> list(found), {(str(x), arch) for count, x, arch in found["HMMA.1688.F32"] if arch == "sm_75" and count == 1}
    (['HMMA.1688.F32'], {('mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32', 'sm_75')})
    >>> list(machine_uses("DMMA.16x8x8")), list(machine_uses("HMMA.1684"))
    (['DMMA.16x8x8'], ['HMMA.1684.F32.TF32'])
    """
    by_upper = {known.upper(): known for known in _uses()}
    words = name.strip().upper().split(".")
    while len(words) > 2 and ".".join(words) not in by_upper and not _starting(by_upper, ".".join(words)):
        words.pop()
    wanted = ".".join(words)
    names: Iterable[str] = [wanted] if wanted in by_upper else _starting(by_upper, wanted)
    return {by_upper[x]: _uses()[by_upper[x]] for x in names}


def _starting(names: Iterable[str], beginning: str) -> list[str]:
    """Return the names that begin with a string, those that continue with a dot first."""
    found = [x for x in names if beginning and x.startswith(beginning)]
    return sorted(found, key=lambda x: not x.startswith(beginning + "."))
