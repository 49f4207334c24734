# SPDX-License-Identifier: MIT
"""wgmma on both machines: the same bits; and a launch that is flagged has the findings of the NumPy machine."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wmma_emu as we
from tests.ptx.native.products.moving_kernels import HEAD, vector
from tests.ptx.native.products.product_rows import bound
from wmma_emu.generators import draw, generators_of
from wmma_emu.instructions import INSTRUCTIONS
from wmma_emu.layouts import pack_metadata
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor

ROWS = {name: x for name, x in INSTRUCTIONS.items() if x.is_warpgroup and x.n in (8, 24, 256)}
ARITHMETICS = {(*bound(x, "sm_90").model.parameters, x.family): name for name, x in ROWS.items() if x.n == 24}
F16 = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
FENCE, WAIT = "fence.proxy.async.shared::cta;", "wgmma.wait_group.sync.aligned 0;"
LATE = "bar.sync 0; setp.ge.u32 %p3, %r2, 32; @%p3 bra on; fence.proxy.async.shared::cta; on:"
B_AT, BYTES = 16384, 49152
PARAMETERS = ", ".join(
    [f".param .u64 {x}" for x in ("image", "a", "c", "o", "m")] + [".param .u64 da, .param .u64 db, .param .u32 sc"]
)


def kernel(row, operands, registers_of_a, fence=FENCE, before_wait="", wait=WAIT):
    """A kernel that copies an image to shared memory and multiplies once."""
    count = row.registers("d")
    text = HEAD.format(target="sm_90a", parameters=PARAMETERS)
    text += f""".reg .b32 %r<300>; .reg .b64 %d<30>; .reg .pred %p<4>; .shared .align 1024 .b8 s[{BYTES}];
    ld.param.u64 %d1, [image]; ld.param.u64 %d2, [a]; ld.param.u64 %d3, [c]; ld.param.u64 %d4, [o];
    ld.param.u64 %d5, [m]; ld.param.u64 %d6, [da]; ld.param.u64 %d7, [db]; ld.param.u32 %r1, [sc];
    mov.u32 %r2, %tid.x; mov.u32 %r3, s; shl.b32 %r4, %r2, 4; add.u32 %r3, %r3, %r4; cvt.u64.u32 %d8, %r4;
    add.u64 %d9, %d1, %d8; mov.u32 %r5, 0;
    again: ld.global.v4.u32 {{%r6, %r7, %r8, %r9}}, [%d9]; st.shared.v4.u32 [%r3], {{%r6, %r7, %r8, %r9}};
    add.u32 %r3, %r3, 2048; add.u64 %d9, %d9, 2048; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, {BYTES // 2048};
    @%p1 bra again; {fence} bar.sync 0;
    mul.wide.u32 %d10, %r2, 4; add.u64 %d11, %d3, %d10; add.u64 %d12, %d4, %d10; add.u64 %d13, %d2, %d10;
    add.u64 %d14, %d5, %d10; setp.ne.u32 %p2, %r1, 0; ld.global.u32 %r30, [%d14];
    """
    text += "".join(f"ld.global.u32 %r{100 + i}, [%d11+{512 * i}];\n" for i in range(count))
    text += "".join(f"ld.global.u32 %r{20 + i}, [%d13+{512 * i}];\n" for i in range(registers_of_a))
    a = vector("%r", 20, registers_of_a) if registers_of_a else "%d6"
    text += f"wgmma.fence.sync.aligned; {row.mnemonic} {vector('%r', 100, count)}, {a}, %d7, {operands};\n"
    text += f"wgmma.commit_group.sync.aligned; {before_wait} {wait}\n"
    return text + "".join(f"st.global.u32 [%d12+{512 * i}], %r{100 + i};\n" for i in range(count)) + "ret; }"


SHARED = 1024
"""The address at which shared memory begins on sm_90."""


def moved(operand, at):
    fields = MatrixDescriptor.decode(operand.descriptor)
    return MatrixDescriptor(
        fields.start + SHARED + at, fields.leading, fields.stride, fields.swizzle, fields.base_offset
    ).encode()  # fmt: skip


def launches(name, *, swizzles=(0, 32), trans=(0, 0), negate=(1, 1), scale=1, registers=False, seed=0, **changes):
    """Launch a product on both machines; return D and the reports."""
    row = INSTRUCTIONS[name]
    matrix = bound(row, "sm_90")
    names = generators_of(matrix)
    (a,), (b,), (c,), indices = draw(matrix, names[seed % len(names)], seed, 1, 1, 1)
    held = row.registers("a") if registers else 0
    own = matrix.a.pack_bits(a).reshape(-1) if held else np.zeros(128, np.uint32)
    a, b = (x.astype(bool) if row.a == "b1" else x for x in (a, b))
    in_a = matrix.in_shared_memory("a", a, swizzle=swizzles[0], transpose=bool(trans[0]))
    in_b = matrix.in_shared_memory("b", b, swizzle=swizzles[1], transpose=bool(trans[1]))
    image = np.zeros(BYTES, np.uint8)
    image[: in_a.memory.size], image[B_AT : B_AT + in_b.memory.size] = in_a.memory, in_b.memory
    words = ["%r30", "0"] * row.is_sparse + ["%p2"] + [str(x) for x in negate] * row.format("a").is_float
    words += [str(x) for x in trans[registers:]] * (row.format("a").bits == 16)
    metadata = pack_metadata(row, indices[0], 0).reshape(-1) if row.is_sparse else np.zeros(128, np.uint32)
    module = we.ptx.Module(kernel(row, ", ".join(words), held, **changes), arch="sm_90")
    found = []
    for machine in ("numpy", "auto"):
        d = np.zeros(row.registers("d") * 128, np.uint32)
        report = module["k"][1, 128](
            image, own, matrix.c.pack_bits(c).reshape(-1), d, metadata, np.uint64(moved(in_a, 0)),
            np.uint64(moved(in_b, B_AT)), np.uint32(scale), machine=machine, findings="report",
        )  # fmt: skip
        found.append((d, report))
    return found


def check(name, **options):
    (expected, _), (found, report) = launches(name, **options)
    assert report.machine == "native"
    assert np.array_equal(found, expected)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", ARITHMETICS.values())
def test_each_arithmetic_has_the_bits_of_the_numpy_machine(name):
    for seed in (0, 3):
        check(name, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_each_entry_has_the_bits_of_the_numpy_machine(name):
    for seed in range(3):
        check(name, seed=seed)
    if ROWS[name].registers("a"):
        check(name, registers=True, seed=4)


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("swizzles", [(0, 0), (32, 64), (64, 128), (128, 32)], ids=str)
@pytest.mark.parametrize("trans", [(0, 0), (1, 1), (0, 1), (1, 0)], ids=str)
def test_matrices_are_read_through_every_swizzle(swizzles, trans):
    check(F16, swizzles=swizzles, trans=trans)


@pytest.mark.parametrize(
    "options", [{"negate": (-1, 1)}, {"negate": (1, -1), "registers": True}, {"scale": 0}], ids=str
)
def test_signs_and_scale_d_have_the_bits_of_the_numpy_machine(options):
    check(F16, **options)


@pytest.mark.parametrize(
    "changes",
    [{"fence": ""}, {"wait": ""}, {"before_wait": "mov.u32 %r50, s; st.shared.u32 [%r50], %r2;"}, {"fence": LATE}],
    ids=["no fence", "no wait", "a write before the wait", "a fence of one warp"],
)
def test_a_fault_is_found_by_the_numpy_machine(changes):
    (_, expected), (_, report) = launches(F16, **changes)
    assert report.machine == "numpy"
    assert [x.kind for x in report.findings] == [x.kind for x in expected.findings] != []
