# SPDX-License-Identifier: MIT
"""What findings of memory say: the access, the nearest allocation, and by how much it is missed."""

from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.places import HEAP, WINDOW_BITS, WINDOWS
from wmma_emu.ptx.program.program import KernelProgram

__all__ = [
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


def misaligned_text(address: int, size: int, alignment: int, write: bool) -> str:
    """Say which address was given, and of what it has to be a multiple.

    Examples
    --------
    >>> misaligned_text(0x7f0000010002, 8, 8, False)
    'reads 8 bytes at 0x7f0000010002, an address that has to be a multiple of 8 and is 2 beyond one'
    """
    return (
        f"{verb(write)} {size} bytes at {address:#x}, an address that has to be a multiple of {alignment} and is "
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
    what = f"{name} ({hi - lo} bytes at {HEAP + lo:#x})"
    if position >= hi:
        return f"{position - hi} bytes behind the end of {what}"
    if position + size <= lo:
        return f"{lo - position} bytes before the beginning of {what}"
    if position < lo:
        return f"its first {lo - position} bytes lie before the beginning of {what}"
    return f"its last {position + size - hi} bytes lie behind the end of {what}"


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
    text = f"{verb(write)} {size} bytes at {address:#x}"
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
        what = f"{last.name} ({end - last.offset} bytes{'' if last.bytes else ', dynamic,'} at {last.offset:#x})"
        text = f"{verb(write)} {size} bytes at {address:#x} of shared memory"
        if address < last.offset:
            return f"{text}: {last.offset - address} bytes before the beginning of {what}"
        if address >= end:
            return f"{text}: {address - end} bytes behind the end of {what}"
        return f"{text}: its last {address + size - end} bytes lie behind the end of {what}"
    whose = {"shared": "the block", "local": "the thread", "param": "the kernel"}[space]
    text = f"{verb(write)} {size} bytes at {address:#x} of {space} memory, of which {whose} has {size_of} bytes"
    if address < size_of:
        text += f": the last {address + size - size_of} bytes lie behind its end"
    elif address - size_of < 1 << 30:
        text += f": {address - size_of} bytes behind its end"
    elif address >= (1 << 32) - (1 << 24) and address < 1 << 32:
        text += f": {(1 << 32) - address} bytes before its beginning"
    else:
        text += ": no address of this space"
    if names:
        last = names[-1]
        text += f"; its last variable is {last.name}, from {last.offset:#x} on"
        text += f", {last.bytes} bytes" if last.bytes else ", dynamic"
    return text
