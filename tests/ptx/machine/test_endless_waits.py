# SPDX-License-Identifier: MIT
"""Loops that wait for a value that no thread writes, of any number of basic blocks."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch


def waiting(blocks: int) -> str:
    """Return a loop of basic blocks that ends when another thread has changed the first word of the array."""
    jumps = "".join(f"bra.uni M{i};\nM{i}:\n" for i in range(blocks - 1))
    return f"L:\nld.acquire.gpu.u32 %r2, [%rd1];\n{jumps}setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nret;"


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("threads", [1, 96])
def test_a_wait_for_a_value_that_no_thread_writes_is_a_deadlock(blocks, threads):
    report = launch(waiting(blocks), np.zeros(1, np.uint32), block=threads, max_seconds=60)
    assert [x.kind for x in report.findings] == ["deadlock"]
    assert not report.completed


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_wait_for_a_value_that_another_thread_writes_late_ends(blocks):
    late = "mov.u32 %r3, 0;\nN:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, 20000;\n@%p3 bra N;\n"
    body = f"setp.eq.u32 %p2, %r1, 0;\n@%p2 bra L;\n{late}st.release.gpu.u32 [%rd1], 5;\nret;\n{waiting(blocks)}"
    words = np.zeros(1, np.uint32)
    report = launch(body, words, grid=2, block=1, cooperative=True, max_seconds=60)
    assert report.completed
    assert (words[0], list(report.findings)) == (5, [])
