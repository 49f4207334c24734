# SPDX-License-Identifier: MIT
"""A schedule carried out literally, one machine instruction after another, makes the bits of the instruction."""

from dataclasses import replace

import numpy as np
import pytest

from wmma_emu.arithmetic import DotProduct, dot_product_of, matmul
from wmma_emu.formats import format_of
from wmma_emu.instructions import arch_of, lookup
from wmma_emu.scalar import cvt, rounded_half, rounded_single
from wmma_emu.schedule import schedule_of
from wmma_emu.warp.sparse import Extras, multiply

TILES = 48


def unit_of(product, step, sums):
    """Execute the machine instruction alone: its products in ascending order, added to sums of its format."""
    model = replace(product.model, k_order="ascending", c_joins="first_step", partial_sums="chained")
    c = product.c if step.opcode.startswith("HMMA.884.F32.F16") else format_of(sums)
    return DotProduct(model, product.a, product.b, c, format_of(sums), len(step.ks), False,
                      product.bit_operation, product.rounding)  # fmt: skip


def carried_out(schedule, product, a, b, c, indices=None):
    """D of a batch of products, as the schedule says."""
    sums = schedule.sums
    converted = cvt(c, f"cvt.{sums}.{product.c.name}") if schedule.c_is_converted else c
    d = np.zeros((*c.shape[:-2], product_rows(schedule), c.shape[-1]), format_of(sums).storage)
    finished = []
    for step in schedule.steps:
        unit = unit_of(product, step, sums)
        ks = list(step.ks)
        for part in step.parts:
            where = (..., slice(part.rows.start, part.rows.stop), slice(part.cols.start, part.cols.stop))
            start = {"c": converted[where], "d": d[where].copy(), "zero": np.zeros_like(d[where])}[step.start]
            rows = a[:, part.rows.start : part.rows.stop]
            if indices is None:
                columns = b[..., part.cols.start : part.cols.stop]
                d[where] = matmul(unit, rows[..., ks], columns[:, ks], start)
            else:
                d[where] = multiply(unit, rows[..., ks], b, start, Extras(indices[..., ks]))
        finished.append(d.copy())
    return finish(schedule, product, finished, c)


def product_rows(schedule):
    return schedule.instruction.m


def finish(schedule, product, sums, c):
    add = {
        "f32": rounded_single.add,
        "f16": lambda x, y: rounded_half.add(x, y, rounded_half.Half("f16")),
        "s32": lambda x, y: x + y,
    }
    if schedule.finish == "convert":
        return cvt(sums[-1], f"cvt.rn.{product.d.name}.{schedule.sums}")
    if schedule.finish == "add_c":
        return add[schedule.sums](sums[-1], c)
    if schedule.finish == "add_sums_and_c":
        return add[schedule.sums](add[schedule.sums](sums[0], sums[1]), c)
    return sums[-1]


def patterns(fmt, shape, rng):
    """Patterns of every kind: close exponents that cancel and are cut, all patterns alike, and a few specials."""
    fmt = format_of(fmt)
    raw = (
        rng.integers(0, 1 << fmt.bits, shape, np.uint64) if fmt.bits < 64 else rng.integers(0, 2**63, shape, np.uint64)
    )
    if fmt.kind == "float":
        middle = (fmt.bias + rng.integers(-5, 6, shape)).astype(np.uint64) << np.uint64(fmt.fraction_bits)
        low = np.uint64((1 << fmt.fraction_bits) - 1)
        near = (raw & low) | middle | (raw >> np.uint64(fmt.bits - 1) << np.uint64(fmt.bits - 1))
        raw = np.where(rng.random((shape[0], 1, 1)) < 0.8, near, raw)
    return raw.astype(fmt.storage)


def inputs(row, seed):
    rng = np.random.default_rng(seed)
    shapes = {"a": (TILES, row.m, row.terms), "b": (TILES, row.k, row.n), "c": (TILES, row.m, row.n)}
    return [patterns(getattr(row, x), shapes[x], rng) for x in "abc"]


