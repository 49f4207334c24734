# SPDX-License-Identifier: MIT
"""Probing: experiments with a function of matrices that determine its model of a tensor core, with evidence."""

from wmma_emu.applications.probing.probe import examine, probe
from wmma_emu.applications.probing.report import Answer, ProbeReport
from wmma_emu.renamed import renamed_names

__all__ = ["Answer", "ProbeReport", "examine", "probe"]

__getattr__ = renamed_names(__name__, {"Report": "ProbeReport"})
