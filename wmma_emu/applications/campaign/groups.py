# SPDX-License-Identifier: MIT
"""The kinds of instructions that a campaign counts together, and the resolution of names and patterns."""

import re
import warnings
from collections.abc import Callable, Iterable

from wmma_emu.arithmetic import models_for
from wmma_emu.errors import (
    CallError,
    OptionError,
    UnknownNameError,
    UnsupportedInstructionError,
    UnverifiedModelWarning,
    shorten,
)
from wmma_emu.formats.table import FP4, FP6, FP8
from wmma_emu.instructions import INSTRUCTIONS, Arch, Instruction, arch_of, lookup
from wmma_emu.warp import BoundInstruction, BoundMatrixInstruction, bound_instruction

What = str | Instruction | BoundInstruction | Iterable[str | Instruction | BoundInstruction]
"""The instructions of a campaign: an instruction, a mnemonic, a regular expression, or a list."""

GROUPS: dict[str, Callable[[Instruction], bool]] = {
    "block-scaled": lambda entry: entry.is_block_scaled,
    "sparse": lambda entry: entry.is_sparse,
    "f16": lambda entry: entry.a == "f16",
    "bf16": lambda entry: entry.a == "bf16",
    "tf32": lambda entry: entry.a == "tf32",
    "FP6, FP4": lambda entry: entry.a in FP6 + FP4 or entry.b in FP6 + FP4,
    "FP8 mma": lambda entry: entry.a in FP8 and not entry.is_warpgroup,
    "FP8 wgmma": lambda entry: entry.a in FP8 and entry.is_warpgroup,
    "f64": lambda entry: entry.a == "f64",
    "8-bit": lambda entry: entry.a in ("s8", "u8"),
    "4-bit": lambda entry: entry.a in ("s4", "u4"),
    "b1": lambda entry: entry.a == "b1",
}
"""The kinds, by name; an instruction belongs to the first one that accepts it."""


def group_of(entry: Instruction) -> str:
    """Return the name of an instruction's group.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> group_of(lookup("mma.sp.m16n8k32.f32.f16.f16.f32")), group_of(lookup("wgmma.m64n8k32.f32.e4m3.e5m2"))
    ('sparse', 'FP8 wgmma')
    """
    return next((name for name, takes in GROUPS.items() if takes(entry)), "other")


def bound_instructions(what: What, arch: str | Arch) -> list[BoundInstruction]:
    """Bind all named instructions to a chip, each once; a pattern's in the order of the table.

    A string is a mnemonic, or else a regular expression that is searched for in the full mnemonics. An instruction that
    is already bound keeps its lowering and its model, so that several models can be compared with the chip.
    """
    chip = arch_of(arch)
    found: dict[tuple[str, str, str], BoundInstruction] = {}
    items = list(what) if isinstance(what, Iterable) and not isinstance(what, str) else [what]
    if not items:
        raise OptionError("the list of instructions is empty; name at least one")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnverifiedModelWarning)  # a campaign verifies models
        for item in items:
            for ins in _of_item(item, chip):
                found[ins.mnemonic, ins.model.lowering, ins.model.name] = ins
    return list(found.values())


def _of_item(item: object, chip: Arch) -> list[BoundInstruction]:
    if isinstance(item, BoundMatrixInstruction):
        _refuse_tensor(item.instruction)
    if isinstance(item, BoundInstruction):
        if item.arch != chip:
            raise OptionError(
                f"{item.mnemonic} is bound to {item.arch}, but the campaign runs on {chip}; bind it with "
                f"arch={chip.name!r}, or pass its mnemonic"
            )
        return [item]
    if isinstance(item, Instruction):
        return [_bound(lookup(item, chip), chip)]
    if not isinstance(item, str):
        raise CallError(
            f"{shorten(item)} is not an instruction; pass the result of wmma_emu.instruction, a mnemonic, a regular "
            "expression, or a list"
        )
    try:
        entry = lookup(item, chip.name)
    except UnsupportedInstructionError as error:
        return [bound_instruction(row, chip) for row in _matching(item, chip, error)]
    return [_bound(entry, chip)]


def _bound(entry: Instruction, chip: Arch) -> BoundInstruction:
    _refuse_tensor(entry)
    return bound_instruction(entry, chip)


def _refuse_tensor(entry: Instruction) -> None:
    if entry.is_tensor:
        raise UnsupportedInstructionError(
            f"{entry.mnemonic} uses tensor memory, but a campaign executes instructions on registers: mma.sync, "
            "mma.sp, wmma.mma and wgmma"
        )


def _matching(pattern: str, chip: Arch, not_a_mnemonic: UnsupportedInstructionError) -> list[Instruction]:
    """Search for a regular expression in the mnemonics of a chip whose arithmetic is modelled."""
    try:
        search = re.compile(pattern, re.IGNORECASE).search
    except re.error as error:
        raise UnknownNameError(f"{shorten(pattern)} is neither a mnemonic nor a regular expression ({error})") from None
    entries = [entry for entry in INSTRUCTIONS.values() if search(entry.mnemonic) or search(entry.short_mnemonic)]
    here = [entry for entry in entries if chip.name in entry.archs and models_for(entry, chip.name)]
    if here:
        return here
    if entries:
        raise UnsupportedInstructionError(
            f"{shorten(pattern)} matches {len(entries)} instructions, but none of {chip}; "
            f"{entries[0].mnemonic} is available on {', '.join(entries[0].archs)}"
        )
    raise UnknownNameError(
        f"{shorten(pattern)} matches no instruction as a regular expression, and as a name: {not_a_mnemonic}"
    )
