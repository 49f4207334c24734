# SPDX-License-Identifier: MIT
"""Every product of an emulation equals `we.gemm` of the same operands with the same options, bit for bit."""

import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402
from tests.torch.shared import numbers, same  # noqa: E402
from wmma_emu.torch.untouched import reason_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

HALVES = [torch.bfloat16, torch.float16]
F32 = {"instr": "fma.f32"}
TF32 = {"instr": "m16n8k8.f32.tf32.tf32.f32"}
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.mT.contiguous().mT,
    "strided": lambda x: x.repeat_interleave(2, -1)[..., ::2],
    "offset": lambda x: torch.cat([x[..., :1], x], -1)[..., 1:],
    "expanded": lambda x: x[..., :1, :].expand(x.shape),
}


def emulated(function, arch="a100", **options):
    with we.torch.emulate(arch, **options) as emulation:
        result = function()
    assert not emulation.log.untouched
    return result, emulation.log


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("arch", ["v100", "a100", "h100", "b200"])
def test_mm_equals_gemm_on_every_chip(dtype, arch):
    a, b = numbers(33, 70, dtype=dtype), numbers(70, 9, dtype=dtype, seed=1)
    d, log = emulated(lambda: a @ b, arch)
    lacks_bf16 = arch == "v100" and dtype == torch.bfloat16
    expected = (
        we.gemm(a.float(), b.float(), **F32, out_dtype=dtype)
        if lacks_bf16
        else we.gemm(a, b, arch=arch, out_dtype=dtype)
    )
    same(d, expected)
    assert log[0].shape == (33, 9, 70) and log[0].arch == we.instructions.arch_of(arch).name


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_every_layout_of_operands_has_the_same_bits(left, right):
    a, b = LAYOUTS[left](numbers(3, 17, 40)), LAYOUTS[right](numbers(3, 40, 9, seed=1))
    same(emulated(lambda: torch.bmm(a, b))[0], we.gemm(a, b, arch="a100", out_dtype="bf16"))
    same(emulated(lambda: a[0] @ b[0])[0], we.gemm(a[0], b[0], arch="a100", out_dtype="bf16"))
    same(emulated(lambda: a[:, None] @ b[None])[0], we.gemm(a[:, None], b[None], arch="a100", out_dtype="bf16"))


A, B = numbers(17, 40), numbers(40, 9, seed=1)
ADDENDS = {"row": numbers(9, seed=2), "matrix": numbers(17, 9, seed=2), "column": numbers(17, 1, seed=2)}


@pytest.mark.parametrize("addend", ADDENDS)
@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (0.5, 1), (1, 2), (1.5, -0.25), (2, 0)])
def test_addends_are_terms_of_the_epilogue(addend, alpha, beta):
    c = ADDENDS[addend]
    d, _ = emulated(lambda: torch.addmm(c, A, B, alpha=alpha, beta=beta))
    how = {"C": c.expand(17, 9), "beta": beta}
    if beta == 0:
        how = {}
    elif addend == "row" and beta == 1:
        how = {"bias": c}
    same(d, we.gemm(A, B, alpha=alpha, arch="a100", out_dtype="bf16", **how))


def test_addends_of_a_batch_and_sums_over_a_batch():
    a, b, c = numbers(3, 17, 40), numbers(3, 40, 9, seed=1), numbers(17, 9, seed=2)
    d, _ = emulated(lambda: torch.baddbmm(c, a, b, alpha=0.5))
    same(d, we.gemm(a, b, C=c.expand(3, 17, 9), alpha=0.5, beta=1, arch="a100", out_dtype="bf16"))
    total = c
    for x, y in zip(a, b, strict=True):
        total = we.gemm(x, y, C=total, beta=1, arch="a100", out_dtype="bf16")
    same(emulated(lambda: torch.addbmm(c, a, b))[0], total)


def test_a_beta_of_zero_does_not_read_the_addend():
    nothing = torch.full((17, 9), torch.nan, dtype=torch.bfloat16)
    assert not emulated(lambda: torch.addmm(nothing, A, B, beta=0))[0].isnan().any()


