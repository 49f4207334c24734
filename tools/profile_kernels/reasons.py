# SPDX-License-Identifier: MIT
"""Why a counter of a launch differs from that of Nsight Compute: patterns of launches and metrics, and the reason."""

import re
from typing import NamedTuple


class Reason(NamedTuple):
    """A reason for the differences of launches and metrics whose names match."""

    launches: str
    metrics: str
    text: str


REASONS = (
    Reason(r"histogram|shared_red_inc", r".*", "ptxas uses `ATOMS.POPC.INC` for an increment by 1; lanes at one "
           "address share its wavefronts"),
    Reason(r"triton_.*|pipelined_gemm|copy_(none|half).*", r".*ldgsts", "probably: a copy that fills zeros instead of "
           "reading has more wavefronts, which are not counted"),
    Reason(r"shared_(atom|red)_add_(f32|u64)", r".*", "ptxas makes a loop of compare-and-swap, whose number of "
           "turns depends on the collisions; it counts as one access here"),
    Reason(r"copy_from_cg_16: drawn few [23]", r".*ldgsts", "many lanes copy the same bytes: the rule for "
           "`cp.async.cg` is one or two wavefronts short"),
    Reason(r"step0[345].*|sgemm .*|matmul_forward .*|softmax_forward .*|transposition .*",
           r".*shared.*(_ld|ldsm).*", "ptxas joins loads of adjacent words to vectors, or keeps values in registers"),
    Reason(r"step09.*", r".*ldsm.*", "ptxas loads a fragment once that the source loads twice"),
    Reason(r"spin_lock|lock_in_a_warp|turns", r".*", "threads that wait poll as often as time permits"),
    Reason(r"divergent_calls|structures|local_sort", r".*", "ptxas inlines the functions, and keeps parameters in "
           "registers"),
    Reason(r"reductions", r".*", "ptxas adds the values of a warp first, and one lane does the atomic operation"),
    Reason(r"odd_even_sort", r".*", "ptxas keeps words of shared memory in registers between two accesses"),
    Reason(r"triton_flash_attention.*", r".*shared.*_ld.*", "ptxas loads a value once that the PTX loads twice"),
    Reason(r"triton_.*", r"l1tex__data_bank_conflicts.*", "the hardware counter also has conflicts between two "
           "instructions, which depend on time"),
)  # fmt: skip


def reason_for(launch: str, metric: str) -> str:
    """Return the reason for a difference, "" if it is not known."""
    return next((x.text for x in REASONS if re.match(x.launches, launch) and re.match(x.metrics, metric)), "")
