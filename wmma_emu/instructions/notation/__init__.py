# SPDX-License-Identifier: MIT
"""Other names of instructions, read and written: machine code, CuTe atoms, fragments of `mma.h`, search words."""

from wmma_emu.formats.names import FORMAT_NAMES, formats_called
from wmma_emu.instructions.notation.cute_atoms import cute_atoms
from wmma_emu.instructions.notation.machine_names import machine_names
from wmma_emu.instructions.notation.meaning import Meaning, Notation, meaning_of

__all__ = ["FORMAT_NAMES", "Meaning", "Notation", "cute_atoms", "formats_called", "machine_names", "meaning_of"]
