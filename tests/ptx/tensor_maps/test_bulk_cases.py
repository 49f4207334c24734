# SPDX-License-Identifier: MIT
"""Bulk copies and reductions without a tensor map against a GPU.

``data/bulk.txt`` has a hash of the array that each kernel of `bulk_cases` leaves, or the number of the error that stops
it (NVIDIA H200, driver 580.159.04, 2026-11-28; `tools.bulk_bundles`).
"""

from pathlib import Path

import pytest

from tests.ptx.tensor_maps.bulk_cases import BulkCase, all_cases
from tools.launch_bundles import digest
from wmma_emu.ptx import Module

RECORDED = dict(line.split(" ", 1) for line in (Path(__file__).parent / "data" / "bulk.txt").read_text().splitlines())
FAULTS = {"700": "out of bounds", "715": "illegal operand", "716": "misaligned"}
"""Errors of the driver: an illegal address, an illegal instruction, a misaligned address."""


def launched(case: BulkCase):
    a = case.a.copy()
    report = Module(case.text, "sm_90a")["k"][1, 32](a, case.b.copy(), case.sent, case.b.nbytes, findings="report")
    return a, report


@pytest.mark.vectors
@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize("case", all_cases(), ids=lambda x: x.name)
def test_a_bulk_copy_or_reduction_leaves_the_bits_of_the_gpu(case):
    a, report = launched(case)
    found = RECORDED[case.name]
    if found.startswith("fault "):
        assert FAULTS[found.removeprefix("fault ")] in [x.kind for x in report.findings]
    else:
        assert digest(a) == found


@pytest.mark.parametrize("name", ["load_24", "load_1048608", "store_8"])
def test_a_size_that_the_chip_shortens_is_an_error(name):
    (case,) = (x for x in all_cases() if x.name == name)
    assert [x.kind for x in launched(case)[1].findings] == ["illegal operand"]
