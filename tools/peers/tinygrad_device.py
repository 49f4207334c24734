# SPDX-License-Identifier: MIT
"""A plug-in of pytest that lets tinygrad's mock GPU launch its kernels on the emulator.

`tools.peers.tinygrad` starts pytest with it, in a checkout of tinygrad. The mock GPU is tinygrad's own model of the
CUDA driver; it calls one function, ``ptx_run``, for each launch, with the text of the kernel and its arguments as
64-bit numbers: addresses in the driver's memory, or values.
"""

import importlib
import os
from typing import Any

import pytest

from tools.peers.outcomes import collect_outcomes, note_error
from wmma_emu.languages.tinygrad import ptx_run

_FAILURES: list[str] = []
"""Launches of the present test that failed."""


def _ptx_run(
    source: Any, n_args: int, args: Any, blck_x: int, blck_y: int, blck_z: int, grid_x: int, grid_y: int,
    grid_z: int, shared_mem_size: int,
) -> None:  # fmt: skip
    sizes = (blck_x, blck_y, blck_z, grid_x, grid_y, grid_z, shared_mem_size)
    seconds = float(os.environ.get("WMMA_EMU_SECONDS", "300"))
    try:
        ptx_run(source, n_args, args, *sizes, findings="report", max_seconds=seconds)
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
