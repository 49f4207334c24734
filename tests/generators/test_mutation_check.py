# SPDX-License-Identifier: MIT
"""The kit sees models that are wrong in one parameter: a sample of the committed check, and the check itself."""

import json
from pathlib import Path

import pytest

from tools.mutation_check import EXAMPLES, MUTANTS, RUNS, check, engines_compared, examples_until_caught, table
from wmma_emu.testing import generators

pytestmark = pytest.mark.property

(REPORT,) = (Path(__file__).parents[2] / "docs" / "evidence").glob("mutation-check-*.json")
ROWS = json.loads(REPORT.read_text(encoding="utf-8"))
SAMPLE = [MUTANTS[4], MUTANTS[8], MUTANTS[17]]


@pytest.mark.parametrize("mutant", SAMPLE, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught_in_runs_of_the_default_size(mutant):
    caught = [examples_until_caught(mutant, run) is not None for run in range(3)]
    assert sum(caught) >= 2


def test_a_run_over_the_unaltered_instruction_catches_nothing():
    class Unaltered(type(MUTANTS[0])):
        def mutate(self):
            return self.bind()

    same = Unaltered("m16n8k8.f32.f16.f16.f32", "sm_90", "fraction_bits", 24)
    assert examples_until_caught(same, 0, 60) is None
    assert check(same, runs=1, examples=5)["caught"] == 0


@pytest.mark.parametrize("mutant", [MUTANTS[13], MUTANTS[19]], ids=lambda mutant: mutant.name)
def test_the_fast_engine_computes_mutants_as_the_reference_does(mutant):
    assert engines_compared(mutant) >= 64 * len(generators.generators_of(mutant.bind()))


def test_mutants_differ_from_rows_in_one_parameter_each_and_in_every_parameter():
    names = set(type(MUTANTS[0].bind().model).__dataclass_fields__) - {"evidence", "note"}
    for mutant in MUTANTS:
        row, other = mutant.bind().model, mutant.mutate().model
        assert [name for name in names if getattr(row, name) != getattr(other, name)] == [mutant.parameter]
    assert len(set(MUTANTS)) == len(MUTANTS) and len({mutant.arch for mutant in MUTANTS}) >= 5
    assert {mutant.parameter for mutant in MUTANTS} == {
        "fraction_bits", "min_exponent", "terms_per_step", "rounding", "output", "c_joins", "partial_sums", "k_order",
        "operand_format",
    }  # fmt: skip


def test_the_committed_report_is_of_these_mutants_and_each_is_caught_in_nineteen_runs_of_twenty():
    assert [(x["instruction"], x["arch"], x["change"]) for x in ROWS["mutants"]] == [
        (mutant.mnemonic, mutant.arch, mutant.change) for mutant in MUTANTS
    ]
    assert ROWS["settings"]["max_examples"] == EXAMPLES == 200 and ROWS["families"] == generators.VERSION
    for row in ROWS["mutants"]:
        assert row["runs"] == len(row["examples"]) == RUNS == 20
        assert row["caught"] == sum(count is not None for count in row["examples"]) >= 19
        assert row["elements_equal_to_the_reference_engine"] > 1000


def test_the_page_shows_the_table_of_the_report():
    page = REPORT.parents[1] / "how-to" / "property-test-a-quantised-gemm.md"
    assert table(ROWS["mutants"]) in page.read_text(encoding="utf-8")
