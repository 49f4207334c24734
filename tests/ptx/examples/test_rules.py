# SPDX-License-Identifier: MIT
"""The rules of the kernels that show findings, one fact each: a bug, its only finding, and its fix."""

import pytest

from wmma_emu.ptx.examples import EXAMPLES, fix_of, launch_of, ptx_of, shown_source, source_of


def findings(kind, fixed=False):
    return [(x.kind, x.severity, x.count) for x in launch_of(kind, fixed).findings]


def test_a_kernel_with_a_bug_has_one_finding_and_the_fixed_one_has_none():
    # 64 threads write i <= 60: thread 60 is one too many.
    assert findings("out of bounds") == [("out of bounds", "error", 1)]
    assert findings("out of bounds", fixed=True) == []


@pytest.mark.parametrize(("kind", "severity", "count"), [
    ("race", "error", 64), ("race within a warp", "warning", 32), ("misaligned", "error", 32),
])  # fmt: skip
def test_a_finding_counts_the_threads_that_cause_it(kind, severity, count):
    assert findings(kind) == [(kind, severity, count)]


def test_a_kernel_that_ends_its_launch_is_reported_as_not_completed():
    assert not launch_of("deadlock").completed
    assert launch_of("deadlock", fixed=True).completed


def test_a_finding_quotes_the_cuda_source_of_its_kernel():
    report = launch_of("out of bounds")
    assert "out-of-bounds.cu:6" in str(report.findings[0])
    assert source_of("out of bounds").splitlines()[5].strip() == "x[i] = value;"


def test_a_source_starts_with_its_licence_which_is_not_shown():
    assert source_of("out of bounds").splitlines()[0] == "// SPDX-License-Identifier: MIT"
    assert shown_source("out of bounds") == [
        "__global__ void fill(int* x, int n, int value)",
        "{",
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;",
        "    if (i <= n)",
        "        x[i] = value;",
        "}",
    ]


def test_a_fix_is_the_changed_lines_with_one_line_around_them():
    assert [x.sign + x.text.strip() for x in fix_of("out of bounds")] == [
        " int i = blockIdx.x * blockDim.x + threadIdx.x;",
        "-if (i <= n)",
        "+if (i < n)",
        " x[i] = value;",
    ]


def test_the_committed_ptx_is_for_the_chip_of_its_kernel():
    assert (EXAMPLES["race"].target, EXAMPLES["stale tensor map"].target) == ("sm_80", "sm_90a")
    assert ".target sm_90a" in ptx_of("stale tensor map")
    assert ".target sm_80" in ptx_of("race") and ".target sm_80" in ptx_of("race", fixed=True)


def test_arguments_are_new_for_each_launch_so_that_no_launch_sees_another():
    first, again = (EXAMPLES["out of bounds"].arguments()[0] for _ in range(2))
    first[:] = -1
    assert again[:3].tolist() == [0, 1, 2]


def test_an_array_that_a_kernel_must_not_change_is_read_only():
    array, *_ = EXAMPLES["read-only"].arguments()
    assert not array.flags.writeable
