# SPDX-License-Identifier: MIT
"""Copies by tensor maps against what an H200 returned (``copy_kernels`` says how it was recorded)."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.ptx.tensor_maps.copy_kernels import DUMPED, FIRST, KERNELS, UNCHANGED, Load
from wmma_emu.errors import KernelFindingsError
from wmma_emu.ptx import Module, Struct, tensor_map
from wmma_emu.ptx.tensor_maps.element_types import ELEMENT_TYPES
from wmma_emu.ptx.tensor_maps.encoding import TensorMapFields

DATA = Path(__file__).parent / "data"
ROWS = [json.loads(line) for line in (DATA / "copies.jsonl").read_text().splitlines()]
RETURNED = np.load(DATA / "copies.npz")
FAULTS = {715: "illegal operand", 716: "misaligned"}
"""Errors of the driver: an illegal instruction, a misaligned address."""

BEFORE_WAIT = {"tx_expect+16"}
"""Loads whose phase never completes; the GPU dumps bytes that no thread has waited for."""


@cache
def kernel(name: str):
    return Module(KERNELS[name], arch="sm_90a")["k"]


def run_load(row: dict, findings: str):
    names = ("kernel", "element", "dims", "coordinates", "sent", "off", "offsets", "shift", "has_patterns")
    load = Load(**{x: tuple(row[x]) if isinstance(row[x], list) else row[x] for x in names})
    out = np.zeros(64 + DUMPED, np.uint8)
    given = Struct(bytes.fromhex(row["map"]), pointers={0: load.source()[load.shift :]})
    coordinates = (*load.coordinates, 0, 0, 0, 0)[:5]
    launch = kernel(load.kernel)[1, 32, FIRST + DUMPED]
    report = launch(given, out, load.sent, load.off, *coordinates, *load.offsets, findings=findings)
    return report, int(out[24:28].view(np.uint32)[0]), out[64:]


TOO_FEW_EXPECTED = "tx_expect-16"


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize(
    "row", [x for x in ROWS if not x["fault"] and x["name"] not in BEFORE_WAIT], ids=lambda x: x["name"]
)
def test_a_load_leaves_the_bytes_of_the_gpu(row):
    report, is_done, found = run_load(row, "report")
    expected = np.full(DUMPED, UNCHANGED, np.uint8)
    returned = RETURNED[row["name"]]
    expected[: len(returned)] = returned
    assert np.array_equal(found, expected)
    assert is_done == row["done"]
    assert [x.kind for x in report.findings] == (["transaction bytes"] if row["name"] == TOO_FEW_EXPECTED else [])


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize("row", [x for x in ROWS if x["fault"]], ids=lambda x: x["name"])
def test_what_stops_the_kernel_on_the_gpu_is_an_error(row):
    with pytest.raises(KernelFindingsError) as caught:
        run_load(row, "raise")
    assert caught.value.report.findings[0].kind == FAULTS[row["fault"]]


@pytest.mark.vectors
def test_a_phase_that_expects_too_many_bytes_never_completes():
    (row,) = (x for x in ROWS if x["name"] in BEFORE_WAIT)
    report, is_done, _ = run_load(row, "report")
    assert is_done == row["done"] == 0
    assert [x.kind for x in report.findings] == ["missing wait", "transaction bytes"]
    assert report.findings[1].message.endswith(": 16 bytes are missing")


def edge_patterns(element: str) -> list[int]:
    """Return zeros, the smallest subnormal, NaNs, an infinity, and small numbers."""
    quiet, signalling, infinity = {
        "f16": (0x7E00, 0x7C01, 0x7C00), "bf16": (0x7FC0, 0x7F81, 0x7F80),
    }.get(element, (0x7FC00000, 0x7F800001, 0x7F800000))  # fmt: skip
    bits = 8 * next(x.bytes for x in ELEMENT_TYPES if x.name == element)
    return [0, 1 << bits - 1, 1, quiet, signalling, infinity, 3, 0x3C00]


REDUCTIONS = [
    ("f16", ("add", "min", "max")), ("bf16", ("add", "min", "max")), ("f32", ("add",)),
    ("u32", ("inc", "dec", "add", "min")), ("s32", ("min", "max")),
]  # fmt: skip


def operands_of_reductions():
    """Yield each reduction with its two operands, drawn in the order of the recording."""
    rng = np.random.default_rng(7)
    for element, operations in REDUCTIONS:
        size = next(x.bytes for x in ELEMENT_TYPES if x.name == element)
        word = np.dtype(f"u{size}").type
        a, b = (rng.integers(0, 2 ** (8 * size), 4096).astype(word) for _ in range(2))
        edges = np.array(edge_patterns(element), word)
        a[:64], b[:64] = np.repeat(edges, 8), np.tile(edges, 8)
        for operation in operations:
            yield pytest.param(element, operation, a[:1024], b[:1024], id=f"{operation}.{element}")


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize(("element", "operation", "a", "b"), list(operands_of_reductions()))
def test_a_reduction_gives_the_bits_of_the_gpu(element, operation, a, b):
    kind = next(x for x in ELEMENT_TYPES if x.name == element)
    given = TensorMapFields(0, kind, (len(a),), (), (1,), box=(256,)).encode()
    memory = np.zeros(64 + DUMPED, np.uint8)
    memory[64 : 64 + b.nbytes] = b.view(np.uint8)
    found = a.copy()
    for first in range(0, len(a), 256):
        launch = kernel(f"red_{operation}")[1, 32, FIRST + DUMPED]
        launch(Struct(given, pointers={0: found}), memory, 0, first * a.itemsize, first, *[0] * 7)
    assert np.array_equal(found, RETURNED[f"red_{operation}_dt{kind.driver}"])


@pytest.mark.vectors
@pytest.mark.parametrize("at", [(0, 0), (56, 6), (64, 0), (1000, 1000)])
def test_a_store_changes_nothing_outside_of_the_tensor(at):
    memory = np.concatenate([np.zeros(64, np.uint8), np.arange(DUMPED // 2).astype(np.uint16).view(np.uint8)])
    found = np.full((8, 64), 0xEEEE, np.uint16)
    given = tensor_map(found.view(np.float16), (4, 16))
    kernel("store2")[1, 32, FIRST + DUMPED](given, memory, 0, 0, *at, *[0] * 6)
    assert np.array_equal(found.reshape(-1), RETURNED[f"store_c{at[0]}_{at[1]}"])


@pytest.mark.vectors
def test_a_store_at_negative_coordinates_is_an_error():
    given = tensor_map(np.zeros((8, 64), np.float16), (4, 16))
    with pytest.raises(KernelFindingsError, match="a coordinate of a store is negative"):
        kernel("store2")[1, 32, FIRST + DUMPED](
            given, np.zeros(64 + DUMPED, np.uint8), 0, 0, -8, -2, *[0] * 6, findings="raise"
        )
