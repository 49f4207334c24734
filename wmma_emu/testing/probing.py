# SPDX-License-Identifier: MIT
"""Probes of a function of matrices, as tests import them: see `wmma_emu.applications.probing`."""

from wmma_emu.applications.probing import Answer, ProbeReport, examine, probe
from wmma_emu.renamed import renamed_names

__all__ = ["Answer", "ProbeReport", "examine", "probe"]

__getattr__ = renamed_names(__name__, {"Report": "ProbeReport"})