FLOATS = [
    *(
        (f"wmma.mma.{shape}.{types}", chip)
        for chip in ("sm_70", "sm_75", "sm_80", "sm_90")
        for shape in ("m16n16k16", "m32n8k16", "m8n32k16")
        for types in ("f32.f32", "f32.f16", "f16.f32", "f16.f16")
    ),
    ("m8n8k4.row.col.f32.f16.f16.f32", "sm_70"),
    ("m8n8k4.col.row.f32.f16.f16.f16", "sm_75"),
    ("m16n8k8.f32.f16.f16.f32", "sm_75"),
    ("m16n8k16.f32.f16.f16.f32", "sm_80"),
    ("m16n8k16.f16.f16.f16.f16", "sm_90"),
    ("wmma.mma.m16n16k16.f32.bf16.bf16.f32", "sm_86"),
    ("wmma.mma.m16n16k8.f32.tf32.tf32.f32", "sm_80"),
    ("wmma.mma.m16n16k8.f32.tf32.tf32.f32", "sm_90"),
    ("m16n8k32.f32.e4m3.e4m3.f32", "sm_89"),
    ("m16n8k16.f64.f64.f64.f64", "sm_100"),
]
FP8 = [
    (mnemonic, chip, lowering)
    for mnemonic in ("m16n8k32.f32.e4m3.e5m2.f32", "m16n8k16.f32.e4m3.e4m3.f32", "m16n8k32.f16.e5m2.e5m2.f16")
    for chip in ("sm_90", "sm_100")
    for lowering in ("ptxas-12.8", "ptxas-12.4")
]
INTEGERS = [
    ("wmma.mma.m16n16k16.s32.s8.s8.s32", "sm_75"),
    ("wmma.mma.m8n32k16.s32.u8.u8.s32", "sm_80"),
    ("m16n8k32.s32.s4.u4.s32", "sm_90"),
    ("m16n8k256.s32.b1.b1.s32.and.popc", "sm_100"),
]


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(
    ("mnemonic", "chip", "lowering"), [*((*x, None) for x in FLOATS), *FP8, *((*x, None) for x in INTEGERS)],
    ids=lambda x: x or "",
)  # fmt: skip
def test_the_machine_instructions_one_after_another_make_the_bits_of_the_instruction(mnemonic, chip, lowering):
    row = lookup(mnemonic, arch_of(chip))
    schedule, product = schedule_of(row, chip, lowering), dot_product_of(row, chip, lowering)
    a, b, c = inputs(row, seed=7)
    np.testing.assert_array_equal(carried_out(schedule, product, a, b, c), matmul(product, a, b, c))


@pytest.mark.parametrize("lowering", ["ptxas-12.8", "ptxas-12.4"])
def test_of_a_sparse_a_the_packed_elements_are_taken_in_that_order(lowering):
    row = lookup("mma.sp.m16n8k64.f32.e4m3.e5m2.f32", arch_of("sm_90"))
    schedule, product = schedule_of(row, "sm_90", lowering), dot_product_of(row, "sm_90", lowering)
    a, b, c = inputs(row, seed=8)
    rng = np.random.default_rng(9)
    chosen = np.sort(np.argsort(rng.random((TILES, row.m, row.terms // 2, 4)), axis=-1)[..., :2], axis=-1)
    indices = (chosen + 4 * np.arange(row.terms // 2)[:, None]).reshape(TILES, row.m, row.terms)
    d = multiply(product, a, b, c, Extras(indices))
    np.testing.assert_array_equal(carried_out(schedule, product, a, b, c, indices), d)
    for step in schedule.steps:  # B of each half is read from lanes that hold these rows
        coords = [(x, y) for x in step.parts[0].b.elements for y in step.parts[0].b.lanes]
        assert len(coords) == 32 * row.n
        assert {int(k) for k in np.unique(indices[..., list(step.ks)])} <= {
            k for k in range(64) if k // 4 % 2 == step.number
        }


@pytest.mark.parametrize(
    ("mnemonic", "chip", "lowering"),
    [
        ("wmma.mma.m16n16k16.f32.f32", "sm_70", None),
        ("wmma.mma.m16n16k16.f16.f16", "sm_70", None),
        ("wmma.mma.m16n16k16.f32.f32", "sm_75", None),
        ("wmma.mma.m16n16k8.f32.tf32.tf32.f32", "sm_90", None),
        ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "ptxas-12.8"),
    ],
    ids=lambda x: x or "",
)
def test_another_order_of_k_would_make_other_bits(mnemonic, chip, lowering):
    """So the test above sees the order: with the parts of k taken from the last to the first, bits differ."""
    row = lookup(mnemonic, arch_of(chip))
    schedule, product = schedule_of(row, chip, lowering), dot_product_of(row, chip, lowering)
    ks = [step.ks for step in schedule.steps][::-1]
    turned = replace(schedule, steps=tuple(replace(x, ks=y) for x, y in zip(schedule.steps, ks, strict=True)))
    a, b, c = inputs(row, seed=7)
    differ = carried_out(turned, product, a, b, c) != matmul(product, a, b, c)
    assert differ.mean() > 0.01
