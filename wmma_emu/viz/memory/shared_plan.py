# SPDX-License-Identifier: MIT
"""The addresses in shared memory of the chunks of a `wgmma` operand, as data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.layouts.banks import conflict_of
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import addresses
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, LINES, Major
from wmma_emu.layouts.spec import Ints
from wmma_emu.warp import SharedOperand


@dataclass(frozen=True, slots=True)
class ChunkCell:
    """Sixteen bytes of the operand: their address, and their first and last element.

    ``row`` and ``k`` belong to the first element, ``last_row`` and ``last_k`` to the last. ``line`` counts along the
    axis that is not contiguous, ``number`` is the index of the chunk within its line.
    """

    address: int
    row: int
    k: int
    last_row: int
    last_k: int
    line: int
    number: int


@dataclass(frozen=True, eq=False)
class SharedPlan:
    """An operand in shared memory, chunk by chunk.

    Parameters
    ----------
    descriptor : MatrixDescriptor
    rows, k : int
    format : Format
    major : {"k", "mn"}
    addresses : int array, (rows, k)
        In bytes; for b1 in bits.
    chunks : tuple of Chunk
        Ordered by address.

    Examples
    --------
    >>> plan = shared_plan(MatrixDescriptor(0, 16, 1024, 128), 64, 16, "f16")
    >>> plan.chunks[2], plan.conflict_of_chunks
    (ChunkCell(address=128, row=1, k=8, last_row=1, last_k=15, line=1, number=1), 1)
    """

    descriptor: MatrixDescriptor
    rows: int
    k: int
    format: Format
    major: Major
    addresses: Ints
    chunks: tuple[ChunkCell, ...]

    @property
    def conflict_of_chunks(self) -> int:
        """The most words in one bank among the chunks of the same number of eight neighbouring lines; 1 is optimal."""
        first: dict[tuple[int, int], list[int]] = {}
        for chunk in self.chunks:
            first.setdefault((chunk.line // LINES, chunk.number), []).append(chunk.address)
        return int(conflict_of(np.array(list(first.values())), CHUNK_BYTES).max())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON holds."""
        d = self.descriptor
        fields = {"start": d.start, "leading": d.leading, "stride": d.stride, "swizzle": d.swizzle}
        return {
            **fields, "base_offset": d.base_offset, "descriptor": f"{d.encode():#018x}", "rows": self.rows, "k": self.k,
            "format": self.format.name, "major": self.major,
            "chunks": [[getattr(c, name) for name in ChunkCell.__slots__] for c in self.chunks],
            "chunk_fields": list(ChunkCell.__slots__),
        }  # fmt: skip


def shared_plan(
    descriptor: "MatrixDescriptor | SharedOperand | int",
    rows: int,
    k: int,
    fmt: Format | str,
    major: Major | None = None,
) -> SharedPlan:
    """Return the address of each chunk of an operand; `draw_shared_operand` documents parameters and errors."""
    if isinstance(descriptor, SharedOperand):
        own: Major = "mn" if descriptor.transpose else "k"
        if major not in (None, own):
            raise ArgumentValueError(
                f"major is {shorten(major)}, but the operand has transpose={descriptor.transpose}, which is {own!r}; "
                "omit major"
            )
        descriptor, major = descriptor.descriptor, own
    found = descriptor if isinstance(descriptor, MatrixDescriptor) else MatrixDescriptor.decode(descriptor)
    order: Major = "k" if major is None else major
    fmt = format_of(fmt)
    where = addresses(found, rows, k, fmt, order)
    starts = where // 8 if fmt.bits < 8 else where
    together = 8 * CHUNK_BYTES // fmt.bits
    lines = starts if order == "k" else starts.T
    chunks = []
    for line, number in np.ndindex(lines.shape[0], lines.shape[1] // together):
        first, last = number * together, (number + 1) * together - 1
        row, col, last_row, last_col = (line, first, line, last) if order == "k" else (first, line, last, line)
        chunks.append(ChunkCell(int(lines[line, first]), row, col, last_row, last_col, line, number))
    return SharedPlan(found, rows, k, fmt, order, where, tuple(sorted(chunks, key=lambda x: (x.address, x.line))))
