# SPDX-License-Identifier: MIT
"""The spaces of a chunk of blocks: where the bytes of an access are, and what is noted of those that touch them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import At, CausalityOrder, Ordering, ordering_of, threads_in
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.fills import Fill
from wmma_emu.ptx.findings import CHECKS, Sightings
from wmma_emu.ptx.memory.access import units_of
from wmma_emu.ptx.memory.footprint import require_within, wave_bytes
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.heap_window import HeapWindow
from wmma_emu.ptx.memory.masks import any_of, fit, narrowest, pick, wide
from wmma_emu.ptx.memory.places import BASES
from wmma_emu.ptx.memory.races.launch import LaunchRaces
from wmma_emu.ptx.memory.races.wave import WaveRaces
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.resolved_access import Access, ResolvedAccess, strength_of
from wmma_emu.ptx.memory.shadow import Shadow
from wmma_emu.ptx.memory.windows import ResolvedAddresses, Window
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction, Symbol
from wmma_emu.ptx.threads import Active, Array, Threads

_SCOPES = ("cta", "cluster", "gpu", "sys")


class AddressSpaces:
    """All spaces of some blocks: their bytes, and what is kept on each; refused if it is more than the launch may use.

    All arrays of ``heap`` are mapped, and ``parameters`` are as the kernel's declaration lays them out. ``races`` is
    what earlier chunks of the launch did to global memory; without it, all of it is watched from now. ``check_sources``
    looks for copies on their way that still read what is written to global memory. Where there are ``suspects``, which
    loads give undefined bits because they are in a race, nothing else counts as undefined.
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
        beside = self.bytes_for(program, blocks, warps, dynamic_shared_bytes)
        needed = heap.bytes_used + beside
        require_within(heap.limit, needed, f"a chunk of {blocks} blocks of {warps} warps, with the launch's arrays,")
        self._dynamic = dynamic_shared_bytes
        pieces = _shared_pieces(program, dynamic_shared_bytes)
        self.shared = Window("shared", max((hi for _, hi in pieces), default=0), (blocks, 1, 1), pieces, fill)
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
        self.races: WaveRaces | None = None
        if "races" in checks:
            races = LaunchRaces(heap, causality) if races is None else races
            self.races = WaveRaces(races, self.shared, causality, self.reporter, threads, beside)
        self.locks = None if self.races is None else self.races.locks
        self._strengths: dict[tuple[int, str], int] = {}
        self.check_sources: Callable[[ResolvedAccess, Active], None] | None = None
        self._windows = {"shared": self.shared, "local": self.local, "param": self.param}
        shadows = {"shared": self.shared_shadow, "local": self.local_shadow}
        self._shadows = {name: x for name, x in shadows.items() if x.is_kept}
        self._parameters: dict[tuple[int, int, int], Array] = {}

    @staticmethod
    def bytes_for(program: KernelProgram, blocks: int, warps: int, dynamic_shared_bytes: int) -> int:
        """Bytes of the host that a chunk takes for shared and local memory and what is kept on them, at most.

        Examples
        --------
        >>> program = KernelProgram("k", (), 0, (), (), (), 1024, None, 16, None, None, ())
        >>> Spaces.bytes_for(program, 1, 4, 0) < Spaces.bytes_for(program, 2, 4, 0)
        True
        """
        shared = max((hi for _, hi in _shared_pieces(program, dynamic_shared_bytes)), default=0)
        return wave_bytes(shared, program.local_bytes, blocks, warps)

    def address_of(self, symbol: Symbol) -> int:
        """Address of a variable in its own space, as ``mov`` gives it."""
        if symbol.space in ("global", "const"):
            return self.heap.address_of(symbol) - BASES.get(symbol.space, 0)
        return symbol.offset

    def shared_size(self, name: str) -> int:
        """What %dynamic_smem_size, %total_smem_size and %aggr_smem_size read."""
        static = 0 if name == "dynamic_smem_size" else _static_bytes(self.program)
        return static + self._dynamic

    def parameter(self, offset: int, size: int, count: int) -> Array | None:
        """Read elements of the kernel's parameters, the same for all threads; None if they are not within them."""
        key = offset, size, count
        found = self._parameters.get(key)
        if found is None:
            if offset < 0 or offset + size * count > self.param.size or offset % size:
                return None
            raw = self.param.flat[offset : offset + size * count].copy()
            found = self._parameters[key] = raw.view(f"u{size}").reshape(count, 1, 1, 1)
            found.flags.writeable = False
        return found

    def reach(
        self, instruction: PtxInstruction, space: str, addresses: Array, size: int, count: int, alignment: int,
        active: Active, *, write: bool, ordering: str,
    ) -> ResolvedAccess:  # fmt: skip
        """Find the bytes of an access to one space, note where it is wrong, and synchronise if it does."""
        total = size * count
        ordering = ordering if space in ("global", "shared") else "weak"
        used = fit(active, addresses.shape)
        if space == "global":
            where = self.globals.locate(id(instruction), addresses, total, alignment, used, write)
        else:
            where = self._windows[space].locate(addresses, total, alignment, used)
            if write and space == "param":
                where = _not_written(where)
        if where.outside is not None or where.misaligned is not None or where.read_only is not None:
            owned = 0 if space == "global" else self._windows[space].size
            self.reporter.wrong_place(instruction, space, owned, where, addresses, total, alignment, active, write)
        mask = narrowest(active, where.used)
        if write and ordering != "weak" and self.causality.is_released_to:
            who = True if mask is None else any_of(mask)
            self.causality.before_write(np.broadcast_to(who, self.threads.shape))
        touch = Access(instruction, where.positions, addresses, total, units_of(total, alignment), mask)
        if self.races is not None and space in ("global", "shared"):
            touch = self._timed(self.races, touch, ordering, space)
        return ResolvedAccess(where, touch, space, size, count, self.globals.found if space == "global" else -1)

    def _timed(self, races: WaveRaces, touch: Access, ordering: str, space: str) -> Access:
        """Say when an access is made, and how strong it is."""
        key = id(touch.instruction), space
        strength = self._strengths.get(key)
        if strength is None:
            scope = next((x for x in touch.instruction.modifiers if x in _SCOPES), "")
            polls = races.polls
            strength = self._strengths[key] = strength_of(
                ordering, scope, mnemonic=touch.instruction.mnemonic, polls=id(touch.instruction) in polls.waits,
                flags=bool(polls), guess=id(touch.instruction) in polls.cas_guesses,
            )  # fmt: skip
        stamps, times = races.now()
        return touch._replace(stamps=stamps, times=times, strength=strength)

    def ordering_of(self, instruction: PtxInstruction) -> Ordering:
        """Say what a strong access orders.

        An atomic operation that polls, and does not say ``.relaxed``, acquires: its loop ends because of what it has
        read. That is lenient: CUDA's own atomic functions are relaxed, and code of their time has no fence behind them.
        """
        found = ordering_of(instruction.mnemonic, instruction.modifiers)
        if self.races is None or instruction.mnemonic != "atom" or "relaxed" in instruction.modifiers:
            return found
        return found._replace(acquires=True) if id(instruction) in self.races.polls.waits else found

    def note_load(self, reached: ResolvedAccess, active: Active, *, writes_too: bool = False) -> Undefined | None:
        """Check that what is read is not on its way, and is in no race; return which bits of it nobody wrote.

        What ``writes_too`` in the same instruction is checked for races as a write.
        """
        if self.races is not None and not writes_too:
            self.races.read(reached, active)
        if reached.space == "global":
            heap = self.heap
            return heap.uninitialised.read(reached, reached.mask) if heap.has_uninitialised and self._follows else None
        shadow = self._shadows.get(reached.space)
        return None if shadow is None else shadow.loaded(reached, active)

    def threads_of(self, reached: ResolvedAccess) -> tuple[At, NDArray[np.int64]]:
        """Name the threads that take part in an access, with the position of each one's."""
        positions = reached.where.positions
        shape = np.broadcast_shapes(positions.shape, self.threads.shape)
        mask = np.broadcast_to(True if reached.mask is None else reached.mask, shape)
        return threads_in(mask), np.broadcast_to(positions, shape)[mask]

    def note_store(
        self, reached: ResolvedAccess, written: NDArray[np.int64], active: Active, undefined: Undefined | None,
        values: Array | None = None,
    ) -> None:  # fmt: skip
        """Check that a write is in no race and touches nothing that is on its way, and note what is written.

        ``values`` are those of the store, before lanes are put into another order; None where they are computed.
        """
        if self.races is not None:
            self.races.write(reached, active, values, self.window(reached.space).view)
        if reached.space == "global":
            if self.check_sources is not None and self.shared_shadow.pending and self._waits:
                self.check_sources(reached, active)
            if self._follows and (undefined is not None or self.heap.has_uninitialised):
                self.heap.uninitialised.write(written, reached.size, reached.length, reached.unit, undefined)
            return
        shadow = self._shadows.get(reached.space)
        if shadow is not None:
            shadow.stored(reached, written, active, undefined)

    def hold(self, addresses: Array, active: Active) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Say that an asynchronous product reads 16 bytes of shared memory at each address until it is waited for.

        Gives what to `release` then, and the warp, counted through all blocks, for which each piece is read.
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
        """Say that the products have read these pieces."""
        self.shared_shadow.release(pieces)

    def window(self, space: str) -> "Window | HeapWindow":
        """The bytes of a space."""
        return self.globals if space == "global" else self._windows[space]


def _not_written(where: ResolvedAddresses) -> ResolvedAddresses:
    used = np.ones(where.positions.shape, np.bool_) if where.used is None else where.used
    return where._replace(used=np.zeros_like(used), read_only=used)


def _static_bytes(program: KernelProgram) -> int:
    return max(program.shared_bytes, program.dynamic_offset or 0)


def _shared_pieces(program: KernelProgram, dynamic: int) -> list[tuple[int, int]]:
    if program.shared_span is None:
        return [(0, _static_bytes(program) + dynamic)]
    static = [(s.offset, s.offset + s.bytes) for s in program.symbols if s.space == "shared" and s.bytes]
    return [*sorted(static), (program.shared_span, program.shared_span + dynamic)][: len(static) + (dynamic > 0)]
