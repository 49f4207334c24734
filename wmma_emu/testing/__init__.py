# SPDX-License-Identifier: MIT
"""What a test of matrix code imports: inputs that bring out what a chip's arithmetic does."""

from wmma_emu.testing import families
from wmma_emu.testing.analysis import (
    ErrorReport,
    ErrorSummary,
    error_report,
    error_summary,
    split_bf16,
    split_tf32,
)
from wmma_emu.testing.assertions import assert_bits_equal
from wmma_emu.testing.exact import exact_dot, exact_matmul
from wmma_emu.testing.patterns import bits, from_bits, ulp_distance
from wmma_emu.testing.probing import examine, probe

__all__ = [
    "ErrorReport",
    "ErrorSummary",
    "assert_bits_equal",
    "bits",
    "error_report",
    "error_summary",
    "exact_dot",
    "exact_matmul",
    "examine",
    "families",
    "from_bits",
    "probe",
    "split_bf16",
    "split_tf32",
    "ulp_distance",
]
