# SPDX-License-Identifier: MIT
import ctypes
import mmap
import os
import platform
import re
import tempfile
from pathlib import Path

import pytest

from tests.control_word import LOAD, STORE
from tests.sweeps import left_out
from wmma_emu.ptx.cuda import nvcc, nvrtc

TESTS = Path(__file__).parent

LATER = re.compile(r"NVRTC|triton|browser|playwright")
"""Reasons to skip a test that do not apply if everything in the extra `test-all` is installed."""


def pytest_configure(config):
    """Store compiled code in a folder of this run, which its workers share."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="wmma_emu-tests-")
        os.environ["WMMA_EMU_CACHE"] = folder.name
        config.add_cleanup(folder.cleanup)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Mark the cases of sweeps as slow that the quick suite leaves out."""
    cases = {}
    for item in items:
        if sweep := item.get_closest_marker("sweep"):
            if not hasattr(item, "callspec"):
                raise pytest.UsageError(f"{item.nodeid} is marked as a sweep, and has no cases: parametrize it")
            cases[item.nodeid] = sweep.kwargs["keep"]
    out = left_out(cases)
    for item in items:
        if item.nodeid in out:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Hide NVIDIA's compilers from quick tests, which must give the same results on a machine without them."""
    if any(item.get_closest_marker(x) for x in ("thorough", "slow", "gpu")):
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvcc, "toolkit_folders", list)
        patch.setattr(nvrtc, "nvidia_folders", list)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that is skipped because of a missing package of `test-all`, and is not marked thorough."""
    report = yield
    if report.skipped and LATER.search(report.longrepr[2]) and not item.get_closest_marker("thorough"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} is skipped, and not marked thorough: {report.longrepr[2]}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Fail a test file that cannot be imported: ``--doctest-ignore-import-errors`` is for the package's modules.

    A module that tests share, as `tests/ptx/triton_kernels.py`, may need what only thorough tests have. If a test file
    cannot import it, that file fails.
    """
    report = yield
    test_file = collector.path.name.startswith("test_") and TESTS in collector.path.parents
    if report.skipped and "unable to import module" in str(report.longrepr) and test_file:
        report.outcome = "failed"
        report.longrepr = f"{collector.path} cannot be imported: run python {collector.path}"
    return report


@pytest.fixture(scope="module")
def control():
    """Two functions of a pointer that load and store the thread's floating-point control word."""
    if platform.machine() not in ("x86_64", "AMD64") or platform.system() == "Windows":
        pytest.skip("the control word is set with x86-64 code of the System V calling convention")
    try:
        memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError as error:
        pytest.skip(f"no memory that may be written and executed: {error}")
    memory.write(LOAD + STORE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    function = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))
    return memory, function(start), function(start + len(LOAD))
