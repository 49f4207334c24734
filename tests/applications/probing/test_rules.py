# SPDX-License-Identifier: MIT
"""The rules of probing, one fact each: the model, the order of sums, evidence, and what no input can show."""

from dataclasses import replace

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.applications.probing import examine, probe

SMALL = "m16n8k8.f32.f16.f16.f32"

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


@pytest.fixture(scope="module")
def ampere():
    """A report of an instruction of an A100, and the instruction."""
    ins = we.instruction(SMALL, arch="sm_80")
    return examine(ins, like=ins), ins


def chain(A, B, C, step=np.float32):
    """A product of plain floating-point operations, one k after another, then C."""
    D = np.zeros(C.shape, step)
    for k in range(A.shape[1]):
        D = D + A[:, k : k + 1].astype(step) * B[k : k + 1].astype(step)
    return D + C


@pytest.mark.thorough
def test_the_parameters_of_a_unit_are_found(ampere):
    report, ins = ampere
    assert report.problems == ()
    assert (report.model.fraction_bits, report.model.terms_per_step) == (24, 8)
    assert report.differences(ins.model) == {}


def test_a_model_that_differs_is_named_by_its_parameter(ampere):
    report, ins = ampere
    assert report.differences(replace(ins.model, fraction_bits=25)) == {"fraction_bits": (24, 25)}


def test_a_parameter_that_no_input_can_show_is_not_a_difference(ampere):
    report, ins = ampere
    assert "min_exponent" in report.unobservable
    assert report.differences(replace(ins.model, min_exponent=-500)) == {}


def test_chips_with_the_same_model_are_named(ampere):
    report, _ = ampere
    assert "sm_80" in report.chips() and "sm_90" not in report.chips()


def test_a_sum_in_one_step_is_shown_as_one_bracket(ampere):
    assert ampere[0].tree == "(c + k0..k7)"


@pytest.mark.thorough
def test_a_chain_of_additions_is_shown_with_its_order():
    assert examine(chain, like=SMALL).tree == "chain(k0..k7, c)"


def test_each_answer_has_the_bits_of_an_input_and_of_its_result(ampere):
    assert "fraction bits: F = 24, below the largest exponent of a step's terms" in str(ampere[0])
    assert "-> 0x" in str(ampere[0])


def test_a_report_becomes_data(ampere):
    data = ampere[0].to_dict()
    assert data["model"]["fraction_bits"] == 24
    assert data["answers"]["rounding of steps"][0] == "RZ to f32"


@pytest.mark.parametrize(("f", "problem"), [
    (lambda A, B, C: C, "elements of D are not where A and B put them"),
    (lambda A, B, C: chain(A, B, C) + C, "D is not A B + C: c, both of ones give a wrong result"),
])  # fmt: skip
def test_a_function_that_does_not_compute_a_product_plus_c_is_reported_first(f, problem):
    assert examine(f, like=SMALL).problems == (problem,)


def test_a_function_whose_results_change_is_reported():
    calls = []

    def restless(A, B, C):
        calls.append(1)
        return chain(A, B, C) + np.float32(len(calls))

    assert examine(restless, like=SMALL).problems == ("results are not repeatable",)


@pytest.mark.thorough
def test_probe_prints_the_report_and_returns_the_model(ampere):
    shown = []
    model = probe(ampere[1], like=SMALL, show=shown.append)
    assert (model.status, model.fraction_bits, len(shown)) == ("probed", 24, 1)


@pytest.mark.parametrize(("f", "like", "words"), [
    (3, SMALL, r"f=3 is not callable"), (abs, "m16n8k32.s32.s8.s8.s32", "multiplies s8: integer sums are exact"),
    (lambda a, b, c: None, SMALL, "did not return D"), (lambda a, b, c: c[:3], SMALL, r"returned shape \(3, 8\)"),
])  # fmt: skip
def test_what_cannot_be_probed_is_an_error_with_the_fix(f, like, words):
    with pytest.raises(we.WmmaEmuError, match=words):
        examine(f, like=like)
