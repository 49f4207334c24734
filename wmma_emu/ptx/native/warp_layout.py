# SPDX-License-Identifier: MIT
"""The memory of a warp in the native machine: the next basic blocks of its lanes, its registers, and constants.

All values of 32 lanes are contiguous: lane 0 first, each with the width of the register (8, 16, 32, 64 bits). A
predicate is one word of 32 bits, with bit ``i`` for lane ``i``. Every value begins at a multiple of 64 bytes.
"""

from dataclasses import dataclass, field

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.constants import constant
from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.ptx.program.program import (
    Immediate,
    KernelProgram,
    Operand,
    Predicate,
    PtxInstruction,
    Register,
    SpecialRegister,
    Symbol,
)
from wmma_emu.ptx.program.special import CLOCKS
from wmma_emu.ptx.widths import bits_of_type

NEXT_BLOCKS = 0
"""The offset of the numbers of the basic blocks at which the lanes continue: 32 words."""

EXISTING = 128
"""The offset of the mask of the lanes that are threads of the block."""

WARP_NUMBER = 132
"""The offset of the warp's number in its block."""

BLOCK_INDEX = 136
"""The offset of the linear index of the warp's block in the grid (64 bits)."""

LIVE = 144
"""The offset of the mask of the lanes that have not exited."""

AWAITED = 148
"""The offset of the mask of the lanes for which others have waited at a barrier."""

STEPS = 152
"""The offset of the number of instructions that the warp has stepped in its block (64 bits)."""

WARPGROUP = 160
"""The offset of a sum that tells which instructions of warpgroups the warp has executed (64 bits)."""

HEAD_BYTES = 512
"""The size of the head; the bytes from 192 are free for the state of the memory operations of a warp."""

AT_WARP = 0x4000_0000
"""This bit is set in the number of a lane that waits for lanes of its warp."""

AT_BARRIER = 0x8000_0000
"""This bit is set in the number of a lane that waits at a barrier of the block."""

EXITED = 0xFFFF_FFFF
"""The number of a lane that has exited, or that does not exist."""

ALIGNMENT = 64


@dataclass
class WarpLayout:
    """The offsets of the registers and constants of a program in the memory of a warp.

    ``constants``, ``specials`` and ``symbols`` are the offsets of the values that the machine writes before a launch or
    a block begins: by the value and its width, by the name of the special register and the width, and by the variable
    and the width. ``zeroed`` are the offset and the size of the bytes that are zeros when a block begins; registers,
    which are the bytes from `HEAD_BYTES` to ``end_of_registers``, are not.
    ``logged`` are the instructions that the log of a wave names, by their positions.

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
    symbols: dict[tuple[Symbol, int], int] = field(default_factory=dict)
    zeroed: list[tuple[int, int]] = field(default_factory=list)
    logged: list[PtxInstruction] = field(default_factory=list)
    end_of_registers: int = 0
    _registers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for register in self.program.registers:
            self._registers[register.index] = self._allocate(bytes_of(bits_of_type(register.type)))
        self._registers[len(self.program.registers)] = self._allocate(bytes_of(1))  # the carry flag
        self.end_of_registers = self.bytes

    def offset_of(self, register: Register) -> int:
        """Return the offset of a register; the carry flag is the register after all others."""
        return self._registers[register.index]

    def constant(self, value: int, bits: int) -> int:
        """Return the offset of a value that all lanes have, ``bits`` wide (1 for a predicate)."""
        key = value & (1 << bits) - 1, bits
        if key not in self.constants:
            self.constants[key] = self._allocate(bytes_of(bits))
        return self.constants[key]

    def special(self, name: str, bits: int) -> int:
        """Return the offset of a special register, ``bits`` wide (1 for a predicate); the machine fills it.

        Raises
        ------
        NotNativeError
            If its value changes while the kernel runs.
        """
        if name in CLOCKS:
            raise NotNativeError(f"%{name} advances while the kernel runs")
        key = name, bits
        if key not in self.specials:
            self.specials[key] = self._allocate(bytes_of(bits))
        return self.specials[key]

    def symbol(self, symbol: Symbol, bits: int) -> int:
        """Return the offset of a variable's address in its own space; the machine fills it."""
        key = symbol, bits
        if key not in self.symbols:
            self.symbols[key] = self._allocate(bytes_of(bits))
        return self.symbols[key]

    def source(self, operand: Operand, type_name: str) -> int:
        """Return the offset of a source operand, read as a value of a PTX type.

        A register is read where it is: its own width may differ from the type's, which only ``cvt`` accepts. The
        complement of a predicate has no separate offset; the function has to negate the predicate.
        """
        bits = bits_of_type(type_name)
        match operand:
            case Register():
                return self.offset_of(operand)
            case Predicate():
                return self.offset_of(operand.register)
            case Immediate():
                return self.constant(int(constant(operand, type_name).flat[0]), bits)
            case SpecialRegister():
                return self.special(operand.name, bits)
            case Symbol():
                return self.symbol(operand, bits)
        raise NotNativeError(f"{operand} is not a source operand of type .{type_name}")

    def log_number(self, instruction: PtxInstruction) -> int:
        """Return the number of an instruction in logs."""
        self.logged.append(instruction)
        return len(self.logged) - 1

    def reserve(self, size: int) -> int:
        """Return the offset of ``size`` more bytes, which are zeros when a block begins."""
        self.zeroed.append((self.bytes, size))
        return self._allocate(size)

    def _allocate(self, size: int) -> int:
        offset = self.bytes
        self.bytes += -(-size // ALIGNMENT) * ALIGNMENT
        return offset


def bytes_of(bits: int) -> int:
    """Return the bytes of a value of all lanes; a predicate is one word."""
    return 4 if bits == 1 else LANES * max(bits, 8) // 8
