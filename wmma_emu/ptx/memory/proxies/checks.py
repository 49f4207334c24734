# SPDX-License-Identifier: MIT
"""The checks of the proxies of a wave: which accesses they note, and the findings that they report."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import CausalityOrder, threads_in
from wmma_emu.ptx.findings import Diagnosis, Message, place_of
from wmma_emu.ptx.memory.access_messages import verb
from wmma_emu.ptx.memory.proxies.asynchronous import UsedProxies, fenced_spaces, is_asynchronous
from wmma_emu.ptx.memory.proxies.bulk_writes import BulkWrites
from wmma_emu.ptx.memory.proxies.fences import ProxyFences
from wmma_emu.ptx.memory.proxies.map_edits import AcquiredMaps
from wmma_emu.ptx.memory.proxies.phases import ObservedPhases
from wmma_emu.ptx.memory.proxies.pieces import PIECE, LastAccesses, TouchedPieces
from wmma_emu.ptx.memory.proxies.product_reads import ProductReads
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.windows import Window
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active

MISSING, OMITTED, STALE = "missing proxy fence", "omitted proxy fence", "stale tensor map"
LOAD_AT_END = "load in flight at the end"

_OF_COPIES = ("illegal operand", "misaligned", "out of bounds", "transaction bytes")
"""The kinds of findings about copies that are left out, or move another number of bytes than is expected."""

_MAP_PIECES = 8
_RACES = ("race", "race within a warp")
_NOT_OBSERVED = "this thread has not observed the phase of its mbarrier, and is not synchronised with a thread that has"
_NOUN = {False: "read", True: "write"}

_Chosen = NDArray[np.bool_]


class ProxyChecks:
    """Follows which proxy accessed each piece of 16 bytes last, in shared memory and in global memory.

    ``follows`` is whether the order between threads is kept: if not, any order is assumed. ``global_bytes`` is the size
    of global memory.
    """

    def __init__(
        self, used: UsedProxies, order: CausalityOrder, reporter: Reporter, shared: Window, shape: tuple[int, int, int],
        global_bytes: int, *, follows: bool,
    ) -> None:  # fmt: skip
        self._used, self._order, self._reporter, self._shared, self._shape = used, order, reporter, shared, shape
        self._follows = follows
        self._are_async: dict[int, bool] = {}
        self.fences = {space: ProxyFences(order, shape, follows=follows) for space in ("shared", "global")}
        self.map_releases = ProxyFences(order, shape, follows=follows)
        self._acquired = AcquiredMaps(order, follows=follows)
        self._written = {"shared": LastAccesses(len(shared.flat))}
        if used.loads or used.maps:
            self._written["global"] = LastAccesses(global_bytes)
        self._read = LastAccesses(len(shared.flat)) if used.loads else None
        self.phases: ObservedPhases | None = None
        if used.loads:
            self.phases = ObservedPhases(order, shape, shared.stride, global_bytes, follows=follows)
        self.products = ProductReads(order, shape, len(shared.flat))
        self._sent = LastAccesses(len(shared.flat))
        self.bulk_writes = BulkWrites(order, shape, global_bytes, follows=follows) if used.stores else None

    def is_asynchronous(self, instruction: PtxInstruction) -> bool:
        """Return whether an instruction accesses memory through the asynchronous proxy."""
        found = self._are_async.get(id(instruction))
        if found is None:
            found = self._are_async[id(instruction)] = is_asynchronous(instruction)
        return found

    def fence(self, instruction: PtxInstruction, active: Active) -> None:
        """Let threads execute a ``fence.proxy.async``."""
        for space in fenced_spaces(instruction):
            self.fences[space].execute(active)

    def loaded(self, resolved: ResolvedAccess, active: Active, *, writes_too: bool = False) -> None:
        """Check and note a load of shared or global memory; a load that ``writes_too`` is followed by a store."""
        if not writes_too:
            self._check_bulk_writes(resolved, active, write=False)
        last, is_async = self._written.get(resolved.space), self.is_asynchronous(resolved.access.instruction)
        if last is None or not (is_async or (resolved.space == "shared" and self._read is not None)):
            return
        touched = self._touched(resolved)
        if is_async:
            self._check_fence(resolved, touched, active, last, MISSING, "stored", write=False)
        elif self._read is not None:
            self._read.put(touched.pieces, self._stamps_of(touched), resolved.access.instruction)
        if resolved.space == "shared":
            self._check_phase(resolved, touched, active, write=False)

    def stored(self, resolved: ResolvedAccess, active: Active) -> None:
        """Check and note a store to shared or global memory, before the bytes change."""
        self._check_bulk_writes(resolved, active, write=True)
        last, instruction = self._written.get(resolved.space), resolved.access.instruction
        if last is None or instruction.mnemonic == "mbarrier":
            return
        touched = self._touched(resolved)
        if resolved.space == "global":
            self._check_loads(resolved, touched, active)
        if resolved.space == "shared":
            self._check_phase(resolved, touched, active, write=True)
            self._check_readers(resolved, touched, active)
            if self.phases is not None:
                self.phases.forget(touched.pieces)
        if self.is_asynchronous(instruction):
            last.forget(touched.pieces)
        else:
            last.put(touched.pieces, self._stamps_of(touched), instruction)

    def begins_copy(self, resolved: ResolvedAccess, active: Active) -> None:
        """Check a copy that begins to write shared memory."""
        touched = self._touched(resolved)
        self._check_readers(resolved, touched, active)
        if not self.is_asynchronous(resolved.access.instruction):
            return
        self._check_fence(resolved, touched, active, self._written["shared"], MISSING, "stored", write=True)
        if self._read is not None:
            self._check_fence(resolved, touched, active, self._read, OMITTED, "read", write=True)

    def copy_arrives(self, resolved: ResolvedAccess, mask: Active) -> None:
        """Note the bytes of a copy to shared memory that arrive for some threads."""
        touched = self._touched(resolved._replace(access=resolved.access._replace(mask=mask)))
        instruction = resolved.access.instruction
        if self.is_asynchronous(instruction):
            self._written["shared"].forget(touched.pieces)
            return
        if self.phases is not None:
            self.phases.forget(touched.pieces)
        self._written["shared"].put(touched.pieces, self._stamps_of(touched), instruction)

    def source_is_read(
        self, pieces: NDArray[np.int64], threads: NDArray[np.int64], instruction: PtxInstruction
    ) -> None:
        """Note that the threads that issued bulk copies have waited until these had read pieces of shared memory."""
        self._sent.put(pieces, self._order.stamps(None).reshape(-1)[threads], instruction)

    def acquire_map(self, positions: NDArray[np.int64], active: NDArray[np.bool_]) -> None:
        """Let threads acquire the tensor maps at positions of global memory, (blocks, warps, 32)."""
        last = self._written.get("global")
        if last is None:
            return
        at = threads_in(active)
        where = np.broadcast_to(positions, active.shape)[at]
        for position in np.unique(where).tolist():
            chosen = where == position
            one, two, three = (x[chosen] for x in at)
            self._acquired.acquire(position, last.stamps(_pieces_of_map(position)), (one, two, three))

    def check_map(self, instruction: PtxInstruction, position: int, thread: int, address: int) -> None:
        """Check a tensor map in global memory that a thread of the wave uses."""
        last = self._written.get("global")
        if last is None or not last.is_used:
            return
        pieces = _pieces_of_map(position)
        writes = last.stamps(pieces)
        changed = np.flatnonzero(writes)
        if not len(changed):
            return
        threads = np.full(len(changed), thread, np.int64)
        is_released = bool(self.map_releases.lie_between(writes[changed], threads).all())
        is_acquired = self._acquired.is_acquired(position, writes, thread)
        if is_released and is_acquired:
            return
        place = place_of(last.instruction(int(pieces[changed[-1]])))
        mask = np.zeros(self._shape, np.bool_)
        mask.reshape(-1)[thread] = True

        def text(_: int) -> Diagnosis:
            where = self._reporter.location("global", address, _MAP_PIECES * PIECE)
            return Diagnosis(
                ("uses the tensor map in ", where, ", which ", place, " changed: ", _missing(is_released, is_acquired)),
                "tensor map",
            )

        self._reporter.note(STALE, instruction, mask, None, np.full((1, 1, 1), address, np.uint64), text)

    def report_unobserved(self, pending: Iterable[ResolvedAccess]) -> None:
        """Report the copies to shared memory whose blocks end before any thread has observed that they are complete.

        ``pending`` are the writes of copies whose phases are not complete. A copy that was refused, of whose bytes an
        mbarrier expects another number, or whose bytes were used without a wait is reported already.
        """
        if self.phases is None or self._reporter.has_any(_OF_COPIES):
            return
        for resolved in pending:
            pieces = self._touched(resolved).pieces
            first = pieces[np.unique(pieces * PIECE // self._shared.stride, return_index=True)[1]]
            for piece in first.tolist():
                self._report_at_end(resolved.access.instruction, piece)
        for instruction, piece in self.phases.observed_by_nobody():
            self._report_at_end(instruction, piece)

    def _report_at_end(self, instruction: PtxInstruction, piece: int) -> None:
        if self._reporter.is_named_by("missing wait", instruction):
            return
        block, address = divmod(piece * PIECE, self._shared.stride)
        where = self._reporter.location("shared", address, PIECE)
        end = ", when its block ends: no thread has waited for the phase of its mbarrier"
        said = Diagnosis(("may still write ", where, end), "phase at the end")
        self._reporter.note_block(LOAD_AT_END, instruction, block, said)

    # What the checks have in common.

    def _touched(self, resolved: ResolvedAccess) -> TouchedPieces:
        found, actors = TouchedPieces.of(resolved, self._shape), self._reporter.actors
        if actors is None:
            return found
        warps = found.threads // LANES
        return found._replace(threads=warps * LANES + actors.reshape(-1)[warps])

    def _stamps_of(self, touched: TouchedPieces) -> NDArray[np.unsignedinteger]:
        return np.asarray(self._order.stamps(None).reshape(-1)[touched.threads])

    def _check_fence(
        self, resolved: ResolvedAccess, touched: TouchedPieces, active: Active, last: LastAccesses, kind: str,
        done: str, *, write: bool,
    ) -> None:  # fmt: skip
        """Report generic accesses that no proxy fence separates from an asynchronous one, and forget them."""
        if not last.is_used:
            return
        stamps = last.stamps(touched.pieces)
        at = np.flatnonzero(stamps)
        if not len(at):
            return
        between = self.fences[resolved.space].lie_between(stamps[at], touched.threads[at])
        if self._follows:
            between |= self._order.unordered_for(stamps[at], touched.threads[at])  # a race, which is reported instead
        last.forget(touched.pieces[at])
        bad = np.zeros(len(stamps), np.bool_)
        bad[at[~between]] = True
        by_copy = np.zeros(len(stamps), np.bool_)
        for i in np.flatnonzero(bad).tolist()[:1]:
            by_copy[:] = last.instruction(int(touched.pieces[i])).mnemonic == "cp"
        for chosen, which in ((bad & ~by_copy, kind), (bad & by_copy, OMITTED)):
            self._report(resolved, touched, active, chosen, which, self._fence_text(resolved, last, done, write=write))

    def _fence_text(
        self, resolved: ResolvedAccess, last: LastAccesses, done: str, *, write: bool
    ) -> Callable[[int, int], Diagnosis]:
        def text(address: int, piece: int) -> Diagnosis:
            where = self._reporter.location(resolved.space, address, resolved.access.size)
            place = place_of(last.instruction(piece))
            state_space = ".shared::cta" if resolved.space == "shared" else ".global"
            return Diagnosis(
                (f"{verb(write)} ", where, " through the asynchronous proxy, which ", place,
                 f" {done} through the generic proxy: no fence.proxy.async{state_space} is between the two"),
                "proxy",
            )  # fmt: skip

        return text

    def _check_phase(self, resolved: ResolvedAccess, touched: TouchedPieces, active: Active, *, write: bool) -> None:
        """Report accesses to bytes of a bulk copy whose phase the thread has not observed."""
        phases = self.phases
        if phases is None or not phases.is_used:
            return
        bad = phases.unobserved(touched.pieces, touched.threads)
        if bad is None or self._reporter.is_race(resolved.access.instruction):
            return

        def text(address: int, piece: int) -> Diagnosis:
            by: Message = (
                "the bulk copy of ", place_of(phases.copy_to(piece)),
                f" writes: {_NOT_OBSERVED}",
            )  # fmt: skip
            return self._reporter.access_in_flight("shared", address, resolved.access.size, write, by, "phase")

        self._report(resolved, touched, active, bad, "missing wait", text)

    def _check_loads(self, resolved: ResolvedAccess, touched: TouchedPieces, active: Active) -> None:
        """Report writes to global memory that a bulk copy to shared memory may still read."""
        phases = self.phases
        if phases is None or not phases.is_used:
            return
        bad = phases.unobserved_reads(touched.pieces, touched.threads)
        if bad is not None and not any(self._reporter.is_sighted(x, resolved.access.instruction) for x in _RACES):

            def text(address: int, piece: int) -> Diagnosis:
                by: Message = (
                    "the bulk copy of ", place_of(phases.copy_from(piece)),
                    f" may still read: {_NOT_OBSERVED}",
                )  # fmt: skip
                return self._reporter.access_in_flight("global", address, resolved.access.size, True, by, "phase")

            self._report(resolved, touched, active, bad, "missing wait", text)
        phases.forget_reads(touched.pieces)

    def _check_bulk_writes(self, resolved: ResolvedAccess, active: Active, *, write: bool) -> None:
        """Report accesses to global memory to which a bulk copy may still write."""
        writes, instruction = self.bulk_writes, resolved.access.instruction
        if writes is None or not writes.is_used or resolved.space != "global":
            return
        touched = self._touched(resolved)
        reduces = instruction.mnemonic in ("atom", "red") or "reduce" in instruction.modifiers
        bad = writes.not_complete(touched.pieces, touched.threads, reduces=reduces)

        def text(address: int, piece: int) -> Diagnosis:
            by = writes.copy_to(piece)
            wait = f"no cp.async.bulk.wait_group without .read has waited for it before this {_NOUN[write]}"
            missing = f" may still write: {wait}"
            return self._reporter.access_in_flight(
                "global", address, resolved.access.size, write, (f"{by.opcode} of ", place_of(by), missing),
                "bulk write",
            )  # fmt: skip

        self._report(resolved, touched, active, bad, "missing wait", text)
        if write:
            writes.forget(touched.pieces)

    def _check_readers(self, resolved: ResolvedAccess, touched: TouchedPieces, active: Active) -> None:
        """Report writes to bytes whose asynchronous readers were waited for, but not before the writing thread."""
        if not self._follows:
            return
        found = list(self.products.not_awaited(touched.pieces, touched.threads))
        stamps = self._sent.stamps(touched.pieces) if self._sent.is_used else np.zeros(0, np.uint64)
        at = np.flatnonzero(stamps)
        if len(at):
            bad = np.zeros(len(stamps), np.bool_)
            bad[at] = self._order.unordered_for(stamps[at], touched.threads[at])
            self._sent.forget(touched.pieces[at])
            found.append((bad, self._sent))
        for bad, last in found:
            if bad.any() and not self._reporter.is_race(resolved.access.instruction):
                self._report(resolved, touched, active, bad, "missing wait", self._reader_text(resolved, last))

    def _reader_text(self, resolved: ResolvedAccess, last: LastAccesses) -> Callable[[int, int], Diagnosis]:
        def text(address: int, piece: int) -> Diagnosis:
            by = last.instruction(piece)
            wait, remedy = ("cp.async.bulk.wait_group", "bulk store")
            if by.mnemonic == "wgmma":
                wait, remedy = ("wgmma.wait_group", "product")
            missing = f" may still read: no {wait} that has waited for it is ordered before this write"
            return self._reporter.access_in_flight(
                "shared", address, resolved.access.size, True, (f"{by.opcode} of ", place_of(by), missing), remedy
            )

        return text

    def _report(
        self, resolved: ResolvedAccess, touched: TouchedPieces, active: Active, bad: _Chosen, kind: str,
        text: Callable[[int, int], Diagnosis],
    ) -> None:  # fmt: skip
        if not bad.any():
            return
        mask = touched.mask(bad)
        addresses = resolved.access.addresses
        piece_at = np.zeros(mask.shape, np.int64)
        piece_at[mask] = touched.pieces[bad]
        first = np.moveaxis(mask.reshape(-1, *mask.shape[-3:]), 0, -1)
        chosen = np.moveaxis(piece_at.reshape(-1, *mask.shape[-3:]), 0, -1).reshape(-1)[int(first.argmax())]
        self._reporter.note(
            kind, resolved.access.instruction, mask, active, addresses, lambda address: text(address, int(chosen))
        )


def _pieces_of_map(position: int) -> NDArray[np.int64]:
    return position // PIECE + np.arange(_MAP_PIECES, dtype=np.int64)


def _missing(is_released: bool, is_acquired: bool) -> str:
    release = "the thread that changed it executed no fence.proxy.tensormap::generic.release or tensormap.cp_fenceproxy"
    acquire = "no fence.proxy.tensormap::generic.acquire of the map followed the change"
    return " and ".join(
        ([] if is_released else [f"{release} before this thread was told"]) + ([] if is_acquired else [acquire])
    )
