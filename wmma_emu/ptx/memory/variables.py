# SPDX-License-Identifier: MIT
"""Variables of a module in the heap: positions, initial bytes, relocations, and values kept between launches."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.ptx.memory.address_map import BASES, CODE, HEAP, Range, round_up
from wmma_emu.ptx.memory.device_heap import DeviceHeap
from wmma_emu.ptx.pages import ALIGNMENT
from wmma_emu.ptx.program.program import ModuleProgram, Symbol


class ModuleMemory:
    """Global and constant variables of a module.

    As on a GPU, a value that a kernel writes to a ``.global`` variable is kept for the next launch of the same module:
    pass one object to the `GlobalMemory` of each launch. A pointer to an array of the user becomes invalid if it is
    kept in a variable, since the next launch has other arrays at its addresses, unless these are the host's. Each
    variable begins at a multiple of 256 bytes, with at least 256 bytes of red zone before the next.

    Examples
    --------
    >>> counter = Symbol("global", 0, "counter", 4)
    >>> module = ModuleProgram({}, "sm_80", "8.0", (7).to_bytes(4, "little"), b"", (counter,), (), (), ())
    >>> variables = ModuleMemory(module)
    >>> hex(variables.position(counter)), variables.read("counter").view(np.uint32)
    ('0x10000', array([7], dtype=uint32))
    """

    def __init__(self, module: ModuleProgram) -> None:
        self._positions: dict[tuple[str, int], tuple[Symbol, int]] = {}
        at = 1 << 16  # null pointers, and addresses near them, are out of bounds
        for symbol in (*module.global_symbols, *module.const_symbols):
            self._positions[symbol.space, symbol.offset] = symbol, at
            at = round_up(at + symbol.bytes) + ALIGNMENT
        self.end = at
        self.device_heap: DeviceHeap | None = DeviceHeap(0) if module.uses_device_heap else None
        self._values: dict[tuple[str, int], NDArray[np.uint8]] = {}
        self._pointers: dict[str, dict[int, bytes]] = {}
        initial = {"global": module.global_bytes, "const": module.const_bytes}
        for key, (symbol, _) in self._positions.items():
            content = initial[symbol.space][symbol.offset : symbol.offset + symbol.bytes]
            self._values[key] = np.frombuffer(content.ljust(symbol.bytes, b"\0"), np.uint8).copy()
        for space, relocations in (("global", module.global_relocations), ("const", module.const_relocations)):
            for offset, symbol, addend, is_generic in relocations:
                base = HEAP if is_generic or symbol.space == "global" else HEAP - BASES.get(symbol.space, 0)
                start = CODE + symbol.offset if symbol.space == "code" else base + self.position(symbol)
                target = (start + addend) % (1 << 64)
                found, _ = self._find(space, offset)
                at = offset - found.offset
                self._values[space, found.offset][at : at + 8] = np.frombuffer(target.to_bytes(8, "little"), np.uint8)

    def _find(self, space: str, offset: int) -> tuple[Symbol, int]:
        exact = self._positions.get((space, offset))
        if exact is not None:
            return exact
        for symbol, at in self._positions.values():
            if symbol.space == space and symbol.offset <= offset < symbol.offset + symbol.bytes:
                return symbol, at
        raise UnknownNameError(f"the module has no variable at offset {offset} of .{space} memory")

    def position(self, symbol: Symbol) -> int:
        """Return the position of a variable in the heap."""
        return self.position_at(symbol.space, symbol.offset)

    def position_at(self, space: str, offset: int) -> int:
        """Return the position in the heap of a byte of the module's global or constant memory."""
        found, at = self._find(space, offset)
        return at + offset - found.offset

    def read(self, name: str) -> NDArray[np.uint8]:
        """Return the bytes of a variable after the last launch, as a view that may be written."""
        for key, (symbol, _) in self._positions.items():
            if symbol.name == name:
                return self._values[key]
        names = ", ".join(symbol.name for symbol, _ in self._positions.values()) or "none"
        raise UnknownNameError(f"the module has no variable {shorten(name)}; it has {names}")

    def hold(self, name: str, content: bytes, pointers: Iterable[int]) -> None:
        """Write to the beginning of a variable; each launch then sets the pointers at some offsets in it."""
        self.read(name)[: len(content)] = np.frombuffer(content, np.uint8)
        self._pointers[name] = {offset: content[offset : offset + 8] for offset in pointers}

    def set_pointer(self, name: str, offset: int, address: bytes) -> None:
        """Write the address that an array has in this launch, unless a kernel or the host has changed the last one."""
        field, last = self.read(name)[offset : offset + len(address)], self._pointers[name]
        if field.tobytes() == last[offset]:
            field[:] = np.frombuffer(address, np.uint8)
            last[offset] = address

    def arrays(self) -> Iterator[tuple[str, NDArray[np.uint8], bool]]:
        """Yield the name and the bytes of each variable, and whether launches may write them."""
        for key, (symbol, _) in self._positions.items():
            yield symbol.name, self._values[key], symbol.space == "global"
        if self.device_heap is not None:
            yield "the device heap", self.device_heap.token, True

    def ranges(self) -> list[Range]:
        """Return the ranges of the heap that may be accessed; constants are read-only."""
        return [
            Range(at, at + symbol.bytes, at, symbol.space == "global", symbol.name)
            for symbol, at in self._positions.values()
            if symbol.bytes
        ]

    def copy_in(self, heap: NDArray[np.uint8]) -> None:
        """Copy the variables to the heap."""
        for key, (symbol, at) in self._positions.items():
            heap[at : at + symbol.bytes] = self._values[key]

    def copy_back(self, heap: NDArray[np.uint8]) -> None:
        """Copy the variables back after a launch."""
        for key, (symbol, at) in self._positions.items():
            if symbol.space == "global":
                self._values[key][:] = heap[at : at + symbol.bytes]
