# SPDX-License-Identifier: MIT
"""What whoever watches launches is told of one."""

from typing import TYPE_CHECKING, NamedTuple

from wmma_emu.ptx.reports.finding import Finding

if TYPE_CHECKING:
    from wmma_emu.ptx.launch.launching import Launch
    from wmma_emu.ptx.launch.report import Report

__all__ = ["Launched"]


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

    launch: "Launch"
    report: "Report"
    failing: tuple[Finding, ...]
    warned: tuple[Finding, ...]
