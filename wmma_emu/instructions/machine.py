# SPDX-License-Identifier: MIT
"""The machine code of a matrix instruction, whose order determines the result if there are several instructions."""

from dataclasses import dataclass
from functools import cache
from math import ceil

from wmma_emu.chip_sets import lineage, newest
from wmma_emu.errors import UnknownNameError, UnsupportedInstructionError
from wmma_emu.evidence import Evidence, Run, Sourced
from wmma_emu.formats.table import FP8
from wmma_emu.instructions.arch import arch_of
from wmma_emu.instructions.groups import CodeEntry
from wmma_emu.instructions.lookup import lookup
from wmma_emu.instructions.machine_table import (
    COMPARED,
    LOWERINGS,
    M8N8K4_COUNTS,
    READ_ON_ALL_CHIPS,
    SAME_CODE_SOURCE,
)
from wmma_emu.instructions.spec import Arch, Instruction
from wmma_emu.instructions.table import GROUPS

_SCALES = {"": "", "ue8m0": ".E8", "ue4m3": ".UE4M3"}


@dataclass(frozen=True, slots=True)
class MachineCode(Sourced):
    """The machine instructions of one matrix instruction on one chip.

    Parameters
    ----------
    text : str
        Counts and SASS opcodes, ``"2x HMMA.16816.F32"``.
    lowering : str
        ``"native"``, or the name of the toolchain if toolchains differ in the result.
    note : str
        How the instructions divide the product; may be empty.
    evidence : Evidence
    """

    text: str
    lowering: str
    note: str
    evidence: Evidence

    def __str__(self) -> str:
        return self.text


def lowerings(instruction: "str | Instruction", arch: "str | Arch") -> tuple[str, ...]:
    """Return the names of the ways in which toolchains lower an instruction on a chip, the newest first.

    If all of them compute the same result there is one, ``"native"``.

    Examples
    --------
    >>> lowerings("m16n8k32.f32.e4m3.e4m3.f32", "sm_90")
    ('ptxas-12.8', 'ptxas-12.4')
    >>> lowerings("m16n8k32.f32.e4m3.e4m3.f32", "sm_89")
    ('native',)
    """
    chip = arch_of(arch)
    entry = lookup(instruction, chip)
    code = _code_entry(entry, chip.name) if entry.a in FP8 else None
    if code is not None and "HMMA" in code.text:  # multiplies f16: each half of k is converted, then added
        return tuple(x.name for x in LOWERINGS)
    return ("native",)


def machine_instructions(
    instruction: "str | Instruction", arch: "str | Arch", lowering: str | None = None
) -> MachineCode:
    """Return the machine instructions of an instruction on a chip.

    Parameters
    ----------
    instruction : str or Instruction
    arch : str or Arch
    lowering : str, optional
        One of `lowerings`; by default the newest.

    Raises
    ------
    UnsupportedInstructionError
        If the chip does not support the instruction, or no toolchain lowers it in this way.

    Examples
    --------
    >>> print(machine_instructions("wmma.mma.m16n16k16.f32.f32", "sm_80"))
    2x HMMA.16816.F32
    >>> print(machine_instructions("m16n8k16.s32.s8.s8.s32.satfinite", "sm_90"))
    1x IMMA.16816.S8.S8.SAT
    >>> machine_instructions("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "ptxas-12.4").note.split("; ")[0]
    'd = c + (H(lo, 0) + H(hi, 0))'
    """
    chip = arch_of(arch)
    entry = lookup(instruction, chip)
    names = lowerings(entry, chip)
    chosen = names[0] if lowering is None else lowering
    if chosen not in names:
        raise UnknownNameError(
            f"{entry.mnemonic} on {chip} has no lowering {repr(lowering)[:80]}; it has {', '.join(map(repr, names))}"
        )
    code = _code_entry(entry, chip.name)
    if code is None:
        raise UnsupportedInstructionError(f"the machine code of {entry.mnemonic} on {chip} is not known")
    text = code.text.format(**_fields(entry, chip.name, code.unit))
    if chosen == "native":
        return MachineCode(text, chosen, code.note, _read(code.source, entry, chip))
    order = next(x for x in LOWERINGS if x.name == chosen)
    source = order.source + ", cubins disassembled, 2026-11-20"
    evidence = _read(source, entry, chip)
    # ptxas 12.4 accepts only k32 with f32 accumulators, and not sm_100: elsewhere its order is inferred from sm_90.
    if chosen == "ptxas-12.4" and not (chip.name == "sm_90" and entry.k == 32 and entry.d == "f32"):
        evidence = Evidence("inferred", f"{source}; carried over from sm_90, k32, f32")
    return MachineCode(text, chosen, f"{order.formula}; {code.note}", evidence)


def _read(source: str, instruction: Instruction, chip: Arch) -> Evidence:
    """Return the evidence for machine code that was read in cubins of the instructions assembled for the chip."""
    if chip.name in COMPARED and source not in READ_ON_ALL_CHIPS:
        source = SAME_CODE_SOURCE.format(chip.inherits)
    return Evidence("measured", source, Run("assembled", chip.name)).of(instruction.mnemonic)


@cache
def _code_entry(instruction: Instruction, chip: str) -> CodeEntry | None:
    group = GROUPS.get(instruction.mnemonic)
    return None if group is None else newest(group.codes(instruction), chip)


def _shared_by(instruction: Instruction, m: int, n: int, k: int) -> int:
    """Return the number of machine instructions of a shape in a product, or of its transpose if they are fewer."""
    tiles = min(ceil(instruction.m / m) * ceil(instruction.n / n), ceil(instruction.n / m) * ceil(instruction.m / n))
    return tiles * ceil(instruction.k / k)


def _fields(instruction: Instruction, chip: str, unit: str) -> dict[str, object]:
    rounding = next((x for x in instruction.modifiers if x in ("rz", "rm", "rp")), "")
    sizes = {"m": instruction.m, "n": instruction.n, "k": instruction.k, "k/2": instruction.k // 2}
    m, n, k = (sizes[x] if x in sizes else int(x) for x in unit.split())
    count = _shared_by(instruction, m, n, k)
    counts = M8N8K4_COUNTS.get(f"{instruction.a_layout}.{instruction.b_layout}.{instruction.d}.{instruction.c}", {})
    return {
        "D": instruction.d.upper(), "A": instruction.a.upper(), "B": instruction.b.upper(),
        "A8": instruction.a.upper().replace("4", "8"), "B8": instruction.b.upper().replace("4", "8"),
        "F": "F32" if "f32" in (instruction.d, instruction.c) else "F16",
        "OP": instruction.bit_operation.upper(),
        "SAT": ".SAT" if "satfinite" in instruction.modifiers else "",
        "m": m, "n": n, "k": k, "mnk": f"{m}{n}{k}", "count": count, "others": count - 1,
        "RND": f".{rounding.upper()}" if rounding else "",
        "SP": ".SP" if instruction.is_sparse else "",
        "SF": ".SF" if instruction.is_block_scaled else "",
        "SCALE": _SCALES[instruction.scale] + (".4X" if instruction.scale_vec == 4 else ""),
        "N": next((counts[x] for x in lineage(chip) if x in counts), 0),
    }  # fmt: skip
