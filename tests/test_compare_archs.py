# SPDX-License-Identifier: MIT
"""One product on several chips: results, distances, and the table."""

import contextlib
import itertools
import json
import re
import sys

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tests.arithmetic.cuda_on_host import COMPILER
from tests.gpu import host_cupy
from wmma_emu.formats import FORMATS
from wmma_emu.formats.distance import NOT_COMPARABLE
from wmma_emu.instructions import default_instruction

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

F16, F32 = np.float16, np.float32
H = "m16n8k16.f32.f16.f16.f32"
UNSUPPORTED, MISMATCH = we.UnsupportedInstructionError, we.FragmentMismatchError
RNG = np.random.default_rng(12)
A, B = RNG.standard_normal((7, 40)).astype(F16), RNG.standard_normal((40, 5)).astype(F16)


def one_and_tails():
    a, b = np.full((1, 16), 1.75 * 2**-12, F16), np.full((16, 1), 2**-12, F16)
    a[0, 0] = b[0, 0] = 1
    return a, b


def test_every_chip_computes_what_gemm_computes_there():
    found = we.compare_archs(A, B)
    assert list(found.results) == list(we.ARCHS)
    for arch, result in found.results.items():
        np.testing.assert_array_equal(result.view(np.uint32), we.gemm(A, B, arch=arch).view(np.uint32))
        apart = np.abs(result.view(np.int32).astype(np.int64) - found.results["sm_70"].view(np.int32))
        np.testing.assert_array_equal(found.ulps[arch], apart)
        assert found.differing[arch] == (apart != 0).sum()
        assert found.models[arch].arch == arch


@pytest.mark.exhaustive
def test_the_default_for_two_formats_gives_one_format_on_every_chip():
    # So that D of several chips can be compared.
    pairs = 0
    for a, b in itertools.product(FORMATS, repeat=2):
        results = set()
        for arch in we.ARCHS:
            with contextlib.suppress(UNSUPPORTED):
                results.add(default_instruction(a, b, arch).d)
        assert len(results) <= 1
        pairs += len(results)
    assert pairs == 17 + 21  # those of FP6 and FP4 have kind::f8f6f4


def test_a_named_instruction_is_compared_on_the_chips_that_support_it():
    blackwell = ["sm_100", "sm_103", "sm_120", "sm_121"]
    assert list(we.compare_archs(A, B, instr=H).results) == ["sm_80", "sm_86", "sm_89", "sm_90", *blackwell]
    f8 = A.astype(ml_dtypes.float8_e4m3fn), B.astype(ml_dtypes.float8_e4m3fn)
    assert list(we.compare_archs(*f8).results) == ["sm_89", "sm_90", *blackwell]


def test_the_difference_between_ampere_and_hopper_is_four_last_places():
    found = we.compare_archs(*one_and_tails(), archs=["h100", "A100"])
    assert found.reference == "sm_90" and found.largest("a100") == (4, (0, 0)) and found.largest("sm_90") is None
    assert we.compare_archs(*one_and_tails(), archs=["h100", "A100"], reference="sm_80").largest("sm_90")[0] == 4


def test_the_table_shows_the_largest_difference_and_small_matrices_whole():
    text = str(we.compare_archs(*one_and_tails(), archs=["a100", "h100"]))
    lines = text.split("\n")
    assert lines[0] == "D 1 x 1 (f32), 1 element; reference: sm_80"
    assert re.search(rf"sm_90 +{H} +measured +16 a step.* 1 +4 +\[0, 0\] +0x3f800007 +0x3f80000b$", lines[3])
    assert lines[-1].split() == ["D[0,", "0]", "0x3f800007", "0x3f80000b*"]
    assert not any(line.endswith(" ") for line in lines)
    assert "element" not in str(we.compare_archs(np.tile(A, (2, 1)), B)).split("\n", 1)[1]


def test_matrices_of_up_to_eight_rows_and_columns_are_shown_element_by_element():
    for rows, cols, shown in ((8, 8, 64), (8, 1, 8), (9, 9, 0), (9, 1, 0), (1, 9, 0)):
        a, b = np.ones((rows, 16), F16), np.ones((16, cols), F16)
        lines = str(we.compare_archs(a, b, archs=["sm_80", "sm_90"])).split("\n")
        assert sum(line.startswith("D[") for line in lines) == shown
        assert lines.count("") == any(line.split() == ["element", "sm_80", "sm_90"] for line in lines) == (shown > 0)