def test_operations_that_write_into_a_tensor_write_the_same_bits():
    expected = we.gemm(A, B, arch="a100", out_dtype="bf16")
    out = torch.empty(17, 9, dtype=torch.bfloat16)
    d, _ = emulated(lambda: torch.mm(A, B, out=out))
    assert d is out
    same(out, expected)
    empty = torch.empty(0, dtype=torch.bfloat16)
    emulated(lambda: torch.mm(A, B, out=empty))
    same(empty, expected)
    c = ADDENDS["matrix"].clone()
    assert emulated(lambda: c.addmm_(A, B))[0] is c
    same(c, we.gemm(A, B, C=ADDENDS["matrix"], beta=1, arch="a100", out_dtype="bf16"))


@pytest.mark.parametrize(
    "call",
    [lambda: torch.mm(A, B, out=torch.empty(17, 9)), lambda: torch.zeros(9, dtype=torch.bfloat16).addmm_(A, B)],
    ids=["another dtype", "another shape"],
)
def test_a_tensor_that_cannot_hold_the_result_is_refused_by_pytorch(call):
    with pytest.raises(RuntimeError) as expected:
        call()
    with pytest.raises(RuntimeError) as found:
        emulated(call)
    assert str(found.value) == str(expected.value)


def test_results_in_float32_are_the_accumulators():
    same(emulated(lambda: torch.mm(A, B, out_dtype=torch.float32))[0], we.gemm(A, B, arch="a100"))


@pytest.mark.parametrize("shape", [(0, 40, 9), (17, 0, 9), (17, 40, 0)])
def test_empty_products_have_the_results_of_pytorch(shape):
    m, k, n = shape
    a, b = numbers(m, k), numbers(k, n)
    same(emulated(lambda: a @ b)[0], a @ b)


def test_composed_operations_are_products_of_their_parts():
    x, w, bias = numbers(2, 5, 40), numbers(9, 40, seed=1), numbers(9, seed=2)
    expected = we.gemm(x.reshape(10, 40), w.T, bias=bias, arch="a100", out_dtype="bf16").reshape(2, 5, 9)
    same(emulated(lambda: torch.nn.functional.linear(x, w, bias))[0], expected)
    same(emulated(lambda: torch.einsum("abk,nk->abn", x, w))[0], we.gemm(x, w.T, arch="a100", out_dtype="bf16"))
    same(emulated(lambda: torch.matmul(x, w.T))[0], we.gemm(x, w.T, arch="a100", out_dtype="bf16"))
    same(emulated(lambda: torch.tensordot(x, w, ([2], [1])))[0], we.gemm(x, w.T, arch="a100", out_dtype="bf16"))


@pytest.fixture
def precision():
    yield torch.set_float32_matmul_precision
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(("word", "arch", "how"), [
    ("highest", "a100", F32), ("high", "a100", TF32), ("medium", "h100", TF32), ("high", "v100", F32),
])  # fmt: skip
def test_float32_follows_the_settings_of_pytorch(precision, word, arch, how):
    a, b = numbers(17, 40, dtype=torch.float32), numbers(40, 9, dtype=torch.float32, seed=1)
    precision(word)
    chip = {} if how is F32 else {"arch": arch}
    same(emulated(lambda: a @ b, arch)[0], we.gemm(a, b, **how, **chip))


def test_float32_operands_are_converted_to_tf32_as_the_option_says(precision):
    a, b = numbers(17, 40, dtype=torch.float32), numbers(40, 9, dtype=torch.float32, seed=1)
    precision("high")
    rounded = [torch.from_numpy(we.wmma.float_to_tf32(x.numpy())) for x in (a, b)]
    same(emulated(lambda: a @ b, tf32_conversion="rna")[0], we.gemm(*rounded, **TF32, arch="a100"))


def test_float16_sums_follow_the_setting_of_pytorch(monkeypatch):
    a, b = numbers(17, 40, dtype=torch.float16), numbers(40, 9, dtype=torch.float16, seed=1)
    torch.backends.cuda.matmul.allow_fp16_accumulation = True
    try:
        d, _ = emulated(lambda: a @ b, "h100")
    finally:
        torch.backends.cuda.matmul.allow_fp16_accumulation = False
    same(d, we.gemm(a, b, instr="m16n8k16.f16.f16.f16.f16", arch="h100"))


