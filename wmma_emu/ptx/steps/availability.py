# SPDX-License-Identifier: MIT
"""Checks before a launch: whether the chip supports an instruction and its special registers."""

from dataclasses import dataclass
from functools import lru_cache

from wmma_emu.chip_sets import chips_since
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.instructions import ARCHS, Arch
from wmma_emu.instructions.refusals import unsupported_on
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import PtxInstruction, SpecialRegister, VectorOperand
from wmma_emu.ptx.program.special import SPECIAL


@dataclass(frozen=True, slots=True)
class FirstChipEntry(Sourced):
    """The first chip that supports an instruction, or a modifier.

    ``mnemonics``, ``words`` (modifiers, any of which is sufficient) and ``types`` are separated by ``|``; an empty
    string matches all. ``operands`` is the least number of operands, ``without`` a modifier that excludes an
    instruction.
    """

    mnemonics: str
    words: str
    first: str
    evidence: Evidence
    types: str = ""
    operands: int = 0
    without: str = ""

    def is_about(self, mnemonic: str, modifiers: tuple[str, ...], operands: int) -> bool:
        """Return whether the entry applies to an instruction with a number of operands."""
        words = set(modifiers)
        return (
            (not self.mnemonics or mnemonic in self.mnemonics.split("|"))
            and (not self.words or not words.isdisjoint(self.words.split("|")))
            and (not self.types or not words.isdisjoint(self.types.split("|")))
            and operands >= self.operands
            and self.without not in words
        )


def _entry(
    mnemonics: str, words: str, first: str, *, types: str = "", operands: int = 0, without: str = ""
) -> FirstChipEntry:
    section = mnemonics.replace("|", ", ") or words.replace("|", ", ")
    source = f"PTX ISA 9.1, {section}: target ISA notes; ptxas 12.9 accepts it for {first} and no earlier chip"
    return FirstChipEntry(mnemonics, words, first, Evidence("documented", source), types, operands, without)


FIRST_CHIPS = (
    _entry("", "cluster|shared::cluster", "sm_90"),
    _entry("", "L2::cache_hint|L2::256B", "sm_80"),
    _entry("", "L2::64B|L2::128B", "sm_75"),
    _entry("ld|st", "v8", "sm_100"),
    _entry("ld|st", "v4", "sm_100", types="b64|u64|s64|f64"),
    _entry("cp", "async", "sm_80"),
    _entry("mbarrier", "", "sm_80"),
    _entry("mbarrier", "try_wait|expect_tx|complete_tx|relaxed", "sm_90"),
    _entry("mbarrier", "arrive|arrive_drop", "sm_90", operands=3, without="noComplete"),
    _entry("atom|red", "bf16|bf16x2|v2|v4|v8", "sm_90"),
    _entry("st|red", "async", "sm_90"),
    _entry("fence", "mbarrier_init|async|tensormap::generic", "sm_90"),
    _entry("prefetch", "L2::evict_last|L2::evict_normal", "sm_80"),
    _entry("applypriority|discard|createpolicy", "", "sm_80"),
    _entry("griddepcontrol|mapa|getctarank", "", "sm_90"),
    _entry("setmaxnreg", "", "sm_90"),
)
"""The entries for machine steps; the first chip of lane operations is in `OperationEntry.first`, that of matrix
instructions in the instruction table."""


def first_chip_of(instruction: PtxInstruction) -> str:
    """Return the first chip that supports an instruction with all its modifiers.

    Examples
    --------
    >>> first_chip_of(PtxInstruction("cp.async.wait_all", "cp", ("async", "wait_all"), (), None, 1, 1))
    'sm_80'
    """
    return _first_chip(instruction.mnemonic, instruction.modifiers, len(instruction.operands))


@lru_cache(4096)
def _first_chip(mnemonic: str, modifiers: tuple[str, ...], operands: int) -> str:
    found = (entry.first for entry in FIRST_CHIPS if entry.is_about(mnemonic, modifiers, operands))
    return max(found, key=lambda name: ARCHS[name].number, default="sm_70")


def require_since(what: str, arch: Arch, first: str) -> None:
    """Raise an error if a chip is older than the first chip with a feature.

    Examples
    --------
    >>> require_since("add.bf16", ARCHS["sm_80"], "sm_90")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: sm_80 (Ampere) has no add.bf16; the first chip that supports it is
    sm_90
    """
    if arch.name not in chips_since(first):
        raise UnsupportedInstructionError(unsupported_on(arch, what, chips_since(first)))


def require_available(instruction: PtxInstruction, arch: Arch) -> None:
    """Raise an error if the chip lacks an instruction or a special register."""
    require_since(instruction.opcode, arch, first_chip_of(instruction))
    for operand in instruction.operands:
        for special in _specials(operand):
            require_since(f"%{special.name}", arch, SPECIAL[special.name].first)


def _specials(operand: object) -> tuple[SpecialRegister, ...]:
    elements = operand.elements if isinstance(operand, VectorOperand) else (operand,)
    return tuple(x for x in elements if isinstance(x, SpecialRegister))


_OF_ONE_CHIP = ("wgmma", "setmaxnreg")
"""The instructions that need a target with a suffix: sm_90a, sm_100f."""

_SYNC_SINCE, _INDEPENDENT_THREADS = (6, 4), 70


def require_target_has(instruction: PtxInstruction, target: str, version: str) -> None:
    """Raise an error if ptxas rejects an instruction for the module's ``.target`` and ``.version``.

    Examples
    --------
    >>> fence = PtxInstruction("wgmma.fence.sync.aligned", "wgmma", ("fence", "sync", "aligned"), (), None, 7, 1)
    >>> require_target_has(fence, "sm_90a", "8.0")
    >>> require_target_has(fence, "sm_90", "8.0")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: line 7: wgmma.fence.sync.aligned: needs .target sm_90a; the module has
    .target sm_90
    """
    if instruction.mnemonic in _OF_ONE_CHIP and target[-1:].isdigit():
        raise refusal(instruction, f"needs .target {target}a; the module has .target {target}")
    if instruction.mnemonic in ("vote", "shfl") and "sync" not in instruction.modifiers:
        release = tuple(int(x) for x in version.split("."))
        if release >= _SYNC_SINCE and int(target.strip("sm_af") or 0) >= _INDEPENDENT_THREADS:
            why = f"is not supported for {target} since PTX 6.4: write {instruction.mnemonic}.sync with a membermask"
            raise refusal(instruction, why)
