# SPDX-License-Identifier: MIT
"""Every instruction that a Hopper GPU accepts, raw registers in and out: equal to the recording, bit for bit."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tools.record_registers import is_dense
from tools.recordings import read_registers

FILE = Path(__file__).parents[1] / "data" / "sm90_registers.npz"

pytestmark = pytest.mark.vectors

MNEMONICS = sorted(m for m, row in we.INSTRUCTIONS.items() if "sm_90" in row.archs and is_dense(row))


@cache
def cases() -> dict[str, list]:
    found: dict[str, list] = {}
    for case in read_registers(FILE):
        found.setdefault(case.mnemonic, []).append(case)
    return found


@pytest.mark.thorough
def test_the_recording_holds_every_instruction_of_the_chip():
    assert sorted(cases()) == MNEMONICS


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("mnemonic", MNEMONICS)
def test_registers_equal_those_that_the_gpu_returned(mnemonic):
    ins = we.instruction(mnemonic, arch="sm_90")
    for case in cases()[mnemonic]:
        np.testing.assert_array_equal(ins.execute(case.a, case.b, case.c), case.d, err_msg=case.generator)


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("mnemonic", [m for m in MNEMONICS if not re.search(r"\.(row\.row|col\.row|col\.col)\.", m)])
def test_matrices_equal_those_that_the_gpu_returned(mnemonic):
    ins = we.instruction(mnemonic, arch="sm_90")
    for case in cases()[mnemonic]:
        D = ins(ins.a.unpack(case.a), ins.b.unpack(case.b), ins.c.unpack(case.c))
        recorded = ins.d.unpack(case.d)
        bits = np.dtype(f"u{recorded.dtype.itemsize}")
        np.testing.assert_array_equal(D.view(bits), recorded.view(bits), err_msg=case.generator)


@pytest.mark.slow
@pytest.mark.parametrize("mnemonic", MNEMONICS)
def test_the_reference_equals_what_the_gpu_returned(mnemonic):
    ins = we.instruction(mnemonic, arch="sm_90")
    for case in cases()[mnemonic]:
        d = ins.execute(case.a[:, :1], case.b[:, :1], case.c[:, :1], engine="reference")
        np.testing.assert_array_equal(d, case.d[:, :1], err_msg=case.generator)
