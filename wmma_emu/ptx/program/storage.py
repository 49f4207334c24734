# SPDX-License-Identifier: MIT
"""What one kernel needs: its registers, and places in shared, local and parameter memory, given as names come up."""

from dataclasses import dataclass, field

from wmma_emu.ptx.program.program import Operand, Register, Symbol, VectorOperand
from wmma_emu.ptx.program.scopes import Declaration
from wmma_emu.ptx.program.sizes import align, alignment_of, bytes_of, element_bytes
from wmma_emu.ptx.syntax.tree import VariableText

_ALIGNMENT_PERIOD, _SWIZZLED = 128, 1024
"""Offsets of shared variables keep what they are beyond multiples of the first, so that an address is as misaligned
here as on a GPU; those of the second, by which swizzles go, stay such multiples."""

_LEAST_GAP, _LARGEST_GAP, _LARGEST_GAPS = 16, 256, 1 << 14
"""Bytes behind a shared variable that belong to none; all of them together leave descriptors their 2**18 bytes."""


@dataclass(slots=True)
class Storage:
    """Registers, in order of first use, and memory of a kernel.

    ``dynamic_place`` is where dynamic shared memory is taken to begin; `shared_span` says at the end where it does.
    ``shared_bytes`` and ``local_bytes`` are what a GPU needs, variables one behind the other, and ``elements`` the
    bytes of an element.
    """

    dynamic_offset: int
    registers: list[Register] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    elements: dict[Symbol, int] = field(default_factory=dict)
    shared_bytes: int = 0
    local_bytes: int = 0
    _span: int = 0
    _dynamic_alignment: int = 0
    _shared: dict[int, Symbol] = field(default_factory=dict)
    _free: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)

    def dynamic_begin(self) -> int | None:
        """First byte of a GPU's dynamic shared memory, behind all that has a size; None if no name of it occurs."""
        return align(self.shared_bytes, self._dynamic_alignment) if self._dynamic_alignment else None

    @property
    def shared_span(self) -> int:
        """First byte of dynamic shared memory here: behind all that has a size, and the gaps behind that."""
        return self._spaced_offset(self.dynamic_begin() or self.shared_bytes, self._dynamic_alignment)

    def _spaced_offset(self, offset: int, alignment: int) -> int:
        """Find a place behind the last gap for what has an offset on a GPU: as aligned as it is there, no better."""
        multiple = max(_ALIGNMENT_PERIOD, alignment, min(offset & -offset, _SWIZZLED))
        return self._span + (offset - self._span) % multiple

    def register(self, declared: Declaration) -> Operand:
        """Make a register, or those of a vector (``.reg .v4 .f32 v``: v.x, v.y, v.z, v.w)."""
        if declared.text.vector == 1:
            return self.new_register(declared.name, declared.text.type)
        suffixes = "xyzw"[: declared.text.vector]
        return VectorOperand(tuple(self.new_register(f"{declared.name}.{x}", declared.text.type) for x in suffixes))

    def new_register(self, name: str, kind: str) -> Register:
        """Make one register; where the name is taken, one with a number behind it."""
        times = self._times.get(name, 0)
        self._times[name] = times + 1
        register = Register(len(self.registers), f"{name}#{times + 1}" if times else name, kind)
        self.registers.append(register)
        return register

    def shared(self, variable: VariableText) -> Symbol:
        """Give a shared variable its place when it occurs first; all that have no size share one."""
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
        """Give a local variable, or a parameter of a function, its place in the thread's local memory."""
        size, alignment = bytes_of(variable), alignment_of(variable)
        unused = self._free.get((size, alignment))
        if unused and variable.space == "param":
            offset = unused.pop()
        else:
            offset = align(self.local_bytes, alignment)
            self.local_bytes = offset + size
        return self.keep(Symbol("local", offset, variable.name, size, variable.space == "param"), variable)

    def release(self, variable: VariableText, symbol: Symbol) -> None:
        """Let the ``.param`` variables of later scopes have the place of one whose scope has ended."""
        self._free.setdefault((symbol.bytes, alignment_of(variable)), []).append(symbol.offset)

    def keep(self, symbol: Symbol, variable: VariableText) -> Symbol:
        """Remember a variable of the kernel."""
        self.symbols.append(symbol)
        self.elements[symbol] = element_bytes(variable)
        return symbol
