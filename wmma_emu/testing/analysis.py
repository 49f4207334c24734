# SPDX-License-Identifier: MIT
"""What rounding does to a product, as tests import it: see `wmma_emu.applications.error_analysis`."""

from wmma_emu.applications.error_analysis import (
    KINDS,
    MEANINGS,
    Bound,
    ErrorReport,
    ErrorSummary,
    bound_of,
    error_report,
    error_summary,
    split_bf16,
    split_tf32,
)

__all__ = [
    "KINDS",
    "MEANINGS",
    "Bound",
    "ErrorReport",
    "ErrorSummary",
    "bound_of",
    "error_report",
    "error_summary",
    "split_bf16",
    "split_tf32",
]
