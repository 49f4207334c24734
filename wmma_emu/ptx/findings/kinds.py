# SPDX-License-Identifier: MIT
"""The kinds of findings: meaning, severity, check, fix, and what compute-sanitizer reports. Table entries only."""

from typing import NamedTuple

from wmma_emu.renamed import renamed_fields, warn_renamed

SEVERITIES = {
    "error": "the kernel is wrong: in some run, or on some chip, it gives wrong results or does not end",
    "warning": "the kernel may be wrong: it depends on facts that the check cannot see",
    "note": "the kernel is correct on the modelled chips; the note is for information",
}
"""The severities of findings, the worst first."""

CHECKS = {
    "memory": "addresses: bounds, alignment, writes to read-only memory (a wrong access is never performed)",
    "undefined": "uninitialised values, from the instruction that reads them to the one whose effect depends on them",
    "races": "accesses of several threads to the same bytes without an order between them",
    "synchronisation": "barriers, waits, membermasks, and the requirements of warp-wide instructions",
}
"""The checks of a launch; each can be switched off, which saves its time."""

SANITIZER = "compute-sanitizer 2025.3.1 on an NVIDIA H200, 2026-11-23"
"""The version, GPU and date of the compute-sanitizer results: memcheck, racecheck, synccheck and initcheck."""


@renamed_fields(mend="fix")
class Kind(NamedTuple):
    """A kind of finding.

    ``says`` is the meaning of a finding of this kind, ``severity`` one of `SEVERITIES`, and ``reason`` explains the
    severity; ``check`` is the one of `CHECKS` that reports it, "" for kinds that end a launch and are always reported.
    ``fix`` explains how to fix the kernel, ``silence`` when a finding may be silenced ("Never" and the reason if it
    must not), and ``sanitizer`` what NVIDIA's compute-sanitizer reports for such a kernel.
    """

    says: str
    severity: str
    reason: str
    check: str
    fix: str
    silence: str
    sanitizer: str

    @property
    def may_be_silenced(self) -> bool:
        """Whether a kernel with a finding of this kind may be correct."""
        return not self.silence.startswith("Never")

    @property
    def mend(self) -> str:
        """The old name of ``fix``."""
        warn_renamed("Kind.mend", "Kind.fix")
        return self.fix


