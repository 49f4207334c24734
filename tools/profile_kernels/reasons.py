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
    Reason(r"triton_.*|pipelined_gemm", r".*ldgsts", "what Nsight Compute counts of a `cp.async.cg` that may fill "
           "zeros depends on the predicate register that ptxas chose: with P0 as here, with others more or less; "
           "a kernel of one such copy counts nothing with P1"),
    Reason(r"shared_(atom|red)_add_(f16|f64|u64)", r".*", "one lane adds 0, which changes nothing: no other lane "
           "repeats its turn of the loop"),
    Reason(r"shared_red_min_u64", r".*", "the loop skips the store where the minimum is the old value, "
           "as it always is here"),
    Reason(r"bulk_\w+_16", r".*bytes.*", "the hardware moves whole sectors of 32 bytes"),
    Reason(r"attention_forward attention_softmax_kernel1", r".*", "the lanes run loops of different lengths, which "
           "ptxas unrolls by 16, 8, 4 and 1 turns: lanes of one warp execute different copies of a load"),
    Reason(r"copy_from_cg_16: drawn few [23]", r".*ldgsts", "many lanes copy the same bytes: the rule for "
           "`cp.async.cg` is one or two wavefronts short"),
    Reason(r"triton_.*|shfl_scan .*|sgemm_v3 .*|practice .*mysgemm_v7", r"l1tex__data_bank_conflicts.*", "the hardware "
           "counter also has conflicts between two instructions, which depend on time"),
    Reason(r"bitonicSort .*", r".*", "ptxas unrolls the loops over strides, and keeps what a thread accesses twice in "
           "registers"),
    Reason(r"leet_hgemm .*", r".*_st$", "ptxas joins stores of adjacent words to vectors"),
    Reason(r"layer_norm .*", r".*shared.*_ld.*", "ptxas loads a value once that the PTX loads twice"),
    Reason(r"step0[345].*|(leet_|practice .*|mat_transpose|histogram256)?\w*(sgemm|hgemm|transpose|Histogram).*|"
           r"sgemm .*|matmul_forward .*|softmax_forward .*|transposition .*",
           r".*shared.*(_ld|ldsm).*", "ptxas joins loads of adjacent words to vectors, or keeps values in registers"),
    Reason(r"step09.*", r".*ldsm.*", "ptxas loads a fragment once that the source loads twice"),
    Reason(r"spin_lock|lock_in_a_warp|turns", r".*", "threads that wait poll as often as time permits"),
    Reason(r"divergent_calls|structures|local_sort", r".*", "ptxas inlines the functions, and keeps parameters in "
           "registers"),
    Reason(r"reductions", r".*", "ptxas adds the values of a warp first, and one lane does the atomic operation"),
    Reason(r"odd_even_sort", r".*", "ptxas keeps words of shared memory in registers between two accesses"),
    Reason(r"triton_flash_attention.*", r".*shared.*_ld.*", "ptxas loads a value once that the PTX loads twice"),
)  # fmt: skip


def reason_for(launch: str, metric: str) -> str:
    """Return the reason for a difference, "" if it is not known."""
    return next((x.text for x in REASONS if re.match(x.launches, launch) and re.match(x.metrics, metric)), "")
