# SPDX-License-Identifier: MIT
"""The memory of a warp in the native machine: the places of its lanes, its registers, and constants.

All values of 32 lanes are contiguous: lane 0 first, each with the width of the register (8, 16, 32, 64 bits). A
predicate is one word of 32 bits, with bit ``i`` for lane ``i``. Every value begins at a multiple of 64 bytes.
"""

from dataclasses import dataclass, field

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.program.program import KernelProgram, Register, Symbol
from wmma_emu.ptx.widths import bits_of_type

PLACES = 0
"""The offset of the places of the lanes: 32 words, each the number of the lane's next basic block."""

EXISTING = 128
"""The offset of the mask of the lanes that are threads of the block."""

WARP_NUMBER = 132
"""The offset of the warp's number in its block."""

BLOCK_INDEX = 136
"""The offset of the linear index of the warp's block in the grid (64 bits)."""

HEAD_BYTES = 512
"""The size of the head; the bytes from 192 are free for the state of the memory operations of a warp."""

EXITED = 0xFFFF_FFFF
"""The place of a lane that has exited, or that does not exist."""

ALIGNMENT = 64


@dataclass
class WarpLayout:
    """The offsets of the registers and constants of a program in the memory of a warp.

    Examples
    --------
    >>> program = KernelProgram(
    ...     "k", (), 0, (Register(0, "%r1", "b32"), Register(1, "%p1", "pred")), (), (), 0, None, 0, None, None, ()
    ... )
    >>> layout = WarpLayout(program)
    >>> layout.offset_of(program.registers[1]), layout.constant(7, 32), layout.constant(7, 32), layout.bytes
    (640, 768, 768, 896)
    """

    program: KernelProgram
    bytes: int = HEAD_BYTES
    constants: dict[tuple[int, int], int] = field(default_factory=dict)
    specials: dict[tuple[str, int], int] = field(default_factory=dict)
    """The offsets of special registers, by name and width; the machine keeps their values there."""
    symbols: dict[tuple[Symbol, int], int] = field(default_factory=dict)
    """The offsets of addresses of variables, by variable and width; the machine keeps the addresses there."""
    _registers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for register in self.program.registers:
            self._registers[register.index] = self.reserve(bytes_of(bits_of_type(register.type)))
        self._registers[len(self.program.registers)] = self.reserve(bytes_of(1))  # the carry flag

    def offset_of(self, register: Register) -> int:
        """Return the offset of a register; the carry flag is the register after all others."""
        return self._registers[register.index]

    def constant(self, value: int, bits: int) -> int:
        """Return the offset of a value that all lanes have, ``bits`` wide (1 for a predicate)."""
        key = value & (1 << bits) - 1, bits
        if key not in self.constants:
            self.constants[key] = self.reserve(bytes_of(bits))
        return self.constants[key]

    def special(self, name: str, bits: int) -> int:
        """Return the offset of the value of a special register, ``bits`` wide."""
        if (name, bits) not in self.specials:
            self.specials[name, bits] = self.reserve(bytes_of(bits))
        return self.specials[name, bits]

    def symbol(self, symbol: Symbol, bits: int) -> int:
        """Return the offset of the address of a variable, ``bits`` wide."""
        if (symbol, bits) not in self.symbols:
            self.symbols[symbol, bits] = self.reserve(bytes_of(bits))
        return self.symbols[symbol, bits]

    def reserve(self, size: int) -> int:
        """Return the offset of ``size`` more bytes, which are zeros when a block begins."""
        offset = self.bytes
        self.bytes += -(-size // ALIGNMENT) * ALIGNMENT
        return offset


def bytes_of(bits: int) -> int:
    """Return the bytes of a value of all lanes; a predicate is one word."""
    return 4 if bits == 1 else LANES * max(bits, 8) // 8
