# SPDX-License-Identifier: MIT
"""Which model of a tensor core a function of matrices is: experiments, their evidence, the model."""

from wmma_emu.applications.probing.probe import examine, probe
from wmma_emu.applications.probing.report import Answer, Report

__all__ = ["Answer", "Report", "examine", "probe"]
