# SPDX-License-Identifier: MIT
"""The thin face: models by name, scales, and instructions of tensor memory, through every function that takes them."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

E2M1, UE8M0 = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu
UNSUPPORTED = we.UnsupportedInstructionError
MXF4 = "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
TENSOR = "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n128k64.f32.e2m1.e2m1.ue8m0"


def raw(x):
    return x.view(np.uint32)


def one_and_a_trace(m=16, n=8):
    """1, and a product 2**-35 of it: kept by 35 bits, cut by 34, and visible because 1 - 2**-k rounds towards zero."""
    A, B = np.zeros((m, 64), np.uint8), np.zeros((64, n), np.uint8)
    A[:, 0], A[:, 32] = 2, 10
    B[0], B[32] = 2, 2
    S, T = np.full((m, 2), 127, np.uint8), np.full((2, n), 127, np.uint8)
    S[:, 1] = 127 - 35
    return *(x.view(E2M1) for x in (A, B)), *(x.view(UE8M0) for x in (S, T))


@pytest.mark.parametrize(("arch", "instr"), [("sm_120", MXF4), ("sm_100", TENSOR)])
def test_model_selects_a_row_everywhere(arch, instr):
    A, B, S, T = one_and_a_trace(*((128, 128) if arch == "sm_100" else (16, 8)))
    scales = {"scale_a": S, "scale_b": T}
    bits = {None: 0x3F7FFFFF, "F=34": 0x3F800000, "F=37": 0x3F7FFFFF}
    for model, expected in bits.items():
        given = {"arch": arch, "model": model}
        ins = we.instruction(instr, **given)
        assert ins.model.name == (model or "")
        assert set(raw(ins(A, B, **scales)).ravel().tolist()) == {expected}
        for multiply in (we.mma, we.gemm):
            for named in (instr, None):
                found = multiply(A, B, instr=named, **given, **scales)
                np.testing.assert_array_equal(raw(found), raw(ins(A, B, **scales)))
        for asked in (instr, None, ins):
            e = we.explain(asked, A, B, row=3, col=5, **given, **scales)
            assert (e.result, e.arch, e.instruction) == (expected, arch, ins.mnemonic)
    with pytest.raises(UNSUPPORTED, match="no model 'F=33'; it has 'F=34', 'F=36', 'F=37'"):
        we.gemm(A, B, arch=arch, model="F=33", **scales)


def test_a_bound_instruction_keeps_its_model():
    A, B, S, T = one_and_a_trace()
    ins = we.instruction(MXF4, arch="sm_120", model="F=34")
    with pytest.raises(UNSUPPORTED, match=r"model='F=37' was given, but .* is already bound to 'F=34'"):
        we.explain(ins, A, B, row=0, col=0, model="F=37", scale_a=S, scale_b=T)


def test_compare_archs_takes_models_and_scales():
    A, B, S, T = one_and_a_trace()
    found = we.compare_archs(A, B, scale_a=S, scale_b=T, model={"rtx-5090": "F=34"})
    assert list(found.results) == ["sm_100", "sm_103", "sm_120", "sm_121"]
    assert {x: found.hex_bits(x, (0, 0)) for x in ("sm_100", "sm_120")} == {
        "sm_100": "0x3f7fffff", "sm_120": "0x3f800000",
    }  # fmt: skip
    assert "RZ to f32 (F=34)" in str(found) and found.models["sm_121"].name == ""
    assert [x["model_name"] for x in found.to_dict()["chips"]] == ["", "", "F=34", ""]
    everywhere = we.compare_archs(A, B, scale_a=S, scale_b=T, model="F=36")
    assert {x.name for x in everywhere.models.values()} == {"F=36"}
    with pytest.raises(UNSUPPORTED, match="model names sm_90, which is not compared"):
        we.compare_archs(A, B, scale_a=S, scale_b=T, archs=["sm_120"], model={"h100": "F=34"})
    with pytest.raises(UNSUPPORTED, match="model=3 is not the name of a model, such as 'F=34'"):
        we.compare_archs(A, B, scale_a=S, scale_b=T, model=3)
    with pytest.raises(UNSUPPORTED, match="has no model 'F=33'"):
        we.compare_archs(A, B, scale_a=S, scale_b=T, archs=["sm_120"], model="F=33")


def test_compare_archs_takes_float32_scales():
    rng = np.random.default_rng(1)
    A, B = (rng.integers(0, 120, x, np.uint8).view(ml_dtypes.float8_e4m3fn) for x in ((4, 256), (256, 3)))
    scales = {"scale_a": np.full((4, 2), 0.3, np.float32), "scale_b": np.full((2, 3), 0.7, np.float32)}
    found = we.compare_archs(A, B, archs=["l40s", "h100"], scale_order="deepgemm", **scales)
    for arch, result in found.results.items():
        expected = we.gemm(A, B, arch=arch, scale_order="deepgemm", **scales)
        np.testing.assert_array_equal(raw(result), raw(expected))


def test_turing_has_a_model_of_its_other_source():
    A, B = np.ones((16, 8), np.float16), np.ones((8, 8), np.float16)
    found = we.compare_archs(A, B, archs=["t4"], model="4 terms", instr="m16n8k8.f32.f16.f16.f32")
    assert found.models["sm_75"].terms_per_step == 4


def test_fma_has_no_models():
    with pytest.raises(UNSUPPORTED, match=r"fma\.f32 has no model; leave out model='F=34'"):
        we.gemm(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32), instr="fma.f32", model="F=34")


def test_a_preset_has_no_other_model():
    A = np.ones((64, 64), np.float16)
    with pytest.raises(UNSUPPORTED, match="model='F=24' contradicts like='cublas-sm90-f16'"):
        we.gemm(A, A, like="cublas-sm90-f16", model="F=24")


def test_an_instruction_of_tensor_memory_is_bound_by_its_name():
    from wmma_emu.tcgen05 import BoundTensorInstruction

    ins = we.instruction("tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16", arch="b200")
    assert isinstance(ins, BoundTensorInstruction) and ins.arch.name == "sm_100"
    rng = np.random.default_rng(2)
    A, B = (rng.standard_normal(x).astype(np.float16) for x in ((128, 16), (16, 256)))
    np.testing.assert_array_equal(raw(we.gemm(A, B, instr=ins.instruction, arch="b200")), raw(ins(A, B)))
    e = we.explain(ins, A, B, row=3, col=200)
    assert e.result == raw(ins(A, B))[3, 200]
    with pytest.raises(UNSUPPORTED, match="sm_90"):
        we.instruction("tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16", arch="sm_90")


def test_mma_refuses_scales_that_the_instruction_does_not_have():
    A, B = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    with pytest.raises(we.FragmentMismatchError, match="takes no scale_a"):
        we.mma(
            A,
            B,
            scale_a=np.ones((16, 1), np.uint8),
            scale_b=np.ones((1, 8), np.uint8),
            instr="m16n8k16.f32.f16.f16.f32",
        )


def test_scales_of_a_kernel_are_not_supported_by_one_instruction():
    A, B = np.ones((16, 32), ml_dtypes.float8_e4m3fn), np.ones((32, 8), ml_dtypes.float8_e4m3fn)
    with pytest.raises(UNSUPPORTED, match=r"as in wmma_emu\.gemm: use it, or omit them"):
        we.mma(A, B, arch="sm_89", scale_a=0.5, scale_b=2.0)


def test_the_sign_bit_of_a_ue4m3_scale_is_read_by_none_of_them():
    A, B, _, _ = one_and_a_trace()
    S, T = np.full((16, 4), 0x38, np.uint8), np.full((4, 8), 0x30, np.uint8)
    given = {"instr": "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "arch": "sm_120"}
    plain = raw(we.mma(A, B, scale_a=S, scale_b=T, **given))
    assert set(plain.ravel().tolist()) == {0}
    A[:, 32] = 0
    plain = raw(we.mma(A, B, scale_a=S, scale_b=T, **given))
    assert set(plain.ravel().tolist()) == {0x3F000000}
    for s, t in ((S | 0x80, T), (S, T | 0x80)):
        np.testing.assert_array_equal(raw(we.mma(A, B, scale_a=s, scale_b=t, **given)), plain)
        e = we.explain(given["instr"], A, B, row=1, col=2, arch="sm_120", scale_a=s, scale_b=t)
        assert e.result == 0x3F000000
    for negative in (0x80, 0xB8):  # -0 is negative too
        with pytest.raises(we.FragmentMismatchError, match=f"negative e4m3 numbers, such as {negative:#x}"):
            we.mma(A, B, scale_a=np.full_like(S, negative).view(ml_dtypes.float8_e4m3fn), scale_b=T, **given)
