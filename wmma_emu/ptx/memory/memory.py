# SPDX-License-Identifier: MIT
"""Memory as the threads of a chunk of blocks see it: loads and stores of all spaces, with what is wrong noted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.clocks import Clocks
from wmma_emu.ptx.findings import Findings
from wmma_emu.ptx.memory.access import gather, scatter, units_of
from wmma_emu.ptx.memory.generic import Part, classify
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.heap_window import HeapWindow
from wmma_emu.ptx.memory.limits import require_within
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.memory.places import round_up
from wmma_emu.ptx.memory.races import Races, Touch
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.shadow import Shadow
from wmma_emu.ptx.memory.windows import Located, Window
from wmma_emu.ptx.program.program import Instruction, KernelProgram, Symbol
from wmma_emu.ptx.threads import Active, Array, Threads

__all__ = ["Memory"]

_SPACES = {
    "": "", "global": "global", "const": "global", "shared": "shared", "shared::cta": "shared",
    "shared::cluster": "shared", "local": "local", "param": "param", "param::entry": "param", "param::func": "param",
}  # fmt: skip


class Memory:
    """All spaces of some blocks.

    Accesses take and give the bits of many threads at once; what is narrow stays narrow. An access that is out of
    bounds or misaligned is left out, with a finding; loads then give 0.

    Parameters
    ----------
    program : KernelProgram
    heap : GlobalMemory
        Global and constant memory of the launch; all arrays are mapped.
    parameters : bytes
        As the kernel's declaration lays them out.
    threads : Threads
        Of the chunk.
    dynamic_shared_bytes : int
        What the launch gives beyond what the kernel declares.
    findings : Findings
    clocks : Clocks

    Raises
    ------
    LaunchLimitError
        If all this is more than the launch may use; nothing has been taken then.
    """

    def __init__(
        self, program: KernelProgram, heap: GlobalMemory, parameters: bytes, threads: Threads,
        dynamic_shared_bytes: int, findings: Findings, clocks: Clocks,
    ) -> None:  # fmt: skip
        self.program, self.threads, self.clocks, self.heap = program, threads, clocks, heap
        blocks, warps, _ = threads.shape
        needed = heap.bytes_used + self.bytes_for(program, blocks, warps, dynamic_shared_bytes)
        require_within(heap.limit, needed, f"a chunk of {blocks} blocks of {warps} warps, with the launch's arrays,")
        self._dynamic = dynamic_shared_bytes
        self._shared_bytes = _shared_bytes(program, dynamic_shared_bytes)
        self.shared = Window("shared", self._shared_bytes, (blocks, 1, 1))
        self.local = Window("local", program.local_bytes, threads.shape)
        self.param = Window("param", program.parameter_bytes, (1, 1, 1))
        given = np.frombuffer(parameters[: program.parameter_bytes], np.uint8)
        self.param.flat[: len(given)] = given
        self.globals = HeapWindow(heap)
        self.reporter = Reporter(program, heap, threads, findings)
        self.shared_shadow = Shadow(self.shared, self.reporter)
        self.local_shadow = Shadow(self.local, self.reporter)
        self.races = Races(self.shared, warps, self.reporter, clocks) if warps > 1 and self.shared.size else None
        self._parameters: dict[tuple[int, int, int], Array] = {}

    @staticmethod
    def bytes_for(program: KernelProgram, blocks: int, warps: int, dynamic_shared_bytes: int) -> int:
        """Bytes of the host that a chunk takes for shared and local memory and what is kept on them, at most.

        Examples
        --------
        >>> program = KernelProgram("k", (), 0, (), (), (), 1024, None, 16, None, None, ())
        >>> Memory.bytes_for(program, 1, 4, 0) < Memory.bytes_for(program, 2, 4, 0) < Memory.bytes_for(program, 2, 4, 64)
        True
        """
        shared = round_up(_shared_bytes(program, dynamic_shared_bytes), 32)
        local = round_up(program.local_bytes, 32)
        # Shared memory: bytes, shadow, stamps of writes and reads (at the worst four bytes a byte), and of each warp's.
        return blocks * (shared * (2 + 8 + warps) + warps * 32 * local * 2)

    def address_of(self, symbol: Symbol) -> int:
        """Address of a variable in its own space, as ``mov`` gives it."""
        return self.heap.address_of(symbol) if symbol.space in ("global", "const") else symbol.offset

    def shared_size(self, name: str) -> int:
        """What %dynamic_smem_size, %total_smem_size and %aggr_smem_size read."""
        return self._dynamic if name == "dynamic_smem_size" else self._shared_bytes

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

    def load(
        self, instruction: Instruction, space: str, addresses: Array, bytes_each: int, count: int, active: Active, *,
        alignment: int | None = None, ordering: str = "weak",
    ) -> tuple[Array, Array | None]:  # fmt: skip
        """Read consecutive elements at an address of each thread.

        Parameters
        ----------
        instruction : Instruction
            For findings.
        space : str
            "global", "const", "shared" (or "shared::cta", "shared::cluster"), "local", "param"; "" for generic
            addresses.
        addresses : uint64 array
            Broadcasts to (*lead, blocks, warps, 32): leading axes are several addresses of a thread.
        bytes_each, count : int
            Elements of 1, 2, 4 or 8 bytes.
        active : Active
        alignment : int, optional
            What the address has to be a multiple of; all the bytes of the access, as a rule.
        ordering : str
            "weak", or what synchronises: "relaxed", "acquire", "volatile" ...

        Returns
        -------
        values : unsigned array, shape (count, *shape of the access)
        undefined : bool array of the same shape, or None
            Where a value was stored that nobody had computed. What nobody stored at all is a finding, and not told
            again.
        """
        size, alignment = bytes_each * count, bytes_each * count if alignment is None else alignment
        active = self.threads.exists if active is None else active
        used = fit(active, addresses.shape)
        space = _SPACES[space]
        if not space:
            parts = classify(addresses, used)
            if len(parts) > 1:
                return self._load_each(instruction, parts, addresses, bytes_each, count, active, alignment, ordering)
            space, _, addresses = parts[0]
        where = self._locate(instruction, space, addresses, size, alignment, used, active, write=False)
        unit = units_of(size, alignment)
        values = gather(self._window(space).view(unit), unit, where.positions, bytes_each, count)
        if where.outside is not None or where.misaligned is not None:
            values = np.where(where.used, values, values.dtype.type(0))  # type: ignore[arg-type]
        now = self._synchronise(active, ordering)
        undefined = None
        if space == "shared":
            if self.races is not None:
                mask = _narrowest(active, where.used)
                self.races.read(Touch(instruction, where.positions, addresses, size, unit, mask, now), active)
            undefined = self.shared_shadow.loaded(instruction, where, addresses, bytes_each, count, unit, active)
        elif space == "local":
            undefined = self.local_shadow.loaded(instruction, where, addresses, bytes_each, count, unit, active)
        return values, undefined

    def store(
        self, instruction: Instruction, space: str, addresses: Array, values: Array, active: Active, *,
        alignment: int | None = None, ordering: str = "weak", undefined: Array | None = None,
    ) -> None:  # fmt: skip
        """Write consecutive elements at an address of each thread; where several write the same, the last thread's stay.

        ``values`` is (count, *broadcasts to the threads) of unsigned integers of the elements' width, ``undefined``
        says where they are made of what nobody wrote (it broadcasts to the values). All else is as for `load`.
        """
        size = values.dtype.itemsize * len(values)
        alignment = size if alignment is None else alignment
        space = _SPACES[space]
        active = self.threads.exists if active is None else active
        used = fit(active, addresses.shape)
        if not space:
            parts = classify(addresses, used)
            if len(parts) > 1:
                for name, part, inside in parts:
                    self.store(
                        instruction, name, inside, values, _narrowest(active, part),
                        alignment=alignment, ordering=ordering, undefined=undefined,
                    )  # fmt: skip
                return
            space, _, addresses = parts[0]
        where = self._locate(instruction, space, addresses, size, alignment, used, active, write=True)
        now = self._synchronise(active, ordering)
        unit, mask = units_of(size, alignment), _narrowest(active, where.used)
        shape = np.broadcast_shapes(where.positions.shape, values.shape[1:], *(() if mask is None else (mask.shape,)))
        if undefined is not None:
            undefined = np.broadcast_to(undefined, (len(values), *shape))
            if space == "global":
                self.reporter.undefined_stored(instruction, undefined, active)
        written = np.broadcast_to(where.positions, shape)
        chosen = np.broadcast_to(values, (len(values), *shape))
        if mask is not None:
            full = np.broadcast_to(mask, shape)
            written, chosen = written[full], chosen[:, full]
            undefined = None if undefined is None else undefined[:, full]
        if space == "shared" and self.races is not None:
            touch = Touch(instruction, where.positions, addresses, size, unit, mask, now)
            self.races.write(touch, active, together=ordering != "weak")
        if space in ("shared", "local"):
            shadow = self.shared_shadow if space == "shared" else self.local_shadow
            shadow.stored(
                instruction, where, addresses, written, values.dtype.itemsize, len(values), unit, active, undefined
            )
        scatter(self._window(space).view(unit), unit, written, chosen)

    def _window(self, space: str) -> "Window | HeapWindow":
        if space == "global":
            return self.globals
        return self.shared if space == "shared" else self.local if space == "local" else self.param

    def _locate(
        self, instruction: Instruction, space: str, addresses: Array, size: int, alignment: int,
        used: NDArray[np.bool_] | None, active: Active, *, write: bool,
    ) -> Located:  # fmt: skip
        if space == "global":
            where = self.globals.locate(id(instruction), addresses, size, alignment, used, write)
        else:
            window: Any = self._window(space)
            where = window.locate(addresses, size, alignment, used)
        if where.outside is not None or where.misaligned is not None or where.read_only is not None:
            self.reporter.wrong_place(
                instruction, space, self._size(space), where, addresses, size, alignment, active, write
            )
        return where

    def _size(self, space: str) -> int:
        return {"shared": self.shared.size, "local": self.local.size, "param": self.param.size}.get(space, 0)

    def _load_each(
        self, instruction: Instruction, parts: list[Part], addresses: Array,
        bytes_each: int, count: int, active: Active, alignment: int, ordering: str,
    ) -> tuple[Array, Array | None]:  # fmt: skip
        values: Array | None = None
        undefined: Array | None = None
        for space, mask, inside in parts:
            now = _narrowest(active, mask)
            if now is None or mask is None or not now.any():
                continue
            got, bad = self.load(
                instruction, space, inside, bytes_each, count, now, alignment=alignment, ordering=ordering
            )
            values = got if values is None else np.where(mask, got, values)
            if bad is not None:
                bad = bad & mask
                undefined = bad if undefined is None else undefined | bad
        if values is None:
            values = np.zeros((count, *addresses.shape), f"u{bytes_each}")
        return values, undefined

    def _synchronise(self, active: Active, ordering: str) -> NDArray[np.int32]:
        """Let what synchronises synchronise, and return the time of the access itself: before that."""
        if self.races is None:
            return self.clocks.now
        now = self.clocks.now.copy()
        if ordering == "weak":
            return now
        members = np.ones(now.shape, np.bool_) if active is None else np.broadcast_to(active.any(axis=-1), now.shape)
        self.clocks.hand_over(*np.nonzero(members))
        return now


def _narrowest(active: Active, used: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Say which threads take part, None for all."""
    if active is None or used is None:
        return used if active is None else active
    return active & used


def _shared_bytes(program: KernelProgram, dynamic: int) -> int:
    return max(program.shared_bytes, program.dynamic_offset or 0) + dynamic
