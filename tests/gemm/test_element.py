# SPDX-License-Identifier: MIT
"""`explain` on users' matrices: the element that `gemm` computes, whatever the matrices; and what it refuses."""

import warnings

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.arithmetic.explanation import explain_dot

F16, F32 = np.float16, np.float32
RNG = np.random.default_rng(5)
UNSUPPORTED, MISMATCH, BOUNDS = we.UnsupportedInstructionError, we.FragmentMismatchError, we.OutOfBoundsError


def draw(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return RNG.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu" or dtype.name in ("int4", "uint4"):
        low = 0 if dtype.name.startswith("u") else -8
        return RNG.integers(low, 8, shape).astype(np.int8).astype(dtype)
    return RNG.standard_normal(shape).astype(F32).astype(dtype)


CASES = [
    (None, F16, F32),
    (None, ml_dtypes.bfloat16, F32),
    (None, ml_dtypes.float8_e5m2, F32),
    (None, np.int8, np.int32),
    (None, ml_dtypes.uint4, np.int32),
    (None, bool, np.int32),
    (None, np.float64, np.float64),
    ("m16n8k8.f32.tf32.tf32.f32", F32, F32),
    ("wmma.mma.m16n16k8.f32.tf32.tf32.f32", F32, F32),
    ("m8n8k4.f16.f16.f16.f16", F16, F16),
    ("fma.f32", F32, F32),
]


@pytest.mark.parametrize(("instr", "dtype", "c_dtype"), CASES, ids=str)
@pytest.mark.parametrize("k", [1, 40])
def test_the_result_is_the_element_that_gemm_computes(instr, dtype, c_dtype, k):
    A, B, C = draw((5, k), dtype), draw((k, 3), dtype), draw((5, 3), c_dtype)
    for c in (C, None):
        D = we.gemm(A, B, c, instr=instr)
        word = D.view(f"u{D.itemsize}")
        for row, col in ((0, 0), (4, 2), (np.int64(2), np.uint8(1))):
            e = we.explain(instr, A, B, c, row=row, col=col)
            assert (e.result, e.row, e.column, e.k) == (int(word[row, col]), row, col, k)


def test_a_bound_instruction_brings_its_chip_and_lowering():
    ins = we.instruction("m16n8k32.f32.e4m3.e4m3.f32", arch="b200", lowering="ptxas-12.8")
    A = draw((2, 64), ml_dtypes.float8_e4m3fn)
    e = we.explain(ins, A, A.T, row=1, col=0)
    assert (e.arch, e.lowering, e.instruction) == ("sm_100", "ptxas-12.8", ins.mnemonic)
    assert we.explain(ins, A, A.T, row=1, col=0, arch="b200") == e
    named = we.explain(ins.mnemonic, A, A.T, row=1, col=0, arch="sm_100", lowering="ptxas-12.8")
    assert named == e


def test_packed_matrices_are_named_by_their_formats():
    ins = we.instruction("m16n8k64.s32.s4.u4.s32", arch="sm_80")
    A, B = RNG.integers(0, 256, (16, 32), np.uint8), RNG.integers(0, 256, (32, 8), np.uint8)
    D = ins(A, B, a_format="s4", b_format="u4")
    e = we.explain(ins, A, B, row=7, col=3, a_format="s4", b_format="u4")
    assert e.value == str(D[7, 3]) and e.k == 64


def test_raw_bits_and_leading_axes_of_length_one_are_taken():
    A, B = draw((4, 16), F16), draw((16, 4), F16)
    ins = we.instruction("m16n8k16.f32.f16.f16.f32")
    e = we.explain(ins, A, B, row=3, col=2)
    assert we.explain(ins, A.view(np.uint16)[None], B.view(np.uint16)[None, None], row=3, col=2) == e


def test_only_the_row_and_the_column_are_read():
    A, B = np.zeros((1 << 20, 16), F16), np.zeros((16, 1 << 20), F16)
    assert we.explain(None, A, B, row=12345, col=999_999).result == 0


def test_the_inputs_are_left_alone():
    A, B, C = draw((4, 16), F16), draw((16, 4), F16), draw((4, 4), F32)
    before = [x.tobytes() for x in (A, B, C)]
    str(we.explain(None, A, B, C, row=0, col=0))
    assert [x.tobytes() for x in (A, B, C)] == before


def test_an_unrecorded_model_warns_at_the_callers_line():
    A, B = draw((4, 16), F16), draw((16, 4), F16)
    with pytest.warns(we.UnverifiedModelWarning) as caught:
        we.explain(None, A, B, row=0, col=0, arch="sm_120")
    assert [warning.filename for warning in caught] == [__file__]
    ins = we.instruction("m16n8k16.f32.f16.f16.f32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        we.explain(ins, A, B, row=0, col=0)


class Broken:
    def __array__(self, *args, **kwargs):
        raise ValueError("boom\nline2")

    def __index__(self):
        raise RuntimeError("no index")


A, B, H = np.zeros((4, 16), F16), np.zeros((16, 3), F16), "m16n8k16.f32.f16.f16.f32"


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda: we.explain(H, A, B, row=4, col=0), BOUNDS, "row 4 does not exist in D; legal values are 0 to 3"),
        (lambda: we.explain(H, A, B, row=0, col=3), BOUNDS, "column 3 does not exist in D; legal values are 0 to 2"),
        (lambda: we.explain(H, A, B, row=-1, col=0), BOUNDS, "there is no row -1"),
        (lambda: we.explain(H, A[:0], B, row=0, col=0), BOUNDS, "no row 0 in D; legal are none"),
        (lambda: we.explain(H, A, B, row=0, col=10**400), BOUNDS, "there is no column 1000.*\\.\\.\\."),
        (lambda: we.explain(H, A, B, row=1.0, col=0), MISMATCH, "the row is 1.0, which is not an integer"),
        (lambda: we.explain(H, A, B, row=None, col=0), MISMATCH, "the row is None"),
        (lambda: we.explain(H, A, B, row=0, col=Broken()), MISMATCH, "the column is"),
        (lambda: we.explain(H, A, B, row=np.zeros(2, int), col=0), MISMATCH, "the row is array"),
        (lambda: we.explain(H, np.stack([A, A]), B, row=0, col=0), MISMATCH, r"index the batch, A\[i\]"),
        (lambda: we.explain(H, A, np.zeros((0, 16, 3), F16), row=0, col=0), MISMATCH, r"index the batch, B\[i\]"),
        (lambda: we.explain(H, A[0], B, row=0, col=0), MISMATCH, "add an axis"),
        (lambda: we.explain(H, A, B[:8], row=0, col=0), MISMATCH, "K is 16 in A and 8 in B"),
        (lambda: we.explain(H, A, B, np.zeros((4, 4), F32), row=0, col=0), MISMATCH, "C has shape"),
        (lambda: we.explain(H, A, B, np.zeros((4, 3), F16), row=0, col=0), MISMATCH, "C is an array of float16"),
        (lambda: we.explain(H, A.astype(F32), B, row=0, col=0), MISMATCH, "A is an array of float32"),
        (lambda: we.explain(H, Broken(), B, row=0, col=0), MISMATCH, r"boom\\nline2"),
        (lambda: we.explain(H, [[1.0]], B, row=0, col=0), MISMATCH, "list"),
        (lambda: we.explain(H, A, None, row=0, col=0), MISMATCH, "None"),
        (lambda: we.explain(H, A, B, row=0, col=0, a_format="s4"), MISMATCH, "A of this instruction is f16"),
        (lambda: we.explain(None, A.astype(F32), B.astype(F32), row=0, col=0), UNSUPPORTED, "fma.f32"),
        (lambda: we.explain("m16n8k17.f32.f16.f16.f32", A, B, row=0, col=0), UNSUPPORTED, "m16n8k16"),
        (lambda: we.explain(17, A, B, row=0, col=0), UNSUPPORTED, "ins is 17; pass"),
        (lambda: we.explain(A, A, B, row=0, col=0), UNSUPPORTED, "ins is array"),
        (lambda: we.explain(H, A, B, row=0, col=0, arch="sm_91"), UNSUPPORTED, "sm_90"),
        (lambda: we.explain(H, A, B, row=0, col=0, arch="v100"), UNSUPPORTED, "sm_80"),
        (lambda: we.explain(H, A, B, row=0, col=0, lowering="x"), UNSUPPORTED, "native"),
        (lambda: we.explain("fma.f32", A, B, row=0, col=0, lowering="x"), UNSUPPORTED, "no lowerings"),
        (
            lambda: we.explain(we.instruction(H), A, B, row=0, col=0, arch="a100"),
            UNSUPPORTED,
            "arch='sm_80' was given, but .* is bound to 'sm_90' already",
        ),
        (
            lambda: we.explain(we.instruction(H), A, B, row=0, col=0, lowering=[]),
            UNSUPPORTED,
            "lowering=.* bound to 'native'",
        ),
        (
            lambda: we.explain("wmma.mma.m16n16k16.f16.f32", np.tile(A, 2), np.tile(B, (2, 1)), row=0, col=0),
            MISMATCH,
            "K = 32 takes more than one",
        ),
    ],
)  # fmt: skip
def test_wrong_use_gets_a_clear_error(use, error, message):
    with pytest.raises(error, match=message) as caught:
        use()
    assert 20 < len(str(caught.value)) < 600 and "\n" not in str(caught.value)


