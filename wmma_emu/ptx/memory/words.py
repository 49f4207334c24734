# SPDX-License-Identifier: MIT
"""What findings of memory say: the access, the nearest allocation, and by how much it is missed."""

from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.places import HEAP, WINDOW_BITS, WINDOWS
from wmma_emu.ptx.program.program import KernelProgram

__all__ = [
    "bytes_text",
    "inside_of_heap",
    "misaligned_text",
    "nearest_in_heap",
    "outside_of_heap",
    "outside_of_window",
    "place_in_heap",
    "verb",
]

_NULL = 1 << 16


def verb(write: bool) -> str:
    """Say what an access does."""
    return "writes" if write else "reads"


def bytes_text(number: int, which: str = "") -> str:
    """Write a number of bytes, and that they lie somewhere if ``which`` of them is said.

    Examples
    --------
    >>> bytes_text(1), bytes_text(4), bytes_text(1, "its last"), bytes_text(2, "its last")
    ('1 byte', '4 bytes', 'its last byte lies', 'its last 2 bytes lie')
    """
    if which:
        return f"{which} byte lies" if number == 1 else f"{which} {number} bytes lie"
    return "1 byte" if number == 1 else f"{number} bytes"


def misaligned_text(address: int, size: int, alignment: int, write: bool) -> str:
    """Say which address was given, and of what it has to be a multiple.

    Examples
    --------
    >>> misaligned_text(0x7f0000010002, 8, 8, False)
    'reads 8 bytes at 0x7f0000010002, an address that has to be a multiple of 8 and is 2 beyond one'
    """
    return (
        f"{verb(write)} {bytes_text(size)} at {address:#x}, an address that has to be a multiple of {alignment} and is "
        f"{address % alignment} beyond one"
    )


def _allocations(heap: GlobalMemory) -> list[tuple[int, int, str]]:
    return [(m.lo, m.hi, m.name) for m in heap.mapped] + [(r.lo, r.hi, r.name) for r in heap.variables.ranges()]


def nearest_in_heap(heap: GlobalMemory, address: int, size: int) -> str:
    """Say where the nearest allocation is: its name, its size, and by how many bytes the access misses it."""
    position = address - HEAP
    allocations = _allocations(heap)
    if not allocations:
        return "the launch has no arrays and no variables"

    def distance(piece: tuple[int, int, str]) -> int:
        lo, hi, _ = piece
        return max(lo - position - size + 1, position - hi + 1, 0)

    lo, hi, name = min(allocations, key=distance)
    what = f"{name} ({bytes_text(hi - lo)} at {HEAP + lo:#x})"
    if position >= hi:
        return f"{bytes_text(position - hi)} behind the end of {what}"
    if position + size <= lo:
        return f"{bytes_text(lo - position)} before the beginning of {what}"
    if position < lo:
        return f"{bytes_text(lo - position, 'its first')} before the beginning of {what}"
    return f"{bytes_text(position + size - hi, 'its last')} behind the end of {what}"


def inside_of_heap(heap: GlobalMemory, address: int) -> str:
    """Say in which array or variable an address lies, and how far from its beginning; "" where it lies in none."""
    position = address - HEAP
    found = next(((lo, name) for lo, hi, name in _allocations(heap) if lo <= position < hi), None)
    return "" if found is None else f"{found[1]} + {position - found[0]}"


def place_in_heap(heap: GlobalMemory, address: int) -> str:
    """Name an address by the array or the variable that it lies in, and how far from its beginning."""
    inside = inside_of_heap(heap, address)
    return f"{address:#x} ({inside})" if inside else f"{address:#x}"


def outside_of_heap(heap: GlobalMemory, address: int, size: int, write: bool) -> str:
    """Describe an access to nothing."""
    text = f"{verb(write)} {bytes_text(size)} at {address:#x}"
    if address < _NULL:
        return f"{text}: a null pointer, or an offset from one"
    for space, window in WINDOWS.items():
        if address >> WINDOW_BITS == window >> WINDOW_BITS:
            return (
                f"{text}, a generic address of {space} memory, as if it were one of global memory; "
                f"the nearest instruction that takes it has no state space, or .{space} after cvta.to.{space}"
            )
    return f"{text}: {nearest_in_heap(heap, address, size)}"


def outside_of_window(program: KernelProgram, space: str, size_of: int, address: int, size: int, write: bool) -> str:
    """Describe an access beyond what a block has of shared memory, or a thread of local memory."""
    names = sorted((s for s in program.symbols if s.space == space), key=lambda s: s.offset)
    if space == "shared" and program.shared_span is not None and names and not address >> 30:
        last = next((s for s in reversed(names) if s.offset <= address), names[0])
        end = last.offset + last.bytes if last.bytes else max(size_of, last.offset)
        what = f"{last.name} ({bytes_text(end - last.offset)}{'' if last.bytes else ', dynamic,'} at {last.offset:#x})"
        text = f"{verb(write)} {bytes_text(size)} at {address:#x} of shared memory"
        if address < last.offset:
            return f"{text}: {bytes_text(last.offset - address)} before the beginning of {what}"
        if address >= end:
            return f"{text}: {bytes_text(address - end)} behind the end of {what}"
        return f"{text}: {bytes_text(address + size - end, 'its last')} behind the end of {what}"
    whose = {"shared": "the block", "local": "the thread", "param": "the kernel"}[space]
    has = f"of which {whose} has {bytes_text(size_of)}"
    text = f"{verb(write)} {bytes_text(size)} at {address:#x} of {space} memory, {has}"
    if address < size_of:
        text += f": {bytes_text(address + size - size_of, 'the last')} behind its end"
    elif address - size_of < 1 << 30:
        text += f": {bytes_text(address - size_of)} behind its end"
    elif address >= (1 << 32) - (1 << 24) and address < 1 << 32:
        text += f": {bytes_text((1 << 32) - address)} before its beginning"
    else:
        text += ": no address of this space"
    if names:
        last = names[-1]
        text += f"; its last variable is {last.name}, from {last.offset:#x} on"
        text += f", {bytes_text(last.bytes)}" if last.bytes else ", dynamic"
    return text
