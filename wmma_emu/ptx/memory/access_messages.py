# SPDX-License-Identifier: MIT
"""Messages of memory findings: the access, the nearest allocation, and the distance from it."""

from numpy.lib.array_utils import byte_bounds

from wmma_emu.ptx.findings import Extent, MemoryLocation, Message, Name
from wmma_emu.ptx.memory.address_map import CODE, OWN, WINDOW_BITS, WINDOWS
from wmma_emu.ptx.memory.device_heap import DeviceHeap, HeapBlock
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.textures.objects import HANDLE_STEP

_NULL = 1 << 16


def verb(write: bool) -> str:
    """Return the verb for an access."""
    return "writes" if write else "reads"


def bytes_text(number: int, which: str = "") -> str:
    """Describe a number of bytes; with ``which``, as the subject of "lies" or "lie".

    Examples
    --------
    >>> bytes_text(1), bytes_text(4), bytes_text(1, "its last"), bytes_text(2, "its last")
    ('1 byte', '4 bytes', 'its last byte lies', 'its last 2 bytes lie')
    """
    if which:
        return f"{which} byte lies" if number == 1 else f"{which} {number} bytes lie"
    return "1 byte" if number == 1 else f"{number} bytes"


def misaligned_text(where: MemoryLocation, alignment: int, write: bool) -> Message:
    """Describe a misaligned address and the required alignment, and how to align an array of the host.

    Examples
    --------
    >>> misaligned_text(MemoryLocation("", 0x17f0000010002, 8), 8, False)[2]
    ', an address that has to be a multiple of 8 and is 2 bytes past one'
    """
    beyond = bytes_text(where.address % alignment)
    text = f", an address that has to be a multiple of {alignment} and is {beyond} past one"
    first = where.address - where.offset
    if where.owner and where.space == "global" and first < OWN and first % alignment:
        text += (
            f"; on the host the array itself is {bytes_text(first % alignment)} past one, and cudaMalloc would give a "
            "multiple of 256, as wmma_emu.ptx.empty does"
        )
    return f"{verb(write)} ", where, text


def _allocations(heap: GlobalMemory) -> list[tuple[int, int, str]]:
    """Return the addresses and the names of all arrays and variables."""
    address_at = heap.placement.address_at
    variables = [(address_at(r.lo), address_at(r.lo) + r.hi - r.lo, r.name) for r in heap.variables.ranges()]
    return [(m.address, m.address + m.hi - m.lo, m.name) for m in heap.mapped] + variables


def _missed(position: int, size: int, lo: int, hi: int) -> str:
    """Describe by how many bytes an access misses a piece of memory: "4 bytes past the end of "."""
    if position == hi:
        return "just past the end of "
    if position > hi:
        return f"{bytes_text(position - hi)} past the end of "
    if position + size <= lo:
        return f"{bytes_text(lo - position)} before the beginning of "
    if position < lo:
        return f"{bytes_text(lo - position, 'its first')} before the beginning of "
    return f"{bytes_text(position + size - hi, 'its last')} past the end of "


def location_in_heap(heap: GlobalMemory, address: int, size: int) -> MemoryLocation:
    """Return the location of bytes: the array or variable that contains them, and the offset in it."""
    device_heap = heap.device_heap
    if device_heap is not None and device_heap.owns(address) and (block := device_heap.find(address)) is not None:
        return MemoryLocation("global", address, size, f"malloc of {block.allocated}", address - block.address)
    found = next(((lo, name) for lo, hi, name in _allocations(heap) if lo <= address < hi), None)
    where = MemoryLocation("global", address, size)
    return where if found is None else where._replace(owner=found[1], offset=address - found[0])


def outside_of_heap(heap: GlobalMemory, address: int, size: int, write: bool) -> Message:
    """Describe an access out of bounds, with the nearest allocation and the distance from it."""
    where = MemoryLocation("global", address, size)
    if address < _NULL:
        return f"{verb(write)} ", where, ": a null pointer, or an offset from one"
    for space, window in WINDOWS.items():
        if address >> WINDOW_BITS == window >> WINDOW_BITS:
            return (
                f"{verb(write)} ", where._replace(space=""),
                f", a generic address of {space} memory, as an address of global memory; use the instruction without "
                f"a state space, or with .{space} after cvta.to.{space}",
            )  # fmt: skip
    if heap.device_heap is not None and heap.device_heap.owns(address):
        return f"{verb(write)} ", where, ": ", outside_of_blocks(heap.device_heap, address, size)
    if (handle := heap.objects.get(address - address % HANDLE_STEP)) is not None:
        return f"{verb(write)} ", where, f": the handle of {handle.object}, not an address; {_TAKE_HANDLES}"
    if address >> WINDOW_BITS == CODE >> WINDOW_BITS:
        return f"{verb(write)} ", where, ": an address of code, which can be called, but neither read nor written"
    allocations = _allocations(heap)
    if not allocations:
        return f"{verb(write)} ", where, ": ", "the launch has neither arrays nor variables"
    if address < OWN and not heap.is_at_host_addresses:
        return f"{verb(write)} ", where, *_at_a_host_address(heap, address)

    def distance(lo: int, hi: int) -> int:
        return max(lo - address - size + 1, address - hi + 1, 0)

    lo, hi, name = min(allocations, key=lambda x: distance(x[0], x[1]))
    missing = _REACHABLE if heap.is_at_host_addresses and distance(lo, hi) > size else ""
    if missing and distance(lo, hi) > max(hi - lo, _NEAR):
        return f"{verb(write)} ", where, ": no array of the launch is near", missing
    where = where._replace(owner=name, offset=address - lo)
    extent = Extent("global", name, hi - lo, f" at {lo:#x}")
    return f"{verb(write)} ", where, ": ", _missed(address, size, lo, hi), Name("global", name), extent, missing


