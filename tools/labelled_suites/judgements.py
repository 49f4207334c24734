# SPDX-License-Identifier: MIT
"""The reasons why findings of a program differ from its label, from reading the sources."""

import re

__all__ = ["NOT_JUDGED", "judged", "no_conflict"]

NOT_JUDGED = "not judged"

_LOCKSTEP = (
    "The label holds for warps in lockstep, which PTX does not guarantee since sm_70: lanes of a warp read values that "
    "other lanes write, with no `__syncwarp` between."
)
_DELETED = "The compiler deletes the stores at -O3: the PTX contains no store."
_EQUAL = "Neighbouring threads copy overlapping bytes of `in` to the same addresses in `out`: equal bytes, a note."
_HISTOGRAM = (
    "The label, race free, is correct. A quarter of the shared histogram is zeroed, and all of it is summed up and "
    "stored."
)
_OWN = "Each thread reads back what it wrote itself: the barrier orders nothing."

_JUDGED = (
    ("gpuverify", "miscfail2", ".*", "silent",
     "According to the label, an invariant of the loop cannot be proven. Uninitialised shared memory is read, but the "
     "values are only moved within shared memory."),
    ("gpuverify", "test_axiom", ".*", "error|warning",
     "The label: right, because `__axiom` says that only a block which the launch has not got does not store. The "
     "annotation means nothing to a compiler; all threads store to one word."),
    ("gpuverify", "race_on_shared|shared_int|loop_unwind|fail_arrayofstruct|pointertests/cast", "-O3", "silent",
     _DELETED),
    ("gpuverify", "loop_unwind", "-G", "silent",
     "Every thread stores the same element of `A`, so the bytes are equal: a note."),
    ("gpuverify", "fail_overstep|lentoobig|notexactdiv", ".*", "silent", _EQUAL),
    ("gpuverify", "globalarray", ".*", "silent",
     "The label supposes that the host may have changed the constant array; with its initial values the store is never "
     "reached."),
    ("gpuverify", "divergence_thread_block", ".*", "silent",
     "The odd lanes bypass the barrier and exit. GPUVerify reports an error, compute-sanitizer's synccheck does not, "
     "and the emulator follows synccheck; the barrier orders the accesses of the lanes that reach it."),
    ("gpuverify", "divergence_grid_group", ".*", "silent",
     "The odd lanes bypass the grid's barrier, and count as arrived once they have exited; the barrier orders the "
     "accesses of the lanes that reach it."),
    ("gpuverify", "arrayofstruct", "-G", "error|warning",
     "The label, race free, is correct. The struct that is stored to global memory is uninitialised; at -O3 the "
     "store is deleted."),
    ("gpuverify", "test_copy_between_memory_spaces", "-G", "error",
     "The label, race free, is correct. An uninitialised shared array is copied to global memory; at -O3 the "
     "store is deleted."),
    ("gpuverify", "scope/", ".*", "error", _HISTOGRAM),
    ("gpuverify", "warpsync/2d", ".*", "error",
     "`tile[x][y] = tile[y][x]` reads an uninitialised shared array, and stores it to global memory. " + _LOCKSTEP),
    ("gpuverify", "intragroup_scan", ".*", "error",
     "`temp[32]` is local, each thread's own, where a shared array is intended: the added values are uninitialised. "
     + _LOCKSTEP),
    ("gpuverify", "warpsync/(scan_warp|shuffle)", ".*", "error|warning", _LOCKSTEP),
    ("gpuverify", "pointertests/test12", "-G", "error|warning",
     "All threads store the same pointer to a shared variable, and all load it at once: stores against loads of other "
     "threads, with no synchronisation between. GPUVerify accepts equal stores, even with loads of other threads."),
    ("cav14", "imgblur_grid", "right", "error",
     "The label, race free, is correct. The 3 x 3 neighbourhood of row 0 and column 0 is before the start of the "
     "array."),
    ("cav14", "histogram64Kernel/", "right", "error", _HISTOGRAM),
    ("cav14", "scanlarge/inline", "right", "error",
     "Label: race free. Accesses are outside of the shared array: its padded indices exceed its 64 elements, and "
     "`stride / 2 - 1` is -1 in the first step."),
    ("cav14", "FDTD3d", "right", "error",
     "The label, race free, is correct. `behind[0]` is used and stored before anything is written to it; the SDK's own "
     "loop begins elsewhere."),
    ("cav14", "laplace3d", "right", "error",
     "The label, race free, is correct. A halo thread reads element -1 of the array."),
    ("cav14", "bisect_kernel", "right", "error", "The label, race free, is correct. `g_s[-1]` is read."),
    ("cav14", "CUDAkernel2I?DCT", "right", "error|warning", _LOCKSTEP),
    ("cav14", "scalarProd", "right", "error|warning",
     _LOCKSTEP + " Thread 1 stores the next vector's sum while thread 0 may still read the previous sum."),
)  # fmt: skip
"""Suite, program, variant, verdict, reason: the first four are regular expressions; the first match counts."""

