# SPDX-License-Identifier: MIT
"""The arrays and tensor maps of a launch of a Python kernel in the heap of the PTX machine."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from wmma_emu.kernels.trace import Place, Trace
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.program.program import ModuleProgram

NO_MODULE = ModuleProgram({}, "", "1.0", b"", b"", (), (), (), ())


class MappedArrays(NamedTuple):
    """A heap with the arrays of a launch, and the base address of each by the `id` of its owner.

    Shared memory is added to ``bases`` as it is declared; its addresses are those within the block.
    """

    heap: GlobalMemory
    bases: dict[int, int]

    def value(self, given: int | Place) -> int:
        """Return the value of an operand: a number, or an address."""
        return given if isinstance(given, int) else self.bases[id(given.owner)] + given.offset


def mapped_arrays(trace: Trace, left_out: Collection[int] = ()) -> MappedArrays:
    """Map the arrays of a launch, except the owners with some ids, and its tensor maps, with the tensors' addresses."""
    heap = GlobalMemory(NO_MODULE)
    arrays = [(x, x.array) for x in trace.arrays if x.array is not None and id(x) not in left_out]
    heap.expect(array for _, array in arrays)
    bases = {id(x): heap.map(array, x.name) for x, array in arrays}
    for x in trace.maps:
        if id(x.tensor) in bases:
            address = bases[id(x.tensor)] + x.offset
            given = np.frombuffer(x.map.pack(lambda array, at=address: at), np.uint8)  # type: ignore[misc]
            bases[id(x.bytes)] = heap.map(given, x.bytes.name)
    return MappedArrays(heap, bases)
