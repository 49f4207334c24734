# SPDX-License-Identifier: MIT
"""Copies by tensor maps in Python kernels: the bytes of an H200, and those of PTX kernels on drawn maps."""

import numpy as np
import pytest

import wmma_emu as we
from tests.kernels.copying_kernels import drawn_map, load_box, store_box
from tests.ptx.tensor_maps.copy_kernels import DUMPED, FIRST, UNCHANGED, Load, load_kernel, store_kernel
from tests.ptx.tensor_maps.test_recorded_copies import (
    BEFORE_WAIT,
    FAULTS,
    RETURNED,
    ROWS,
    TOO_FEW_EXPECTED,
    operands_of_reductions,
)
from wmma_emu.errors import DivergenceError
from wmma_emu.ptx.tensor_maps.boxes import box_bytes
from wmma_emu.ptx.tensor_maps.element_types import ELEMENT_TYPES
from wmma_emu.ptx.tensor_maps.encoding import TensorMapFields

LOADING = we.kernel(findings="report")(load_box)
STORING = we.kernel(findings="raise")(store_box)


def loaded(row):
    """The report of a recorded load as a Python kernel, and the shared memory after it."""
    lists = {x: tuple(row[x]) for x in ("dims", "coordinates", "offsets")}
    load = Load(**{x: row[x] for x in ("kernel", "element", "sent", "off", "shift", "has_patterns")}, **lists)
    given, out = we.ptx.TensorMap(bytes.fromhex(row["map"]), load.source()[load.shift :]), np.zeros(DUMPED // 4, "u4")
    more = given.map.rank - 2 if given.map.window else 0
    report = LOADING[1, 32](
        given, out, load.sent, load.off, load.coordinates[: given.map.rank][::-1], load.offsets[:more][::-1]
    )
    return report, out.view(np.uint8)


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 16)
@pytest.mark.parametrize(
    "row", [x for x in ROWS if not x["fault"] and x["done"] and x["name"] not in BEFORE_WAIT], ids=lambda x: x["name"]
)
def test_a_load_leaves_the_bytes_of_the_gpu(row):
    report, found = loaded(row)
    expected = np.full(DUMPED, UNCHANGED, np.uint8)
    returned = RETURNED[row["name"]]
    expected[: len(returned)] = returned
    assert np.array_equal(found, expected)
    assert [x.kind for x in report.findings] == (["transaction bytes"] if row["name"] == TOO_FEW_EXPECTED else [])


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 9)
@pytest.mark.parametrize("row", [x for x in ROWS if x["fault"]], ids=lambda x: x["name"])
def test_what_stops_the_kernel_on_the_gpu_is_an_error(row):
    with pytest.raises(DivergenceError, match="deadlock") as caught:  # the copy is not done
        loaded(row)
    assert [x.kind for x in caught.value.report.findings] == [FAULTS[row["fault"]], "deadlock"]


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 12)
@pytest.mark.parametrize(("element", "operation", "a", "b"), list(operands_of_reductions()))
def test_a_reduction_gives_the_bits_of_the_gpu(element, operation, a, b):
    kind = next(x for x in ELEMENT_TYPES if x.name == element)
    given = TensorMapFields(0, kind, (len(a),), (), (1,), box=(256,)).encode()
    memory, found = np.zeros(DUMPED // 4, np.uint32), a.copy()
    memory.view(np.uint8)[: b.nbytes] = b.view(np.uint8)
    for first in range(0, len(a), 256):
        STORING[1, 32](we.ptx.TensorMap(given, found), memory, first * a.itemsize, first, operation)
    assert np.array_equal(found, RETURNED[f"red_{operation}_dt{kind.driver}"])


@pytest.mark.sweep(keep=1 / 24)
@pytest.mark.parametrize("seed", range(240))
def test_a_load_by_a_drawn_map_leaves_the_bytes_of_a_ptx_kernel(seed):
    array, given, coordinates, offsets = drawn_map(seed)
    nbytes, out, other = box_bytes(given.map), np.zeros(DUMPED // 4, np.uint32), np.zeros(64 + DUMPED, np.uint8)
    report = LOADING[1, 32](given, out, nbytes, 1024, coordinates, offsets)
    mode = "im2col" if offsets else "tile"
    places = (*coordinates[::-1], 0, 0, 0, 0)[:5], (*offsets[::-1], 0, 0, 0)[:3]
    kernel = we.ptx.Module(load_kernel(array.ndim, mode), arch="sm_90a")["k"]
    kernel[1, 32, FIRST + DUMPED](given, other, nbytes, 1024, *places[0], *places[1], findings="raise")
    assert np.array_equal(out.view(np.uint8), other[64:])
    assert not report.findings


@pytest.mark.sweep(keep=1 / 24)
@pytest.mark.parametrize("seed", [x for x in range(240) if not drawn_map(x).offsets])
def test_a_store_by_a_drawn_map_leaves_the_bytes_of_a_ptx_kernel(seed):
    array, given, coordinates, _ = drawn_map(seed)
    coordinates = tuple(max(x, 0) for x in coordinates)
    memory = np.random.default_rng(seed).integers(0, 256, 64 + DUMPED, np.uint8)
    before = array.copy()
    STORING[1, 32](given, memory[64:].view(np.uint32), 2048, coordinates, "")
    found = array.copy()
    array[...] = before
    kernel = we.ptx.Module(store_kernel(array.ndim), arch="sm_90a")["k"]
    places = (*coordinates[::-1], 0, 0, 0, 0)[:5]
    kernel[1, 32, FIRST + DUMPED](given, memory, 0, 2048, *places, 0, 0, 0, findings="raise")
    assert found.tobytes() == array.tobytes()
