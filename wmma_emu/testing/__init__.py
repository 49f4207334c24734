# SPDX-License-Identifier: MIT
"""Tools for tests of matrix code: input generators, exact results, bit comparisons, probes."""

from importlib.util import find_spec

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from wmma_emu.testing import generators, strategies
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
    from wmma_emu.testing.oracle import KernelComparison, compare_kernels
    from wmma_emu.testing.patterns import bits, from_bits, ulp_distance
    from wmma_emu.testing.probing import examine, probe

__all__ = [
    "ErrorReport",
    "ErrorSummary",
    "KernelComparison",
    "assert_bits_equal",
    "bits",
    "compare_kernels",
    "error_report",
    "error_summary",
    "exact_dot",
    "exact_matmul",
    "examine",
    "from_bits",
    "generators",
    "probe",
    "split_bf16",
    "split_tf32",
    "ulp_distance",
]
if find_spec("hypothesis") is not None:
    __all__ += ["strategies"]

_HOMES = {
    "analysis": ("ErrorReport", "ErrorSummary", "error_report", "error_summary", "split_bf16", "split_tf32"),
    "assertions": ("assert_bits_equal",),
    "exact": ("exact_dot", "exact_matmul"),
    "oracle": ("KernelComparison", "compare_kernels"),
    "patterns": ("bits", "from_bits", "ulp_distance"),
    "probing": ("examine", "probe"),
}
"""The module of every public name that is not itself a module."""

if not TYPE_CHECKING:  # type checkers would accept any name if they saw __getattr__
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
