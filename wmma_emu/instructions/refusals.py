# SPDX-License-Identifier: MIT
"""Messages for instructions that no chip or not this chip supports, with the nearest supported ones."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from wmma_emu.chips import ARCHS, Arch
from wmma_emu.errors import CallError, UnsupportedInstructionError, shorten
from wmma_emu.suggestions import first_chip, nearest, nearest_are

_LONGEST = 100


def unsupported_on(chip: Arch, what: str, archs: Sequence[str]) -> str:
    """Return the message that a chip does not support something, with the first chip that does.

    Examples
    --------
    >>> print(unsupported_on(ARCHS["sm_80"], "add.bf16", tuple(ARCHS)[6:]))
    sm_80 (Ampere) has no add.bf16; the first chip that supports it is sm_90
    """
    return f"{chip.name} ({chip.generation}) has no {what}; {first_chip(archs, ARCHS)}"


class _DataMovement(Protocol):
    @property
    def family(self) -> str: ...
    @property
    def mnemonic(self) -> str: ...
    @property
    def archs(self) -> tuple[str, ...]: ...


_Entry = TypeVar("_Entry", bound=_DataMovement)


def data_movement_named(
    family: str,
    instruction: object,
    entries: Mapping[str, _Entry],
    short: Callable[[str], str],
    chip: Arch,
    reason: Callable[[str], str] = lambda name: "",
) -> _Entry:
    """Find the entry of a data movement instruction by its PTX mnemonic; ``entries`` are keyed by ``short`` names.

    ``reason`` returns why a short name does not exist; the error lists the nearest forms.
    """
    of_family = {name: entry for name, entry in entries.items() if entry.family == family}
    if not isinstance(instruction, str) or len(instruction) > _LONGEST:
        example = next(iter(of_family.values())).mnemonic
        raise CallError(f"{family} is named by its PTX mnemonic, such as {example!r}, not by {shorten(instruction)}")
    name = short(instruction)
    entry = of_family.get(name)
    if entry is not None and chip.name in entry.archs:
        return entry
    on_chip = {x: entry.mnemonic for x, entry in of_family.items() if chip.name in entry.archs}
    near = nearest_are((on_chip[x] for x in nearest(name, on_chip, 3, 0.0)), chip.name) if on_chip else (
        f"{chip.name} has no form of {family}"
    )  # fmt: skip
    if entry is not None:
        raise UnsupportedInstructionError(f"{unsupported_on(chip, repr(instruction), entry.archs)}. {near}")
    why = reason(name)
    raise UnsupportedInstructionError(f"there is no {instruction!r}{f': {why}' if why else ''}. {near}")
