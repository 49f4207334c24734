# SPDX-License-Identifier: MIT
"""Recording bank conflicts: patterns that do not change, a kernel for every form, the least of two launches."""

import hashlib

import numpy as np

from tools import record_bank_conflicts as tool
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES


def test_patterns_are_rows_that_fit_the_memory_and_are_always_the_same():
    rows = tool.patterns()
    assert rows.shape == (596, 32) and rows.dtype == np.uint32
    assert not (rows % 16).any() and rows.max() <= tool.SHARED_BYTES - 16
    assert hashlib.sha256(rows.astype("<u4").tobytes()).hexdigest()[:16] == "230fe027376dc85a"


def test_only_the_forms_of_a_chip_are_recorded():
    assert {x.family for x in tool.forms(75)} == {"ldmatrix"}
    assert {x.family for x in tool.forms(90)} == {"ldmatrix", "stmatrix"}


def test_a_kernel_names_each_register_and_the_address_after_or_before_them():
    load = tool.source_of(MATRIX_MOVES["ldmatrix.sync.aligned.m8n8.x2.shared.b16"])
    assert '{%0, %1}, [%2];" : "=r"(r[j][0]), "=r"(r[j][1]) : "r"(address)' in load
    store = tool.source_of(MATRIX_MOVES["stmatrix.sync.aligned.m8n8.x1.trans.shared.b16"])
    assert '[%1], {%0};" : "+r"(r[j][0]) : "r"(address)' in store


def test_the_least_of_two_launches_is_kept():
    calls = []

    def run_twice(kernel, inputs, shape, dtype, count, *, threads):
        calls.append((kernel, inputs[0][-1], shape, count, threads))
        return np.array([1, 4], dtype), np.array([2, 3], dtype)

    move = tool.forms(90)[0]
    assert tool.measure(move, np.zeros((2, 32), np.uint32), run_twice).tolist() == [1, 3]
    assert calls == [(tool.kernel_of(move), 0, (2,), 2, 512)]