def test_float64_and_int8_have_their_instructions():
    a, b = numbers(17, 40, dtype=torch.float64), numbers(40, 9, dtype=torch.float64, seed=1)
    same(emulated(lambda: a @ b)[0], we.gemm(a, b, arch="a100"))
    x, y = (t.mul(20).to(torch.int8) for t in (numbers(32, 40), numbers(40, 16, seed=1)))
    same(emulated(lambda: torch._int_mm(x, y))[0], we.gemm(x, y, arch="a100"))


def test_products_of_int8_that_wrap_around_are_left_to_pytorch():
    x, y = torch.full((4, 4), 100, dtype=torch.int8), torch.full((4, 4), 3, dtype=torch.int8)
    with we.torch.emulate("a100") as emulation:
        d = x @ y
    same(d, x @ y)
    assert not emulation.log and sum(emulation.log.untouched.values()) == 1


def test_recordings_apply_only_under_the_settings_of_pytorch_that_they_were_made_with(monkeypatch):
    monkeypatch.setattr("wmma_emu.models.multiplier.gemm_of", lambda factors, c, options: np.zeros((1, 1), np.float16))
    settings = torch.backends.cuda.matmul
    cases = [
        ("allow_fp16_accumulation", torch.float16, (64, 4096, 64)),
        ("allow_bf16_reduced_precision_reduction", torch.bfloat16, (512, 50257, 768)),
    ]
    for setting, dtype, (m, k, n) in cases:
        wanted = {"arch": "h100", "like": "torch"}
        a, b = (torch.ones(1, dtype=dtype).expand(s) for s in ((m, k), (k, n)))
        before = getattr(settings, setting)
        assert emulated(lambda a=a, b=b: a @ b, **wanted)[1][0].order == "recorded"
        setattr(settings, setting, not before)
        try:
            assert emulated(lambda a=a, b=b: a @ b, **wanted)[1][0].order == "assumed"
        finally:
            setattr(settings, setting, before)


def test_an_order_of_k_is_given_as_one_or_as_a_function_of_the_shape():
    order = we.KOrder(splits=2)
    expected = we.gemm(A, B, arch="a100", out_dtype="bf16", k_order=order)
    same(emulated(lambda: A @ B, k_order=order)[0], expected)
    asked = []
    same(emulated(lambda: A @ B, k_order=lambda *x: asked.append(x) or order)[0], expected)
    assert asked == [((17, 9, 40), 1, "bf16")]


def test_an_order_of_k_applies_where_there_is_enough_k_and_not_within_fused_attention():
    q = numbers(1, 1, 64, 64)
    attention = torch.nn.functional.scaled_dot_product_attention
    _, log = emulated(lambda: (A @ B, A[:, :16] @ B[:16], attention(q, q, q)), k_order=we.KOrder(splits=2))
    assert [x.order for x in log] == ["given", "assumed", "assumed", "assumed"]


def test_a_library_is_followed_where_its_products_are_recorded():
    a, b = numbers(64, 4096), numbers(4096, 64, seed=1)
    d, log = emulated(lambda: (a @ b, A @ B), "h100", like="cublas")
    same(d[0], we.gemm(a, b, like="cublas-sm90-bf16"))
    same(d[1], we.gemm(A, B, arch="h100", out_dtype="bf16"))
    assert [(x.order, x.k_order and x.k_order.splits) for x in log] == [("recorded", 3), ("assumed", None)]
    assert log.covered() == (1, 64 * 64 * 4096) and list(log.uncovered()) == ["bf16 17x9x40 to bf16"]


def test_fields_of_the_model_are_replaced_for_experiments():
    ins = we.instruction("m16n8k16.f32.bf16.bf16.f32", arch="h100")
    from dataclasses import replace

    short = ins.with_model(replace(ins.model, fraction_bits=20))
    d, log = emulated(lambda: A @ B, "h100", changes={"fraction_bits": 20})
    same(d, we.gemm(A, B, instr=short, out_dtype="bf16"))
    assert log[0].arithmetic == "altered"


def fp8(*shape, seed=0):
    return numbers(*shape, seed=seed).to(torch.float8_e4m3fn)


