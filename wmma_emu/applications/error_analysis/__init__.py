# SPDX-License-Identifier: MIT
"""The effect of rounding on a product: errors against exact arithmetic, the lost bits, bounds, splits."""

from wmma_emu.applications.error_analysis.bounds import Bound, bound_of
from wmma_emu.applications.error_analysis.ledger import KINDS, MEANINGS
from wmma_emu.applications.error_analysis.report import ErrorReport, error_report
from wmma_emu.applications.error_analysis.splits import split_bf16, split_tf32
from wmma_emu.applications.error_analysis.summary import ErrorSummary, error_summary

__all__ = [
    "KINDS", "MEANINGS", "Bound", "ErrorReport", "ErrorSummary", "bound_of", "error_report", "error_summary",
    "split_bf16", "split_tf32",
]  # fmt: skip