def test_the_largest_distance_prefers_numbers_to_zeros():
    # In the second row a tie of f16 is broken by products that one of the chips has lost.
    a, b = np.array([[-0.0] * 4, [0, 2**-11, 2**-24, 2**-24]], F16), np.ones((4, 1), F16)
    c = np.array([[-0.0], [1]], F16)
    found = we.compare_archs(a, b, c, instr="mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", archs=["v100", "h100"])
    bits = [x.view(np.uint16).tolist() for x in found.results.values()]
    assert bits == [[[0x0000], [0x3C00]], [[0x8000], [0x3C01]]]
    assert found.ulps["sm_90"].tolist() == [[0], [1]] and found.differing["sm_90"] == 2
    assert found.largest("h100") == (1, (1, 0))


def test_nan_against_a_number_is_the_sentinel_and_equal_nan_are_not_apart():
    a, b = np.ones((1, 8), F16), np.ones((8, 1), F16)
    a[0, 0] = np.nan
    found = we.compare_archs(a, b, archs=["sm_80", "sm_90"])
    assert found.ulps["sm_90"][0, 0] == 0 and found.differing["sm_90"] == 0
    # Ampere's first step of 8 overflows to infinity, which meets -infinity in the second; Hopper has one step.
    big = np.full((1, 16), 2.0**127, ml_dtypes.bfloat16)
    factors = np.zeros((16, 1), ml_dtypes.bfloat16)
    factors[[0, 1, 8], 0] = 1, 1, -np.inf
    found = we.compare_archs(big, factors, archs=["sm_80", "sm_90"])
    assert int(found.ulps["sm_90"][0, 0]) == NOT_COMPARABLE and found.differing["sm_90"] == 1
    assert found.largest("sm_90") == (NOT_COMPARABLE, (0, 0)) and re.search(r" 1 +NaN +\[0, 0\]", str(found))


def test_zeros_of_both_signs_differ_in_bits_and_are_no_distance_apart():
    # -0 + -0 is -0 for the multiply-adds of Hopper's m8n8k4; the unit of Volta gives +0.
    a, b, c = np.full((2, 4), -0.0, F16), np.ones((4, 1), F16), np.array([[1], [-0.0]], F16)
    found = we.compare_archs(a, b, c, instr="mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", archs=["v100", "h100"])
    assert [x.view(np.uint16)[:, 0].tolist() for x in found.results.values()] == [[0x3C00, 0x0000], [0x3C00, 0x8000]]
    assert found.differing["sm_90"] == 1 and found.largest("h100") == (0, (1, 0))


def test_integers_and_batches_are_compared_too():
    a, b = RNG.integers(-8, 8, (2, 3, 40)).astype(np.int8), RNG.integers(-8, 8, (40, 5)).astype(np.int8)
    found = we.compare_archs(a, b)
    assert set(found.differing.values()) == {0} and found.format == "s32"
    assert str(found).startswith("D 2 x 3 x 5 (s32), 30 elements")
    with_c = we.compare_archs(A[None], B, archs=["sm_70", "sm_90"])
    assert len(with_c.largest("sm_90")[1]) == 3


def test_an_empty_matrix_has_no_differences():
    found = we.compare_archs(A[:0], B, archs=["sm_80", "sm_90"])
    assert found.largest("sm_90") is None and str(found).startswith("D 0 x 5 (f32), 0 elements")


def test_the_baseline_is_the_same_on_every_chip():
    found = we.compare_archs(A.astype(F32), B.astype(F32), instr="fma.f32")
    assert list(found.results) == list(we.ARCHS) and set(found.differing.values()) == {0} and "fma.f32" in str(found)


@pytest.mark.filterwarnings("default::wmma_emu.errors.UnverifiedModelWarning")
def test_unrecorded_models_warn_at_the_callers_line():
    with pytest.warns(we.UnverifiedModelWarning) as caught:
        we.compare_archs(A, B, archs=["sm_80", "sm_75", "sm_120"])
    assert [warning.filename for warning in caught] == [__file__] * 2


