# SPDX-License-Identifier: MIT
"""The memory accesses and the barriers of the warps of a launch, recorded while the kernel runs."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.kernels.sites import Sites
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.launch.tensor_map import TensorMap
from wmma_emu.ptx.program.program import PtxInstruction


class Owner(NamedTuple):
    """An array of a launch: its name in findings, its bytes, and its dtype and shape.

    ``array`` is a contiguous view of all its bytes if it is global memory, None if it is a declaration of shared
    memory, which each block allocates separately, at ``begin`` bytes from the start. ``shape`` is () if its elements
    are not contiguous.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    array: NDArray[Any] | None = None
    is_aligned: bool = True
    begin: int = 0


class Place(NamedTuple):
    """A byte of an array."""

    owner: Owner
    offset: int


class MappedTensor(NamedTuple):
    """A tensor map among the arguments: the owner of its 128 bytes in global memory, and that of the tensor.

    The tensor begins ``offset`` bytes after its owner.
    """

    map: TensorMap
    bytes: Owner
    tensor: Owner
    offset: int


class MachineCall(NamedTuple):
    """A call that a warp executes as an instruction of the PTX machine.

    ``values`` are the operands by the names of their registers. One elected lane executes the instruction, or all lanes
    if it is ``by_all``. ``arrays`` are the arrays in global memory that it accesses.
    """

    instruction: PtxInstruction
    values: tuple[tuple[str, int | Place], ...]
    by_all: bool
    arrays: tuple[Owner, ...]

    @property
    def barrier(self) -> Place:
        """The mbarrier among its operands."""
        (place,) = (x for name, x in self.values if name == "barrier" and isinstance(x, Place))
        return place


class Access(NamedTuple):
    """One access of one warp at one source position.

    ``offsets`` are the byte offsets of its elements, relative to ``begin`` bytes after the owner's first byte.
    ``lanes`` are the lanes along the last axis; None if the whole warp does the access. ``values`` are the values of a
    store, or those found in shared memory.
    """

    instruction: PtxInstruction
    owner: Owner
    offsets: NDArray[np.int64]
    begin: int
    size: int
    values: NDArray[Any] | None
    lanes: NDArray[np.int64] | None


class Meeting(NamedTuple):
    """Warps that a barrier released together; ``is_of_all`` if it waited for the whole block."""

    number: int
    warps: tuple[int, ...]
    is_of_all: bool


class Round:
    """The accesses of the warps of a block from one barrier to the next; a number is the mask of a ``__syncwarp()``.

    At the end, the copies arrive that complete transactions of the mbarriers ``arrived``, and the warps of ``waits``
    see that phases of mbarriers are complete.
    """

    def __init__(self) -> None:
        self.accesses: dict[int, list[Access | MachineCall | int]] = {}
        self.meetings: tuple[Meeting, ...] = ()
        self.waits: tuple[tuple[int, MachineCall], ...] = ()
        self.arrived: tuple[Place, ...] = ()


class BlockTrace(NamedTuple):
    """One block, by its number in the grid."""

    number: int
    rounds: list[Round]


class Trace:
    """The accesses of a launch, as a `wmma_emu.watching.Watcher`."""

    def __init__(self, arrays: Sequence[Owner], maps: Sequence[MappedTensor] = ()) -> None:
        self.sites = Sites()
        self.arrays, self.maps = (*arrays, *(x.tensor for x in maps)), tuple(maps)
        self.declared: dict[object, Owner] = {}
        self.blocks: list[BlockTrace] = []
        self.count = 0
        self._global = [(*byte_bounds(x.array), x) for x in self.arrays if x.array is not None and x.array.nbytes]
        self._owners = list(self._global)
        self._current: list[Access | MachineCall | int] = []
        self._warp = 0

    def begin_block(self, number: int) -> None:
        """Record which block runs next."""
        self.blocks.append(BlockTrace(number, [Round()]))
        self._owners = list(self._global)
        self.count += 1

    def clear(self) -> None:
        """Discard the accesses of blocks that have ended."""
        self.blocks.clear()
        self.count = 0

    def declare(self, declaration: object, name: str, array: NDArray[Any], begin: int) -> None:
        """Record the address of the block's shared memory of a declaration, ``begin`` bytes from its start."""
        owner = self.declared.get(declaration)
        if owner is None:
            names = [x.name for x in self.declared.values()]
            name = f"{name} ({names.count(name) + 1})" if name in names else name
            owner = Owner(name, "shared", array.shape, array.dtype, begin=begin)
            self.declared[declaration] = owner
        address = array.__array_interface__["data"][0]
        self._owners.insert(0, (address, address + array.nbytes, owner))

    def begin_warp(self, warp: int) -> None:
        """Record which warp runs next."""
        self._warp = warp
        self._current = self.blocks[-1].rounds[-1].accesses.setdefault(warp, [])

    def sync_warp(self, mask: int) -> None:
        """Record that the lanes of a mask wait for each other."""
        self._current.append(mask)

    def call(self, call: MachineCall) -> None:
        """Record a call of the running warp."""
        self._current.append(call)
        self.count += 1

    def look(self, call: MachineCall, *, is_over: bool, arrives: bool) -> None:
        """Record that the running warp looks at an mbarrier, after all earlier accesses of other warps if it is over.

        ``arrives`` is whether the copies of the mbarrier arrive afterwards.
        """
        if is_over:
            self.meet(())
            self.begin_warp(self._warp)
        self.call(call)
        if arrives:
            self.meet((), arrived=(call.barrier,))
            self.begin_warp(self._warp)

    def meet(
        self, meetings: Sequence[Meeting], waits: Sequence[tuple[int, MachineCall]] = (),
        arrived: Iterable[Place] = (),
    ) -> None:  # fmt: skip
        """Record the warps that barriers released, and begin the next round; the parameters are as in `Round`."""
        last = self.blocks[-1].rounds[-1]
        last.meetings, last.waits, last.arrived = tuple(meetings), tuple(waits), tuple(arrived)
        self.blocks[-1].rounds.append(Round())

    def place_of(self, array: NDArray[Any]) -> Place | None:
        """Return the position of an array's first element in global memory or the block's shared memory."""
        first = array.__array_interface__["data"][0]
        for low, high, owner in self._owners:
            if low <= first < high:
                return Place(owner, first - low)
        return None

    def owner_of(self, declared: NDArray[Any]) -> Owner:
        """Return the owner of an array in the block's shared memory."""
        first = declared.__array_interface__["data"][0]
        return next(owner for low, high, owner in self._owners if low <= first < high)

    def accessed(
        self, address: int, offsets: NDArray[np.int64], dtype: np.dtype[Any], what: str,
        values: NDArray[Any] | None = None, lanes: NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        """Record one access of the running warp; accesses to other memory are ignored."""
        first = address + offsets.item(0)
        for low, high, owner in self._owners:
            if low <= first < high:
                instruction = self.sites.current(what, dtype.itemsize, owner.name, owner.space)
                # Found values matter only where they show that memory was written.
                if what != "st" and values is not None:
                    values = values.copy() if owner.space == "shared" else None
                self._current.append(Access(instruction, owner, offsets, address - low, dtype.itemsize, values, lanes))
                self.count += -(-offsets.size // LANES)
                return
