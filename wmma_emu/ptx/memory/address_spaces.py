# SPDX-License-Identifier: MIT
"""The address spaces of a wave of blocks: the bytes that an access resolves to, and the checks of each access."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder, Ordering, ThreadIndices, ordering_of, threads_in
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.fills import Fill
from wmma_emu.ptx.findings import CHECKS, Sightings
from wmma_emu.ptx.memory.access import units_of
from wmma_emu.ptx.memory.address_map import BASES, CODE
from wmma_emu.ptx.memory.footprint import require_within, wave_bytes
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.heap_window import HeapWindow
from wmma_emu.ptx.memory.masks import any_of, fit, narrowest, pick, wide
from wmma_emu.ptx.memory.proxies.asynchronous import UsedProxies
from wmma_emu.ptx.memory.proxies.checks import ProxyChecks
from wmma_emu.ptx.memory.races.launch import LaunchRaces
from wmma_emu.ptx.memory.races.wave import WaveRaces
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.resolved_access import Access, ResolvedAccess, strength_of
from wmma_emu.ptx.memory.shadow import Shadow
from wmma_emu.ptx.memory.shared_layout import reserved_begin, shared_end, shared_pieces, user_end
from wmma_emu.ptx.memory.stack import Stack
from wmma_emu.ptx.memory.windows import ResolvedAddresses, Window
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction, Symbol
from wmma_emu.ptx.program.special import RESERVED_BYTES, reads_reserved_shared
from wmma_emu.ptx.threads import Active, Array, Threads

_SCOPES = ("cta", "cluster", "gpu", "sys")

_COMMON = ("global", "shared")
"""Address spaces that threads share."""


class AddressSpaces:
    """All address spaces of some blocks, with the records that the checks need.

    The constructor raises if they need more memory than the launch may use. All arrays of ``heap`` are mapped, and
    ``parameters`` are laid out as the kernel declares them. ``races`` has the accesses of earlier waves of the launch
    to global memory; without it, all of global memory is watched from now on. ``check_sources`` looks for copies in
    flight that still read the bytes which a store to global memory writes. If there are ``suspects``, loads that give
    undefined bits because they are in a race, nothing else counts as undefined. ``check_barriers`` looks for accesses
    to the memory of mbarriers.
    """

    def __init__(
        self, program: KernelProgram, heap: GlobalMemory, parameters: bytes, threads: Threads,
        dynamic_shared_bytes: int, findings: Sightings, causality: CausalityOrder,
        checks: frozenset[str] = frozenset(CHECKS), races: LaunchRaces | None = None,
        fill: Fill = Fill(),  # noqa: B008 - zeros draw nothing
    ) -> None:  # fmt: skip
        self.checks = checks
        self.program, self.threads, self.causality, self.heap = program, threads, causality, heap
        blocks, warps, _ = threads.shape
        other_bytes = self.bytes_for(program, blocks, warps, dynamic_shared_bytes)
        needed = heap.bytes_used + other_bytes
        require_within(heap.limit, needed, f"a wave of {blocks} blocks of {warps} warps, with the launch's arrays,")
        self.dynamic_shared_bytes = dynamic_shared_bytes
        self._user_end = user_end(program, dynamic_shared_bytes)
        pieces = shared_pieces(program, dynamic_shared_bytes)
        self.shared = Window("shared", shared_end(program, dynamic_shared_bytes), (blocks, 1, 1), pieces, fill)
        self.local = Window("local", program.local_bytes, threads.shape, fill=fill)
        self.param = Window("param", program.parameter_bytes, (1, 1, 1))
        given = np.frombuffer(parameters[: program.parameter_bytes], np.uint8)
        self.param.flat[: len(given)] = given
        self.globals = HeapWindow(heap)
        self.reporter = Reporter(program, heap, threads, findings)
        self.origins = heap.origins
        self.suspects = None if races is None else races.suspects
        is_all_written = self.suspects is not None
        self._follows = heap.follows_writes = "undefined" in checks and not is_all_written
        self._waits = "synchronisation" in checks
        self.reporter.note_use = None if self.suspects is None else self.suspects.use
        self.shared_shadow, self.local_shadow = (
            Shadow(x, self.reporter, heap.origins, checks, is_written=is_all_written) for x in (self.shared, self.local)
        )
        self.stack = Stack(threads.shape, self.local_shadow)
        self._reserved: int | None = None
        if reads_reserved_shared(program):
            self._reserved = reserved_begin(program, dynamic_shared_bytes)
            self._clear_reserved(self._reserved)
        self.races: WaveRaces | None = None
        if "races" in checks:
            races = LaunchRaces(heap, causality) if races is None else races
            self.races = WaveRaces(races, self.shared, causality, self.reporter, threads, other_bytes)
        self.locks = None if self.races is None else self.races.locks
        self._strengths: dict[tuple[int, str], int] = {}
        self._is_checked = False
        used = UsedProxies.of(program.instructions) if self._waits else None
        self.proxies: ProxyChecks | None = None
        if used is not None and self.suspects is None:
            self.proxies = ProxyChecks(
                used, causality, self.reporter, self.shared, threads.shape, len(heap.buffer),
                follows=self.races is not None,
            )  # fmt: skip
        self.check_sources: Callable[[ResolvedAccess, Active], None] | None = None
        self.check_barriers: Callable[..., None] | None = None
        self._windows = {"shared": self.shared, "local": self.local, "param": self.param}
        shadows = {"shared": self.shared_shadow, "local": self.local_shadow}
        self._shadows = {name: x for name, x in shadows.items() if x.is_kept}
        self._parameters: dict[tuple[int, int, int], Array] = {}

    @staticmethod
    def bytes_for(program: KernelProgram, blocks: int, warps: int, dynamic_shared_bytes: int) -> int:
        """Return the largest number of host bytes that a wave takes for shared and local memory and their records.

        Examples
        --------
        >>> program = KernelProgram("k", (), 0, (), (), (), 1024, None, 16, None, None, ())
        >>> AddressSpaces.bytes_for(program, 1, 4, 0) < AddressSpaces.bytes_for(program, 2, 4, 0)
        True
        """
        return wave_bytes(shared_end(program, dynamic_shared_bytes), program.local_bytes, blocks, warps)

    def address_of(self, symbol: Symbol, offset: int = 0) -> Array:
        """Return the address of a variable in its own space, as ``mov`` gives it, plus an offset.

        The address is the same in all threads, except that of a local variable if every call has a frame.
        """
        start = symbol.offset
        if symbol.space == "code":
            start = self.code_address(start)
        elif symbol.space in ("global", "const"):
            start = self.heap.address_of(symbol) - BASES.get(symbol.space, 0)
        elif symbol.space == "local" and self.program.frames:
            return self.stack.frame + np.uint64((start + offset) % (1 << 64))
        return np.full((1, 1, 1), (start + offset) % (1 << 64), np.uint64)

    @staticmethod
    def code_address(offset: int) -> int:
        """Return the address of an offset in the code."""
        return CODE + offset

    def _clear_reserved(self, begin: int) -> None:
        """Set the reserved shared memory of each block to zeros, which count as initialised."""
        end, stride = begin + RESERVED_BYTES, self.shared.stride
        self.shared.flat.reshape(-1, stride)[:, begin:end] = 0
        if self.shared_shadow.uninitialised is not None:
            first = np.arange(0, len(self.shared.flat), stride, dtype=np.int64)
            self.shared_shadow.uninitialised.mark(np.add.outer(first, np.arange(begin, end, 8)), 8, 8)

    def parameter(self, offset: int, size: int, count: int) -> Array | None:
        """Read elements of the kernel's parameters, the same for all threads; None if they are out of bounds."""
        key = offset, size, count
        found = self._parameters.get(key)
        if found is None:
            if offset < 0 or offset + size * count > self.param.size or offset % size:
                return None
            raw = self.param.flat[offset : offset + size * count].copy()
            found = self._parameters[key] = raw.view(f"u{size}").reshape(count, 1, 1, 1)
            found.flags.writeable = False
        return found

    def resolve(
        self, instruction: PtxInstruction, space: str, addresses: Array, size: int, count: int, alignment: int,
        active: Active, *, write: bool, ordering: str,
    ) -> ResolvedAccess:  # fmt: skip
        """Find the bytes of an access to one space, report an illegal access, and synchronise if the access does."""
        total = size * count
        ordering = ordering if space in ("global", "shared") else "weak"
        used = fit(active, addresses.shape)
        if space == "global":
            where = self.globals.locate(id(instruction), addresses, total, alignment, used, write)
            if self.heap.device_heap is not None and self.globals.found in (-1, self.heap.device_heap_range):
                where = self.heap.device_heap.checked(where, total)
        else:
            where = self._windows[space].locate(addresses, total, alignment, used)
            if write and space == "param":
                where = _not_written(where)
        is_wrong = where.outside is not None or where.misaligned is not None or where.read_only is not None
        if is_wrong and not self._is_checked:
            owned = {"shared": self._user_end, "local": self.local.size, "param": self.param.size}.get(space, 0)
            self.reporter.illegal_access(instruction, space, owned, where, addresses, total, alignment, active, write)
        mask = narrowest(active, where.used)
        if write and ordering != "weak" and self.causality.uses_memory_order:
            participants = True if mask is None else any_of(mask)
            self.causality.before_write(np.broadcast_to(participants, self.threads.shape))
        access = Access(instruction, where.positions, addresses, total, units_of(total, alignment), mask)
        if self.races is not None and space in ("global", "shared"):
            access = self._stamp(self.races, access, ordering, space)
        return ResolvedAccess(where, access, space, size, count, self.globals.found if space == "global" else -1)

    def _stamp(self, races: WaveRaces, access: Access, ordering: str, space: str) -> Access:
        """Add the time and the strength to an access."""
        key = id(access.instruction), space
        strength = self._strengths.get(key)
        if strength is None:
            scope = next((x for x in access.instruction.modifiers if x in _SCOPES), "")
            polls = races.polls
            strength = self._strengths[key] = strength_of(
                ordering, scope, mnemonic=access.instruction.mnemonic, polls=id(access.instruction) in polls.waits,
                flags=bool(polls), guess=id(access.instruction) in polls.cas_guesses,
            )  # fmt: skip
        stamps, times = races.now()
        return access._replace(stamps=stamps, times=times, strength=strength)

    def ordering_of(self, instruction: PtxInstruction) -> Ordering:
        """Return what a strong access orders.

        An atomic operation that polls, and is not ``.relaxed``, acquires: its loop ends because of the value that it
        has read. This is lenient: CUDA's own atomic functions are relaxed, and code of their time has no fence after
        them.
        """
        found = ordering_of(instruction.mnemonic, instruction.modifiers)
        if self.races is None or instruction.mnemonic != "atom" or "relaxed" in instruction.modifiers:
            return found
        return found._replace(acquires=True) if id(instruction) in self.races.polls.waits else found

    def note_load(self, resolved: ResolvedAccess, active: Active, *, writes_too: bool = False) -> Undefined | None:
        """Check a load for races and pending copies; return its uninitialised bits.

        With ``writes_too``, the instruction also writes the bytes, and is checked for races as a write.
        """
        if self.races is not None and not writes_too and not self._is_reserved(resolved):
            self.races.read(resolved, active)
        if self.proxies is not None and resolved.space in _COMMON:
            self.proxies.loaded(resolved, active, writes_too=writes_too)
        if resolved.space == "global":
            heap = self.heap
            return (
                heap.uninitialised.read(resolved, resolved.mask) if heap.has_uninitialised and self._follows else None
            )
        if self.check_barriers is not None and resolved.space == "shared" and not writes_too:
            self.check_barriers(resolved, active, write=False)
        shadow = self._shadows.get(resolved.space)
        return None if shadow is None else shadow.loaded(resolved, active)

    def _is_reserved(self, resolved: ResolvedAccess) -> bool:
        """Return whether an access is to reserved shared memory, which is not checked for races.

        Only code of NVIDIA uses it, and this code relies on more than PTX guarantees: in reductions of tiles, lanes
        read what only the first lane of their warp has acquired.
        """
        if self._reserved is None or resolved.space != "shared":
            return False
        offsets = resolved.where.positions % self.shared.stride - self._reserved
        used = resolved.mask
        inside = (offsets >= 0) & (offsets < RESERVED_BYTES)
        return bool((inside | (False if used is None else ~used)).all())

    def threads_of(self, resolved: ResolvedAccess) -> tuple[ThreadIndices, NDArray[np.int64]]:
        """Return the threads that take part in an access, with the position that each accesses."""
        positions = resolved.where.positions
        shape = np.broadcast_shapes(positions.shape, self.threads.shape)
        mask = np.broadcast_to(True if resolved.mask is None else resolved.mask, shape)
        return threads_in(mask), np.broadcast_to(positions, shape)[mask]

    def note_store(
        self, resolved: ResolvedAccess, written: NDArray[np.int64], active: Active, undefined: Undefined | None,
        values: Array | None = None,
    ) -> None:  # fmt: skip
        """Check and record a store at the positions ``written``; call it before the bytes change.

        ``undefined`` marks the uninitialised bits of the values; ``values`` are the values of the store before its
        lanes are reordered, None if they are computed in memory.
        """
        if self.races is not None and not self._is_reserved(resolved):
            self.races.write(resolved, active, values, self.window(resolved.space).view)
        if self.proxies is not None and resolved.space in _COMMON:
            self.proxies.stored(resolved, active)
        if resolved.space == "global":
            if self.check_sources is not None and self.shared_shadow.pending and self._waits:
                self.check_sources(resolved, active)
            if self._follows and (undefined is not None or self.heap.has_uninitialised):
                self.heap.uninitialised.write(written, resolved.size, resolved.length, resolved.unit, undefined)
            return
        if self.check_barriers is not None and resolved.space == "shared":
            self.check_barriers(resolved, active, write=True)
        shadow = self._shadows.get(resolved.space)
        if shadow is not None:
            shadow.stored(resolved, written, active, undefined)

    @contextmanager
    def acting(self, lanes: NDArray[np.intp]) -> Iterator[None]:
        """Let one lane of each warp, (blocks, warps), act for all lanes, in the order of accesses and in findings."""
        self.reporter.actors = lanes
        try:
            with self.causality.acting(lanes):
                yield
        finally:
            self.reporter.actors = None

    @contextmanager
    def by_no_proxy(self) -> Iterator[None]:
        """Let accesses belong to neither the generic nor the asynchronous proxy: those to a tensor map that is used."""
        proxies, self.proxies = self.proxies, None
        try:
            yield
        finally:
            self.proxies = proxies

    @contextmanager
    def checked_before(self) -> Iterator[None]:
        """Access memory without checks of addresses, races and proxies, which were done when a copy was issued."""
        races, proxies, self.races, self.proxies = self.races, self.proxies, None, None
        self._is_checked = True
        try:
            yield
        finally:
            self.races, self.proxies, self._is_checked = races, proxies, False

    def announce_store(
        self, instruction: PtxInstruction, addresses: Array, bytes_each: int, count: int, active: Active, *,
        alignment: int, ordering: str,
    ) -> None:  # fmt: skip
        """Check a store to global memory as `LoadsAndStores.store` does, although its bytes move later."""
        resolved = self.resolve(
            instruction, "global", addresses, bytes_each, count, alignment, active, write=True, ordering=ordering
        )
        if self.races is not None:
            self.races.write(resolved, active, None, self.globals.view)
        if self.proxies is not None:
            self.proxies.stored(resolved, active)

    def hold(self, addresses: Array, active: Active) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Mark 16 bytes of shared memory at each address as read by an asynchronous product until it is waited for.

        Return the pieces that `release` takes, and the warp, counted through all blocks, for which each piece is read.
        """
        blocks, warps, _ = self.threads.shape
        shape = np.broadcast_shapes(addresses.shape, self.threads.shape)
        where = self.shared.locate(addresses, 16, 16, fit(active, addresses.shape))
        mask = narrowest(active, where.used)
        index = None if mask is None else np.flatnonzero(wide(mask, shape))
        warp = np.arange(blocks * warps).reshape(blocks, warps, 1)
        pieces, owners = pick(where.positions, shape, index) >> 4, pick(warp, shape, index)
        self.shared_shadow.hold(pieces.reshape(-1))
        return pieces.reshape(-1), owners.reshape(-1)

    def release(self, pieces: NDArray[np.int64]) -> None:
        """Mark pieces as read by the products."""
        self.shared_shadow.release(pieces)

    def window(self, space: str) -> "Window | HeapWindow":
        """Return the bytes of a space."""
        return self.globals if space == "global" else self._windows[space]


def _not_written(where: ResolvedAddresses) -> ResolvedAddresses:
    used = np.ones(where.positions.shape, np.bool_) if where.used is None else where.used
    return where._replace(used=np.zeros_like(used), read_only=used)