_NO_CONFLICT = (
    ("imgblur|convolution_simple|DxInterOp|HelloWorldCSharp|mxm_amp_simple|MersenneTwister|OceanCS|"
     "NBody_Simulation/simple", "seed",
     "The added access stores an element to itself; the compiler deletes it at -O3."),
    ("BitonicSort/transpose_kernel|0_Simple/template|copySharedMem|transposeCoarseGrained", ".*", _OWN),
    ("convolution_tiling", ".*",
     "`blockDim` is used where `blockIdx` is intended: all indices are outside of the image, and the branch that reads "
     "values of other threads is never taken."),
    ("CUDA20/histogram64/histogram64Kernel", "seed.*",
     "The first two warps reach the added barrier; the others bypass it and exit, which synccheck allows."),
    ("scan/workefficient", ".*",
     "The last barrier: a thread stores the two elements that it wrote itself in the last step."),
    ("scan/naive", "mutant 1.*",
     "The last barrier: a thread stores the element that it wrote itself in the last step."),
    ("scan/best", "mutant 0.*", "Another barrier follows at once."),
    ("scanlarge/inline", "mutant 2.*", "The last steps before it access nothing within the array (see above)."),
    ("[bB]inomialOptions", "mutant 3.*", _OWN),
    ("TransitiveClosure/stage3", "mutant 1.*",
     "The loop changes only each thread's own element; the elements of other threads that it reads stay unchanged."),
    ("nbody", "mutant 2.*", "In a branch on a template parameter that is false."),
    ("bisect_kernel", "mutant (1|4).*",
     "Barriers remain on both sides, and all possible conflicts are stores of 1: a note."),
    ("shfl_vertical", "mutant 0.*", _OWN),
    ("nqueen", "mutant 1.*",
     "The threads below 32 read in the next step values that they wrote themselves, or that were written before the "
     "previous barrier."),
    ("nqueen", "mutant 7.*", _OWN),
)  # fmt: skip
"""Changes of cav14's programs that make no conflict: program, variant, why."""


def judged(suite: str, program: str, variant: str, verdict: str) -> str:
    """Return the reason why a verdict differs from the label.

    >>> judged("gpuverify", "a/new/program.cu", "-G", "silent")
    'not judged'
    """
    for s, p, v, said, why in _JUDGED:
        if s == suite and re.search(p, program) and re.fullmatch(v, variant) and re.fullmatch(said, verdict):
            return why
    return NOT_JUDGED


def no_conflict(program: str, variant: str) -> str:
    """Return the reason why a change of a program of cav14 causes no conflict."""
    return next((why for p, v, why in _NO_CONFLICT if re.search(p, program) and re.fullmatch(v, variant)), NOT_JUDGED)
