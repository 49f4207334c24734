# SPDX-License-Identifier: MIT
"""Which model of a tensor core a function of matrices is: experiments, their evidence, the model."""

from wmma_emu.applications.probing.probe import examine, probe
from wmma_emu.applications.probing.report import Answer, ProbeReport
from wmma_emu.renamed import renamed_names

__all__ = ["Answer", "ProbeReport", "examine", "probe"]

__getattr__ = renamed_names(__name__, {"Report": "ProbeReport"})
