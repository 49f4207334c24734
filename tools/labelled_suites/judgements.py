# SPDX-License-Identifier: MIT
"""Explanations of verdicts that differ from the label, found by reading the sources."""

import re

__all__ = ["NOT_JUDGED", "judged", "no_conflict"]

NOT_JUDGED = "not judged"

_LOCKSTEP = (
    "The label holds for warps in lockstep, which PTX does not promise from sm_70 on: lanes of a warp read what others "
    "write, with no `__syncwarp` between."
)
_DELETED = "The compiler deletes the stores at -O3: there is none in the PTX."
_EQUAL = "Neighbouring threads copy overlapping bytes of `in` to the same places of `out`, so the same bytes: a note."
_HISTOGRAM = (
    "Label: race free, which it is. A quarter of the shared histogram is zeroed, and all of it is summed up and stored."
)
_OWN = "Each thread reads back what it wrote itself: the barrier orders nothing."

_JUDGED = (
    ("gpuverify", "miscfail2", ".*", "silent",
     "The label is that an invariant of the loop cannot be proven. What is read of shared memory and was never written "
     "is moved within it and stored nowhere else."),
    ("gpuverify", "test_axiom", ".*", "error|warning",
     "The label: right, because `__axiom` says that only a block which the launch has not got does not store. The "
     "annotation means nothing to a compiler; all threads store to one word."),
    ("gpuverify", "race_on_shared|shared_int|loop_unwind|fail_arrayofstruct|pointertests/cast", "-O3", "silent",
     _DELETED),
    ("gpuverify", "loop_unwind", "-G", "silent",
     "Every thread stores the same element of `A`, so the same bytes: a note."),
    ("gpuverify", "fail_overstep|lentoobig|notexactdiv", ".*", "silent", _EQUAL),
    ("gpuverify", "globalarray", ".*", "silent",
     "The label supposes that the host may have changed the constant array; with its initial values the store is never "
     "reached."),
    ("gpuverify", "divergence_thread_block", "-O3", "silent",
     "The odd lanes go around the barrier to the end of the kernel. That is an error to GPUVerify, and none to "
     "compute-sanitizer's synccheck, whose rule is followed; the barrier orders the accesses of those that meet it."),
    ("gpuverify", "divergence_grid_group", ".*", "silent",
     "The odd lanes go around the grid's barrier to the end of the kernel, and count as arrived once they have exited; "
     "the barrier orders the accesses of those that meet it."),
    ("gpuverify", "arrayofstruct", "-G", "error|warning",
     "Label: race free, which it is. The struct that is stored to global memory was never written; at -O3 the store is "
     "deleted."),
    ("gpuverify", "test_copy_between_memory_spaces", "-G", "error",
     "Label: race free, which it is. A shared array that nobody wrote is copied to global memory; at -O3 the store is "
     "deleted."),
    ("gpuverify", "scope/", ".*", "error", _HISTOGRAM),
    ("gpuverify", "warpsync/2d", ".*", "error",
     "`tile[x][y] = tile[y][x]` reads a shared array that nobody wrote, and stores it to global memory. " + _LOCKSTEP),
    ("gpuverify", "intragroup_scan", ".*", "error",
     "`temp[32]` is local, each thread's own, where a shared array is meant: what is added was never written. "
     + _LOCKSTEP),
    ("gpuverify", "warpsync/(scan_warp|shuffle)", ".*", "error|warning", _LOCKSTEP),
    ("gpuverify", "pointertests/test12", "-G", "error|warning",
     "All threads store the same pointer to a shared variable, and all load it at once: stores against loads of other "
     "threads, with nothing between. GPUVerify lets equal stores pass, against loads too."),
    ("cav14", "imgblur_grid", "right", "error",
     "Label: race free, which it is. The 3 x 3 neighbourhood of row 0 and column 0 lies before the array."),
    ("cav14", "histogram64Kernel/", "right", "error", _HISTOGRAM),
    ("cav14", "scanlarge/inline", "right", "error",
     "Label: race free. Accesses leave the shared array: its padded indices reach beyond its 64 elements, and "
     "`stride / 2 - 1` is -1 in the first step."),
    ("cav14", "FDTD3d", "right", "error",
     "Label: race free, which it is. `behind[0]` is used and stored before anything is written to it; the SDK's own "
     "loop begins elsewhere."),
    ("cav14", "laplace3d", "right", "error",
     "Label: race free, which it is. A halo thread reads element -1 of the array."),
    ("cav14", "bisect_kernel", "right", "error", "Label: race free, which it is. `g_s[-1]` is read."),
    ("cav14", "CUDAkernel2I?DCT", "right", "error|warning", _LOCKSTEP),
    ("cav14", "scalarProd", "right", "error|warning",
     _LOCKSTEP + " Thread 1 stores the next vector's sum where thread 0 may still read the last one's."),
)  # fmt: skip
"""Suite, program, variant, verdict and explanation: regular expressions; the first match counts."""

_NO_CONFLICT = (
    ("imgblur|convolution_simple|DxInterOp|HelloWorldCSharp|mxm_amp_simple|MersenneTwister|OceanCS|"
     "NBody_Simulation/simple", "seed",
     "The added access stores an element to itself; the compiler deletes it at -O3."),
    ("BitonicSort/transpose_kernel|0_Simple/template|copySharedMem|transposeCoarseGrained", ".*", _OWN),
    ("convolution_tiling", ".*",
     "`blockDim` stands where `blockIdx` is meant: all indices lie beyond the image, and the branch that reads what "
     "others wrote is never taken."),
    ("CUDA20/histogram64/histogram64Kernel", "seed.*",
     "The added barrier is met by the first two warps; the others go around it to the end of the kernel, which "
     "synccheck allows."),
    ("scan/workefficient", ".*",
     "The last barrier: the two elements that a thread stores are those that it wrote itself in the last step."),
    ("scan/naive", "mutant 1.*",
     "The last barrier: the element that a thread stores is the one that it wrote itself in the last step."),
    ("scan/best", "mutant 0.*", "Another barrier follows at once."),
    ("scanlarge/inline", "mutant 2.*", "The last steps before it access nothing within the array (see above)."),
    ("[bB]inomialOptions", "mutant 3.*", _OWN),
    ("TransitiveClosure/stage3", "mutant 1.*",
     "What the loop changes is each thread's own element; what it reads of others stays as it was before the loop."),
    ("nbody", "mutant 2.*", "In a branch on a template parameter that is false."),
    ("bisect_kernel", "mutant (1|4).*",
     "Barriers are left on both sides: of what may meet, all store a 1: a note."),
    ("shfl_vertical", "mutant 0.*", _OWN),
    ("nqueen", "mutant 1.*",
     "The threads below 32 read in the next step what they wrote themselves, and what was written before the barrier "
     "in front."),
    ("nqueen", "mutant 7.*", _OWN),
)  # fmt: skip
"""Changes of cav14's programs that make no conflict: program, variant, why."""


def judged(suite: str, program: str, variant: str, verdict: str) -> str:
    """Return the reason for a verdict that differs from the label.

    >>> judged("gpuverify", "a/new/program.cu", "-G", "silent")
    'not judged'
    """
    for s, p, v, said, why in _JUDGED:
        if s == suite and re.search(p, program) and re.fullmatch(v, variant) and re.fullmatch(said, verdict):
            return why
    return NOT_JUDGED


def no_conflict(program: str, variant: str) -> str:
    """Return the reason why a change of a program of cav14 does not cause a conflict."""
    return next((why for p, v, why in _NO_CONFLICT if re.search(p, program) and re.fullmatch(v, variant)), NOT_JUDGED)
