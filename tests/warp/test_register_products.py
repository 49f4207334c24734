# SPDX-License-Identifier: MIT
"""Products of registers in compiled code: the bits of other engines, whatever the registers hold."""

import warnings

import numpy as np
import pytest

from wmma_emu.arithmetic import ENGINES
from wmma_emu.errors import FragmentMismatchError, UnverifiedModelWarning
from wmma_emu.instructions import INSTRUCTIONS, arch_of
from wmma_emu.warp import bound_instruction

pytest.importorskip("llvmlite")


def _bound(name, arch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnverifiedModelWarning)
        return bound_instruction(INSTRUCTIONS[name], arch_of(arch))


def _distinct():
    """One instruction for each way to step, to round, to hold elements and to lay them out, on measured chips."""
    found = {}
    for arch in ("sm_80", "sm_90"):
        for name, row in INSTRUCTIONS.items():
            if row.family not in ("mma.sync", "wmma.mma") or arch not in row.archs or row.modifiers:
                continue
            ins = _bound(name, arch)
            if ins.model.arithmetic == "aligned_sum" and ENGINES["native"].has(ins.product) and row.products == 1:
                key = (len(ins.product.steps[0]), row.a, row.b, row.d, row.c, row.family == "wmma.mma", row.b_layout)
                found.setdefault(key, (name, arch))
    return list(found.values())


def _registers(ins, operand, warps, rng, special):
    bound = getattr(ins, operand)
    bits = rng.integers(0, 1 << 32, (bound.num_registers, *warps, 32), dtype=np.uint32)
    if not special:  # exponents near one another
        bits &= np.uint32({16: 0xBBFF_BBFF, 8: 0xBFBF_BFBF}.get(bound.format.bits, 0xBBFF_FFFF))
        bits |= np.uint32({16: 0x3000_3000, 8: 0x2020_2020}.get(bound.format.bits, 0x3800_0000))
    return bits


CASES = _distinct()


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("axes", [((3, 1), (1, 4), ()), ((), (4,), ()), ((4, 2), (2,), (1,)), ((4,), (), (4, 4))])
def test_operands_with_fewer_axes_of_warps_broadcast(axes):
    """The axis of registers is not an axis of warps, although C has four registers here, and there are four warps."""
    ins = _bound("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90")
    rng = np.random.default_rng(5)
    a, b, c = (_registers(ins, x, warps, rng, False) for x, warps in zip("abc", axes, strict=True))
    expected = ins.execute(a, b, c, engine="numpy")
    assert np.array_equal(ins.execute(a, b, c, engine="native"), expected)


@pytest.mark.thorough
@pytest.mark.sweep(keep=1 / 12)
@pytest.mark.parametrize("special", [False, True], ids=["ordinary", "any bits"])
@pytest.mark.parametrize(("name", "arch"), CASES, ids=[".".join(x) for x in CASES])
def test_they_are_the_products_of_matrices(name, arch, special):
    ins = _bound(name, arch)
    rng = np.random.default_rng(11)
    a, b, c = (_registers(ins, x, (3, 23), rng, special) for x in "abc")
    assert np.array_equal(ins.execute(a, b, c, engine="native"), ins.execute(a, b, c, engine="numpy"))


def test_the_axes_of_warps_broadcast():
    ins = _bound("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90")
    rng = np.random.default_rng(12)
    a = _registers(ins, "a", (9, 1), rng, False)
    b = _registers(ins, "b", (1, 4), rng, False)
    c = np.zeros((4, 1, 1, 32), np.uint32)
    d = ins.execute(a, b, c, engine="native")
    assert d.shape == (4, 9, 4, 32)
    assert np.array_equal(d, ins.execute(a, b, c, engine="numpy"))
    with pytest.raises(FragmentMismatchError, match="do not broadcast"):
        ins.execute(a, b[:, :, :3], np.zeros((4, 1, 2, 32), np.uint32), engine="native")


def test_registers_are_not_written():
    ins = _bound("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90")
    a, b, c = (_registers(ins, x, (8,), np.random.default_rng(13), False) for x in "abc")
    before = c.copy()
    ins.execute(a, b, c, engine="native")
    assert np.array_equal(c, before)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "sm_70"),  # four matrices a warp
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "sm_70"),  # copies that all count
        ("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "sm_90"),
        ("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32", "sm_120"),  # elements among padding
    ],
)
def test_other_layouts_and_integers_have_the_bits_of_numpy(name, arch):
    ins = _bound(name, arch)
    a, b, c = (_registers(ins, x, (16,), np.random.default_rng(14), False) for x in "abc")
    assert np.array_equal(ins.execute(a, b, c, engine="native"), ins.execute(a, b, c, engine="numpy"))


@pytest.mark.parametrize("name", ["m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k8.f32.tf32.tf32.f32"])
@pytest.mark.parametrize("warps", [(), (1,), (2, 1), (7,)])
def test_one_warp_has_one_result(name, warps):
    ins = _bound(f"mma.sync.aligned.{name.replace('.', '.row.col.', 1)}", "sm_80")
    a, b, c = (_registers(ins, x, warps, np.random.default_rng(15), False) for x in "abc")
    d = ins.execute(a, b, c, engine="native")
    assert d.shape == (ins.d.num_registers, *warps, 32)
    assert np.array_equal(d, ins.execute(a, b, c, engine="numpy"))


def test_no_warp_has_no_products():
    ins = _bound("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90")
    a, b, c = (np.zeros((getattr(ins, x).num_registers, 0, 32), np.uint32) for x in "abc")
    assert ins.execute(a, b, c, engine="native").shape == (4, 0, 32)
