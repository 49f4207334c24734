# SPDX-License-Identifier: MIT
"""Shared-memory operands of wgmma: each thread reads chunks of 16 bytes at the addresses of the descriptor."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import WmmaEmuError
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import addresses
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, Major
from wmma_emu.layouts.spec import LANES, WARPS
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.program.program import Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.wgmma_products import PendingProducts
from wmma_emu.ptx.threads import Active, Array

_Load = Callable[..., tuple[Array, Undefined | None]]
"""`load` or `peek` of the memory."""

_WORD_BYTES = 4
_THREADS = WARPS * LANES
_KEPT = 1 << 12
"""The number of descriptors whose addresses are cached: several for each stage of a kernel's pipeline."""


class Matrix(NamedTuple):
    """An operand of each warpgroup, (blocks or 1, warpgroups or 1, rows, k): its bits and its undefined elements.

    ``undefined`` is bool, None if all elements are defined; ``origin`` is the origin of undefined elements of each
    block. ``again`` reads the bits again.
    """

    bits: Bits
    again: Callable[[], Bits]
    undefined: Bits | None = None
    origin: Array | None = None


@dataclass(frozen=True)
class SharedMatrix:
    """An operand of wgmma in shared memory.

    ``name`` is "A" or "B", for messages. ``rows`` is the number of rows of A or columns of B, ``k`` the number of
    elements along k (for a sparse A, of packed elements), and ``major`` the contiguous dimension.
    """

    name: str
    descriptor: Operand | None
    rows: int
    k: int
    format: Format
    major: Major

    @property
    def chunks(self) -> int:
        """The number of chunks of 16 bytes."""
        return self.rows * self.k * self.format.bits // 8 // CHUNK_BYTES

    @property
    def passes(self) -> int:
        """The number of chunks that each thread reads."""
        return -(-self.chunks // _THREADS)

    def read(self, state: State, instruction: PtxInstruction, products: PendingProducts, active: Active) -> "Matrix":
        """Read the matrix of each warpgroup."""
        state.require_defined(instruction, self.descriptor, active, f"the descriptor of {self.name}")
        where, legal = self._addresses(state, instruction, active)
        threads = self._threads(state, active, legal)

        def bits(load: _Load) -> tuple[Bits, Undefined | None]:
            values, undefined = load(
                instruction, "shared", where, _WORD_BYTES, CHUNK_BYTES // _WORD_BYTES, threads, alignment=CHUNK_BYTES
            )
            return self._matrix(values if legal is None else np.where(legal, values, np.uint32(0))), undefined

        found, undefined = bits(state.memory.load)
        products.reads(instruction, where, threads)
        lost = None if undefined is None else self._matrix(undefined.bits) != 0
        origin = None if undefined is None else _origin_of_block(undefined)
        return Matrix(found, lambda: bits(state.memory.peek)[0], lost, origin)

    def _addresses(
        self, state: State, instruction: PtxInstruction, active: Active
    ) -> tuple[Array, NDArray[np.bool_] | None]:
        """Return the addresses of the chunks, (passes, blocks, warps, 32), and the legal descriptors, None for all."""
        warps = state.shape[1]
        given = state.read(self.descriptor, "b64")
        full = given[..., :1]
        if given.shape[1] > 1:
            first = np.arange(warps) // WARPS * WARPS  # the first warp of each warpgroup decides
            full = full[:, first]
        if given.shape[2] > 1 or given.shape[1] > 1:
            differs = given != full
            note(
                state, instruction, "illegal operand", differs if active is None else differs & active,
                lambda g, w, lane: f"the descriptor of {self.name} in lane {lane} differs from that of the warpgroup's "
                "first thread: it has to be the same in all threads",
            )  # fmt: skip
        in_pattern = np.arange(warps) % WARPS
        if full.size == 1:
            table, reason = self._table(full.item())
            legal = None if reason is None else np.zeros((1, 1, 1), np.bool_)
            if reason is not None:
                self._note_illegal(state, instruction, np.ones((1, 1, 1), np.bool_), active, reason)
            return table[:, None, in_pattern], legal
        kinds, number = np.unique(full, return_inverse=True)
        tables = [self._table(int(kind)) for kind in kinds]
        stacked = np.stack([table for table, _ in tables])  # (kinds, passes, 4, 32)
        number = np.broadcast_to(number.reshape(full.shape)[..., 0], (full.shape[0], warps))
        where = np.moveaxis(stacked[number, :, in_pattern], -2, 0)  # (passes, blocks, warps, 32)
        wrong = np.array([reason is not None for _, reason in tables])
        if not wrong.any():
            return where, None
        for i in np.flatnonzero(wrong):
            self._note_illegal(state, instruction, (number == i)[..., None], active, str(tables[i][1]))
        return where, ~wrong[number][..., None]

    def _note_illegal(
        self, state: State, instruction: PtxInstruction, where: NDArray[np.bool_], active: Active, reason: str
    ) -> None:
        used = np.broadcast_to(where, state.shape) & (True if active is None else active)
        note(state, instruction, "illegal operand", used, f"the descriptor of {self.name} is illegal: {reason}")

    def _table(self, word: int) -> tuple[NDArray[np.uint64], str | None]:
        return _chunk_addresses(word, self.rows, self.k, self.format, self.major, self.passes)

    def _threads(self, state: State, active: Active, legal: NDArray[np.bool_] | None) -> Active:
        """Return the threads that read in each pass: (passes, blocks, warps, 32), or None for all."""
        threads: Active = active
        if self.chunks % _THREADS:
            thread = (np.arange(state.shape[1])[:, None] % WARPS) * LANES + np.arange(LANES)
            number = np.arange(self.passes)[:, None, None, None] * _THREADS + thread
            reads = number < self.chunks
            reads = reads[0] if self.passes == 1 else reads
            threads = reads if threads is None else reads & threads
        if legal is not None:
            threads = legal if threads is None else threads & legal
        return threads

    def _matrix(self, values: Array) -> Bits:
        """Assemble the matrices from the chunks (words, passes, blocks, warps, 32)."""
        words, passes, blocks, warps, _ = values.shape
        groups = warps // WARPS
        apart = values[:, :, :, : groups * WARPS].reshape(words, passes, blocks, groups, WARPS, LANES)
        flat = np.ascontiguousarray(apart.transpose(2, 3, 1, 4, 5, 0)).view(np.uint8).reshape(blocks, groups, -1)
        used = flat[..., : self.chunks * CHUNK_BYTES]
        if self.format.bits < 8:
            elements = np.unpackbits(used, axis=-1, bitorder="little")
        else:
            elements = np.ascontiguousarray(used).view(self.format.storage)
        if self.major == "k":
            return elements.reshape(blocks, groups, self.rows, self.k)
        return elements.reshape(blocks, groups, self.k, self.rows).swapaxes(-1, -2)


def _origin_of_block(undefined: Undefined) -> Array:
    known = np.where(undefined.bits != 0, undefined.origin, np.uint64(0))
    return np.asarray(known.max(axis=(0, 1, 3, 4))).reshape(-1, 1, 1)


@lru_cache(maxsize=_KEPT)
def _chunk_addresses(
    word: int, rows: int, k: int, fmt: Format, major: Major, passes: int
) -> tuple[NDArray[np.uint64], str | None]:
    """Return the addresses of the chunks of each thread, (passes, 4, 32), and the error of an illegal descriptor."""
    flat = np.zeros(passes * _THREADS, np.uint64)
    reason = None
    try:
        where = addresses(MatrixDescriptor.decode(word), rows, k, fmt, major)
    except WmmaEmuError as error:
        reason = str(error)
    else:
        lines = where if major == "k" else where.T
        chunks = lines[:, :: 8 * CHUNK_BYTES // fmt.bits].reshape(-1)
        flat[: len(chunks)] = chunks >> 3 if fmt.bits < 8 else chunks
    table = flat.reshape(passes, WARPS, LANES)
    table.setflags(write=False)
    return table, reason
