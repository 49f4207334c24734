# SPDX-License-Identifier: MIT
"""What whoever watches launches is told of one."""

from typing import Any, NamedTuple, Protocol

from wmma_emu.instructions.launches import Dim3
from wmma_emu.ptx.launch.report import Report
from wmma_emu.ptx.reports.finding import Finding


class OnGrid(Protocol):
    """A kernel with its grid, its block, and the bytes of dynamic shared memory of a block: a `Launch`."""

    kernel: Any
    grid: Dim3
    block: Dim3
    shared_bytes: int


class Launched(NamedTuple):
    """A launch that has run, before its findings become an error or a warning.

    Attributes
    ----------
    launch : Launch
        The kernel, its grid and its block.
    report : Report
    failing, warned : tuple
        The findings that make it fail, and those that become a warning.
    """

    launch: OnGrid
    report: Report
    failing: tuple[Finding, ...]
    warned: tuple[Finding, ...]
