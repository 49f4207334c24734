# SPDX-License-Identifier: MIT
"""The pytest plugin: a fixture that runs CUDA and Triton kernels without a GPU. It imports nothing until it is used."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("wmma-emu", "CUDA and Triton kernels without a GPU (wmma-emu)")
    group.addoption(
        "--ptx-schedules", metavar="N", type=int, default=1,
        help="run each launch of `emulated_gpu` with its warps in N orders, and compare the results bit for bit",
    )  # fmt: skip


@pytest.fixture(scope="session")
def emulated_gpu(request: pytest.FixtureRequest) -> "EmulatedGpu":
    """A GPU that is not there: ``cuda``, ``triton``, ``ptx`` and ``file`` give modules.

    Launches raise on findings, and after 60 seconds; ``max_seconds`` of a module or a launch says otherwise.
    """
    from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu

    return EmulatedGpu(schedules=request.config.getoption("ptx_schedules"))
