# SPDX-License-Identifier: MIT
"""Probes of a function of matrices, as tests import them: see `wmma_emu.applications.probing`."""

from wmma_emu.applications.probing import Answer, Report, examine, probe

__all__ = ["Answer", "Report", "examine", "probe"]
