# SPDX-License-Identifier: MIT
"""The message of a race names what is missing, and the fix."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch
from wmma_emu.ptx.memory.races.remedies import REMEDIES

TILE = ".shared .align 16 .b8 tile[4096];\n"
UPDATE = "ld.{0}.u32 %r4, [{1}]; add.u32 %r4, %r4, %r0; st.{0}.u32 [{1}], %r4; ret;"
STORE_AND_LOAD = """setp.eq.u32 %p1, %r0, 0;
setp.eq.u32 %p2, %r1, 0;
@%p2 mov.pred %p3, %p1;
@!%p2 mov.pred %p3, 0;
@%p3 st.{0}.u32 [{1}], 5;
@!%p3 ld.{0}.u32 %r4, [{1}+0];
@!%p3 st.global.u32 [%rd2], %r4;
ret;"""
"""The first thread of the launch stores what the others load."""


def said(body, **sizes):
    report = launch(body, np.zeros(64, np.uint32), np.zeros(64, np.uint32), before=TILE, **sizes)
    return [x for x in report.findings if x.kind.startswith("race") and "%rd2" not in x.text]


def helps(finding):
    return [name for name, row in REMEDIES.items() if row.missing and row.missing in finding.message]


@pytest.mark.parametrize("schedule", [None, 0, 1, 2])
@pytest.mark.parametrize(
    ("space", "where", "grid", "block"),
    [
        ("global", "%rd1", 1, 64), ("global", "%rd1", 2, 32), ("global", "%rd1", 2, 1), ("global", "%rd1", 1, 32),
        ("shared", "tile", 1, 64),
    ],
)  # fmt: skip
def test_threads_that_load_change_and_store_one_word_need_an_atomic_operation(space, where, grid, block, schedule):
    start = "st.shared.u32 [tile], 0; bar.sync 0;" if space == "shared" else ""
    found = said(start + UPDATE.format(space, where), grid=grid, block=block, schedule=schedule)
    found = [x for x in found if x.kind != "race of equal bytes"]
    assert found and all(helps(x) == ["update"] for x in found), "\n".join(map(str, found))


@pytest.mark.parametrize(("grid", "block", "needed"), [(1, 64, "warps"), (1, 32, "lanes"), (2, 1, "blocks")])
def test_a_store_that_other_threads_load_needs_synchronisation(grid, block, needed):
    where = "%rd1"
    found = said(STORE_AND_LOAD.format("global", where), grid=grid, block=block)
    assert found and helps(found[0]) == [needed], "\n".join(map(str, found))


def test_a_sum_over_a_tile_needs_a_barrier_and_no_atomic_operation():
    """s[t] += s[t + 32] while others store to s[t + 32]: the load and the store have different addresses."""
    body = """mov.u32 %r10, tile; shl.b32 %r11, %r0, 2; add.u32 %r10, %r10, %r11;
    st.shared.u32 [%r10], %r0; st.shared.u32 [%r10+128], %r0; bar.sync 0;
    ld.shared.u32 %r4, [%r10]; ld.shared.u32 %r5, [%r10+128]; add.u32 %r4, %r4, %r5;
    st.shared.u32 [%r10], %r4; st.global.u32 [%rd2], %r4; ret;"""
    found = said(body, block=64)
    assert found and all(helps(x) == ["warps"] for x in found), "\n".join(map(str, found))
