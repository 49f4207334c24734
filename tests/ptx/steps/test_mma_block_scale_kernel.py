# SPDX-License-Identifier: MIT
"""PTX kernels with block scales: they give the bits of the bound instruction, and ptxas accepts them."""

import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.instructions import arch_of, lookup
from wmma_emu.warp import bound_instruction

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

MXF8 = "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e2m1.f32.ue8m0"  # in the order of CUTLASS
NVF4 = "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k128.row.col.f32.e2m1.e2m1.f32.ue4m3"
DENSE = f"mma.sync.aligned.{MXF8} {{D}}, {{A}}, {{B}}, {{C}}, {{%s1}}, {{%h1, %h0}}, {{%s2}}, {{%h0, %h1}};"
SPARSE = (
    f"mma.sp::ordered_metadata.sync.aligned.{NVF4} {{D}}, {{A}}, {{B}}, {{C}}, %e, 0, %s1, {{0, 1}}, %s2, {{0, 3}};"
)


def kernel(line, b_registers, sparse):
    """A warp loads words [register][lane] of A, B, C, both scales and metadata, multiplies, and stores D."""
    counts = {"A": 4, "B": b_registers, "C": 4, "S1": 1, "S2": 1, **({"E": 1} if sparse else {})}
    names = {"A": "%a{}", "B": "%b{}", "C": "%f{}", "S1": "%s1", "S2": "%s2", "E": "%e"}
    loads, word = [], 0
    for name, count in counts.items():
        for i in range(count):
            kind = "f32" if name == "C" else "b32"
            loads.append(f"ld.global.{kind} {names[name].format(i)}, [%at+{128 * word}];")
            word += 1
    for name, count in (("A", 4), ("B", b_registers), ("C", 4)):
        line = line.replace(f"{{{name}}}", "{" + ", ".join(names[name].format(i) for i in range(count)) + "}")
    line = line.replace("{D}", "{%f4, %f5, %f6, %f7}")
    stores = [f"st.global.f32 [%out+{128 * i}], %f{4 + i};" for i in range(4)]
    return "\n".join(
        [
            ".version 8.7", ".target sm_120a", ".address_size 64",
            ".visible .entry k(.param .u64 given, .param .u64 d) {",
            ".reg .b32 %a<4>, %b<4>, %s1, %s2, %e, %lane; .reg .f32 %f<8>; .reg .b16 %h<2>; .reg .b64 %at, %out;",
            "mov.u16 %h0, 0; mov.u16 %h1, 1; mov.u32 %lane, %tid.x;",
            "ld.param.u64 %at, [given]; ld.param.u64 %out, [d];",
            "mad.wide.u32 %at, %lane, 4, %at; mad.wide.u32 %out, %lane, 4, %out;",
            *loads, line, *stores, "ret; }",
        ]
    )  # fmt: skip


KERNELS = {"dense": kernel(DENSE, 2, False), "sparse": kernel(SPARSE, 4, True)}


@pytest.mark.parametrize("name", KERNELS)
def test_ptxas_accepts_the_kernels(name, tmp_path):
    if shutil.which("ptxas") is None:
        pytest.skip("needs ptxas of the CUDA toolkit")
    path = tmp_path / "k.ptx"
    path.write_text(KERNELS[name])
    command = ["ptxas", "-arch=sm_120a", "-O0", "-o", str(tmp_path / "x"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Unsupported .version" in done.stderr or "is not defined for option" in done.stderr:
        pytest.skip("this ptxas is older than the chip")
    assert done.returncode == 0, done.stderr


def run(name, *registers):
    d = np.zeros((4, 32), np.uint32)
    words = np.concatenate([np.reshape(x, (-1, 32)) for x in registers])
    report = we.ptx.Module(KERNELS[name], arch="sm_120")["k"][1, 32](words, d)
    assert not list(report.findings)
    return d


def test_a_dense_kernel_gives_the_bits_of_the_call_on_matrices():
    ins = bound_instruction(lookup(f"mma.{MXF8}", "sm_120"), arch_of("sm_120"))
    rng = np.random.default_rng(1)
    A = rng.normal(size=(16, 32)).astype(ml_dtypes.float8_e4m3fn)
    B = rng.normal(size=(32, 8)).astype(ml_dtypes.float4_e2m1fn)
    C = rng.normal(size=(16, 8)).astype(np.float32)
    SA = (2.0 ** rng.integers(-3, 4, (16, 1))).astype(ml_dtypes.float8_e8m0fnu)
    SB = (2.0 ** rng.integers(-3, 4, (1, 8))).astype(ml_dtypes.float8_e8m0fnu)
    scales = ins.scale_a.pack(SA, byte_id=1, thread_id=0), ins.scale_b.pack(SB, byte_id=0, thread_id=1)
    d = run("dense", ins.a.pack(A), ins.b.pack(B), ins.c.pack(C), *scales)
    D = ins(A, B, C, scale_a=SA, scale_b=SB)
    assert np.array_equal(ins.d.unpack(d), D) and len(np.unique(D)) > 100


def test_a_sparse_kernel_gives_the_bits_of_the_call_on_matrices():
    ins = bound_instruction(lookup(f"mma.sp::ordered_metadata.{NVF4}", "sm_120"), arch_of("sm_120"))
    rng = np.random.default_rng(2)
    A = rng.normal(size=(16, 128)).astype(ml_dtypes.float4_e2m1fn)
    A.reshape(16, 16, 4, 2)[:, :, rng.permutation(4)[:2]] = 0
    B = rng.normal(size=(128, 8)).astype(ml_dtypes.float4_e2m1fn)
    C = rng.normal(size=(16, 8)).astype(np.float32)
    SA, SB = (rng.uniform(0.25, 4, shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((16, 4), (4, 8)))
    packed, metadata = ins.compress(A)
    scales = ins.scale_a.pack(SA, thread_id=1), ins.scale_b.pack(SB, thread_id=3)
    d = run("sparse", ins.a.pack(packed), ins.b.pack(B), ins.c.pack(C), *scales, metadata)
    D = ins(A, B, C, scale_a=SA, scale_b=SB)
    assert np.array_equal(ins.d.unpack(d), D) and len(np.unique(D)) > 100
