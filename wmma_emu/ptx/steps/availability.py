# SPDX-License-Identifier: MIT
"""Which chips have an instruction, and which special registers are modelled: asked before anything runs."""

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
from wmma_emu.ptx.state import MODELLED_SPECIALS


@dataclass(frozen=True, slots=True)
class FirstChip(Sourced):
    """The oldest chip that has an instruction, or something that its opcode says.

    ``mnemonics``, ``words`` (modifiers, of which one is enough) and ``types`` are separated by ``|``, and empty for
    all; ``operands`` is how many there have to be, ``without`` a modifier that the instruction may not have.
    """

    mnemonics: str
    words: str
    first: str
    evidence: Evidence
    types: str = ""
    operands: int = 0
    without: str = ""

    def is_about(self, mnemonic: str, modifiers: tuple[str, ...], operands: int) -> bool:
        """Tell whether an instruction with so many operands is one of those."""
        words = set(modifiers)
        return (
            (not self.mnemonics or mnemonic in self.mnemonics.split("|"))
            and (not self.words or not words.isdisjoint(self.words.split("|")))
            and (not self.types or not words.isdisjoint(self.types.split("|")))
            and operands >= self.operands
            and self.without not in words
        )


def _row(mnemonics: str, words: str, first: str, *, types: str = "", operands: int = 0, without: str = "") -> FirstChip:
    section = mnemonics.replace("|", ", ") or words.replace("|", ", ")
    source = f"PTX ISA 9.1, {section}: target ISA notes; ptxas 12.9 accepts it for {first} and no earlier chip"
    return FirstChip(mnemonics, words, first, Evidence("documented", source), types, operands, without)


FIRST_CHIPS = (
    _row("", "cluster|shared::cluster", "sm_90"),
    _row("", "L2::cache_hint|L2::256B", "sm_80"),
    _row("", "L2::64B|L2::128B", "sm_75"),
    _row("ld|st", "v8", "sm_100"),
    _row("ld|st", "v4", "sm_100", types="b64|u64|s64|f64"),
    _row("cp", "async", "sm_80"),
    _row("mbarrier", "", "sm_80"),
    _row("mbarrier", "try_wait|expect_tx|complete_tx|relaxed", "sm_90"),
    _row("mbarrier", "arrive|arrive_drop", "sm_90", operands=3, without="noComplete"),
    _row("atom|red", "bf16|bf16x2|v2|v4|v8", "sm_90"),
    _row("fence", "mbarrier_init|async|tensormap::generic", "sm_90"),
    _row("prefetch", "L2::evict_last|L2::evict_normal", "sm_80"),
    _row("applypriority|discard|createpolicy", "", "sm_80"),
    _row("griddepcontrol|mapa|getctarank", "", "sm_90"),
    _row("setmaxnreg", "", "sm_90"),
)
"""Rows for what the machine steps; instructions of one thread have theirs in `FormRow.first`, matrix instructions in
the instruction table."""


def first_chip_of(instruction: PtxInstruction) -> str:
    """Return the oldest chip that has all of what an opcode says.

    Examples
    --------
    >>> first_chip_of(Instruction("cp.async.wait_all", "cp", ("async", "wait_all"), (), None, 1, 1))
    'sm_80'
    """
    return _first_chip(instruction.mnemonic, instruction.modifiers, len(instruction.operands))


@lru_cache(4096)
def _first_chip(mnemonic: str, modifiers: tuple[str, ...], operands: int) -> str:
    found = (row.first for row in FIRST_CHIPS if row.is_about(mnemonic, modifiers, operands))
    return max(found, key=lambda name: ARCHS[name].number, default="sm_70")


def require_since(what: str, arch: Arch, first: str) -> None:
    """Refuse what a chip is too old for.

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
    """Refuse an instruction that a chip lacks, and special registers that it lacks or that are not modelled."""
    require_since(instruction.opcode, arch, first_chip_of(instruction))
    for operand in instruction.operands:
        for special in _specials(operand):
            if special.name not in MODELLED_SPECIALS:
                raise UnsupportedInstructionError(f"the special register %{special.name} is not modelled")
            require_since(f"%{special.name}", arch, SPECIAL[special.name].first)


def _specials(operand: object) -> tuple[SpecialRegister, ...]:
    elements = operand.elements if isinstance(operand, VectorOperand) else (operand,)
    return tuple(x for x in elements if isinstance(x, SpecialRegister))


_OF_ONE_CHIP = ("wgmma", "setmaxnreg")
"""Instructions of targets with a suffix: sm_90a, sm_100f."""

_SYNC_SINCE, _INDEPENDENT_THREADS = (6, 4), 70


def require_target_has(instruction: PtxInstruction, target: str, version: str) -> None:
    """Refuse what ptxas refuses for a text's ``.target`` and ``.version``, whatever chip runs it.

    Examples
    --------
    >>> fence = Instruction("wgmma.fence.sync.aligned", "wgmma", ("fence", "sync", "aligned"), (), None, 7, 1)
    >>> require_target_has(fence, "sm_90a", "8.0")
    >>> require_target_has(fence, "sm_90", "8.0")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: line 7: wgmma.fence.sync.aligned: needs .target sm_90a, and the text is
    for sm_90
    """
    if instruction.mnemonic in _OF_ONE_CHIP and target[-1:].isdigit():
        raise refusal(instruction, f"needs .target {target}a, and the text is for {target}")
    if instruction.mnemonic in ("vote", "shfl") and "sync" not in instruction.modifiers:
        release = tuple(int(x) for x in version.split("."))
        if release >= _SYNC_SINCE and int(target.strip("sm_af") or 0) >= _INDEPENDENT_THREADS:
            raise refusal(
                instruction, f"is not for {target} since PTX 6.4: write {instruction.mnemonic}.sync with a membermask"
            )
