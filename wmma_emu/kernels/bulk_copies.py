# SPDX-License-Identifier: MIT
"""The methods of a kernel's first argument for Hopper's asynchronous copies: tensor maps, bulk copies, bulk groups."""

from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, OutOfBoundsError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.kernels.machine_operands import OPERANDS, address, tensor
from wmma_emu.kernels.machine_warp import MachineWarp
from wmma_emu.kernels.mbarriers import Mbarrier
from wmma_emu.kernels.trace import MappedTensor, Place
from wmma_emu.ptx.launch.tensor_map import TensorMap
from wmma_emu.ptx.program.program import Immediate, VectorOperand
from wmma_emu.ptx.steps.bulk_reductions import REDUCTIONS, needs_noftz, type_for
from wmma_emu.ptx.tensor_maps.boxes import box_bytes, box_span
from wmma_emu.ptx.tensor_maps.element_types import element_type_of
from wmma_emu.suggestions import did_you_mean

_COMPLETE = "mbarrier::complete_tx::bytes"


class BulkCopies:
    """The asynchronous copies of `WarpContext`.

    One elected thread of the warp issues each copy, as if between ``__syncwarp()``.
    """

    _machine_warp: MachineWarp

    def load_tensor(
        self, box: NDArray[Any], map: TensorMap, coordinates: SupportsIndex | Sequence[SupportsIndex],
        bar: Mbarrier, offsets: Sequence[SupportsIndex] = (),
    ) -> None:  # fmt: skip
        """Copy a box of a tensor to shared memory: ``cp.async.bulk.tensor``.

        The bytes arrive when the phase of an mbarrier completes, and complete as many transactions of it:
        `box_bytes(map) <WarpContext.box_bytes>`.

        Parameters
        ----------
        box : Memory
            The beginning of the box in shared memory: an array of `shared`, or a slice of it.
        map : TensorMap
            An argument of the kernel, which `wmma_emu.ptx.tensor_map` makes.
        coordinates : int or sequence of int
            The first element of the box, in the order of the tensor's axes; CUDA counts them from the other end.
        bar : Mbarrier
            The barrier.
        offsets : sequence of int
            For an im2col map, the offsets in the filter, one for each spatial axis.

        Raises
        ------
        ArgumentError, ArgumentValueError
            If an argument is not of this kind, or the number of coordinates is not that of the tensor's axes.
        OutOfBoundsError
            If the box is larger than the array in shared memory.
        """
        mapped = self._mapped(map)
        fields = map.map
        mode, more = ("im2col", fields.rank - 2) if fields.window else ("tile", 0)
        values = self._tensor_values(box, mapped, coordinates)
        found = _integers("offsets", offsets, more)
        values |= {f"offset{i}": x for i, x in enumerate(reversed(found))}
        values["barrier"] = _barrier_place(bar)
        vector = (VectorOperand(tuple(OPERANDS[f"offset{i}"] for i in range(more))),) if more else ()
        self._machine_warp.issue(
            f"cp.async.bulk.tensor.{fields.rank}d.shared::cluster.global.{mode}.{_COMPLETE}",
            (address("shared"), tensor(fields.rank), address("barrier"), *vector), values, arrays=(mapped.tensor,),
        )  # fmt: skip

    def store_tensor(
        self, map: TensorMap, coordinates: SupportsIndex | Sequence[SupportsIndex], box: NDArray[Any]
    ) -> None:
        """Copy a box from shared memory to a tensor, as a part of the current bulk group.

        Parameters and errors: as for `load_tensor`. The parts of a box outside of the tensor are not written.
        """
        self._to_tensor("cp.async.bulk.tensor", "", map, coordinates, box)

    def reduce_tensor(
        self, operation: str, map: TensorMap, coordinates: SupportsIndex | Sequence[SupportsIndex],
        box: NDArray[Any],
    ) -> None:  # fmt: skip
        """Combine a box in shared memory with the elements of a tensor, as a part of the current bulk group.

        ``operation`` is "add", "min", "max", "inc", "dec", "and", "or" or "xor".
        """
        _require_operation(operation)
        if type_for(operation, self._mapped(map).map.map.element) is None:
            raise OptionError(f"{operation} does not reduce elements of {map.map.element.name} by a tensor map")
        self._to_tensor("cp.reduce.async.bulk.tensor", f".{operation}", map, coordinates, box)

    def copy_bulk(self, target: NDArray[Any], source: NDArray[Any], bar: Mbarrier | None = None) -> None:
        """Copy contiguous bytes between global and shared memory: ``cp.async.bulk``.

        A copy to shared memory takes an mbarrier, whose phase completes it; a copy to global memory is a part of the
        current bulk group. The bytes of both are equally many, a multiple of 16, and begin at multiples of 16.
        """
        to, of = self._contiguous("the target", target), self._contiguous("the source", source)
        spaces = to.owner.space, of.owner.space
        if spaces not in (("shared", "global"), ("global", "shared")):
            raise ArgumentError(f"a bulk copy is between global and shared memory, not within {spaces[0]} memory")
        if (bar is None) == (spaces[0] == "shared"):
            raise ArgumentError(
                "a copy to shared memory needs an mbarrier: t.copy_bulk(target, source, bar)" if bar is None
                else "a copy to global memory takes no mbarrier: t.copy_bulk(target, source), t.commit_group(), "
                "t.wait_group(0)"
            )  # fmt: skip
        places = {"shared": to, "global": of} if bar is not None else {"shared": of, "global": to}
        values: dict[str, int | Place] = {**places, "size": _same_size(target, source)}
        if bar is None:
            operands: Any = address("global"), address("shared"), OPERANDS["size"]
            self._machine_warp.issue(
                "cp.async.bulk.global.shared::cta.bulk_group", operands, values, arrays=(to.owner,)
            )  # fmt: skip
            return
        operands = address("shared"), address("global"), OPERANDS["size"], address("barrier")
        values["barrier"] = _barrier_place(bar)
        self._machine_warp.issue(
            f"cp.async.bulk.shared::cluster.global.{_COMPLETE}", operands, values, arrays=(of.owner,)
        )  # fmt: skip

    def reduce_bulk(self, operation: str, target: NDArray[Any], source: NDArray[Any]) -> None:
        """Combine contiguous elements in shared memory with those in global memory: ``cp.reduce.async.bulk``."""
        _require_operation(operation)
        to, of = self._contiguous("the target", target), self._contiguous("the source", source)
        if (to.owner.space, of.owner.space) != ("global", "shared") or target.dtype != source.dtype:
            raise ArgumentError(
                f"a bulk reduction combines an array in shared memory with one of its dtype in global memory, not "
                f"{source.dtype} in {of.owner.space} memory with {target.dtype} in {to.owner.space} memory"
            )
        element = element_type_of(target.dtype)
        kind = type_for(operation, element) or element.name
        if kind not in REDUCTIONS[operation]:
            legal = ", ".join(REDUCTIONS[operation])
            raise OptionError(f"{operation} does not reduce {target.dtype}; its types are {legal}")
        noftz = ".noftz" if needs_noftz(operation, kind) else ""
        values: dict[str, int | Place] = {"shared": of, "global": to, "size": _same_size(target, source)}
        self._machine_warp.issue(
            f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}{noftz}.{kind}",
            (address("global"), address("shared"), OPERANDS["size"]), values, arrays=(to.owner,),
        )  # fmt: skip

    def commit_group(self) -> None:
        """End the warp's current bulk group, to which its copies to global memory belong."""
        self._machine_warp.issue("cp.async.bulk.commit_group", (), {})

    def wait_group(self, pending: SupportsIndex, read: bool = False) -> None:
        """Wait until all but the last ``pending`` bulk groups of the warp are done; or, with ``read``, have read.

        Afterwards the warp may write the sources in shared memory again. Other warps need a barrier.
        """
        number = integer_of(pending)
        if number is None or number < 0:
            raise OptionError(f"a number of pending groups is an integer from 0 upwards, not {shorten(pending)}")
        opcode = f"cp.async.bulk.wait_group{'.read' if read else ''}"
        self._machine_warp.issue(opcode, (Immediate("int", number),), {})

    def fence_proxy_async(self) -> None:
        """Make what the warp has written visible to copies that are issued later: ``fence.proxy.async``."""
        self._machine_warp.issue("fence.proxy.async", (), {}, by_all=True)

    def box_bytes(self, map: TensorMap) -> int:
        """Return the bytes that a copy by a tensor map delivers, with those outside of the tensor."""
        return box_bytes(self._mapped(map).map.map)

    def _to_tensor(
        self, name: str, operation: str, map: TensorMap,
        coordinates: SupportsIndex | Sequence[SupportsIndex], box: NDArray[Any],
    ) -> None:  # fmt: skip
        mapped = self._mapped(map)
        rank, mode = map.map.rank, "im2col_no_offs" if map.map.window else "tile"
        self._machine_warp.issue(
            f"{name}.{rank}d.global.shared::cta{operation}.{mode}.bulk_group", (tensor(rank), address("shared")),
            self._tensor_values(box, mapped, coordinates), arrays=(mapped.tensor,),
        )  # fmt: skip

    def _mapped(self, given: object) -> MappedTensor:
        """Return the map among the kernel's arguments."""
        for x in self._machine_warp.block.trace.maps:
            if x.map is given:
                return x
        if isinstance(given, TensorMap):
            raise ArgumentError(f"{given} is not an argument of the kernel; pass it in the launch")
        raise ArgumentError(
            f"a tensor map is needed, not {shorten(given)}; pass wmma_emu.ptx.tensor_map(array, box) in the launch"
        )

    def _tensor_values(
        self, box: NDArray[Any], mapped: MappedTensor, coordinates: SupportsIndex | Sequence[SupportsIndex]
    ) -> dict[str, int | Place]:
        fields = mapped.map.map
        place, needed = self._contiguous("the box", box), box_span(fields)
        if place.owner.space != "shared":
            raise ArgumentError("the box is in global memory; it must be an array of t.shared, or a slice of it")
        if needed > box.nbytes:
            raise OutOfBoundsError(
                f"the box of the tensor map takes {needed} bytes of shared memory, but the array has {box.nbytes}; "
                "declare a larger array, or make a map with a smaller box"
            )
        given = (coordinates,) if not isinstance(coordinates, Iterable) else coordinates
        found = _integers("coordinates", given, fields.rank)
        return {
            "shared": place, "map": Place(mapped.bytes, 0),
            **{f"coordinate{i}": x for i, x in enumerate(reversed(found))},
        }  # fmt: skip

    def _contiguous(self, name: str, array: object) -> Place:
        if not isinstance(array, np.ndarray) or not array.size:
            raise ArgumentError(f"{name} must be an array of the kernel or a slice of it, not {shorten(array)}")
        place = self._machine_warp.block.trace.place_of(array)
        if place is None:
            raise ArgumentError(
                f"{name} is neither in shared memory nor in an argument of the kernel; A[i] of index arrays is a copy, "
                "a slice is not"
            )
        if not array.flags.c_contiguous:
            raise ArgumentValueError(f"{name} has gaps (strides {array.strides}); a bulk copy takes contiguous bytes")
        return place


def _require_operation(given: str) -> None:
    if given not in REDUCTIONS:
        near = did_you_mean(str(given), list(REDUCTIONS), "")
        raise OptionError(f"{shorten(given)} is not a reduction; reductions are {', '.join(REDUCTIONS)}{near}")


def _same_size(target: NDArray[Any], source: NDArray[Any]) -> int:
    if target.nbytes != source.nbytes:
        raise ArgumentValueError(
            f"the target has {target.nbytes} bytes and the source {source.nbytes}; pass slices of equally many bytes"
        )
    return int(target.nbytes)


def _barrier_place(given: object) -> Place:
    if not isinstance(given, Mbarrier):
        raise ArgumentError(f"a barrier of t.mbarrier() is needed, not {shorten(given)}")
    return given.place


def _integers(name: str, given: object, count: int) -> list[int]:
    found = [integer_of(x) for x in given] if isinstance(given, Iterable) and not isinstance(given, str) else [None]
    if None in found or len(found) != count:
        raise ArgumentValueError(f"{name}={shorten(given)}, but the tensor map takes {count} integers")
    return [x for x in found if x is not None]
