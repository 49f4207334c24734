# SPDX-License-Identifier: MIT
"""A plug-in of pytest that lets tinygrad's mock GPU launch its kernels on the emulator.

`tools.peers.tinygrad` starts pytest with it, in a checkout of tinygrad. The mock GPU is tinygrad's own model of the
CUDA driver; it calls one function, ``ptx_run``, for each launch, with the text of the kernel and its arguments as
64-bit numbers: addresses in the driver's memory, or values.
"""

import ctypes
import functools
import importlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tools.peers.outcomes import collect_outcomes, note_error
from wmma_emu.ptx import Kernel, Module

_FAILURES: list[str] = []
"""Launches of the present test that failed."""


def argument_of(value: int, bits: int, memory: Mapping[int, Any]) -> Any:
    """Return the argument of a launch: the driver's memory that begins at an address, or the number itself.

    Examples
    --------
    >>> argument_of(1002, 64, {1000: bytearray(b"abcd")}).tobytes(), argument_of(0xFFFFFFFF, 32, {})
    (b'cd', np.int32(-1))
    """
    if bits < 64:
        return np.array([value & (1 << bits) - 1], f"u{bits // 8}").view(f"i{bits // 8}")[0]
    for base, cells in memory.items():
        if base <= value < base + len(cells):
            return np.frombuffer(cells, np.uint8)[value - base :]
    return value


@functools.cache
def _kernel(text: str) -> Kernel:
    module = Module(text)
    return module[next(iter(module))]


def run_kernel(text: str, values: list[int], launch: tuple[Any, Any, int], memory: Mapping[int, Any]) -> None:
    """Launch the kernel of a module."""
    grid, block, shared = launch
    kernel = _kernel(text)
    arguments = [argument_of(x, 8 * y.bytes, memory) for x, y in zip(values, kernel.parameters, strict=True)]
    seconds = float(os.environ.get("WMMA_EMU_SECONDS", "300"))
    kernel[grid, block, shared](*arguments, findings="report", max_seconds=seconds)


def _ptx_run(
    source: Any, n_args: int, args: Any, blck_x: int, blck_y: int, blck_z: int, grid_x: int, grid_y: int,
    grid_z: int, shared_mem_size: int,
) -> None:  # fmt: skip
    memory = importlib.import_module("test.mockgpu.cuda.cuda").cuda_state.memory
    launch = ((grid_x, grid_y, grid_z), (blck_x, blck_y, blck_z), shared_mem_size)
    text = ctypes.string_at(source).decode()
    try:
        run_kernel(text, [args[i] or 0 for i in range(n_args)], launch, memory)
    except Exception as error:
        # The function of the library returns nothing: the driver cannot know, and the report below has the failure.
        _FAILURES.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")


def pytest_configure(config: pytest.Config) -> None:
    """Replace the function that launches kernels, before the mock GPU imports it."""
    importlib.import_module("test.mockgpu.helpers").ptx_run = _ptx_run  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Note which launch failed, which fails the test whatever it compares, and the first line of the error."""
    report = yield
    note_error(report, call)
    if _FAILURES:
        report.user_properties.append(("launch", _FAILURES[0]))
        report.outcome = "failed"
        _FAILURES.clear()
    return report


def pytest_sessionstart(session: pytest.Session) -> None:
    """Collect the outcomes, but not in a worker of pytest-xdist."""
    collect_outcomes(session)
