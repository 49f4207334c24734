# SPDX-License-Identifier: MIT
"""Kernels with one product of a warp: the row reads the operands that the instruction names, on both machines."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wmma_emu as we
from tests.ptx.native.products.moving_kernels import HEAD, vector
from tests.ptx.native.products.product_rows import bound, drawn
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import lookup

CASES = {
    "m16n8k16.f32.f16.f16.f32": ("sm_90", ""),
    "m8n8k4.f64.f64.f64.f64": ("sm_80", ""),
    "m16n8k32.s32.s8.u8.s32.satfinite": ("sm_80", ""),
    "mma.sp.m16n8k16.f32.f16.f16.f32": ("sm_80", ", {m}, 2"),
    "m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0": ("sm_120", ", {sa}, {{1, 0}}, {sb}, {{2, 3}}"),
    "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3": (
        "sm_120", ", {sa}, {{0, 1}}, {sb}, {{0, 2}}",
    ),
}  # fmt: skip
"""Instructions, each with a chip and its operands after C."""


def kernel(matrix, rest):
    """A kernel that loads all operands, multiplies, and stores D."""
    operands = matrix.a, matrix.b, matrix.c, matrix.d
    parameters = ", ".join(f".param .u64 {x}" for x in ("a", "b", "c", "m", "sa", "sb", "d"))
    text = HEAD.format(target=f"{matrix.arch}a" if str(matrix.arch) == "sm_120" else matrix.arch, parameters=parameters)
    text += ".reg .b32 %r<90>; .reg .b64 %d<90>; mov.u32 %r1, %tid.x;\n"
    names = []
    for number, operand in enumerate(operands):
        bits = operand.layout.register_bits
        prefix, first = ("%d" if bits == 64 else "%r"), 20 + 16 * number
        names.append(vector(prefix, first, operand.num_registers))
        text += f"ld.param.u64 %d1, [{'abcd'[number]}]; mul.wide.u32 %d2, %r1, {bits // 8};\n"
        text += f"add.u64 %d{3 + number}, %d1, %d2;\n"
        if number < 3:
            text += "".join(
                f"ld.global.b{bits} {prefix}{first + i}, [%d{3 + number}+{4 * bits * i}];\n"
                for i in range(operand.num_registers)
            )
    for number, name in enumerate(("m", "sa", "sb")):
        text += f"ld.param.u64 %d1, [{name}]; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
        text += f"ld.global.b32 %r{2 + number}, [%d1];\n"
    given = rest.format(m="%r2", sa="{%r3}", sb="{%r4}")
    text += f"{matrix.mnemonic} {names[3]}, {names[0]}, {names[1]}, {names[2]}{given};\n"
    bits = matrix.d.layout.register_bits
    prefix = "%d" if bits == 64 else "%r"
    return text + "".join(
        f"st.global.b{bits} [%d6+{4 * bits * i}], {prefix}{68 + i};\n" for i in range(matrix.d.num_registers)
    ) + "ret; }"  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_has_the_bits_of_the_numpy_machine(name):
    arch, rest = CASES[name]
    matrix = bound(lookup(name, arch), arch)
    given = drawn(matrix, 1, 0, 2 if matrix.instruction.is_sparse else 0)
    words = [np.ascontiguousarray(x[:, 0]).reshape(-1) for x in given[:3]]
    rng = np.random.default_rng(1)
    scales = [rng.integers(0x30, 0x60, 128, np.uint8).view(np.uint32) for _ in range(2)]
    metadata = np.zeros(32, np.uint32) if given.metadata is None else given.metadata[0]
    run = we.ptx.Module(kernel(matrix, rest), arch=arch)["k"]
    results = []
    for machine in ("numpy", "native"):
        d = np.zeros(matrix.d.num_registers * 32, matrix.d.register_dtype)
        report = run[1, 32](*words, metadata, *scales, d, machine=machine)
        assert report.machine == machine
        results.append(d)
    assert results[0].any()
    assert np.array_equal(*results)


SCALED = "m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0"


def _with_selector(text):
    return kernel(bound(lookup(SCALED, "sm_120"), "sm_120"), ", {sa}, {{%h1, 0}}, {sb}, {{0, 0}}").replace(
        "mov.u32", f".reg .b16 %h<2>; {text} mov.u32", 1
    )


def test_selectors_of_scales_in_registers_are_native_if_they_are_constants():
    rng = np.random.default_rng(1)
    words = [rng.integers(0, 1 << 32, 32 * 4, np.uint64).astype(np.uint32) for _ in range(6)]
    results = []
    for machine in ("numpy", "native"):
        d = np.zeros(32 * 4, np.uint32)
        run = we.ptx.Module(_with_selector("mov.b16 %h1, 2;"), arch="sm_120")["k"][1, 32]
        assert run(*words, d, machine=machine).machine == machine
        results.append(d)
    assert np.array_equal(*results)


def test_other_selectors_of_scales_in_registers_have_no_native_code():
    words = [np.zeros(32 * 4, np.uint32) for _ in range(7)]
    text = _with_selector("mov.b16 %h1, 1; mov.b16 %h1, 2;")
    with pytest.raises(UnsupportedInstructionError, match="not legal constants"):
        we.ptx.Module(text, arch="sm_120")["k"][1, 32](*words, machine="native")