def test_the_worst_elements_have_the_bits_and_values_of_the_results():
    found = we.compare_archs(A, B, archs=["v100", "a100", "h100"])
    assert found.worst("v100") == () and len(found.worst("h100")) == 5
    worst = found.worst("h100", 10**6)
    assert len(worst) == found.differing["sm_90"] and (worst[0].ulps, worst[0].index) == found.largest("h100")
    for x in worst:
        ours, theirs = found.results["sm_90"][x.index], found.results["sm_70"][x.index]
        assert (x.arch, x.reference, x.format, x.value, x.reference_value) == ("sm_90", "sm_70", "f32", ours, theirs)
        assert (x.bits, x.reference_bits) == (int(ours.view(np.uint32)), int(theirs.view(np.uint32)))
        assert x.ulps == found.ulps["sm_90"][x.index] == abs(x.bits - x.reference_bits)
        first, then = f"sm_70 0x{x.reference_bits:08x} ({theirs!s})", f"sm_90 0x{x.bits:08x} ({ours!s})"
        assert str(x) == f"D{list(x.index)}: {first}, {then}: {x.ulps} ulp{'s' if x.ulps > 1 else ''}"


def test_statistics_agree_with_what_else_the_comparison_says():
    found = we.compare_archs(A, B)
    for arch in found.results:
        counts = found.statistics(arch)
        assert (counts.elements, counts.differing, counts.nan) == (35, found.differing[arch], 0)
        assert counts.largest == (found.largest(arch) or (None,))[0]
        assert sum(x.elements for x in counts.histogram) == counts.apart == (found.ulps[arch] != 0).sum()


def test_the_data_survives_json_and_says_what_the_comparison_says():
    found = we.compare_archs(A, B, k_order=we.KOrder(splits=2))
    data = json.loads(json.dumps(found.to_dict(worst=2), allow_nan=False))
    assert (data["shape"], data["format"], data["reference"]) == ([7, 5], "f32", "sm_70")
    assert data["k_order"]["splits"] == 2 and we.compare_archs(A, B, archs=["a100"]).to_dict()["k_order"] is None
    assert [x["arch"] for x in data["chips"]] == list(found.results)
    for chip in data["chips"]:
        arch = chip["arch"]
        assert (chip["differing"], chip["instruction"]) == (found.differing[arch], found.instructions[arch])
        assert chip["model_name"] == found.models[arch].name == ""
        assert (chip["status"], chip["model"]) == (found.models[arch].status, found.models[arch].describe())
        assert chip["largest"] == found.statistics(arch).largest
        assert len(chip["worst"]) == min(2, found.differing[arch])
        for x in chip["worst"]:
            where = tuple(x["index"])
            assert (x["bits"], x["ulps"]) == (found.hex_bits(arch, where), found.ulps[arch][where])
            assert x["value"] == float(found.results[arch][where])


def test_nan_and_infinity_are_words_in_json():
    big = np.full((1, 16), 2.0**127, ml_dtypes.bfloat16)
    factors = np.zeros((16, 1), ml_dtypes.bfloat16)
    factors[[0, 1, 8], 0] = 1, 1, -np.inf
    found = we.compare_archs(big, factors, archs=["sm_80", "sm_90"])
    [x] = json.loads(json.dumps(found.to_dict(), allow_nan=False))["chips"][1]["worst"]
    assert (x["ulps"], x["reference_value"], x["value"]) == (None, "nan", "-inf")
    [worst] = found.worst("sm_90")
    assert str(worst) == "D[0, 0]: sm_80 0x7fffffff (nan), sm_90 0xff800000 (-inf): NaN"
    assert found.statistics("sm_90").nan == 1 and found.statistics("sm_90").largest is None


def test_the_markdown_table_has_a_row_for_each_chip():
    found = we.compare_archs(*one_and_tails(), archs=["a100", "h100"], k_order=we.KOrder(tile=32))
    head, order, empty, heads, rule, *rows = found.to_markdown().rstrip("\n").split("\n")
    assert head == "D 1 x 1 (f32), 1 element; reference: sm_80  " and order == "order of k: tile=32" and not empty
    assert heads.count("|") == rule.count("|") == 12 == rows[0].count("|") == rows[1].count("|") and len(rows) == 2
    cells = [x.strip() for x in rows[1].strip("|").split("|")]
    assert cells[0] == "sm_90" and cells[4:] == ["1", "4", "4", "4", "[0, 0]", "0x3f800007", "0x3f80000b"]


