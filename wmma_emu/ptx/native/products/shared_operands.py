# SPDX-License-Identifier: MIT
"""Matrices in shared memory that wgmma reads through descriptors: their addresses, and copies of them."""

from dataclasses import dataclass

from llvmlite import ir

from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, Major
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.native.body import Bits, Body
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.memory.access import access
from wmma_emu.ptx.native.memory.stamps import flag_if, state_of
from wmma_emu.ptx.native.memory.state import Checks
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD

_TABLE = MatrixDescriptor.table
_VECTOR = ir.VectorType(LONG, LANES)


@dataclass(frozen=True, slots=True)
class SharedPart:
    """The part of a matrix that a warp reads: ``lines`` lines of ``chunks`` chunks of 16 bytes.

    A line is a run of contiguous elements. ``line_bytes`` is the size of a whole line in bytes; the part may be a
    range of its chunks.
    """

    major: Major
    lines: int
    chunks: int
    line_bytes: int

    @property
    def bytes(self) -> int:
        """The bytes of the part."""
        return self.lines * self.chunks * CHUNK_BYTES

    def copy(
        self, body: Body, context: Bits, warp: Bits, word: Bits, first_line: Bits, first_chunk: Bits, image: Bits,
        checks: Checks,
    ) -> tuple[Bits, Bits]:  # fmt: skip
        """Copy the part to memory, line after line, after all checks; leave the function if one fails.

        Return the lowest and the highest end of the addresses.
        """
        field = {name: word >> low & (1 << bits) - 1 for name, (low, bits) in _TABLE.fields.items()}
        start, leading, stride = (field[x] << 4 for x in ("start", "leading", "stride"))
        mode = {x.code: x for x in _TABLE.swizzles.values()}
        line_shift = _entry(body, field["swizzle"], [mode[code].line_bytes.bit_length() - 1 for code in range(4)])
        mask = _entry(body, field["swizzle"], [mode[code].mask for code in range(4)])
        self._check(body, context, word, field, start, line_shift, mask)
        plain = mask.equals(0)
        steps = {is_swizzled: _TABLE.steps[self.major, is_swizzled] for is_swizzled in (False, True)}
        named = {"leading": leading, "stride": stride}
        across = plain.chosen(named[steps[False].across_lines], named[steps[True].across_lines])
        along = plain.chosen(named[steps[False].along_lines], named[steps[True].along_lines])
        low, high = body.variable(LONG), body.variable(LONG)
        low.store(body.constant(LONG, 1 << 32), 8)
        high.store(body.constant(LONG, 0), 8)
        each, hosts = body.variable(LONG, LANES, alignment=64), body.variable(POINTER, LANES, alignment=64)
        total = self.lines * self.chunks
        with body.repeat(-(-total // LANES)) as number:
            lanes = body.constant(_VECTOR, range(LANES))
            chunk_number = (number << 5).repeated(LANES) + lanes
            of = body.constant(_VECTOR, self.chunks)
            line = _quotient(body, chunk_number, of) + first_line.repeated(LANES)
            chunk = _remainder(body, chunk_number, of) + first_chunk.repeated(LANES)
            chunk_shift = (line_shift - 4).repeated(LANES)
            chunk_mask = ((body.constant(LONG, 1) << line_shift - 4) - 1).repeated(LANES)
            address = start.repeated(LANES) + ((line & 7) << line_shift.repeated(LANES))
            address = address + (line >> 3) * across.repeated(LANES)
            address = address + ((chunk & chunk_mask) << 4) + (chunk >> chunk_shift) * along.repeated(LANES)
            moved = (address >> 7) - field["base_offset"].repeated(LANES) & mask.repeated(LANES)
            address = address ^ (moved << 4)
            each.store(address, 64)
            used = body.constant(WORD, (1 << LANES) - 1)
            if total % LANES:
                used = (chunk_number < total).as_type(WORD)
            good = access(
                body, context, warp, each, hosts, state_of(context), used, space="shared", size=CHUNK_BYTES,
                alignment=CHUNK_BYTES, kind="read", granule=checks.granule, atomics=checks.atomics,
            )  # fmt: skip
            with body.when(good.differs(used), likely=False):
                body.give()
            with body.lanes(used) as lane:
                one = each.at(lane << 3).load(LONG, 8)
                least, most = low.load(LONG, 8), high.load(LONG, 8)
                low.store((one < least).chosen(one, least), 8)
                high.store((most < one).chosen(one, most), 8)
                chunk_bytes = hosts.at(lane << 3).load(POINTER, 8).load(ir.VectorType(LONG, 2), 16)
                image.at((number << 9) + (lane << 4)).store(chunk_bytes, 16)
        return low.load(LONG, 8), high.load(LONG, 8) + CHUNK_BYTES

    def _check(
        self, body: Body, context: Bits, word: Bits, field: dict[str, Bits], start: Bits, line_shift: Bits, mask: Bits
    ) -> None:
        """Leave the function with a flag if the descriptor is illegal."""
        line = body.constant(LONG, 1) << line_shift
        taken = body.constant(LONG, self.line_bytes)
        taken = (taken < line).chosen(taken, line)
        crosses = line < (start & line - 1) + taken
        wrong = (word & _TABLE.reserved).differs(0)
        wrong = wrong | (mask.equals(0) & field["base_offset"].differs(0)) | (mask.differs(0) & crosses)
        flag_if(body, wrong, context, Flag.UNSUPPORTED)
        with body.when(wrong, likely=False):
            body.give()


def _entry(body: Body, index: Bits, numbers: list[int]) -> Bits:
    """Return one of four small numbers."""
    packed = body.constant(LONG, sum(x << 16 * i for i, x in enumerate(numbers)))
    return packed >> (index << 4) & 0xFFFF


def _quotient(body: Body, x: Bits, y: Bits) -> Bits:
    return Bits(body, body.builder.udiv(x.value, y.value))


def _remainder(body: Body, x: Bits, y: Bits) -> Bits:
    return Bits(body, body.builder.urem(x.value, y.value))
