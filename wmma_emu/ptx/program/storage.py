# SPDX-License-Identifier: MIT
"""The registers and the shared and local memory of one kernel, allocated as names are first used."""

from dataclasses import dataclass, field

from wmma_emu.ptx.program.frames import Frame
from wmma_emu.ptx.program.program import Operand, Register, Symbol, VectorOperand
from wmma_emu.ptx.program.scopes import Declaration
from wmma_emu.ptx.program.sizes import align, alignment_of, bytes_of, element_bytes
from wmma_emu.ptx.syntax.tree import VariableText

_ALIGNMENT_PERIOD, _SWIZZLED = 128, 1024
"""Shared variables keep their GPU offset modulo the first number, so that addresses are misaligned as on a GPU; a GPU
offset that is a multiple of the second number, the period of swizzles, stays such a multiple."""

_LEAST_GAP, _LARGEST_GAP, _LARGEST_GAPS = 16, 256, 1 << 14
"""The size of the gap after a shared variable; the total is limited so that all of shared memory stays within the 2**18
bytes of descriptors."""


@dataclass(slots=True)
class Storage:
    """The registers, in order of first use, and the memory of a kernel.

    ``shared_begin`` is the address at which shared variables begin; ``dynamic_offset`` is the assumed address of
    dynamic shared memory, and `shared_span` its final value. ``shared_bytes`` is the size on a GPU, without gaps;
    ``elements`` are the element sizes of variables in bytes; ``specials`` the special registers that are read.
    ``frame`` is the local memory of the function that is being read.
    """

    shared_begin: int
    dynamic_offset: int
    registers: list[Register] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    elements: dict[Symbol, int] = field(default_factory=dict)
    shared_bytes: int = 0
    frame: Frame = field(default_factory=Frame)
    specials: set[str] = field(default_factory=set)
    _span: int = 0
    _dynamic_alignment: int = 0
    _shared: dict[int, Symbol] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._span = self.shared_begin

    def dynamic_begin(self) -> int | None:
        """Return the offset of dynamic shared memory on a GPU, after all sized variables; None if it is not used."""
        return align(self.shared_bytes, self._dynamic_alignment) if self._dynamic_alignment else None

    @property
    def shared_span(self) -> int:
        """The address of dynamic shared memory in the emulator: after all variables with a size, and their gaps."""
        return self._spaced_offset(self.dynamic_begin() or self.shared_bytes, self._dynamic_alignment)

    def _spaced_offset(self, offset: int, alignment: int) -> int:
        """Return the address after the last gap for a variable with a GPU offset, with the same misalignment."""
        multiple = max(_ALIGNMENT_PERIOD, alignment, min(offset & -offset, _SWIZZLED))
        return self._span + (offset - self._span) % multiple

    def register(self, declared: Declaration) -> Operand:
        """Create a register, or the registers of a vector (``.reg .v4 .f32 v``: v.x, v.y, v.z, v.w)."""
        if declared.text.vector == 1:
            return self.new_register(declared.name, declared.text.type)
        suffixes = "xyzw"[: declared.text.vector]
        return VectorOperand(tuple(self.new_register(f"{declared.name}.{x}", declared.text.type) for x in suffixes))

    def new_register(self, name: str, kind: str) -> Register:
        """Create one register; a number is appended to a name that is already used."""
        times = self._times.get(name, 0)
        self._times[name] = times + 1
        register = Register(len(self.registers), f"{name}#{times + 1}" if times else name, kind)
        self.registers.append(register)
        return register

    def shared(self, variable: VariableText) -> Symbol:
        """Return the symbol of a shared variable, allocated at its first use; unsized variables share an offset."""
        known = self._shared.get(id(variable))
        if known is not None:
            return known
        size, alignment = bytes_of(variable), alignment_of(variable)
        if variable.sizes and variable.sizes[0] == 0:
            self._dynamic_alignment = max(self._dynamic_alignment, alignment)
            symbol = Symbol("shared", self.dynamic_offset, variable.name, 0)
        else:
            offset = align(self.shared_bytes, alignment)
            self.shared_bytes = offset + size
            place = self._spaced_offset(offset, alignment)
            self._span = place + size
            if self._span - self.shared_bytes < _LARGEST_GAPS:
                self._span += min(align(size, _LEAST_GAP), _LARGEST_GAP)
            symbol = Symbol("shared", place, variable.name, size)
        self._shared[id(variable)] = symbol
        return self.keep(symbol, variable)

    def local(self, variable: VariableText) -> Symbol:
        """Allocate a local variable, or a parameter of a function, in the thread's local memory."""
        offset, size = self.frame.allocate(variable), bytes_of(variable)
        return self.keep(Symbol("local", offset, variable.name, size, variable.space == "param"), variable)

    def keep(self, symbol: Symbol, variable: VariableText) -> Symbol:
        """Add a variable to the symbols of the kernel."""
        self.symbols.append(symbol)
        self.elements[symbol] = element_bytes(variable)
        return symbol