KINDS = {
    "out of bounds": Kind(
        "an access outside every allocation, or outside the memory of its address space", "error",
        "a GPU stops the kernel, or the access reaches memory that belongs to something else", "memory",
        "Check the bound of the index (`i < n`, where `n` counts elements, not bytes), and the tail of an array that "
        "threads access as vectors. For dynamic shared memory, pass enough bytes at the launch: `module[kernel][grid, "
        "block, bytes]`.",
        "Never: no kernel may make such an access. If only part of an array was passed, pass the whole array instead "
        "of a slice.",
        "memcheck reports an error for global memory, and for shared memory beyond the block's allocation. It reported "
        "nothing for some accesses that leave their array but stay within shared or local memory, and nothing for "
        "constant memory.",
    ),
    "misaligned": Kind(
        "an address that violates the alignment that the instruction requires", "error",
        "a GPU stops the kernel", "memory",
        "Write `__align__(16)` before shared arrays that `float4`, `cp.async` or `ldmatrix` access, and pad rows to "
        "whole vectors. `wmma::load_matrix_sync` requires a pointer that is a multiple of 32 bytes.",
        "Never: a GPU stops the kernel.",
        "memcheck reports an error, and the kernel stops. It reported nothing for a tile of `wmma.load` that starts at "
        "a multiple of 16 bytes, and nothing for a vector in local memory that starts at a multiple of 8.",
    ),
    "uninitialised": Kind(
        "an uninitialised value is used", "error",
        "the result depends on the previous contents of the memory or the register", "undefined",
        "Set accumulators and the borders of tiles to zero, and write in every branch what is read after it. For the "
        "mask of a shuffle, name the lanes that execute it, and let no lane use a value that it read from a lane "
        "outside the mask.",
        "If the value cannot change any result and the data flow does not show this: the reason should explain why. "
        "For an array that another library wrote, prefer `x.mark_written()`.",
        "initcheck checks global memory only, and reports memory that was allocated on the GPU and read before it was "
        "written. None of the tools checks shared memory, local memory or registers.",
    ),
    "partly uninitialised": Kind(
        "an element is stored while some of its bytes are uninitialised", "warning",
        "the bytes may be padding of a structure, which is never read, or a member that was forgotten", "undefined",
        "Find out which bytes they are. Write them if any code reads them.",
        "If the bytes are padding of a structure: the reason should name the structure.",
        "Nothing: none of the tools checks shared memory, local memory or registers.",
    ),
    "read-only": Kind(
        "a write to read-only memory", "error",
        "a GPU stops the kernel, or an array that was passed as an input changes", "memory",
        "Store to the output, or leave the array writable (`x.flags.writeable = True`) if the kernel is meant to "
        "change it.",
        "Never: an array that the kernel may change should not be passed as read-only.",
        "Nothing: a GPU does not distinguish read-only arrays, and none of the four tools reported a write to constant "
        "memory through a pointer.",
    ),
    "race": Kind(
        "threads of different warps access the same bytes, at least one writes, and nothing orders the two accesses",
        "error",
        "the order of the accesses is undefined, and so is the result", "races",
        "Between threads of a block: `__syncthreads()` between the two accesses, and in a loop a second one before the "
        "next iteration overwrites the data that was read. Between blocks: a flag or an atomic operation with "
        "`__threadfence()` on both sides, or a second launch. If all threads update one value (`bins[x[i]] += 1`): an "
        "atomic operation.",
        "If every order gives the same result, and the compiler cannot transform the kernel into one where it does "
        "not: the reason should explain why the order does not matter.",
        "racecheck reports an error for shared memory. It does not check global memory, and reports no races there.",
    ),
    "race of an unused value": Kind(
        "a load and a store of threads of different warps race, and nothing depends on the loaded value",
        "warning",
        "the memory model calls it a race, and compute-sanitizer may report it; but the launch was run again with "
        "undefined bits as the results of these loads, and none of these bits was used", "races",
        "In CUDA C++, omit the load where its value is not needed, or put a barrier between the two accesses. In code "
        "that a compiler such as Triton generated, no fix is needed.",
        "If a compiler lets several warps load what one of them stores, or a software pipeline fetches one stage more "
        "than it uses.",
        "Nothing for such a race in global memory: racecheck checks shared memory only.",
    ),
    "race within a warp": Kind(
        "lanes of one warp access the same bytes, at least one writes, and there is no __syncwarp() in between",
        "warning",
        "PTX does not order these accesses; chips execute lanes of a warp on the same path in lockstep, and "
        "compute-sanitizer's racecheck reports a warning", "races",
        "Write `__syncwarp()` between the two accesses, or `__syncthreads()`. Shuffles and votes wait for lanes, but "
        "do not order memory.",
        "In third-party code that is known to run only on chips that execute these lanes in lockstep. In your own "
        "code, write the `__syncwarp()`.",
        "racecheck reports a warning for shared memory, and an error if one instruction stores different values to the "
        "same bytes. It does not check global memory.",
    ),
    "lanes store to one place": Kind(
        "lanes of one warp store different bytes to the same address in one instruction", "warning",
        "PTX does not define which value remains; compilers let all lanes that hold copies of a sum store it, "
        "differently rounded, and an NVIDIA H200 keeps the value of the lowest lane of the last 128 bytes "
        "(2026-11-23); compute-sanitizer's racecheck reports an error for shared memory", "races",
        "Let one lane store, or combine the values with an atomic operation.",
        "If any of the values is acceptable: lanes that hold copies of one sum, differently rounded, or that search "
        "for any match.",
        "racecheck reports an error for shared memory. It does not check global memory.",
    ),
    "race of equal bytes": Kind(
        "threads store the same bytes to the same address, and nothing orders the stores", "note",
        "PTX does not define which store is the last one, but the bytes are the same in any order; "
        "compute-sanitizer's racecheck reports nothing either", "races",
        "No fix is needed. An atomic operation, or a store by a single thread, would make the intention explicit.",
        "Wherever it is intended. Notes fail no test, so a silence only shortens the report.",
        "Nothing: racecheck does not report stores of equal values.",
    ),
    "missing wait": Kind(
        "data of an asynchronous copy or product is used before the wait for it", "error",
        "whether the data has arrived by then depends on timing", "synchronisation",
        "Wait, and count the groups: `wait_group N` leaves the last N committed groups pending. In a pipeline of three "
        "stages, N is 1 inside the loop and 0 after it. Data that other threads copied requires a barrier as well.",
        "Never: the data may not have arrived.",
        "racecheck reports an error or a warning if `cp.async` writes shared memory that is used too early. It reports "
        "nothing for the registers of a `wgmma` without a wait.",
    ),
    "mbarrier not initialised": Kind(
        "a thread or a copy uses an mbarrier that does not exist: before its initialisation or after its end; or the "
        "memory of a live one is initialised again, or used for something else", "error",
        "PTX does not define what such an instruction does, and the threads that wait may never continue",
        "synchronisation",
        "Let one thread execute `mbarrier.init` for each mbarrier, before all others: then "
        "`fence.mbarrier_init.release.cluster`, if other blocks use it, and `__syncthreads()`. Call `mbarrier.inval` "
        "before the memory is used for something else, or for another mbarrier.",
        "Never: the behaviour of the instruction is undefined.",
        "Not measured: no tool was run on such a kernel.",
    ),
    "over-arrival": Kind(
        "more threads arrive at an mbarrier than its phase expects, or threads arrive at a phase before any thread has "
        "waited for the one before it", "error",
        "a GPU stops the kernel if too few arrivals are pending (sm_90, driver 580.159.04, 2026-11-28), and phases "
        "complete before all threads have arrived",
        "synchronisation",
        "Initialise the mbarrier with the number of arrivals of a phase: 1 if one elected lane arrives, "
        "32 if each lane of a warp does, and one for each `mbarrier.arrive.expect_tx`. Or let only one lane arrive: "
        "`if (threadIdx.x % 32 == 0)`, `elect.sync`.",
        "Never: threads that wait continue too early.",
        "Not measured: no tool was run on such a kernel.",
    ),
    "transaction bytes": Kind(
        "a phase of an mbarrier expects another number of bytes than the copies deliver", "error",
        "the phase completes before its data has arrived, or never", "synchronisation",
        "Expect exactly the bytes that the copies of the phase deliver: all copies that name this mbarrier. For a "
        "tensor map, that is the whole box, including elements outside of the tensor.",
        "Never: the data may not have arrived, or a thread that waits never continues.",
        "Not measured: no tool was run on such a kernel.",
    ),
    "wrong parity": Kind(
        "a thread waits for the phase of an mbarrier before the one that it needs, which is over, so that the wait "
        "returns at once", "error",
        "the thread continues before the data that it waits for has arrived", "synchronisation",
        "The first phase has parity 0. Change the parity whenever the wait comes back to the same mbarrier: in a ring "
        "of `n` stages, in round `i / n`, it is `i / n % 2` for threads that wait for data, and the opposite for "
        "threads that wait for a free buffer.",
        "Never: the wait does not wait.",
        "Not measured: no tool was run on such a kernel.",
    ),
    "missing proxy fence": Kind(
        "an asynchronous copy or product reads or overwrites bytes that ordinary stores wrote, and no "
        "fence.proxy.async is between the two", "error",
        "ordinary accesses and asynchronous ones reach memory by different paths (proxies), which a barrier does not "
        "order: the copy or the product may read old bytes", "synchronisation",
        "`fence.proxy.async.shared::cta` (in CUTLASS `tma_store_fence()` or `fence_view_async_shared()`) in each "
        "thread that stores, after its stores and before the barrier that the copying thread waits for.",
        "Never: the copy or the product may read old bytes.",
        "Not measured: none of the tools was run on such a kernel.",
    ),
    "omitted proxy fence": Kind(
        "an asynchronous copy overwrites bytes that ordinary loads read, or an asynchronous operation reads bytes of "
        "cp.async, and no fence.proxy.async is between the two", "note",
        "PTX requires the fence, and the fence has repaired published kernels; but libraries omit it in pipelines "
        "whose stages are protected by mbarriers", "synchronisation",
        "`fence.proxy.async.shared::cta` in each thread that loads, before it tells the copying thread that the buffer "
        "is free; or in the copying thread, after it was told. After `cp.async`: in the threads that copy, after their "
        "wait.",
        "In pipelines of libraries. Notes fail no test.",
        "Not measured: none of the tools was run on such a kernel.",
    ),
    "stale tensor map": Kind(
        "a kernel changes a tensor map and uses it without the fences of the proxy that reads maps", "error",
        "the copy may use the old map, because the chip keeps copies of maps", "synchronisation",
        "After the last change: `tensormap.cp_fenceproxy`, or `fence.proxy.tensormap::generic.release.gpu` in the "
        "thread that changed the map. Before the copy: `fence.proxy.tensormap::generic.acquire.gpu [map], 128`, in the "
        "thread that copies.",
        "Never: the copy may use the old map.",
        "Not measured: none of the tools was run on such a kernel.",
    ),
    "copy by several lanes": Kind(
        "lanes of one warp issue the same bulk copy to shared memory, or the same reduction", "warning",
        "each lane issues a separate copy: the bytes arrive several times, an mbarrier counts each of them, and a "
        "reduction is done several times", "synchronisation",
        "Let one lane issue the copy: that of `elect.sync`, or `if (threadIdx.x == 0)`.",
        "If the barrier expects the bytes of all lanes.",
        "Not measured: none of the tools was run on such a kernel.",
    ),
    "copy in flight at the end": Kind(
        "a thread ends, and has not waited until its bulk copy has read shared memory", "note",
        "no manual states that a chip keeps shared memory until then; but DeepGEMM's kernels for Hopper are "
        "published in this form", "synchronisation",
        "`cp.async.bulk.commit_group` and `cp.async.bulk.wait_group.read 0` in the thread that issued the copy, before "
        "it ends.",
        "In code of libraries that is known to work. Notes fail no test.",
        "Not measured: none of the tools was run on such a kernel.",
    ),
    "load in flight at the end": Kind(
        "a block ends, and none of its threads has waited until a bulk copy has written its shared memory", "warning",
        "no manual states what the copy writes when the block, and with it its shared memory, no longer exists",
        "synchronisation",
        "Wait for the phase of each copy, or issue no copy whose data is not needed: a pipeline that loads ahead must "
        "not load beyond its last tile.",
        "If the copy is known to do no harm on all chips that run the kernel; prefer the wait.",
        "Not measured: none of the tools was run on such a kernel.",
    ),
    "barrier divergence": Kind(
        "some lanes of a warp reach a barrier for all threads, while other lanes bypass it", "error",
        "PTX does not define the behaviour of an aligned barrier in this case; compute-sanitizer's synccheck reports "
        "an error",
        "synchronisation",
        "Move the barrier out of the branch, and guard the code before and after it instead.",
        "Never: the behaviour of the barrier is undefined.",
        "synccheck reports an error: divergent thread(s) in warp.",
    ),
    "barriers at several instructions": Kind(
        "the threads of a block meet in a barrier for all threads at several instructions", "note",
        "PTX allows it for sm_70 and later, where a barrier counts threads, not instructions; the CUDA guide forbids "
        "it, and compute-sanitizer's synccheck reports it", "synchronisation",
        "Move the barrier out of the branch. If warps execute different code on purpose, leave it, or use a named "
        "barrier with a thread count.",
        "If warps execute different code on purpose. Notes fail no test.",
        "synccheck reports an error if whole warps wait at different `bar.sync` instructions: divergent thread(s) in "
        "block. It reports nothing for `barrier.sync`, which PTX allows in divergent code.",
    ),
    "deadlock": Kind(
        "every remaining thread waits for another thread", "error", "the kernel does not end", "",
        "Look for a barrier that counts threads which have exited, that requires more threads than reach it, or that "
        "two warps reach in different orders; and for a loop that waits for a value which no thread writes.",
        "Never: the launch has ended.",
        "Nothing: the kernel hangs with each of the tools, and without them. When lanes of a warp that also waits had "
        "exited, the chip released the others, and no tool reported anything.",
    ),
    "partial warp": Kind(
        "only some lanes of a warp reach an instruction that a whole warp must execute", "error",
        "PTX does not define the behaviour of the instruction in this case", "synchronisation",
        "Launch blocks of whole warps, keep matrix instructions out of branches that depend on the lane, and name in a "
        "membermask exactly the lanes that execute the instruction.",
        "Never: the behaviour of the instruction is undefined.",
        "memcheck reports an error for `ldmatrix` (a read by a partial warp) and for a `wgmma` of three warps, where "
        "the chip stops. No tool reports anything for `mma` and `movmatrix`. A shuffle whose lanes wait at a barrier "
        "hangs.",
    ),
    "illegal metadata": Kind(
        "sparsity metadata that the manual forbids", "error", "the product is undefined", "synchronisation",
        "Name two different columns of every group of four, the smaller one first.",
        "Never: the product is undefined.",
        "Nothing: none of the tools checks the metadata.",
    ),
    "illegal operand": Kind(
        "an operand with a value that the manual forbids: a membermask, a barrier number, a descriptor", "error",
        "the behaviour of the instruction is undefined, and some chips stop the kernel", "synchronisation",
        "The message names the value and, in most cases, the legal ones. For the mask of a shuffle, name the lanes "
        "that execute it: `0xffffffff` outside branches.",
        "Never: the behaviour of the instruction is undefined.",
        "synccheck reports an error for the membermask of `__syncwarp()`, and for that of `redux` if the chip stops: "
        "invalid arguments. No tool reports anything for the masks of shuffles, votes and `match`.",
    ),
    "trap": Kind(
        "the kernel stopped itself, by a trap or a failed assertion", "error",
        "the kernel itself reports an error", "",
        "The message contains the text of the assertion, with its function and line. Fix the cause, or the assertion.",
        "Never: the launch has ended.",
        "memcheck reports an error, with the threads that stopped the kernel.",
    ),
}  # fmt: skip
"""Every kind of finding."""

WORSE = {
    "race within a warp": ("race",),
    "lanes store to one place": ("race", "race within a warp"),
    "race of equal bytes": ("race",),
}  # fmt: skip
"""The kinds that replace a weaker kind with the same cause at the same lines."""

TITLES = {
    "out of bounds": ("out of bounds", "of"),
    "misaligned": ("misaligned access", "to"),
    "uninitialised": ("uninitialised value", "of"),
    "partly uninitialised": ("partly uninitialised value", "of"),
    "read-only": ("write to read-only memory", "of"),
}
"""The start of a finding's title and the word before a variable, if they differ from the kind and "on"."""
