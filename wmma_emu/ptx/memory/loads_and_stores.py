# SPDX-License-Identifier: MIT
"""Loads and stores of all address spaces by the threads of a wave, with findings for illegal ones."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.asynchrony import EAGER, Asynchrony
from wmma_emu.ptx.causality import ordering_of
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.memory.access import gather, in_passes, scatter, units_of
from wmma_emu.ptx.memory.address_map import BASES, WINDOW_BITS
from wmma_emu.ptx.memory.address_spaces import AddressSpaces
from wmma_emu.ptx.memory.generic import classify, in_each
from wmma_emu.ptx.memory.masks import fit, narrowest, pick, wide
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array

_SPACES = {
    "": "", "global": "global", "const": "global", "shared": "shared", "shared::cta": "shared",
    "shared::cluster": "shared", "local": "local", "param": "param", "param::entry": "param", "param::func": "param",
}  # fmt: skip

_COMMON = ("global", "shared")
"""Address spaces that threads share."""

_CONST, _OWN_BITS = np.uint64(BASES["const"]), np.uint64(WINDOW_BITS)
"""The base of addresses in the constant space, and their number of bits; pointers from the host are generic."""


class LoadsAndStores(AddressSpaces):
    """Loads and stores of all address spaces of some blocks.

    Accesses take and return the values of many threads at once; values that are equal in all threads stay narrow. An
    access that is out of bounds or misaligned is skipped, with a finding; loads then return 0. ``asynchrony`` is the
    time at which asynchronous operations move their data. ``chip`` is the name of the chip, on which the bits of
    mbarriers depend.
    """

    asynchrony: Asynchrony = EAGER
    chip = "sm_90"

    def load(
        self, instruction: PtxInstruction, space: str, addresses: Array, bytes_each: int, count: int, active: Active, *,
        alignment: int | None = None, ordering: str = "weak",
    ) -> tuple[Array, Undefined | None]:  # fmt: skip
        """Read consecutive elements at an address of each thread; return them and their undefined bits.

        The elements are (count, *shape of the access). ``space`` is "" for generic addresses. Addresses broadcast to
        (*lead, blocks, warps, 32), where leading axes are several addresses of a thread, and must be multiples of
        ``alignment``: the size of the access unless it is given. ``ordering`` is "weak", or a synchronising one:
        "relaxed", "acquire", "volatile" ...
        """
        alignment = bytes_each * count if alignment is None else alignment
        active = self.threads.exists if active is None else active
        used = fit(active, addresses.shape)
        if space == "const":
            addresses = np.where(addresses >> _OWN_BITS, addresses, addresses + _CONST)
        space = _SPACES[space]
        if not space:
            parts = classify(addresses, used)
            if len(parts) > 1:

                def in_one(name: str, inside: Array, now: Active) -> tuple[Array, Undefined | None]:
                    return self.load(
                        instruction, name, inside, bytes_each, count, now, alignment=alignment, ordering=ordering
                    )

                found, undefined = in_each(parts, active, in_one)
                return np.zeros((count, *addresses.shape), f"u{bytes_each}") if found is None else found, undefined
            space, _, addresses = parts[0]
        resolved = self.resolve(
            instruction, space, addresses, bytes_each, count, alignment, active, write=False, ordering=ordering
        )
        values = gather(
            self.window(space).view(resolved.unit), resolved.unit, resolved.where.positions, bytes_each, count
        )
        if resolved.where.outside is not None or resolved.where.misaligned is not None:
            values = np.where(resolved.where.used, values, values.dtype.type(0))  # type: ignore[arg-type]
        undefined = self.note_load(resolved, active)
        if self.suspects is not None and self.races is not None:
            undefined = self.races.undefined_by_race(resolved, undefined, self.origins)
        if ordering != "weak" and self.causality.uses_memory_order and space in _COMMON:
            how = self.ordering_of(instruction)
            self.causality.loaded(space, *self.threads_of(resolved), bytes_each * count, how)
        return values, undefined

    def peek(
        self, instruction: PtxInstruction, space: str, addresses: Array, bytes_each: int, count: int, active: Active, *,
        alignment: int,
    ) -> tuple[Array, None]:  # fmt: skip
        """Read elements of global or shared memory again, as `load` does, for an access that was checked before."""
        used = fit(self.threads.exists if active is None else active, addresses.shape)
        total = bytes_each * count
        if space == "global":
            where = self.globals.locate(id(instruction), addresses, total, alignment, used, False)
        else:
            where = self.shared.locate(addresses, total, alignment, used)
        unit = units_of(total, alignment)
        values = gather(self.window(space).view(unit), unit, where.positions, bytes_each, count)
        is_whole = where.outside is None and where.misaligned is None
        return values if is_whole else np.where(where.used, values, values.dtype.type(0)), None  # type: ignore[arg-type]

    def store(
        self, instruction: PtxInstruction, space: str, addresses: Array, values: Array, active: Active, *,
        alignment: int | None = None, ordering: str = "weak", undefined: Undefined | None = None,
    ) -> None:  # fmt: skip
        """Write consecutive elements at an address of each thread; of several at one address, one remains.

        Within a warp that is the value of the lowest lane of the last pass, see `in_passes`; PTX leaves it open.

        ``values`` is (count, *broadcasts to the threads) of unsigned integers of the elements' width, ``undefined``
        marks their uninitialised bits (of the same shape, or wider if threads differ only in them): a store of such
        bits to global memory is a finding. The other parameters are as for `load`.
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
                        instruction, name, inside, values, narrowest(active, part),
                        alignment=alignment, ordering=ordering, undefined=undefined,
                    )  # fmt: skip
                return
            space, _, addresses = parts[0]
        resolved = self.resolve(
            instruction, space, addresses, values.dtype.itemsize, len(values), alignment, active,
            write=True, ordering=ordering,
        )  # fmt: skip
        if undefined is not None and space == "global":
            undefined = self.reporter.undefined_stored(resolved, undefined)
        given = values
        mask = None if resolved.mask is None else in_passes(resolved.mask, size)
        bits = None if undefined is None else in_passes(undefined.bits, size)
        positions, values = in_passes(resolved.where.positions, size), in_passes(values, size)
        shape = np.broadcast_shapes(
            positions.shape, values.shape[1:], *(() if mask is None else (mask.shape,)),
            *(() if bits is None else (bits.shape[1:],)),
        )  # fmt: skip
        index = None if mask is None else np.flatnonzero(wide(mask, shape))
        lost: Undefined | None = None
        if undefined is not None and bits is not None:
            origin = in_passes(undefined.origin, size)
            lost = Undefined(*(pick(np.broadcast_to(x, (len(values), *shape)), shape, index) for x in (bits, origin)))
        written = pick(positions, shape, index)
        chosen = pick(wide(values, (len(values), *shape)), shape, index)
        self.note_store(resolved, written, active, lost, given)
        scatter(self.window(space).view(resolved.unit), resolved.unit, written, chosen)
        if ordering != "weak" and self.causality.uses_memory_order and space in _COMMON:
            self._release(resolved, space, size)

    def note_atomic_order(self, resolved: ResolvedAccess, turn: NDArray[np.int64] | None, before: Array) -> None:
        """Note the old value of each atomic operation, in the order of their execution; tracing memory keeps it.

        ``turn`` are the threads in this order, by their index among those that take part; None is their own order.
        """

    def _release(self, resolved: ResolvedAccess, space: str, size: int) -> None:
        """Record what threads release by a strong store, in the order in which the stores are done."""
        (g, w, lane), positions = self.threads_of(resolved)
        rank = np.argsort(in_passes(np.arange(LANES), size))
        order = np.lexsort((rank[lane], w, g))
        how = ordering_of(resolved.access.instruction.mnemonic, resolved.access.instruction.modifiers)
        self.causality.stored(space, (g[order], w[order], lane[order]), positions[order], size, how)
        if self.locks is not None:
            self.locks.released((g, w, lane), space, positions, how)