SCALES = {
    "one": (torch.tensor(0.5), torch.tensor(0.1)),
    "rows": (torch.rand(32, 1) + 0.5, torch.rand(1, 16) + 0.5),
}


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("is_fast", [False, True])
def test_scaled_products_have_the_accumulation_and_the_scales_of_the_kernel(scales, is_fast):
    a, b, (s, t) = fp8(32, 256), fp8(16, 256, seed=1).T, SCALES[scales]
    d, _ = emulated(lambda: torch._scaled_mm(a, b, s, t, out_dtype=torch.bfloat16, use_fast_accum=is_fast), "h100")
    same(d, we.gemm(
        a, b, instr="wgmma.m64n8k32.f32.e4m3.e4m3", scale_a=s, scale_b=t, out_dtype="bf16",
        k_order=None if is_fast else we.KOrder(tile=128, promote_every=4),
    ))  # fmt: skip


def test_groups_of_rows_columns_and_k_are_separate_products():
    grouped = torch.nn.functional.grouped_mm
    ends = torch.tensor([8, 24, 32], dtype=torch.int32)

    def product(x, y):
        return we.gemm(x, y, arch="h100", out_dtype="bf16")

    a, b = numbers(32, 16), numbers(3, 16, 24, seed=1)
    d, log = emulated(lambda: grouped(a, b, offs=ends), "h100")
    same(d, torch.cat([product(a[:8], b[0]), product(a[8:24], b[1]), product(a[24:], b[2])]))
    assert [x.shape for x in log] == [(8, 24, 16), (16, 24, 16), (8, 24, 16)]
    x, y = numbers(16, 32), numbers(32, 24, seed=1)
    d, _ = emulated(lambda: grouped(x, y, offs=ends), "h100")
    same(d, torch.stack([product(x[:, i:j], y[i:j]) for i, j in ((0, 8), (8, 24), (24, 32))]))


def test_other_operations_are_computed_by_pytorch_and_counted():
    with we.torch.emulate("a100") as emulation:
        d = A.mv(B[:, 0])
        whole = torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2, dtype=torch.int64)
    same(d, A.mv(B[:, 0]))
    assert whole.tolist() == [[2, 2], [2, 2]] and not len(emulation.log)
    assert "mv, products with a vector run on the CUDA cores" in str(emulation.log)
    assert sum(emulation.log.untouched.values()) == 2


def test_every_operation_that_pytorch_counts_as_products_has_a_rule_or_a_reason():
    from torch.utils.flop_counter import flop_registry

    names = {str(x).removeprefix("aten.") for x in flop_registry}
    assert {x for x in names if x not in we.torch.OPERATIONS and not reason_of(x)} == set()
    assert not set(we.torch.OPERATIONS) & set(we.torch.UNTOUCHED)
    assert all(hasattr(torch.ops.aten, name) for name in we.torch.OPERATIONS)


PRODUCT_WORDS = re.compile(
    "mm$|matmul|conv|attention|linalg|dot$|bilinear$|cdist|pdist|fft_|cholesky|qr$|svd|eig|solve|inverse|pinv|addr$|ger$|mv$|"
    "geqrf|trilinear$"
)
WITHOUT_PRODUCTS = re.compile(
    "weight|convert|upsample|fftfreq|powsum|check_errors|_norm|cross|sqrt|slice_inverse|integer|matmul_backward"
)


def test_every_operation_of_aten_with_the_name_of_a_product_has_a_rule_or_a_reason():
    names = {x.name.removeprefix("aten::") for x in torch._C._jit_get_all_schemas() if x.name.startswith("aten::")}
    found = {x.removesuffix("_") for x in names if PRODUCT_WORDS.search(x) and not WITHOUT_PRODUCTS.search(x)}
    kernels = {x for x in found if not is_composed(x)}
    assert {x for x in kernels if x not in we.torch.OPERATIONS and not reason_of(x)} == set()


def is_composed(name):
    """Return whether PyTorch composes an operation of others, or has no kernel of it."""
    packet = getattr(torch.ops.aten, name, None)
    overloads = [] if packet is None else [getattr(packet, x) for x in packet.overloads()]
    return all(torch._C._dispatch_has_kernel_for_dispatch_key(x.name(), "CompositeImplicitAutograd") for x in overloads)
