# SPDX-License-Identifier: MIT
"""Every native row of a lane operation gives the bits of the NumPy function that it was traced from."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.ptx.native.operations.instructions import ENTRIES, chosen, drawn, instructions, plain
from tests.ptx.native.operations.native_rows import case_of, compiled, native_results, numpy_results
from wmma_emu.ptx.steps.values import VALUE_STEPS
from wmma_emu.scalar.cvt_table import CVT_FORMS

BATCHES = 64
MILLION = 1 << 20
_PART = 1 << 17


def cases_of(batch: int):
    return [case_of(x) for x in instructions()[batch::BATCHES]]


def differences(case, run, sources):
    """Return the name, the sources and both results of the first lane that differs, if one does."""
    for given, expected in zip(native_results(case, run, sources), numpy_results(case, sources), strict=True):
        assert given.dtype == expected.dtype
        if wrong := np.flatnonzero(given != expected)[:1].tolist():
            lanes = [hex(int(x[wrong[0]])) for x in (*sources, given, expected)]
            return [(case.row.name, *lanes)]
    return []


def register_values(case, values):
    """Return the values in the widths of the sources' registers, which may be wider for `cvt`."""
    widths = [getattr(x, "type", "pred") for x in case.sources]
    return [x if x.dtype == bool else x.astype(f"u{max(x.itemsize, int(w[1:]) // 8 if w != 'pred' else 0)}")
            for x, w in zip(values, widths, strict=True)]  # fmt: skip


def test_the_comparison_contains_every_spelling():
    spellings = {x.opcode for x in instructions()}
    forms = {x.mnemonic for x in CVT_FORMS.values() if x.status != "not modelled"}
    assert spellings == {*ENTRIES, *forms}
    assert {x.split(".")[0] for x in spellings} == set(VALUE_STEPS)


@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_values_that_distinguish_rules_and_ordinary_ones_give_equal_bits(batch):
    cases, found = cases_of(batch), []
    for case, run in zip(cases, compiled(cases), strict=True):
        for draw in (chosen, plain):
            values = [draw(kind, i) for i, kind in enumerate(case.operation.sources)]
            found += differences(case, run, register_values(case, values))
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_special_values_and_a_million_drawn_lanes_give_equal_bits(batch):
    cases, found = cases_of(batch), []
    for number, (case, run) in enumerate(zip(cases, compiled(cases), strict=True)):
        values = register_values(case, drawn(case.operation.sources, MILLION, BATCHES * number + batch))
        for start in range(0, MILLION, _PART):
            found += differences(case, run, [x[start : start + _PART] for x in values])
    assert found == []
