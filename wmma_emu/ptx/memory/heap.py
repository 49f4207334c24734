# SPDX-License-Identifier: MIT
"""Global and constant memory of one launch: the user's arrays and the module's variables, in a heap with red zones."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentValueError, WmmaEmuError
from wmma_emu.ptx.copied_bytes import KEPT, copy_bytes
from wmma_emu.ptx.definedness.empty_arrays import uninitialised_bits_of
from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.memory.address_map import HEAP, Range, red_zone, round_up
from wmma_emu.ptx.memory.buffers import bytes_of, extent_of, require_mappable, united
from wmma_emu.ptx.memory.device_heap import DeviceHeap
from wmma_emu.ptx.memory.footprint import DEFAULT_LIMIT, require_within
from wmma_emu.ptx.memory.placement import HostAddresses, Placement
from wmma_emu.ptx.memory.uninitialised import UninitialisedBits
from wmma_emu.ptx.memory.variables import ModuleMemory
from wmma_emu.ptx.pages import ALIGNMENT
from wmma_emu.ptx.program.program import ModuleProgram, Symbol
from wmma_emu.ptx.textures.objects import MappedObject, TextureObject
from wmma_emu.ptx.threads import Array


class Mapped(NamedTuple):
    """An array of the user, with its position in the heap and its address.

    ``pointee`` is the type that the array's pointer points to: "class", "plain" for scalars and CUDA's vectors, "" if
    it is not known. ``host`` is the address of its first byte on the host.
    """

    name: str
    array: NDArray[Any]
    lo: int
    hi: int
    writeable: bool
    address: int
    pointee: str = ""
    host: int = 0


def alignment_of(array: NDArray[Any]) -> int:
    """Return an array's offset from a multiple of 256 bytes, which is the same in every launch.

    Examples
    --------
    >>> alignment_of(np.zeros(1000)), alignment_of(np.zeros(1000, np.int16)[129:])
    (0, 2)
    """
    if not array.nbytes or array.base is None:
        return 0
    return (byte_bounds(array)[0] - extent_of(array)[0]) % ALIGNMENT


class _Reservation(NamedTuple):
    """Host addresses that overlapping arrays cover, and the position in the heap of the first."""

    host_lo: int
    host_hi: int
    position: int


class GlobalMemory:
    """The heap of a launch, which begins at `HEAP`.

    Every array of the user has a red zone before and after it, whether it is a buffer or a slice of one; its offset
    from a multiple of 256 bytes is its offset in its buffer. Arrays that overlap keep their relative positions; bytes
    that belong to several arrays may be accessed through any of their pointers. The bytes are copied in when the launch
    begins and back when it ends. Without ``variables``, which keep their values from one launch to the next as on a
    GPU, the variables of the module are initialised again. ``objects`` are the textures and surfaces by their handles.

    With the addresses of the ``host``, every array that is expected has its host address instead. Its red zones
    are then the bytes between it and other arrays, none if they touch. Variables keep the emulator's addresses.

    Examples
    --------
    >>> module = ModuleProgram({}, "sm_80", "8.0", b"", b"", (), (), (), ())
    >>> heap, x = GlobalMemory(module), np.arange(6, dtype=np.int16)
    >>> hex(heap.map(x, "x")), hex(heap.map(x[2:], "tail"))
    ('0x17f0000010000', '0x17f0000010004')
    >>> heap = GlobalMemory(module, host=HostAddresses())
    >>> heap.expect([x])
    >>> heap.map(x[2:], "tail") - x.ctypes.data
    4
    """

    def __init__(
        self, module: ModuleProgram, variables: ModuleMemory | None = None, *, limit: int = DEFAULT_LIMIT,
        device_heap_bytes: int = 0, host: HostAddresses | None = None,
    ) -> None:  # fmt: skip
        self.limit, self.placement, self._host = limit, Placement(), host
        self.variables = ModuleMemory(module) if variables is None else variables
        self.mapped: list[Mapped] = []
        self.written: set[int] = set()
        self._reservations: list[_Reservation] = []
        self._expected: list[tuple[int, int]] = []
        self._bounds: dict[int, tuple[NDArray[Any], tuple[int, int]]] = {}
        self._built: NDArray[np.uint8] | None = None
        self._copied: dict[int, NDArray[np.uint8]] = {}
        self._copied_variables: NDArray[np.uint8] | None = None
        self._end = round_up(self.variables.end, 1 << 16)
        self._device_heap_bytes = device_heap_bytes
        self.device_heap: DeviceHeap | None = None
        self._begin_device_heap()
        if self.device_heap is not None:
            self._end = round_up(self._end + self.device_heap.span, 1 << 16)
        self.bytes_used = self.variables.end  # of the host, without red zones, which are never accessed
        self._ranges: list[Range] | None = None
        self.origins = Origins()
        self.workspace = 0
        self.objects: dict[int, MappedObject[Any]] = {}
        self._uninitialised: UninitialisedBits | None = None
        self.follows_writes = True
        self._views: dict[int, NDArray[Any]] = {}

    def _begin_device_heap(self) -> None:
        """Begin a launch with the device heap that earlier launches have left."""
        kept = self.variables.device_heap
        if kept is not None:
            self.device_heap = kept.copied(self._device_heap_bytes)
            self.device_heap.begin(round_up(self.variables.end, 1 << 16))

    @property
    def is_at_host_addresses(self) -> bool:
        """Whether arrays have their addresses on the host."""
        return self._host is not None

    @property
    def device_heap_range(self) -> int:
        """The index of the device heap among the ranges that may be accessed; the variables come before it."""
        return len(self.variables.ranges())

    def expect(self, arrays: Iterable[NDArray[Any]]) -> None:
        """Reserve common positions for arrays that overlap and are going to be mapped.

        Without it, an array shares the bytes of arrays that are mapped before it only if they cover it.

        Examples
        --------
        >>> heap = GlobalMemory(ModuleProgram({}, "sm_80", "8.0", b"", b"", (), (), (), ()))
        >>> x = np.arange(100, dtype=np.int16)
        >>> heap.expect([x[:10], x[5:15], x[15:]])
        >>> low, high, rest = heap.map(x[:10], "low"), heap.map(x[5:15], "high"), heap.map(x[15:], "rest")
        >>> high - low, (rest - low) % 256, rest - low > 256
        (10, 30, True)
        """
        if self._host is None:
            self._expected += united((self._bounds_of(x) for x in arrays if x.nbytes), 1)
            return
        for lo, hi in self._host.spans(arrays):
            require_within(self.limit, self.bytes_used + hi - lo, "the launch, with its arrays,")
            position = self._reserve(hi - lo, lo % ALIGNMENT)
            self.placement.place(lo, hi, position)

    def map(self, array: object, name: str, pointee: str = "") -> int:
        """Map an array's bytes and return their address; ``pointee`` is as in `Mapped`."""
        if self._ranges is not None:
            raise WmmaEmuError(f"{name} is mapped after the launch began; map all arrays first")
        data = require_mappable(array, name)
        lo, hi = self._bounds_of(data)
        position = self._position(data, name, lo, hi) if data.nbytes else self._reserve(0)
        address = self.placement.address_at(position)
        if self._host is not None and not data.nbytes:
            address, _ = self._host.bounds(data)
        writeable = bool(data.flags.writeable)
        self.mapped.append(Mapped(name, data, position, position + data.nbytes, writeable, address, pointee, lo))
        return address

    def _bounds_of(self, array: NDArray[Any]) -> tuple[int, int]:
        """Return the host address of an array's first byte and the end, which are looked up once in a launch."""
        known = self._bounds.get(id(array))
        if known is None:
            known = self._bounds[id(array)] = array, byte_bounds(array)
        return known[1]

    def map_object(self, value: TextureObject, name: str) -> int:
        """Map the array of a texture or a surface, and return the handle of the object."""
        self.objects[value.handle] = MappedObject(value, self.map(value.array, name))
        return value.handle

    def _position(self, data: NDArray[Any], name: str, lo: int, hi: int) -> int:
        """Return the position of an array whose bytes on the host are from ``lo`` to before ``hi``."""
        if self._host is not None:
            placed = self.placement.position_of(self._host.bounds(data)[0])
            if placed >= 0:
                return placed
        for known in self._reservations:
            if known.host_lo <= lo and hi <= known.host_hi:
                return known.position + lo - known.host_lo
        host_lo, host_hi = next((x for x in self._expected if x[0] <= lo and hi <= x[1]), (lo, hi))
        if any(host_lo < known.host_hi and known.host_lo < host_hi for known in self._reservations):
            raise ArgumentValueError(
                f"{name} overlaps an array that is already mapped; call expect([...]) with both before mapping them"
            )
        size = host_hi - host_lo
        overlapping = f", {size} with those that overlap it" if size > data.nbytes else ""
        what = f"{name} ({data.nbytes} bytes{overlapping}) with the arrays before it"
        require_within(self.limit, self.bytes_used + size, what)
        # A buffer's first byte is aligned as cudaMalloc aligns it, and a slice of it keeps its offset.
        position = self._reserve(size, (alignment_of(data) + host_lo - lo) % ALIGNMENT)
        self._reservations.append(_Reservation(host_lo, host_hi, position))
        return position + lo - host_lo

    def _reserve(self, size: int, offset: int = 0) -> int:
        position = self._end + offset
        self.bytes_used += size
        self._end = round_up(position + size) + (red_zone(size) if self._host is None else ALIGNMENT)
        return position

    def address_of(self, symbol: Symbol) -> int:
        """Return the generic address of a variable of the module."""
        return HEAP + self.variables.position(symbol)

    @property
    def size(self) -> int:
        """The number of bytes of the heap, with its red zones."""
        return round_up(self._end) + ALIGNMENT

    @property
    def ranges(self) -> list[Range]:
        """The ranges that may be accessed; no array can be mapped after the first use."""
        if self._ranges is None:
            self._ranges = self._legal()
            self._starts = [r.lo for r in self._ranges]
            for m in self.mapped:
                for lo, bits in uninitialised_bits_of(m.array):
                    self.uninitialised.kept[m.lo + lo : m.lo + lo + len(bits)] = bits
        return self._ranges

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """All bytes of the heap; the first use copies the arrays in."""
        if self._built is None:
            ranges = self.ranges
            # The system allocates zeroed pages on first use: red zones cost nothing.
            self._built = np.zeros(self.size, np.uint8)
            self.variables.copy_in(self._built)
            if self.device_heap is not None:
                self.device_heap.copy_in(self._built)
            for m in self.mapped:
                self._built[m.lo : m.hi] = bytes_of(m.array)
            for i, copied in self._copied.items():
                self._built[ranges[i].lo : ranges[i].hi] = copied
        return self._built

    def copied(self, index: int) -> NDArray[np.uint8]:
        """Return a copy of the bytes of a range, for a machine that does not use `buffer`.

        If the range is in `written`, `copy_back` copies the bytes back.
        """
        found = self._copied.get(index)
        if found is None:
            r = self.ranges[index]
            if index < len(self.variables.ranges()):
                if self._copied_variables is None:
                    self._copied_variables = np.zeros(self.variables.end, np.uint8)
                    self.variables.copy_in(self._copied_variables)
                found = self._copied_variables[r.lo : r.hi]
            else:
                found = KEPT.take(r.hi - r.lo)
                for m in self.mapped:
                    a, b = max(r.lo, m.lo), min(r.hi, m.hi)
                    if a < b:
                        copy_bytes(found[a - r.lo : b - r.lo], bytes_of(m.array)[a - m.lo : b - m.lo])
            self._copied[index] = found
        return found

    def in_place(self, index: int) -> int:
        """Return the host address of a range that a launch only reads: in the array that has all of it, or a copy."""
        r = self.ranges[index]
        for m in self.mapped:
            if m.lo <= r.lo and r.hi <= m.hi and r.hi > r.lo:
                return m.host + r.lo - m.lo
        return int(self.copied(index).ctypes.data)

    @property
    def has_uninitialised(self) -> bool:
        """Whether there are uninitialised bits, from `empty` or stored by a kernel."""
        return self._uninitialised is not None

    @property
    def uninitialised(self) -> UninitialisedBits:
        """The uninitialised bits: those of arrays that `empty` made, and those that kernels store."""
        if self._uninitialised is None:
            self._uninitialised = UninitialisedBits("global", self.size, self.origins, is_written=True)
        return self._uninitialised

    def view(self, unit: int) -> NDArray[Any]:
        """Return all bytes as elements of 1, 2, 4, 8 or 16 bytes."""
        if unit not in self._views:
            self._views[unit] = self.buffer.view(f"V{unit}" if unit == 16 else f"u{unit}")
        return self._views[unit]

    def _legal(self) -> list[Range]:
        """Return the ranges that may be accessed: the arrays, united where they overlap or are adjacent."""
        pieces = sorted((m for m in self.mapped if m.hi > m.lo), key=lambda m: m.lo)
        edges = sorted({edge for m in pieces for edge in (m.lo, m.hi)})
        ranges, over, begun = self.variables.ranges(), list[Mapped](), 0
        if self.device_heap is not None:
            start = self.device_heap.start
            ranges.append(Range(start, start + self.device_heap.span, start, True, "the device heap"))
        for lo, hi in pairwise(edges):
            over = [m for m in over if m.hi > lo]
            while begun < len(pieces) and pieces[begun].lo <= lo:
                over.append(pieces[begun])
                begun += 1
            if not over:
                continue
            # Bytes that a writeable array covers may be written, whatever else covers them.
            writeable = any(m.writeable for m in over)
            last = ranges[-1] if ranges else None
            if last is not None and last.hi == lo and last.writeable == writeable:
                ranges[-1] = last._replace(hi=hi)
            else:
                ranges.append(Range(lo, hi, lo & -ALIGNMENT, writeable, over[0].name))
        return ranges

    def range_at(self, position: int) -> int:
        """Return the index of the last range that begins at or before a position; -1 if there is none."""
        return bisect_right(self._starts, position) - 1

    def ranges_at(self, positions: NDArray[np.int64]) -> list[int]:
        """Return the indices, in order, of the ranges that some positions are in or after."""
        found = np.unique(np.searchsorted(self._starts, positions, side="right") - 1)
        return [i for i in found.tolist() if i >= 0]

    def covers(self, position: int, size: int, write: bool) -> str:
        """Return the fault of one access: "" (none), "out of bounds" or "read-only"."""
        i = self.range_at(position)
        end, first = position + size, i
        while 0 <= i < len(self.ranges) and self.ranges[i].lo <= position < self.ranges[i].hi:
            if write and not self.ranges[i].writeable:
                return "read-only"
            if end <= self.ranges[i].hi:
                if write:
                    self.written.update(range(first, i + 1))
                return ""
            position = self.ranges[i].hi
            i += 1
        return "out of bounds"

    def pointees_at(self, positions: NDArray[np.int64]) -> NDArray[np.str_]:
        """Return what the pointers to the arrays at some positions point to: "class" if any does, "plain" if all do.

        Examples
        --------
        >>> heap, x = GlobalMemory(ModuleProgram({}, "sm_80", "8.0", b"", b"", (), (), (), ())), np.zeros(8, np.uint8)
        >>> heap.pointees_at(np.array([heap.map(x, "x", "class") - HEAP, 0])).tolist()
        ['class', '']
        """
        found = np.zeros(positions.shape, "U5")
        for kind in ("plain", "", "class"):
            for m in self.mapped:
                if m.pointee == kind:
                    found[(positions >= m.lo) & (positions < m.hi)] = kind
        return found

    def is_constant(self, addresses: Array) -> NDArray[np.bool_]:
        """Return which addresses are in a variable of constant memory."""
        found = np.zeros(addresses.shape, np.bool_)
        for r in self.variables.ranges():
            if not r.writeable:
                found |= (addresses >= np.uint64(HEAP + r.lo)) & (addresses < np.uint64(HEAP + r.hi))
        return found

    def reset(self) -> None:
        """Discard everything that was written since the launch began."""
        self._built = self._copied_variables = self._ranges = None
        self._copied.clear()
        self._views.clear()
        self.written.clear()
        self._begin_device_heap()

    def copy_back(self) -> None:
        """Copy written bytes back to the user's arrays, and to the module's variables."""
        if self._ranges is None:
            return
        variables = self._copied_variables if self._built is None else self._built
        if variables is not None:
            self.variables.copy_back(variables)
        if self.device_heap is not None:
            self.variables.device_heap = self.device_heap.copy_back(self.buffer)
        self.keep_uninitialised()
        for m in self.mapped:
            if not m.writeable or m.hi == m.lo:
                continue
            for i in range(self.range_at(m.lo), self.range_at(m.hi - 1) + 1):
                if i in self.written:
                    r = self._ranges[i]
                    a, b = max(r.lo, m.lo), min(r.hi, m.hi)
                    found = self._copied[i][a - r.lo : b - r.lo] if self._built is None else self._built[a:b]
                    copy_bytes(bytes_of(m.array)[a - m.lo : b - m.lo], found)
        self.written.clear()
        for i, copied in self._copied.items():
            if self._copied_variables is None or i >= len(self.variables.ranges()):
                KEPT.give(copied)
        self._copied.clear()

    def keep_uninitialised(self) -> None:
        """Update which bits of arrays from `empty` are uninitialised.

        If stores were not followed, all ranges that were written count as initialised.
        """
        if self._uninitialised is None:
            return
        if not self.follows_writes:
            for i in self.written:
                self._uninitialised.kept[self.ranges[i].lo : self.ranges[i].hi] = 0
        for m in self.mapped:
            for lo, bits in uninitialised_bits_of(m.array):
                bits[:] = self._uninitialised.kept[m.lo + lo : m.lo + lo + len(bits)]
