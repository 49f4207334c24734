# SPDX-License-Identifier: MIT
"""`probe` recovers the models of the table, names what is different, and says what it cannot see."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import wmma_emu as we
from tools.altered_arithmetic import ALTERATIONS, compute
from tools.probe_models import distinct_rows, probe_row
from wmma_emu.applications.probing.report import PARAMETERS
from wmma_emu.arithmetic import dot_product_of
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.instructions import lookup
from wmma_emu.testing import examine, probe

pytestmark = pytest.mark.slow

ONE_STEP = {"terms_per_step", "partial_sums"}
"""The parameters that have no effect where one step takes all of k: terms per step, and sums of steps."""

RECOVERED = (
    ("m16n8k16.f32.f16.f16.f32", "sm_80", {"min_exponent"}),
    ("m16n8k16.f16.f16.f16.f16", "sm_90", ONE_STEP),
    ("m16n8k32.f32.e4m3.e5m2.f32", "sm_89", {"min_exponent"}),
    ("m16n8k32.f16.e5m2.e4m3.f16", "sm_90", {"terms_per_step", "min_exponent", "operand_format"}),
    ("m16n8k8.f32.tf32.tf32.f32", "sm_80", set()),
    ("m16n8k4.f64.f64.f64.f64.rm", "sm_90", {"terms_per_step", "operand_format"}),
    ("m8n8k4.f16.f16.f16.f16", "sm_90", set()),
    ("mma.sp.m16n8k32.f32.bf16.bf16.f32", "sm_90", ONE_STEP | {"operand_format"}),
)
"""Instruction, chip, and the parameters that no input shows entirely."""


def bound(mnemonic, arch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", we.UnverifiedModelWarning)
        return we.instruction(mnemonic, arch=arch)


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(
    ("mnemonic", "arch", "hidden"),
    [pytest.param(*row, marks=[pytest.mark.slow] if i % 2 else []) for i, row in enumerate(RECOVERED)],
    ids=lambda x: str(x) if isinstance(x, str) else "",
)
def test_the_row_of_the_table_is_recovered_and_what_no_input_shows_is_said(mnemonic, arch, hidden):
    ins = bound(mnemonic, arch)
    report = examine(ins, like=ins)
    assert report.problems == ()
    assert report.differences(ins.model) == {}
    assert set(report.unobservable) - {"fraction_bits"} == hidden
    for name in set(PARAMETERS) - hidden - {"output", "terms_per_step"}:
        assert getattr(report.model, name) == getattr(ins.model, name), name
    assert arch in report.chips()


def test_a_row_of_the_report_is_reproduced_and_all_rows_are_distinct():
    rows = distinct_rows()
    assert len(rows) == len(set(rows))
    result = probe_row(next(row for row in rows if row.lowering == "ptxas-12.4"))
    assert result["differences"] == {}
    assert result["model"]["partial_sums"] == "added"


def altered(mnemonic, arch, name):
    row = lookup(mnemonic, arch)
    product = dot_product_of(row, arch)
    alteration = next(x for x in ALTERATIONS if x.name == name)

    def f(A, B, C):
        a, b, c = (to_bits(x, fmt) for x, fmt in ((A, product.a), (B, product.b), (C, product.c)))
        return compute(product, a[None, None], b[None], c[None], alteration)[0, 0]

    return row, product, f


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("F + 1", "fraction_bits", 25), ("rounding RZ, RNE", "rounding", "RNE"),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in (
            ("exponent floor + 1", "min_exponent", -131), ("results added", "partial_sums", "added"),
            ("F - 1", "fraction_bits", 23), ("exponent floor - 1", "min_exponent", -133),
            ("steps halved", "terms_per_step", 4), ("e8m13 or f32", "output", "e8m13"),
            ("c last, c first", "c_joins", "last_add"),
        )),
    ],
    ids=lambda x: str(x),
)  # fmt: skip
def test_a_model_that_differs_in_one_parameter_is_found_with_that_parameter(name, parameter, value):
    row, product, f = altered("m16n8k16.f32.bf16.bf16.f32", "sm_80", name)
    report = examine(f, like=row)
    assert report.differences(product.model) == {parameter: (value, getattr(product.model, parameter))} or (
        report.differences(product.model) == {parameter: (value, "")}
    )


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(
    ("name", "question", "words"),
    [
        ("steps reversed", "order of the sums", "((c + k8..k15) + k0..k7)"),
        ("zero products align", "zero products", "take part in the alignment"),
        ("normalised products", "normalisation", "products are normalised before they are aligned"),
        ("a carry bit lost", "carries", "8 of them and c: 0x3fe00fff"),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (
                ("cut by RNE", "bits that are not kept", "rounded to nearest even"),
                ("cut by floor", "bits that are not kept", "rounded down"),
                ("operands flushed", "subnormal numbers", "operands of A, operands of B flushed to zero"),
                ("c flushed", "subnormal numbers", "c flushed to zero"),
                ("products overflow", "overflow", "NaN from two of them that cancel"),
                ("overflow to largest", "overflow", "finite from a product too large for d"),
                ("zero keeps its sign", "zeros", "-0 from every term -0"),
            )
        ),
    ],
    ids=lambda x: str(x) if " " not in str(x) or len(str(x)) < 25 else "",
)
def test_what_no_model_does_is_named_with_its_evidence(name, question, words):
    row, _, f = altered("m16n8k16.f32.bf16.bf16.f32", "sm_80", name)
    report = examine(f, like=row)
    assert report.model is None
    [answer] = [x for x in report.answers if x.question == question]
    assert words in f"{answer.answer} {answer.problem}"
    assert answer.problem
    assert answer.evidence or question == "order of the sums"


@pytest.mark.slow
def test_nan_of_other_bits_leaves_the_model_and_is_noted():
    row, product, f = altered("m16n8k8.f64.f64.f64.f64", "sm_90", "NaN of a before b")
    report = examine(f, like=row)
    assert report.differences(product.model) == {}
    assert report.note.startswith("NaN results have different bits than the model's, in ")
    assert report.model.note == report.note
    assert report.note in str(report)


def test_a_product_of_numpy_says_what_it_is():
    def product(A, B, C):
        total = np.zeros(C.shape, np.float32)
        for k in range(A.shape[1]):
            total += A[:, k : k + 1].astype(np.float32) * B[k : k + 1].astype(np.float32)
        return total + C

    report = examine(product, like="m16n8k16.f32.f16.f16.f32")
    assert report.tree == "chain(k0..k15, c)"
    assert (report.model.arithmetic, report.model.c_joins, report.model.chain_format.name) == (
        "fma_chain", "last_add", "f32",
    )  # fmt: skip
    assert "NaN" in report.note


@pytest.mark.slow
def test_matmul_of_float64_is_told_from_the_tensor_core():
    report = examine(lambda A, B, C: A @ B + C, like="m16n8k8.f64.f64.f64.f64")
    assert report.answers[1].question == "order of the sums"
    assert report.tree.endswith("+ c)") or report.tree.endswith(", c)")
    assert "sm_90" not in report.chips()


def test_pairwise_sums_are_shown_as_the_tree_that_they_are():
    def product(A, B, C):
        terms = list(A.astype(np.float32).T[:, :, None] * B.astype(np.float32)[:, None])
        while len(terms) > 1:
            terms = [x + y for x, y in zip(terms[::2], terms[1::2], strict=True)]
        return terms[0] + C

    report = examine(product, like="m16n8k8.f32.f16.f16.f32")
    assert report.tree == "((((k0 + k1) + (k2 + k3)) + ((k4 + k5) + (k6 + k7))) + c)"
    assert report.problems == ("no DotModel has this order of sums",)


@pytest.mark.slow
def test_a_sum_that_loses_nothing_is_one_step_and_the_answer_names_the_limit_of_the_formats():
    def product(A, B, C):
        with np.errstate(all="ignore"):
            exact = A.astype(np.float64) @ B.astype(np.float64) + C
        return exact.astype(np.float32)

    report = examine(product, like="m16n8k16.f32.e4m3.e4m3.f32")
    assert report.tree == "(c + k0..k15)"
    [answer] = [x for x in report.answers if x.question == "fraction bits"]
    assert answer.answer.endswith("or more: the formats have no smaller terms")


def test_a_function_that_is_not_deterministic_or_differs_between_elements_is_detected():
    ins = bound("m16n8k8.f32.f16.f16.f32", "sm_80")
    calls = []

    def restless(A, B, C):
        calls.append(1)
        return ins(A, B, C) + np.float32(len(calls))

    def uneven(A, B, C):
        D = ins(A, B, C)
        D[3] = D[3] + np.float32(1)
        return D

    assert examine(restless, like=ins).problems == ("results are not repeatable",)
    assert examine(uneven, like=ins).problems == ("elements of D are computed in different ways",)


def test_a_function_that_does_not_compute_a_product_plus_c_is_reported_first():
    ins = bound("m16n8k8.f32.f16.f16.f32", "sm_80")
    for f, words in (
        (lambda A, B, C: ins(A, B), "D is not A B + C: c, both of ones give a wrong result"),
        (lambda A, B, C: C, "elements of D are not where A and B put them"),
        (lambda A, B, C: ins(A, B, C) + C, "D is not A B + C: c, both of ones give a wrong result"),
        (lambda A, B, C: ins(A, B, ins(A, B, C)), "D is not A B + C: a product, both of ones give a wrong result"),
    ):
        assert examine(f, like=ins).problems == (words,)
    square = bound("m8n8k4.f32.f16.f16.f32", "sm_90")
    assert examine(lambda A, B, C: square(A, B, C).T.copy(), like=square).problems == ("D is transposed",)


def test_rows_that_are_computed_in_another_way_are_found():
    hopper, ampere = (bound("m16n8k16.f32.f16.f16.f32", arch) for arch in ("sm_90", "sm_80"))

    def mixed(A, B, C):
        D = hopper(A, B, C).copy()
        D[5] = ampere(A, B, C)[5]
        return D

    assert examine(mixed, like=hopper).model is None


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("changes", [
    {"terms_per_step": 15}, {"terms_per_step": 2}, {"fraction_bits": 40},
    *(pytest.param(x, marks=pytest.mark.slow) for x in (
        {"terms_per_step": 3}, {"terms_per_step": 5}, {"fraction_bits": 0},
    )),
], ids=str)  # fmt: skip
def test_models_that_no_chip_has_are_found_too(changes):
    ins = bound("m16n8k16.f32.f16.f16.f32", "sm_90")
    other = ins.with_model(replace(ins.model, **changes))
    assert examine(other, like=ins).differences(other.model) == {}


@pytest.mark.slow
def test_a_floor_that_only_other_inputs_could_show_is_not_an_answer():
    ins = bound("m16n8k16.f32.bf16.bf16.f32", "sm_90")
    for floor, found in ((-152, True), (-155, False)):
        report = examine(ins.with_model(replace(ins.model, min_exponent=floor)), like=ins)
        assert (report.model is not None) == found
    assert report.problems == ("no queried case distinguishes floors up to -153, although other inputs do",)


def test_probe_prints_the_report_and_returns_a_model_that_runs():
    ins = bound("m16n8k8.f32.tf32.tf32.f32", "sm_80")
    shown = []
    model = probe(ins, like=ins.mnemonic, show=shown.append)
    assert len(shown) == 1
    assert "fraction bits: F = 24, below the largest exponent of a step's terms" in shown[0]
    assert "-> 0x" in shown[0]
    assert "0 differ" in model.source
    assert model.status == "probed"
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((16, 8), np.float32), rng.standard_normal((8, 8), np.float32)
    again = bound(ins.mnemonic, "sm_90").with_model(model)
    np.testing.assert_array_equal(again(A, B).view(np.uint32), ins(A, B).view(np.uint32))


def test_where_there_is_no_model_the_error_names_the_reason_and_has_the_report():
    row, _, f = altered("m16n8k16.f32.bf16.bf16.f32", "sm_80", "cut by floor")
    with pytest.raises(we.UnmodelledArithmeticError, match="terms are rounded down") as error:
        probe(f, like=row, show=None)
    assert error.value.report.model is None
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("f", "like", "kind", "words"),
    [
        (3, "m16n8k16.f32.f16.f16.f32", TypeError, r"f=3 is not callable; probe takes f\(a, b, c\) -> d"),
        (abs, 16, ValueError, "16 is not an instruction; pass wmma_emu.instruction.*, or a mnemonic such as"),
        (abs, "m16n8k16.f32.f16.f16", ValueError, "m16n8k16"),
        (abs, "m16n8k32.s32.s8.s8.s32", ValueError, "multiplies s8: integer sums are exact, .*assert_bits_equal"),
        (lambda a, b, c: None, "m16n8k16.f32.f16.f16.f32", TypeError, "did not return D: "),
        (lambda a, b, c: c[:3], "m16n8k16.f32.f16.f16.f32", TypeError, r"returned shape \(3, 8\) .* is \(16, 8\)"),
        (lambda a, b, c: c.astype(np.float64), "m16n8k16.f32.f16.f16.f32", TypeError, "D is an array of float64"),
    ],
    ids=["no function", "no instruction", "no such instruction", "integers", "nothing", "shape", "dtype"],
)
def test_bad_use_is_refused_with_the_fix(f, like, kind, words):
    with pytest.raises(kind, match=words) as error:
        examine(f, like=like)
    assert isinstance(error.value, we.WmmaEmuError)


def test_a_seed_of_another_type_is_refused():
    with pytest.raises(we.FragmentMismatchError, match=r"seed='x' is not an integer"):
        examine(abs, like="m16n8k16.f32.f16.f16.f32", seed="x")


def test_a_report_compares_parameter_by_parameter_and_becomes_data():
    ins = bound("m16n8k16.f32.f16.f16.f32", "sm_80")
    report = examine(ins, like=ins)
    assert report.differences(replace(ins.model, fraction_bits=25)) == {"fraction_bits": (24, 25)}
    assert report.differences(replace(ins.model, min_exponent=-500)) == {}
    assert report.differences(replace(ins.model, min_exponent=-100)) == {"min_exponent": (-125, -100)}
    data = report.to_dict()
    assert data["wmma_emu"] == report.version == we.__version__
    assert data["model"]["terms_per_step"] == 8
    assert data["unobservable"] == {"min_exponent": "the values -16384 to -125"}
    assert data["answers"]["rounding of steps"][0] == "RZ to f32"
