# SPDX-License-Identifier: MIT
"""Two bugs stay two findings, whatever functions, branches and lines they share."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import BackendUnavailableError

BARRIER = "__syncthreads();"


def launched(body, before="", arguments=None, threads=128):
    lines = ["    " + x for x in body]
    source = "\n".join([before, 'extern "C" __global__ void k(const float* x, float* y) {', *lines, "}"])
    try:
        module = we.ptx.Module.from_cuda(source, name="k.cu", findings="report")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    return module["k"][1, threads](*(arguments or (np.arange(256, dtype=np.float32), np.zeros(256, np.float32))))


def lines_of(report):
    return [[x.number for x in finding.sides] for finding in report.findings]


pytestmark = pytest.mark.thorough

ACCESSORS = """__device__ __forceinline__ void put(float* s, int i, float v) { s[i] = v; }
__device__ __forceinline__ float get(const float* s, int i) { return s[i]; }"""


@pytest.mark.parametrize(
    ("first", "second", "count"), [("", "", 2), (BARRIER, "", 1), ("", BARRIER, 1), (BARRIER, BARRIER, 0)]
)
def test_barriers_that_are_missing_between_calls_of_the_same_functions_are_two_causes(first, second, count):
    body = [
        "__shared__ float s[128]; int i = threadIdx.x;", "put(s, i, x[i]);", first, "float a = get(s, 127 - i);",
        BARRIER,
        "put(s, i, a);", second, "y[i] = get(s, i ^ 64);",
    ]  # fmt: skip
    report = launched(body, ACCESSORS)
    assert len(report.findings) == count and all(x.kind == "race" for x in report.findings)
    assert all(x.fix.endswith("(tried: the finding is gone)") for x in report.findings)
    assert len({x.id for x in report.findings}) == count


def test_a_barrier_that_a_function_lacks_is_one_cause_from_wherever_it_is_called():
    helper = """__device__ __forceinline__ float reversed(float* s, int i, float v) {
    s[i] = v;
    float other = s[127 - i];
    __syncthreads();
    return other;
}"""
    calls = ["y[i] = reversed(s, i, x[i]);", "y[i + 128] = reversed(s, i, y[i]);"]
    body = ["__shared__ float s[128]; int i = threadIdx.x;", *calls]
    (finding,) = launched(body, helper).findings
    assert [x.number for x in finding.sides] == [2, 3]


def test_a_histogram_that_lacks_barriers_and_atomic_operations_has_three_causes():
    body = [
        "__shared__ float bins[16]; int i = threadIdx.x;", "if (i < 16) bins[i] = 0;", "bins[int(x[i]) & 15] += 1;",
        "if (i < 16) y[i] = bins[i];",
    ]  # fmt: skip
    report = launched(body)
    assert sorted(lines_of(report)) == [[4, 5], [5], [5, 6]]
    fixes = {tuple(x.number for x in finding.sides): finding.fix for finding in report.findings}
    assert "atomicAdd" in fixes[5,] and all("__syncthreads" in fixes[x] for x in ((4, 5), (5, 6)))


def test_two_uninitialised_tiles_are_two_causes_in_one_expression():
    body = [
        "__shared__ float s[128], t[128]; int i = threadIdx.x;", "if (i < 124) s[i] = x[i];", "if (i > 3) t[i] = x[i];",
        BARRIER, "y[i] = s[127 - i] + t[127 - i];",
    ]  # fmt: skip
    report = launched(body)
    assert sorted(x.variable for x in report.findings) == ["s", "t"]
    assert [(x.kind, x.count) for x in report.findings] == [("uninitialised", 4)] * 2


def test_a_barrier_is_not_tried_between_accesses_of_two_branches():
    body = [
        "__shared__ float s[64]; int i = threadIdx.x;", "if (i < 64) {", "    s[i] = x[i];", "} else {",
        "    y[i] = s[i - 64];", "}",
    ]  # fmt: skip
    (finding,) = launched(body).findings
    assert "tried" not in finding.fix


def test_a_form_feed_in_a_source_does_not_start_a_line():
    body = ["__shared__ float s[128]; int i = threadIdx.x;", "s[i] = x[i]; // a \f form feed", "y[i] = s[127 - i];"]
    (finding,) = launched(body).findings
    assert [x.quote.split("=")[0].strip() for x in finding.sides] == ["s[i]", "y[i]"]


def test_a_file_whose_name_is_not_ascii_is_quoted():
    source = """extern "C" __global__ void k(const float* x, float* y) {
    __shared__ float s[64]; int i = threadIdx.x;
    s[i] = x[i];
    y[i] = s[63 - i];
}"""
    try:
        module = we.ptx.Module.from_cuda(source, name="jörg.cu", findings="report")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    (finding,) = module["k"][1, 64](np.zeros(64, np.float32), np.zeros(64, np.float32)).findings
    assert finding.title == "race on s at jörg.cu:3/4" and finding.sides[0].quote == "    s[i] = x[i];"
