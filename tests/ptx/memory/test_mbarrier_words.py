# SPDX-License-Identifier: MIT
"""The 64 bits of an mbarrier after each operation, and the states that arrivals return."""

import numpy as np
import pytest

from wmma_emu.ptx import Module

HEAD = """.version 8.0
.target {target}
.address_size 64
.visible .entry k(.param .u64 out) {{
.shared .align 8 .b64 bar;
.reg .b64 %o, %s, %w; .reg .b32 %n; .reg .pred %p;
ld.param.u64 %o, [out];
"""


def words_after(*operations, target="sm_90"):
    """Return the word after each operation, and the state that it returns, 0 if none."""
    body = "".join(
        f"mov.b64 %s, 0; {x}; ld.shared.b64 %w, [bar]; st.global.v2.b64 [%o+{16 * i}], {{%w, %s}};\n"
        for i, x in enumerate(operations)
    )
    out = np.zeros((len(operations), 2), np.uint64)
    text = HEAD.format(target=target) + body + "ret; }"
    Module(text, arch=target, findings="report")["k"][1, 1](out)
    return [(hex(int(word)), hex(int(state))) for word, state in out]


# Recorded in 180 launches on an NVIDIA H200 (driver 580.159.04, 2026-11-23): the state of an arrival at a phase of one.
def test_the_state_of_a_phase_with_one_pending_arrival_is_the_recorded_one():
    found = words_after("mbarrier.init.shared.b64 [bar], 1", "mbarrier.arrive.expect_tx.shared.b64 %s, [bar], 128")
    assert found[1][1] == "0x7ffff80000000000"


# The words of mbarrier.init as the machine code of ptxas 12.9 writes them: (2^20 - n) << 1 | (2^20 - n) << 43.
@pytest.mark.parametrize("count", [1, 2, 3, 32, 1000, (1 << 19) + 5, (1 << 20) - 1])
def test_the_first_word_counts_up_to_two_to_the_20_twice(count):
    left = (1 << 20) - count
    assert words_after(f"mbarrier.init.shared.b64 [bar], {count}") == [(hex(left << 1 | left << 43), "0x0")]


def test_arrivals_change_the_upper_count_and_the_last_one_the_parity():
    arrive = "mbarrier.arrive.shared.b64 %s, [bar]"
    assert words_after("mbarrier.init.shared.b64 [bar], 2", arrive, arrive, arrive, arrive) == [
        ("0x7ffff000001ffffc", "0x0"),
        ("0x7ffff800001ffffc", "0x7ffff00000000000"),
        ("0xfffff000001ffffc", "0x7ffff80000000000"),
        ("0xfffff800001ffffc", "0xfffff00000000000"),
        ("0x7ffff000001ffffc", "0xfffff80000000000"),
    ]


def test_a_dropped_arrival_changes_the_lower_count_as_well():
    assert words_after("mbarrier.init.shared.b64 [bar], 3", "mbarrier.arrive_drop.shared.b64 %s, [bar]") == [
        ("0x7fffe800001ffffa", "0x0"),
        ("0x7ffff000001ffffc", "0x7fffe80000000000"),
    ]


def test_expected_bytes_are_between_the_counts():
    found = words_after(
        "mbarrier.init.shared.b64 [bar], 1", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16",
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 17",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1",
    )  # fmt: skip
    assert [x for x, _ in found] == [
        "0x7ffff800001ffffe", "0x7ffffbfffe1ffffe", "0x7ffff800003ffffe", "0x7ffff800001ffffe",
    ]  # fmt: skip


def test_pending_count_reads_the_state():
    found = words_after(
        "mbarrier.init.shared.b64 [bar], 7", "mbarrier.arrive.noComplete.shared.b64 %s, [bar], 2; "
        "mbarrier.pending_count.b64 %n, %s; cvt.u64.u32 %s, %n",
        "mbarrier.arrive.noComplete.shared.b64 %s, [bar], 3; mbarrier.pending_count.b64 %n, %s; cvt.u64.u32 %s, %n",
    )  # fmt: skip
    assert [state for _, state in found] == ["0x0", "0x7", "0x5"]


# The machine code of ptxas 13.0 for sm_80 stores 2^30 - n and 2^31 - n, and adds arrivals to the upper word.
def test_on_sm_80_the_two_halves_of_the_word_are_counters():
    arrive = "mbarrier.arrive.shared.b64 %s, [bar]"
    assert words_after("mbarrier.init.shared.b64 [bar], 2", arrive, arrive, target="sm_80") == [
        ("0x7ffffffe3ffffffe", "0x0"),
        ("0x7fffffff3ffffffe", "0x7ffffffe7ffffffe"),
        ("0xfffffffe3ffffffe", "0x7fffffff7fffffff"),
    ]


def test_the_memory_of_an_mbarrier_keeps_its_bits_when_it_ends():
    found = words_after("mbarrier.init.shared.b64 [bar], 2", "mbarrier.inval.shared.b64 [bar]")
    assert found[0] == found[1]