def test_the_order_of_k_matches_gemm_on_every_chip():
    order = we.KOrder(splits=3, reduction="descending", partials="bf16")
    a, b = np.tile(A, (1, 4)), np.tile(B, (4, 1))
    found, plain = we.compare_archs(a, b, k_order=order), we.compare_archs(a, b)
    for arch, result in found.results.items():
        np.testing.assert_array_equal(result.view(np.uint32), we.gemm(a, b, arch=arch, k_order=order).view(np.uint32))
        assert (result != plain.results[arch]).any()
    assert str(found).split("\n")[1] == "order of k: splits=3, partials='bf16', reduction='descending'"
    assert "order of k" not in str(plain) + str(we.compare_archs(a, b, k_order=we.KOrder()))


F8 = [x.astype(ml_dtypes.float8_e4m3fn) for x in (A, B)]


def test_a_lowering_is_for_all_chips_or_for_those_that_are_named():
    # Ada multiplies FP8 in hardware; Hopper's and Blackwell's mma.sync is software.
    newest = we.compare_archs(*F8)
    assert {arch: x.lowering for arch, x in newest.models.items()} == {
        "sm_89": "native", "sm_90": "ptxas-12.8", "sm_100": "ptxas-12.8", "sm_103": "ptxas-12.8", "sm_120": "native",
        "sm_121": "native",
    }  # fmt: skip
    all_old = we.compare_archs(*F8, lowering="ptxas-12.4")
    software = [arch for arch, x in newest.models.items() if x.lowering != "native"]
    assert {arch: x.lowering for arch, x in all_old.models.items()} == dict.fromkeys(software, "ptxas-12.4")
    one_old = we.compare_archs(*F8, archs=["l4", "h100", "b200"], lowering={"H200": "ptxas-12.4"})
    assert [x.lowering for x in one_old.models.values()] == ["native", "ptxas-12.4", "ptxas-12.8"]
    for found in (newest, all_old, one_old):
        for arch, model in found.models.items():
            expected = we.gemm(*F8, arch=arch, lowering=model.lowering)
            np.testing.assert_array_equal(found.results[arch].view(np.uint32), expected.view(np.uint32))
    assert "as f16 (ptxas-12.4)" in str(all_old) and "(native)" not in str(newest)


def test_dask_arrays_are_computed():
    array = pytest.importorskip("dask.array")
    found = we.compare_archs(array.from_array(A, chunks=4), B, archs=["sm_80", "sm_90"])
    expected = we.compare_archs(A, B, archs=["sm_80", "sm_90"])
    for arch, result in found.results.items():
        assert type(result) is np.ndarray and result.tobytes() == expected.results[arch].tobytes()
    assert found.differing == expected.differing and str(found) == str(expected)