_TAKE_HANDLES = "tex, tld4, suld and sust take handles"

_NEAR = 1 << 12
"""The distance in bytes from an array up to which an access out of bounds is likely to be meant for this array."""

_REACHABLE = (
    ". If it belongs to another array, to which only a pointer in data points, pass that to the launch: reachable=[...]"
)


def _at_a_host_address(heap: GlobalMemory, address: int) -> Message:
    """Describe an address of the host, as in a table of pointers, if arrays have other addresses."""
    remedy = 'launch with addresses="host", and with the arrays that only pointers in data reach in reachable=[...]'
    for m in heap.mapped:
        lo, hi = byte_bounds(m.array)
        if m.array.nbytes and lo <= address < hi:
            return ": the address on the host of ", Name("global", m.name), f"; to use such addresses, {remedy}"
    return (f": not an address of this launch. If it is the address of an array on the host, {remedy}",)


def outside_of_blocks(heap: DeviceHeap, address: int, size: int) -> str:
    """Describe an access to the device heap that is in no block, or in a block that was freed.

    Examples
    --------
    >>> heap = DeviceHeap(64)
    >>> heap.begin(0x20000)
    >>> first = heap.allocate(8, "line 3")
    >>> outside_of_blocks(heap, first + 8, 4)
    'just past the end of the 8 bytes that malloc returned at line 3'
    >>> heap.release(first, "line 5"), outside_of_blocks(heap, first + 4, 4)
    (True, 'byte 4 of the 8 bytes that malloc returned at line 3, and that were freed at line 5')
    """
    block = heap.find(address)
    if block is None:
        return "the device heap, of which malloc has returned nothing there"
    position = address - block.address
    if block.freed and position + size <= block.bytes:
        return f"byte {position} of {block_text(block)}"
    return _missed(position, size, 0, block.bytes) + block_text(block)


def block_text(block: HeapBlock) -> str:
    """Describe a block of the device heap."""
    freed = f", and that were freed at {block.freed}" if block.freed else ""
    return f"the {bytes_text(block.bytes)} that malloc returned at {block.allocated}{freed}"


def outside_of_window(
    program: KernelProgram, space: str, size_of: int, address: int, size: int, write: bool
) -> Message:  # fmt: skip
    """Describe an access beyond a block's shared memory, a thread's local memory, or the parameters."""
    names = sorted((s for s in program.symbols if s.space == space), key=lambda s: s.offset)
    where = MemoryLocation(space, address, size)
    if space == "shared" and program.shared_span is not None and names and not address >> 30:
        last = next((s for s in reversed(names) if s.offset <= address), names[0])
        end = last.offset + last.bytes if last.bytes else max(size_of, last.offset)
        how = f"{'' if last.bytes else ', dynamic,'} at {last.offset:#x}"
        what = Extent("shared", last.name, end - last.offset, how)
        where = where._replace(owner=last.name, offset=address - last.offset)
        missed = _missed(address, size, last.offset, end)
        return f"{verb(write)} ", where, f": {missed}", Name("shared", last.name), what
    owner = {"shared": "the block", "local": "the thread", "param": "the kernel"}[space]
    begin = program.shared_begin if space == "shared" else 0
    text = f", but {owner} has only {bytes_text(size_of - begin)}"
    if address < begin:
        text += f": {bytes_text(begin - address)} before its beginning"
    elif address < size_of:
        text += f": {bytes_text(address + size - size_of, 'the last')} past its end"
    elif address == size_of:
        text += ": just past its end"
    elif address - size_of < 1 << 30:
        text += f": {bytes_text(address - size_of)} past its end"
    elif address >= (1 << 32) - (1 << 24) and address < 1 << 32:
        text += f": {bytes_text((1 << 32) - address)} before its beginning"
    else:
        text += ": it is not an address of this space"
    if not names:
        return f"{verb(write)} ", where, text
    last = names[-1]
    position_text = f", from {last.offset:#x} on" + (f", {bytes_text(last.bytes)}" if last.bytes else ", dynamic")
    return f"{verb(write)} ", where, f"{text}; its last variable is ", Name(space, last.name), position_text
