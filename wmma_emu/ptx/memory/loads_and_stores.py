# SPDX-License-Identifier: MIT
"""Loads and stores of all spaces, by the threads of a chunk of blocks, with what is wrong noted."""

import numpy as np

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import ordering_of
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.memory.access import gather, in_passes, scatter
from wmma_emu.ptx.memory.address_spaces import AddressSpaces
from wmma_emu.ptx.memory.generic import classify, in_each
from wmma_emu.ptx.memory.masks import fit, narrowest, pick, wide
from wmma_emu.ptx.memory.places import BASES, WINDOW_BITS
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array

_SPACES = {
    "": "", "global": "global", "const": "global", "shared": "shared", "shared::cta": "shared",
    "shared::cluster": "shared", "local": "local", "param": "param", "param::entry": "param", "param::func": "param",
}  # fmt: skip

_COMMON = ("global", "shared")
"""Spaces that threads share."""

_CONST, _OWN_BITS = np.uint64(BASES["const"]), np.uint64(WINDOW_BITS)
"""What an address of a constant's own space, of so many bits, is counted from; pointers of the host's are generic."""


class LoadsAndStores(AddressSpaces):
    """Loads and stores of all spaces of some blocks.

    Accesses take and give the bits of many threads at once; what is narrow stays narrow. An access that is out of
    bounds or misaligned is left out, with a finding; loads then give 0.
    """

    def load(
        self, instruction: PtxInstruction, space: str, addresses: Array, bytes_each: int, count: int, active: Active, *,
        alignment: int | None = None, ordering: str = "weak",
    ) -> tuple[Array, Undefined | None]:  # fmt: skip
        """Read consecutive elements at an address of each thread: (count, *shape of the access), and what is undefined.

        ``space`` is "" for generic addresses. These broadcast to (*lead, blocks, warps, 32), where leading axes are
        several addresses of a thread, and have to be multiples of ``alignment``: of all the bytes of the access unless
        given. ``ordering`` is "weak", or what synchronises: "relaxed", "acquire", "volatile" ...
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
        reached = self.reach(
            instruction, space, addresses, bytes_each, count, alignment, active, write=False, ordering=ordering
        )
        values = gather(self.window(space).view(reached.unit), reached.unit, reached.where.positions, bytes_each, count)
        if reached.where.outside is not None or reached.where.misaligned is not None:
            values = np.where(reached.where.used, values, values.dtype.type(0))  # type: ignore[arg-type]
        undefined = self.note_load(reached, active)
        if self.suspects is not None and self.races is not None:
            undefined = self.races.doubted(reached, undefined, self.origins)
        if ordering != "weak" and self.causality.is_released_to and space in _COMMON:
            how = self.ordering_of(instruction)
            self.causality.loaded(space, *self.threads_of(reached), bytes_each * count, how)
        return values, undefined

    def store(
        self, instruction: PtxInstruction, space: str, addresses: Array, values: Array, active: Active, *,
        alignment: int | None = None, ordering: str = "weak", undefined: Undefined | None = None,
    ) -> None:  # fmt: skip
        """Write consecutive elements at an address of each thread; of several at one place, one stays.

        Within a warp that is the value of the lowest lane of the last pass, see `in_passes`; PTX leaves it open.

        ``values`` is (count, *broadcasts to the threads) of unsigned integers of the elements' width, ``undefined``
        says which of their bits nobody wrote (as many, or wider where threads differ in that alone): of global memory
        that is a finding. All else is as for `load`.
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
        reached = self.reach(
            instruction, space, addresses, values.dtype.itemsize, len(values), alignment, active,
            write=True, ordering=ordering,
        )  # fmt: skip
        if undefined is not None and space == "global":
            undefined = self.reporter.undefined_stored(reached, undefined)
        given = values
        mask = None if reached.mask is None else in_passes(reached.mask, size)
        bits = None if undefined is None else in_passes(undefined.bits, size)
        positions, values = in_passes(reached.where.positions, size), in_passes(values, size)
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
        self.note_store(reached, written, active, lost, given)
        scatter(self.window(space).view(reached.unit), reached.unit, written, chosen)
        if ordering != "weak" and self.causality.is_released_to and space in _COMMON:
            self._release(reached, space, size)

    def _release(self, reached: ResolvedAccess, space: str, size: int) -> None:
        """Note what threads release by a strong store, in the order in which the stores are done."""
        (g, w, lane), positions = self.threads_of(reached)
        rank = np.argsort(in_passes(np.arange(LANES), size))
        order = np.lexsort((rank[lane], w, g))
        how = ordering_of(reached.access.instruction.mnemonic, reached.access.instruction.modifiers)
        self.causality.stored(space, (g[order], w[order], lane[order]), positions[order], size, how)
        if self.locks is not None:
            self.locks.given_back((g, w, lane), space, positions, how)