@pytest.mark.skipif(COMPILER is None, reason="needs g++ or clang++")
def test_cupy_arrays_are_compared_in_the_memory_of_the_host(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", host_cupy)
    a, b = host_cupy.asarray(A), host_cupy.asarray(B)
    found = we.compare_archs(a, b, instr=H, archs=["sm_80", "sm_90"], engine="cupy")
    assert {type(x) for x in found.results.values()} == {np.ndarray}
    assert str(found) == str(we.compare_archs(A, B, instr=H, archs=["sm_80", "sm_90"]))


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda: we.compare_archs(A, B, instr=H, archs=["a100", "v100"]), UNSUPPORTED, "sm_70"),
        (lambda: we.compare_archs(A, B, archs=["sm_91"]), UNSUPPORTED, "sm_90"),
        (lambda: we.compare_archs(A, B, archs="sm_90"), UNSUPPORTED, r"archs='sm_90' is one chip; pass a list"),
        (lambda: we.compare_archs(A, B, archs=[]), UNSUPPORTED, "archs is empty"),
        (lambda: we.compare_archs(A, B, archs=90), UNSUPPORTED, "archs=90 is not a list of chips"),
        (lambda: we.compare_archs(A, B, archs=[90]), UNSUPPORTED, "sm_90"),
        (lambda: we.compare_archs(A, B, archs=["h100", "sm_90a"]), UNSUPPORTED, "archs names sm_90 twice"),
        (lambda: we.compare_archs(A, B, reference="sm_91"), UNSUPPORTED, "sm_90"),
        (lambda: we.compare_archs(A, B, archs=["sm_80"], reference="h100"), UNSUPPORTED, r"reference='h100' \(sm_90\)"),
        (lambda: we.compare_archs(A, B, instr="m16n8k17.f32.f16.f16.f32"), UNSUPPORTED, "m16n8k16"),
        (lambda: we.compare_archs(A, B, instr=17), UNSUPPORTED, "17"),
        (lambda: we.compare_archs(A, B, instr=[]), UNSUPPORTED, "list"),
        (lambda: we.compare_archs(A, B, instr=""), UNSUPPORTED, "empty"),
        (lambda: we.compare_archs(A.astype(F32), B.astype(F32)), UNSUPPORTED, "fma.f32"),
        (lambda: we.compare_archs(A.astype(ml_dtypes.float8_e4m3fn), B), UNSUPPORTED, "e4m3"),
        (lambda: we.compare_archs(A.astype(float), B.astype(float), archs=["v100"]), UNSUPPORTED, "sm_80"),
        (lambda: we.compare_archs(A, B, engine="cuda"), UNSUPPORTED, "engine"),
        (lambda: we.compare_archs(A, B[:3]), MISMATCH, "K is 40"),
        (lambda: we.compare_archs(None, B), MISMATCH, "None"),
        (lambda: we.compare_archs(A, B, A), MISMATCH, "C"),
        (lambda: we.compare_archs(A, B, archs=["sm_80"]).largest("sm_90"), UNSUPPORTED, "not in this comparison"),
        (lambda: we.compare_archs(A, B, archs=["sm_80"]).worst("t4"), UNSUPPORTED, "not in this comparison, which has"),
        (lambda: we.compare_archs(A, B, archs=["sm_80"]).statistics("t5"), UNSUPPORTED, "no chip"),
        (lambda: we.compare_archs(A, B, archs=["sm_80"]).bits("sm_90"), UNSUPPORTED, "not in this comparison"),
        (lambda: we.compare_archs(A, B, archs=["sm_80"]).worst("sm_80", -1), UNSUPPORTED, "integer of at least 0"),
        (lambda: we.compare_archs(A, B, archs=["sm_80"]).to_dict("5"), UNSUPPORTED, "integer of at least 0"),
        (lambda: we.compare_archs(A, B, k_order=4), UNSUPPORTED, r"wmma_emu.KOrder\(splits=4\)"),
        (lambda: we.compare_archs(A, B, k_order=we.KOrder(tile=8)), UNSUPPORTED, "the nearest is 16"),
        (lambda: we.compare_archs(A, B, lowering="ptxas-12.4"), UNSUPPORTED, "on sm_90 has no lowering.*'native'"),
        (lambda: we.compare_archs(*F8, archs=["l4", "h100"], lowering="ptxas-12.4"), UNSUPPORTED, "sm_89.*'native'"),
        (lambda: we.compare_archs(*F8, lowering={"l4": "ptxas-12.4"}), UNSUPPORTED, "sm_89 has no lowering"),
        (lambda: we.compare_archs(*F8, lowering={"t4": "native"}), UNSUPPORTED, "sm_75"),
        (
            lambda: we.compare_archs(*F8, archs=["l4"], lowering={"h100": "ptxas-12.4"}),
            UNSUPPORTED,
            "lowering names sm_90, which is not compared; the chips are sm_89",
        ),
        (
            lambda: we.compare_archs(*F8, lowering={"h100": "ptxas-12.4", "h200": "ptxas-12.4"}),
            UNSUPPORTED,
            "lowering names sm_90 twice",
        ),
        (lambda: we.compare_archs(*F8, lowering={"h101": "ptxas-12.4"}), UNSUPPORTED, "no chip 'h101'"),
        (lambda: we.compare_archs(*F8, lowering=["ptxas-12.4"]), UNSUPPORTED, "such as {'sm_90': 'ptxas-12.4'}"),
        (lambda: we.compare_archs(*F8, lowering={"h100": 12}), UNSUPPORTED, "has no lowering 12; it has 'ptxas-12.8'"),
        (
            lambda: we.compare_archs(A.astype(F32), B.astype(F32), instr="fma.f32", lowering="x"),
            UNSUPPORTED,
            "fma.f32 has no lowering",
        ),
    ],
)
def test_wrong_use_gets_a_clear_error(use, error, message):
    with pytest.raises(error, match=message) as caught:
        use()
    assert 20 < len(str(caught.value)) < 600 and "\n" not in str(caught.value)


def test_chips_passed_as_c_get_a_hint_about_archs():
    named = r"C=\['a100', 'h100'\] names chips.*pass them as archs=\['a100', 'h100'\]"
    with pytest.raises(we.errors.OptionError, match=named):
        we.compare_archs(A, B, ["a100", "h100"])
