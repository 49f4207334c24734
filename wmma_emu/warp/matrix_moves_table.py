# SPDX-License-Identifier: MIT
"""The instructions that move matrices between shared memory and registers, and their lookup."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wmma_emu.chip_sets import chips_since
from wmma_emu.evidence import Evidence, Run, Sourced
from wmma_emu.instructions import Arch, arch_of, default_arch
from wmma_emu.instructions.refusals import data_movement_named


@dataclass(frozen=True, slots=True)
class MatrixMove(Sourced):
    """One form of ldmatrix, stmatrix or movmatrix: ``count`` matrices, of types such as ``"b8x16.b4x16_p64"``.

    The shape, ``"m8n8"``, is rows in memory and elements of a row, or the reverse if the form transposes.
    A matrix has ``rows`` of memory, 16 bytes each, whose addresses as many lanes provide, and ``registers``.
    Elements have ``source_bits`` in memory: 6 and 4 if they are unpacked into a byte. ``first`` is the first chip
    that supports the form; all later ones do. The evidence is for its existence; `known_on` returns the evidence for
    the bytes that it moves.
    """

    family: str
    shape: str
    count: int
    trans: bool
    types: str
    rows: int
    registers: int
    source_bits: int
    first: str
    evidence: Evidence

    @property
    def archs(self) -> tuple[str, ...]:
        """The chips that support it."""
        return chips_since(self.first)

    def known_on(self, chip: str) -> tuple[str, str]:
        """Return source and status of the form's data movement on a chip."""
        known = self.evidence_on(chip)
        return known.source, known.status

    def evidence_on(self, chip: str) -> Evidence:
        """Return the evidence for the form's data movement on a chip."""
        seen = Evidence("measured", f"{self.source}; {_H200}", Run("conversions", chip), self.evidence)
        return seen.of(self.mnemonic)

    @property
    def mnemonic(self) -> str:
        """The instruction as the PTX manual spells it."""
        words = [self.family, "sync", "aligned", self.shape]
        words += [] if self.family == "movmatrix" else [f"x{self.count}"]
        words += ["trans"] if self.trans else []
        words += [] if self.family == "movmatrix" else ["shared"]
        return ".".join((*words, self.types))

    @property
    def num_registers(self) -> int:
        """The number of registers of every lane."""
        return self.count * self.registers

    @property
    def num_addresses(self) -> int:
        """The number of lanes, from lane 0, that provide the address of a row."""
        return self.count * self.rows

    @property
    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the position of each element of a matrix in memory: its row, and its number in that row.

        Both are (registers, elements of a register, 32).
        """
        element_bits = 16 if self.types == "b16" else 8
        register, element, lane = np.indices((self.registers, 32 // element_bits, 32))
        group, thread = lane // 4, lane % 4
        # The three layouts (PTX ISA 9.0, ldmatrix and stmatrix): pairs or fours along a row; with .trans, along a
        # column; and m16n8, whose lower and upper half registers are eight apart.
        if self.shape == "m16n8":
            return 2 * thread + element % 2, group + 8 * (element // 2)
        along = (32 // element_bits) * thread + element
        across = group + 8 * register
        return (along, across) if self.trans else (across, along)


_H200 = "an NVIDIA H200, driver 580.159.04, 2026-11-21, moves the same bytes"


def _accepted(family: str, first: str) -> Evidence:
    return Evidence("documented", f"PTX ISA 9.0, {family}; accepted by ptxas 13.0 for {first} and later")


_UNPACKED = {"b8": 8, "b8x16.b6x16_p32": 6, "b8x16.b4x16_p64": 4}


def _entries() -> tuple[MatrixMove, ...]:
    entries: list[MatrixMove] = []
    for family, first in (("ldmatrix", "sm_75"), ("stmatrix", "sm_90")):
        known = _accepted(family, first)
        entries += [
            MatrixMove(family, "m8n8", count, trans, "b16", 8, 1, 16, first, known)
            for trans in (False, True)
            for count in (1, 2, 4)
        ]
    known = _accepted("ldmatrix", "sm_100a, sm_103a, sm_110a, sm_120a, sm_121a")
    for types, bits in _UNPACKED.items():
        if types != "b8":
            entries += [
                MatrixMove("ldmatrix", "m8n16", n, False, types, 8, 1, bits, "sm_100", known) for n in (1, 2, 4)
            ]
        entries += [MatrixMove("ldmatrix", "m16n16", n, True, types, 16, 2, bits, "sm_100", known) for n in (1, 2)]
    known = _accepted("stmatrix", "sm_100a, sm_103a, sm_110a, sm_120a, sm_121a")
    entries += [MatrixMove("stmatrix", "m16n8", n, True, "b8", 8, 1, 8, "sm_100", known) for n in (1, 2, 4)]
    known = _accepted("movmatrix", "sm_75")
    entries.append(MatrixMove("movmatrix", "m8n8", 1, True, "b16", 8, 1, 16, "sm_75", known))
    return tuple(entries)


MATRIX_MOVES: dict[str, MatrixMove] = {entry.mnemonic: entry for entry in _entries()}
"""Every legal form by its full mnemonic."""


def lookup_move(family: str, instruction: str, arch: "str | Arch | None" = None) -> tuple[MatrixMove, Arch]:
    """Return the form of a mnemonic on a chip.

    ``.sync.aligned``, ``.shared`` and ``::cta`` may be omitted.

    Examples
    --------
    >>> lookup_move("ldmatrix", "ldmatrix.m8n8.x4.trans.b16")[0].mnemonic
    'ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16'
    >>> lookup_move("stmatrix", "stmatrix.m8n8.x4.b16", "sm_80")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: sm_80 (Ampere) has no 'stmatrix.m8n8.x4.b16'; the first chip that
    supports it is sm_90. sm_80 has no form of stmatrix
    """
    chip = default_arch() if arch is None else arch_of(arch)
    return data_movement_named(family, instruction, _SHORT, _short, chip, lambda name: _reason(family, name)), chip


def _short(mnemonic: str) -> str:
    text = re.sub(r"\.shared(::cta)?(?=\.)", "", mnemonic, count=1)
    return re.sub(r"^(\w+)\.sync\.aligned\.", r"\1.", text)


_SHORT = {_short(mnemonic): entry for mnemonic, entry in MATRIX_MOVES.items()}


def _reason(family: str, short: str) -> str:
    words = set(short.split("."))
    entries = [entry for entry in MATRIX_MOVES.values() if entry.family == family]
    if family not in words:
        return f"it does not begin with {family}"
    shapes = list(dict.fromkeys(entry.shape for entry in entries))
    entries = [entry for entry in entries if entry.shape in words]
    if not entries:
        return f"its shape is one of {', '.join(shapes)}"
    shape = entries[0].shape
    types = list(dict.fromkeys(entry.types for entry in entries))
    entries = [entry for entry in entries if set(entry.types.split(".")) <= words]
    if not entries:
        return f"{shape} comes as {', '.join(f'.{x}' for x in types)}"
    if all(entry.trans for entry in entries) and "trans" not in words:
        return f"{shape} of {entries[0].types} needs .trans"
    if not any(entry.trans for entry in entries) and "trans" in words:
        return f"{shape} of {entries[0].types} takes no .trans"
    counts = list(dict.fromkeys(f".x{entry.count}" for entry in entries))
    if family != "movmatrix" and not any(x[1:] in words for x in counts):
        return f"{shape} of {entries[0].types} comes as {', '.join(counts)}"
    return "its parts are in another order, or one is not part of it"
