# SPDX-License-Identifier: MIT
"""Findings of memory: the thread, the address, and the message."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.findings import Diagnosis, MemoryLocation, Message, Name, Place, Sightings, place_of
from wmma_emu.ptx.memory.access_messages import (
    location_in_heap,
    misaligned_text,
    outside_of_heap,
    outside_of_window,
    verb,
)
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.masks import any_of, first_where
from wmma_emu.ptx.memory.padding import Padding
from wmma_emu.ptx.memory.parity_suspects import ParitySuspects
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.windows import ResolvedAddresses
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.threads import Active, Array, Threads

_MOST_LINES = 8
"""The largest number of loads, as origins of the undefined bits of one instruction, that are reported."""


class Reporter:
    """Reports illegal accesses of a wave; ``note_use`` is called with uses of undefined bits too.

    ``actors`` are the lanes that act for all lanes of their warps, (blocks, warps), if some do; ``parity_suspects``
    collects waits at mbarriers that may have caused a race.
    """

    def __init__(self, program: KernelProgram, heap: GlobalMemory, threads: Threads, findings: Sightings) -> None:
        self._program, self._heap, self._threads, self._findings = program, heap, threads, findings
        self.note_use: Callable[[PtxInstruction, Origins, NDArray[np.int64]], None] | None = None
        self._padding = Padding(program, heap)
        self.actors: NDArray[np.intp] | None = None
        self.parity_suspects: ParitySuspects | None = None

    @property
    def code(self) -> tuple[PtxInstruction, ...]:
        """The instructions of the kernel."""
        return self._program.instructions

    def note(
        self, kind: str, instruction: PtxInstruction, mask: NDArray[np.bool_], active: Active, addresses: Array,
        text: Callable[[int], Message | Diagnosis], others: Iterable[Place] = (),
    ) -> None:  # fmt: skip
        """Report a finding of the active threads of a mask, if there are any; ``text`` takes the first address."""
        if not self._findings.are_sought(kind):
            return
        active = self._threads.exists if active is None else active
        where = mask if active is None else mask & active
        threads = any_of(where)
        if not threads.any():
            return
        if self.actors is not None:
            threads = _acting(threads, self.actors)
        block, thread, count = self._threads.first(threads)
        address = first_where(where, addresses)
        self._findings.add(
            kind, instruction, lambda: text(address), block=block, thread=thread, address=address, count=count,
            others=others,
        )  # fmt: skip

    def note_block(self, kind: str, instruction: PtxInstruction, block: int, said: Diagnosis) -> None:
        """Report a finding of a block of the wave."""
        self._findings.add(kind, instruction, said, block=self._threads.name_block(block))

    def illegal_access(
        self, instruction: PtxInstruction, space: str, size_of: int, where: ResolvedAddresses, addresses: Array,
        size: int, alignment: int, active: Active, write: bool,
    ) -> None:  # fmt: skip
        """Report accesses that are out of bounds or misaligned, and writes to read-only memory."""

        def outside(address: int) -> Message:
            if space == "global":
                return outside_of_heap(self._heap, address, size, write)
            return outside_of_window(self._program, space, size_of, address, size, write)

        def read_only(address: int) -> Message:
            location = self.location(space, address, size)
            if space != "global":
                return "writes ", location, ", but the parameters of a kernel are read-only"
            return "writes ", location, ", which is in ", Name("global", location.owner), ", which is read-only"

        if where.outside is not None:
            self.note("out of bounds", instruction, where.outside, active, addresses, outside)
        if where.misaligned is not None:
            self.note(
                "misaligned", instruction, where.misaligned, active, addresses,
                lambda address: misaligned_text(self.location(space, address, size), alignment, write),
            )  # fmt: skip
        if where.read_only is not None:
            self.note("read-only", instruction, where.read_only, active, addresses, read_only)

    def undefined(
        self, instruction: PtxInstruction, found: Undefined, used: NDArray[np.bool_], what: str,
        kind: str = "uninitialised",
    ) -> None:  # fmt: skip
        """Report that threads use uninitialised data as ``what``, such as "the address", and its origin."""
        threads = any_of(used)
        if self.note_use is not None and threads.any():
            participants, origins = np.broadcast_arrays(used, found.origin)
            self.note_use(instruction, self._heap.origins, origins[participants])
        if not threads.any() or not self._findings.are_sought(kind):
            return
        participants, origins = np.broadcast_arrays(used, found.origin)
        lines = self._heap.origins.lines(origins)
        for line in np.unique(lines[participants])[:_MOST_LINES].tolist():
            self._undefined_of(instruction, participants & (lines == line), origins, what, kind, line)

    def _undefined_of(
        self, instruction: PtxInstruction, participants: NDArray[np.bool_], origins: Array, what: str, kind: str,
        line: int,
    ) -> None:  # fmt: skip
        block, thread, count = self._threads.first(any_of(participants))
        origin = first_where(participants, origins)
        self._findings.add(
            kind, instruction, lambda: (f"{what} depends on ", *self.origin(origin)),
            block=block, thread=thread, count=count, about=line,
        )  # fmt: skip

    def undefined_stored(self, resolved: ResolvedAccess, undefined: Undefined) -> Undefined | None:
        """Report a store of uninitialised bits to global memory; return the bits that stay undefined.

        If whole bytes are missing, they may be the padding of a structure; but not if no byte of the element in which
        they were loaded is written, since the other bytes may be an extension or a shift. Such elements, and elements
        without any written byte, are errors, unless they are copied together with the structure that contains them.
        """
        instruction, used = resolved.access.instruction, resolved.mask
        lost = undefined.bits if used is None else np.where(used, undefined.bits, undefined.bits.dtype.type(0))
        parts = np.ascontiguousarray(lost)[..., None].view(np.uint8)
        of_bytes = ((parts == 0) | (parts == 0xFF)).all(axis=-1) & (lost != 0)
        is_partial = of_bytes & (parts == 0).any(axis=-1) & ~self._heap.origins.is_whole(undefined.origin)
        if (of_bytes & ~is_partial).any():
            is_partial = is_partial | (of_bytes & self._padding.among(resolved, undefined, parts))
        wrong = (lost != 0) & ~is_partial
        what = "the value that is stored to global memory"
        self.undefined(instruction, undefined, wrong, what)
        if not is_partial.any():
            return None
        self.undefined(instruction, undefined, is_partial, f"a part of {what}", "partly uninitialised")
        return undefined._replace(bits=np.where(is_partial, lost, lost.dtype.type(0)))

    def origin(self, number: int) -> Message:
        """Describe the origin of undefined bits."""
        registers = self._program.registers

        def location(space: str, at: int, size: int) -> MemoryLocation:
            return self.location(space, self._heap.placement.address_at(at) if space == "global" else at, size)

        return self._heap.origins.describe(
            number, lambda i: registers[i].name if i < len(registers) else "the carry flag", location
        )

    def location(self, space: str, address: int, size: int) -> MemoryLocation:
        """Describe bytes by the variable or the array that contains them."""
        if space == "global":
            return location_in_heap(self._heap, address, size)
        where = MemoryLocation(space, address, size)
        if space == "local" and self._program.frames:
            return where  # the variables of every call have other addresses
        names = [s for s in self._program.symbols if s.space == space and s.offset <= address]
        if names:
            last = max(names, key=lambda s: s.offset)
            if address < last.offset + last.bytes or not last.bytes:
                return where._replace(owner=last.name, offset=address - last.offset)
        return where

    def is_race(self, instruction: PtxInstruction) -> bool:
        """Return whether an instruction is known to be in a race."""
        return self.is_sighted("race", instruction)

    def is_sighted(self, kind: str, instruction: PtxInstruction) -> bool:
        """Return whether there is a finding of a kind at an instruction."""
        return any(x.kind == kind and x.line == instruction.line for x in self._findings)

    def is_named_by(self, kind: str, instruction: PtxInstruction) -> bool:
        """Return whether the message of a finding of a kind names an instruction as the origin of the data."""
        return any(x.kind == kind and x.comes_from == place_of(instruction) for x in self._findings)

    def has_any(self, kinds: Iterable[str]) -> bool:
        """Return whether there is a finding of some kinds."""
        return any(x.kind in kinds for x in self._findings)

    def access_in_flight(
        self, space: str, address: int, size: int, write: bool, by: Message, remedy: str = "copy"
    ) -> Diagnosis:  # fmt: skip
        """Describe an access to bytes that an asynchronous copy or product is about to write, or may still read."""
        return Diagnosis((f"{verb(write)} ", self.location(space, address, size), ", which ", *by), remedy)


def _acting(threads: NDArray[np.bool_], actors: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return the acting lanes of the warps of a mask, (blocks, warps, 32)."""
    warps = np.broadcast_to(threads, (*actors.shape, LANES)).any(axis=-1, keepdims=True)
    return np.asarray(warps & (np.arange(LANES) == actors[..., None]))
