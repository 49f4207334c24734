# SPDX-License-Identifier: MIT
"""Profiles and coverage of programs: counters and branches at the lines of Triton's and numba-cuda's sources."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore:Grid size .* will likely result in GPU")]


def line_of(function, text):
    """Return the number of the line of a function that contains a string, and its name in a profile."""
    lines, first = inspect.getsourcelines(function)
    (number,) = [first + i for i, line in enumerate(lines) if text in line]
    return number, f"{Path(inspect.getsourcefile(function)).name}:{number}"


@pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
def test_lines_of_a_triton_program_have_counters_and_coverage(tmp_path, monkeypatch):
    pytest.importorskip("triton")
    from tests.ptx import triton_kernels

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    x, y = np.arange(64 * 64, dtype=np.float32), np.zeros(64 * 64, np.float32)
    with we.emulate("h100", languages=["Triton"]), we.ptx.profiling() as profile, we.ptx.covering() as covered:
        triton_kernels.transpose_and_clear[(4,)](x, y, 64, 0, BLOCK=32)
    assert np.array_equal(y.reshape(64, 64), x.reshape(64, 64).T)
    load, store, never, branch = (
        line_of(triton_kernels.transpose_and_clear.fn, text)
        for text in ("tl.load(", "tl.store(y", "tl.store(x", "if clears")
    )
    assert profile[load[1]].global_bytes == x.nbytes and profile[load[1]].sector_use == 1
    assert profile[store[1]].global_bytes == x.nbytes
    (file,) = covered.coverage.files
    assert file == triton_kernels.__file__ and covered.coverage.lines[file, load[0]] > 0
    assert never[0] in covered.coverage.missing(file)
    assert [x[:2] for x in _branches(covered, branch[0])] in ([(0, 512)], [(512, 0)])


def test_lines_of_a_numba_cuda_program_have_counters_and_coverage():
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: it is not a dependency of the tests")
    cuda = pytest.importorskip("numba.cuda")

    def clamped(x, y, most):
        i = cuda.grid(1)
        if i < x.size:
            if x[i] > most:
                y[i] = most
            else:
                y[2 * i] = x[i]

    x, y = np.arange(100, dtype=np.float32), np.zeros(200, np.float32)
    with we.emulate("h100", languages=["numba-cuda"]), we.ptx.profiling() as profile, we.ptx.covering() as covered:
        cuda.jit(clamped)[1, 128](x, y, np.float32(1000))
    assert y.tolist()[::2] == x.tolist()
    strided, never = line_of(clamped, "y[2 * i] = x[i]"), line_of(clamped, "y[i] = most")
    assert profile[strided[1]].global_sectors == 8 + 8 + 8 + 1 and profile[strided[1]].global_bytes == x.nbytes
    (file,) = covered.coverage.files
    assert file == __file__ and never[0] in covered.coverage.missing(file)
    bounds, _ = line_of(clamped, "if i < x.size")
    assert (28, 100, 1) in _branches(covered, bounds) or (100, 28, 1) in _branches(covered, bounds)


def _branches(covered, number):
    return [x for (_, line, _), x in covered.coverage.branches.items() if line == number]
