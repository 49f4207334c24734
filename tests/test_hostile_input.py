# SPDX-License-Identifier: MIT
"""Hostile input to every public function: a clear error of the right class, never a wrong number, inputs untouched."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we

H = "m16n8k16.f32.f16.f16.f32"
F16 = np.float16
BF16 = ml_dtypes.bfloat16
MISMATCH = we.FragmentMismatchError
UNSUPPORTED = we.UnsupportedInstructionError


def z(*shape, dtype=F16):
    return np.zeros(shape, dtype)


def u32(*shape):
    return np.zeros(shape, np.uint32)


class ForeignTensor:
    """A tensor of another library, as far as NumPy can see it."""

    def __init__(self, data=None, error=None, dtype=None):
        self.data, self.error = data, error
        if dtype is not None:
            self.dtype = dtype

    def __array__(self, dtype=None, copy=None):
        if self.error is not None:
            raise self.error
        return self.data


class Exporter:
    """An array that speaks DLPack alone."""

    def __init__(self, data):
        self.data = data

    def __dlpack__(self, **kwargs):
        return self.data.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


class NoDtype:
    @property
    def dtype(self):
        raise RuntimeError("no dtype\ntoday")


BF16_TENSOR = ForeignTensor(error=TypeError("Got unsupported ScalarType BFloat16"), dtype="bfloat16")
ON_DEVICE = ForeignTensor(error=TypeError("can't convert cuda:0 device type tensor to numpy"), dtype="float16")
NEEDS_GRADIENT = ForeignTensor(error=RuntimeError("Can't call numpy() on Tensor that requires grad"), dtype="float16")
TWO_LINES = ForeignTensor(error=ValueError("boom\nline2"))
S4 = "m16n8k64.s32.s4.s4.s32"


def ins(name=H, **options):
    return we.instruction(name, **options)


WRONG = {
    # names
    "no instruction": (lambda: ins(""), UNSUPPORTED, "empty"),
    "a number for an instruction": (lambda: ins(17), UNSUPPORTED, "17"),
    "none for an instruction": (lambda: ins(None), UNSUPPORTED, "None"),
    "a made-up instruction": (lambda: ins("m16n8k17.f32.f16.f16.f32"), UNSUPPORTED, "m16n8k16.f32.f16.f16.f32"),
    "a megabyte of instruction": (lambda: ins("m" * 10**6), UNSUPPORTED, "1000000 characters"),
    "a made-up chip": (lambda: ins(arch="sm_91"), UNSUPPORTED, "sm_90"),
    "a number for a chip": (lambda: ins(arch=90), UNSUPPORTED, "sm_90"),
    "none for a chip": (lambda: we.gemm(z(2, 2), z(2, 2), arch=None), UNSUPPORTED, "sm_90"),
    "an array for a chip": (lambda: we.gemm(z(2, 2), z(2, 2), arch=z(2)), UNSUPPORTED, "sm_90"),
    "a chip without bf16": (lambda: ins("m16n8k16.f32.bf16.bf16.f32", arch="sm_75"), UNSUPPORTED, "first chip.*sm_80"),
    "a made-up engine": (lambda: we.gemm(z(2, 2), z(2, 2), engine="cuda"), UNSUPPORTED, "'reference', 'numpy'"),
    "a list for an engine": (lambda: we.gemm(z(2, 2), z(2, 2), engine=["numpy"]), UNSUPPORTED, "'numpy'"),
    "an engine of execute": (
        lambda: ins().execute(u32(4, 32), u32(2, 32), u32(4, 32), engine=0),
        UNSUPPORTED,
        "engine 0",
    ),
    "a made-up lowering": (lambda: ins("m16n8k32.f32.e4m3.e4m3.f32", lowering="ptxas-1"), UNSUPPORTED, "'ptxas-12.8'"),
    "a lowering of a native one": (lambda: ins(lowering="ptxas-12.8"), UNSUPPORTED, "'native'"),
    "a list for a lowering": (lambda: ins(lowering=[]), UNSUPPORTED, "native"),
    "a made-up format": (lambda: we.format_of("f17"), UNSUPPORTED, "f16"),
    "a number for a format": (lambda: we.format_of(16), UNSUPPORTED, "f16"),
    "a list for a format": (lambda: we.format_of([]), UNSUPPORTED, "f16"),
    "a made-up a_format": (lambda: we.gemm(z(2, 2), z(2, 2), a_format="s3"), UNSUPPORTED, "s4"),
    "another a_format": (lambda: we.gemm(z(2, 2), z(2, 2), instr=H, a_format="s4"), MISMATCH, "A .*is f16"),
    # dtypes
    "float64 into an f16 instruction": (lambda: ins()(z(16, 16, dtype=float), z(16, 8)), MISMATCH, "float64"),
    "bf16 into an f16 instruction": (lambda: ins()(z(16, 16, dtype=BF16), z(16, 8)), MISMATCH, "bfloat16"),
    "A and B of different dtypes": (
        lambda: we.gemm(z(2, 2), z(2, 2, dtype=BF16)),
        (UNSUPPORTED, MISMATCH),
        "f16.*bf16",
    ),
    "float32 without an instruction": (
        lambda: we.gemm(z(2, 2, dtype="f4"), z(2, 2, dtype="f4")),
        UNSUPPORTED,
        "fma.f32",
    ),
    "complex": (lambda: we.gemm(z(2, 2, dtype=complex), z(2, 2)), MISMATCH, "complex128"),
    "objects": (lambda: we.gemm(z(2, 2, dtype=object), z(2, 2)), MISMATCH, "object"),
    "strings": (lambda: we.gemm(np.array([["a"]]), z(1, 1)), MISMATCH, "<U1|str"),
    "dates": (lambda: we.gemm(z(2, 2, dtype="M8[s]"), z(2, 2)), MISMATCH, "datetime"),
    "structured": (lambda: we.gemm(z(2, 2, dtype=[("x", "f2")]), z(2, 2)), MISMATCH, "x"),
    "lists": (lambda: we.gemm([[1.0]], [[1.0]]), MISMATCH, "list"),
    "ragged lists": (lambda: we.gemm([[1.0], [1.0, 2.0]], z(2, 2)), MISMATCH, "list"),
    "none for A": (lambda: we.gemm(None, z(2, 2)), MISMATCH, "NoneType"),
    "a string for B": (lambda: we.gemm(z(2, 2), "B"), MISMATCH, "str"),
    "raw bits without an instruction": (lambda: we.gemm(z(2, 2, dtype="u2"), z(2, 2, dtype="u2")), MISMATCH, "uint16"),
    "raw bits of another width": (lambda: ins()(z(16, 16, dtype="u4"), z(16, 8)), MISMATCH, "uint32"),
    "packed bytes without a_format": (
        lambda: ins("m16n8k64.s32.s4.s4.s32", arch="sm_80")(z(16, 32, dtype="u1"), z(64, 8, dtype="u1")),
        MISMATCH,
        "a_format",
    ),
    "C of another dtype": (lambda: we.gemm(z(2, 2), z(2, 2), z(2, 2)), MISMATCH, "C.*float16"),
    "C of float64": (lambda: we.gemm(z(2, 2), z(2, 2), z(2, 2, dtype=float)), MISMATCH, "C.*float64"),
    "a float for an integer product": (lambda: we.gemm(z(2, 2, dtype="i1"), z(2, 2)), (UNSUPPORTED, MISMATCH), "f16"),
    "int8 for an unsigned operand": (
        lambda: ins("m16n8k32.s32.u8.u8.s32")(z(16, 32, dtype="i1"), z(32, 8, dtype="u1")),
        MISMATCH,
        "int8",
    ),
    "a made-up out_dtype": (lambda: we.gemm(z(2, 2), z(2, 2), out_dtype="f3"), MISMATCH, "out_dtype"),
    "an integer out_dtype": (lambda: we.gemm(z(2, 2), z(2, 2), out_dtype=np.int8), MISMATCH, "out_dtype"),
    "a bfloat16 tensor that NumPy refuses": (lambda: we.gemm(BF16_TENSOR, z(2, 2)), MISMATCH, "ScalarType BFloat16"),
    "a tensor on a device": (lambda: we.gemm(z(2, 2), ON_DEVICE), MISMATCH, "B is a .*cuda:0"),
    "a tensor that requires grad": (lambda: we.gemm(NEEDS_GRADIENT, z(2, 2)), MISMATCH, "requires grad"),
    "a dtype that raises": (lambda: we.gemm(NoDtype(), z(2, 2)), MISMATCH, r"\(NoDtype\)"),
    "an __array__ that raises two lines": (lambda: we.gemm(TWO_LINES, z(2, 2)), MISMATCH, r"boom\\nline2"),
    "two lines, with a_format": (
        lambda: ins(S4, arch="sm_80")(TWO_LINES, z(64, 8), a_format="s4"),
        MISMATCH,
        r"boom\\nline2",
    ),
    "ragged lists with a_format": (
        lambda: ins(S4, arch="sm_80")([[1], [2, 3]], z(64, 8), a_format="s4"),
        MISMATCH,
        "A is a Python list",
    ),
    "an array for a_format": (
        lambda: we.gemm(z(2, 2), z(2, 2), instr=H, a_format=np.array(["s4", "u4"])),
        MISMATCH,
        "a_format=array",
    ),
    "int8 for a 4-bit operand": (
        lambda: ins(S4, arch="sm_80")(z(16, 64, dtype="i1"), z(64, 8, dtype="i1")),
        MISMATCH,
        r"A\.view\(ml_dtypes\.int4\)",
    ),
    "a dtype of a thousand fields": (
        lambda: ins()(z(16, 16, dtype=[(f"f{i}", "f2") for i in range(1000)]), z(16, 8)),
        MISMATCH,
        r"'f0'.*\.\.\.",
    ),
    "a masked array": (lambda: we.gemm(np.ma.masked_array(z(2, 2), mask=True), z(2, 2)), MISMATCH, "masked"),
    # shapes
    "A transposed": (lambda: we.mma(z(8, 16), z(16, 8), instr=H), MISMATCH, r"\(8, 16\).*16, 16"),
    "B transposed": (lambda: we.mma(z(16, 16), z(8, 16), instr=H), MISMATCH, "B.T"),
    "A with one axis": (lambda: we.gemm(z(4), z(4, 4)), MISMATCH, r"A has shape \(4,\)"),
    "B with one axis": (lambda: we.gemm(z(4, 4), z(4)), MISMATCH, r"B has shape \(4,\)"),
    "A without axes": (lambda: we.gemm(F16(1), z(1, 1)), MISMATCH, r"A has shape \(\)"),
    "K of A and B differ": (lambda: we.gemm(z(4, 5), z(6, 7)), MISMATCH, "K is 5 in A and 6 in B"),
    "K differs, and B.T would fit": (lambda: we.gemm(z(4, 5), z(7, 5)), MISMATCH, "B.T would fit"),
    "batches differ": (lambda: we.gemm(z(2, 4, 4), z(3, 4, 4)), MISMATCH, "do not broadcast"),
    "33 axes": (lambda: we.mma(z(*(1,) * 31, 16, 16), z(16, 8)), MISMATCH, "A has 33 axes; at most 32"),
    "64 axes": (lambda: we.gemm(z(4, 4), z(*(1,) * 62, 4, 4)), MISMATCH, "B has 64 axes; at most 32"),
    "64 axes to pack": (lambda: ins().a.pack(z(*(1,) * 62, 16, 16)), MISMATCH, "A has 64 axes; at most 32"),
    "42 axes of registers": (
        lambda: ins().execute(u32(4, 32), u32(2, *(1,) * 40, 32), u32(4, 32)),
        MISMATCH,
        "b has 42 axes; at most 32",
    ),
    "batches differ in mma": (lambda: we.mma(z(2, 16, 16), z(3, 16, 8)), MISMATCH, "do not broadcast"),
    "C of another shape": (lambda: we.gemm(z(4, 4), z(4, 4), z(4, 5, dtype="f4")), MISMATCH, r"C has shape \(4, 5\)"),
    "C that would have to broadcast": (lambda: we.gemm(z(4, 4), z(4, 4), z(1, 4, dtype="f4")), MISMATCH, "C has shape"),
    "C with one axis": (lambda: we.gemm(z(4, 4), z(4, 4), z(4, dtype="f4")), MISMATCH, "C has shape"),
    "a result beyond any memory": (
        lambda: we.gemm(np.empty((2**40, 0), F16), np.empty((0, 2**40), F16)),
        we.MemoryLimitError,
        "and this machine has",
    ),
    "a batch of C that differs": (
        lambda: we.gemm(z(2, 4, 4), z(4, 4), z(3, 4, 4, dtype="f4")),
        MISMATCH,
        "do not broadcast",
    ),
    "no matrices in an instruction": (lambda: we.mma(z(0, 0), z(0, 0), instr=H), MISMATCH, r"\(0, 0\)"),
    # registers
    "registers too few": (lambda: ins().execute(u32(3, 32), u32(2, 32), u32(4, 32)), MISMATCH, "4"),
    "31 lanes": (lambda: ins().execute(u32(4, 31), u32(2, 32), u32(4, 32)), MISMATCH, "32"),
    "signed registers": (lambda: ins().execute(u32(4, 32).view("i4"), u32(2, 32), u32(4, 32)), MISMATCH, "int32"),
    "float registers": (lambda: ins().execute(u32(4, 32).view("f4"), u32(2, 32), u32(4, 32)), MISMATCH, "float32"),
    "64-bit registers": (lambda: ins().execute(z(4, 32, dtype="u8"), u32(2, 32), u32(4, 32)), MISMATCH, "uint64"),
    "lanes first": (lambda: ins().execute(u32(32, 4), u32(2, 32), u32(4, 32)), MISMATCH, "32"),
    "warps that do not broadcast": (
        lambda: ins().execute(u32(4, 2, 32), u32(2, 3, 32), u32(4, 32)),
        MISMATCH,
        "do not broadcast",
    ),
    "registers as a list": (lambda: ins().execute([1], u32(2, 32), u32(4, 32)), MISMATCH, "list|shape"),
    "no registers": (lambda: ins().execute(None, u32(2, 32), u32(4, 32)), MISMATCH, "a is None"),
    "masked registers": (
        lambda: ins().execute(u32(4, 32), np.ma.masked_array(u32(2, 32), True), u32(4, 32)),
        MISMATCH,
        r"b is a masked array; pass b\.filled",
    ),
    "ragged registers": (lambda: ins().execute([[1], [2, 3]], u32(2, 32), u32(4, 32)), MISMATCH, "a is a Python list"),
    "registers on a device": (lambda: ins().execute(u32(4, 32), u32(2, 32), ON_DEVICE), MISMATCH, "c is a .*cuda:0"),
    "registers that raise, to unpack": (lambda: ins().a.unpack(TWO_LINES), MISMATCH, r"boom\\nline2"),
    "a fraction for a row": (lambda: ins().a.layout.locate(1.5, 0), MISMATCH, "the row is 1.5"),
    "None for a lane": (lambda: ins().a.layout.element_at(None, 0), MISMATCH, "the lane is None"),
    "a matrix to pack of another shape": (lambda: ins().a.pack(z(8, 16)), MISMATCH, r"\(8, 16\)"),
    "a matrix to pack of another dtype": (lambda: ins().a.pack(z(16, 16, dtype="f4")), MISMATCH, "float32"),
    "registers to unpack, too many": (lambda: ins().d.unpack(u32(5, 32)), MISMATCH, "5"),
    "a quad-pair product without its batch of four": (
        lambda: ins("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32").a.pack(z(8, 4)),
        MISMATCH,
        "4, 8, 4",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_gets_a_clear_error_of_the_right_class(name):
    use, error, message = WRONG[name]
    with pytest.raises(error, match=message) as caught:
        use()
    text = str(caught.value)
    assert isinstance(caught.value, we.WmmaEmuError)
    assert 20 < len(text) < 600 and "\n" not in text, text


def test_errors_have_a_built_in_second_base():
    assert issubclass(we.UnsupportedInstructionError, ValueError)
    assert issubclass(we.FragmentMismatchError, TypeError)
    assert issubclass(we.AlignmentError, ValueError)
    assert issubclass(we.OutOfBoundsError, IndexError)
    assert issubclass(we.DivergenceError, RuntimeError)
    assert issubclass(we.BackendUnavailableError, ImportError)


@pytest.mark.parametrize("wrap", [ForeignTensor, Exporter])
def test_matrices_and_registers_of_other_libraries_are_read(wrap):
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((16, 16)).astype(F16), rng.standard_normal((16, 8)).astype(F16)
    np.testing.assert_array_equal(we.gemm(wrap(A), wrap(B)).view(np.uint32), we.gemm(A, B).view(np.uint32))
    np.testing.assert_array_equal(we.mma(wrap(A), wrap(B)).view(np.uint32), we.mma(A, B).view(np.uint32))
    i = ins()
    registers = i.a.pack(A), i.b.pack(B), u32(4, 32)
    np.testing.assert_array_equal(i.execute(*map(wrap, registers)), i.execute(*registers))


def test_thirty_leading_axes_are_as_good_as_one():
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((2, 16, 16)).astype(F16), rng.standard_normal((2, 16, 8)).astype(F16)
    many = (1,) * 29
    found = we.gemm(A.reshape(2, *many, 16, 16), B.reshape(2, *many, 16, 8))
    assert found.shape == (2, *many, 16, 8)
    np.testing.assert_array_equal(found.reshape(2, 16, 8).view(np.uint32), we.gemm(A, B).view(np.uint32))


@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_are_left_alone(order):
    rng = np.random.default_rng(0)
    A = np.array(rng.standard_normal((16, 16)), F16, order=order)
    B = np.array(rng.standard_normal((16, 8)), F16, order=order)
    C = np.array(rng.standard_normal((16, 8)), np.float32, order=order)
    before = [x.tobytes() for x in (A, B, C)]
    D = we.mma(A, B, C)
    E = we.gemm(A, B, C)
    i = ins()
    registers = i.a.pack(A), i.b.pack(B), i.c.pack(C)
    frozen = [x.tobytes() for x in registers]
    i.execute(*registers)
    assert [x.tobytes() for x in (A, B, C)] == before
    assert [x.tobytes() for x in registers] == frozen
    assert not any(np.shares_memory(x, y) for x in (D, E) for y in (A, B, C))


def test_big_endian_input_is_read_as_its_values():
    A = np.arange(256, dtype=np.float16).reshape(16, 16)
    B = np.eye(16, 8, dtype=np.float16)
    try:
        D = we.mma(A.astype(">f2"), B)
    except we.FragmentMismatchError:
        return
    np.testing.assert_array_equal(D, we.mma(A, B))


@pytest.mark.parametrize(
    "use",
    [
        lambda: we.instruction("m8n8k4.f32.f16.f16.f32", arch="a100"),
        lambda: we.mma(np.zeros((16, 8), F16), np.zeros((8, 8), F16), arch="t4"),
        lambda: we.gemm(np.zeros((2, 2), F16), np.zeros((2, 2), F16), arch="sm_120"),
    ],
)
def test_the_warning_points_at_the_callers_line(use):
    with pytest.warns(we.UnverifiedModelWarning) as caught:
        use()
    assert [warning.filename for warning in caught] == [__file__]


def test_an_unrecorded_model_warns_and_names_itself():
    with pytest.warns(we.UnverifiedModelWarning, match=r"m16n8k8.*sm_75.*literature"):
        we.instruction("m16n8k8.f32.f16.f16.f32", arch="t4")