SPARSE = [
    ("mma.sp.m16n8k32.f32.f16.f16.f32", F16, F32),
    ("mma.sp.m16n8k16.f16.f16.f16.f16", F16, F16),
    ("mma.sp.m16n8k8.f32.tf32.tf32.f32", F32, F32),
    ("mma.sp::ordered_metadata.m16n8k64.f32.e4m3.e5m2.f32", None, F32),
    ("mma.sp.m16n8k32.s32.s8.s8.s32.satfinite", np.int8, np.int32),
    ("wgmma.sp.m64n24k32.f32.bf16.bf16", ml_dtypes.bfloat16, F32),
    ("wgmma.sp.m64n8k64.f32.e5m2.e5m2", ml_dtypes.float8_e5m2, F32),
    ("wgmma.m64n8k16.f32.f16.f16", F16, F32),
]


@pytest.mark.parametrize(("instr", "dtype", "c_dtype"), SPARSE, ids=str)
@pytest.mark.parametrize("k", [4, 72])
def test_a_sparse_element_is_the_one_that_gemm_computes_and_its_terms_say_their_k(instr, dtype, c_dtype, k):
    a_dtype, b_dtype = (dtype, dtype) if dtype else (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
    A, B, C = draw((5, k), a_dtype), draw((k, 3), b_dtype), draw((5, 3), c_dtype)
    A[:, ::2] = 0
    D = we.gemm(A, B, C, instr=instr)
    row = we.instruction(instr).instruction
    e = we.explain(instr, A, B, C, row=3, col=2)
    assert (e.result, e.k) == (int(D.view(f"u{D.itemsize}")[3, 2]), k)
    count = -(-k // row.k)
    assert len(e.executions) == count and len(e.a) == len(e.b) == len(e.ks) == count * row.terms
    assert [(x.first_k, x.last_k) for x in e.executions] == [(i * row.k, (i + 1) * row.k - 1) for i in range(count)]
    a, b = (np.pad(x.view(f"u{x.itemsize}"), [(0, count * row.k - k) if n == k else (0, 0) for n in x.shape])
            for x in (A, B))  # fmt: skip
    for at, x, y in zip(e.ks, e.a, e.b, strict=True):
        assert (x, y) == (a[3, at], b[at, 2])
    named = [t.k for step in e.steps if hasattr(step, "terms") for t in step.terms if getattr(t, "k", None) is not None]
    assert sorted(named) == sorted(e.ks)
    assert (f"A is sparse: {len(e.ks)} products" in " ".join(str(e).split())) == row.is_sparse
    assert f"k = 0 .. {row.k - 1}, c = 0x" in str(e)


def test_the_steps_of_a_sparse_element_are_those_of_its_packed_row():
    A, B = draw((1, 64), F16), draw((64, 1), F16)
    A[:, ::2] = 0
    ins = we.instruction("mma.sp.m16n8k32.f32.f16.f16.f32")
    sparse = we.explain(ins, A, B, row=0, col=0)
    packed = explain_dot(ins.product, list(sparse.a), list(sparse.b), 0, instruction=ins.mnemonic, arch="sm_90")
    assert packed.result == sparse.result
    for x, y in zip(sparse.steps, packed.steps, strict=True):
        assert (x.exponent, x.total, x.result) == (y.exponent, y.total, y.result)
        for s, p in zip(x.terms[:-1], y.terms[:-1], strict=True):
            assert (s.k, s.name, s.kept, s.cut) == (sparse.ks[p.k], f"k={sparse.ks[p.k]}", p.kept, p.cut)


def test_a_sparse_element_of_fp8_as_f16_says_what_its_model_counts():
    A, B = np.zeros((1, 64), ml_dtypes.float8_e4m3fn), np.ones((64, 1), ml_dtypes.float8_e4m3fn)
    e = we.explain("mma.sp.m16n8k64.f32.e4m3.e4m3.f32", A, B, row=0, col=0)
    assert "A is sparse: 32 products, which the model's k counts" in " ".join(str(e).split())


def test_a_sparse_element_without_products_is_c():
    C = np.full((1, 1), 1.5, F32)
    e = we.explain("mma.sp.m16n8k32.f32.f16.f16.f32", np.zeros((1, 0), F16), np.zeros((0, 1), F16), C, row=0, col=0)
    assert (e.result, e.executions, e.ks) == (0x3FC0_0000, (), ())
