# SPDX-License-Identifier: MIT
"""The layout of a block's shared memory: its variables, its dynamic memory, and the part that the system reserves."""

from wmma_emu.ptx.memory.address_map import round_up
from wmma_emu.ptx.pages import ALIGNMENT
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.program.special import RESERVED_BYTES, reads_reserved_shared


def static_bytes(program: KernelProgram) -> int:
    """Return the size on a GPU of the shared variables with a fixed size, up to where dynamic memory begins."""
    return max(program.shared_bytes, program.dynamic_offset or 0)


def user_pieces(program: KernelProgram, dynamic: int) -> list[tuple[int, int]]:
    """Return the ranges of the variables and of dynamic shared memory, which may be accessed, in order."""
    if program.shared_span is None:
        begin = program.shared_begin
        return [(begin, begin + static_bytes(program) + dynamic)]
    static = [(s.offset, s.offset + s.bytes) for s in program.symbols if s.space == "shared" and s.bytes]
    return [*sorted(static), (program.shared_span, program.shared_span + dynamic)][: len(static) + (dynamic > 0)]


def user_end(program: KernelProgram, dynamic: int) -> int:
    """Return the end of the last of these ranges."""
    return max((hi for _, hi in user_pieces(program, dynamic)), default=program.shared_begin)


def reserved_begin(program: KernelProgram, dynamic: int) -> int:
    """Return the address of the reserved shared memory: before the variables, or after them, here with a gap."""
    return 0 if program.shared_begin else round_up(user_end(program, dynamic)) + ALIGNMENT


def shared_pieces(program: KernelProgram, dynamic: int) -> list[tuple[int, int]]:
    """Return all ranges that may be accessed, in order; the reserved one only if the kernel reads its address.

    Examples
    --------
    >>> tile = KernelProgram("k", (), 0, (), (), (), 64, None, 0, None, None, ())
    >>> shared_pieces(tile, 0)
    [(0, 64)]
    """
    pieces = user_pieces(program, dynamic)
    if not reads_reserved_shared(program):
        return pieces
    begin = reserved_begin(program, dynamic)
    return sorted([*pieces, (begin, begin + RESERVED_BYTES)])


def shared_end(program: KernelProgram, dynamic: int) -> int:
    """Return the address after the last byte of a block's shared memory."""
    return max((hi for _, hi in shared_pieces(program, dynamic)), default=0)
