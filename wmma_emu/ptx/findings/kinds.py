# SPDX-License-Identifier: MIT
"""What can be wrong with a kernel: the kinds of findings, how bad each is, and which check looks for it. Rows only."""

from typing import NamedTuple

from wmma_emu.renamed import warn_renamed

SEVERITIES = {
    "error": "the kernel is wrong: on some run, or on some chip, it gives wrong results or does not end",
    "warning": "the kernel may be wrong: it depends on what the check cannot see",
    "note": "the kernel is right on the chips that are modelled, and somebody may want to know",
}
"""How bad a finding is, the worst first."""

CHECKS = {
    "memory": "addresses: bounds, alignment, what may only be read (the access is left out in any case)",
    "undefined": "values that nobody wrote, from where they are read to where they matter",
    "races": "accesses of several threads to one place that nothing orders",
    "synchronisation": "barriers, waits, membermasks, and what instructions of whole warps need",
}
"""What a launch looks for; each can be switched off, which saves its time."""

SANITIZER = "compute-sanitizer 2025.3.1 on an NVIDIA H200, 2026-11-23"
"""What the table says of compute-sanitizer was seen with: its memcheck, racecheck, synccheck and initcheck."""


class Kind(NamedTuple):
    """A kind of finding.

    ``says`` is what a finding of this kind means, ``severity`` one of `SEVERITIES` and ``reason`` why it is that one;
    ``check`` the one of `CHECKS` that looks for it, "" where it is what ends a launch and is said in any case. ``mend``
    is what mends the kernel, ``silence`` when a finding may be silenced ("Never" and why, where it may not), and
    ``sanitizer`` what NVIDIA's compute-sanitizer says of such a kernel.
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
        """Whether a kernel with such a finding may be right as it is."""
        return not self.silence.startswith("Never")

    @property
    def mend(self) -> str:
        """The old name of ``fix``."""
        warn_renamed("Kind.mend", "Kind.fix")
        return self.fix


KINDS = {
    "out of bounds": Kind(
        "an access outside of every allocation, or of the space's memory", "error",
        "a GPU stops the kernel, or the access reaches memory that belongs to something else", "memory",
        "Check the bound of the index (`i < n`, where `n` counts elements and not bytes), and the tail where threads "
        "access vectors. For dynamic shared memory, name enough bytes at the launch: `module[kernel][grid, block, "
        "bytes]`.",
        "Never: no kernel may do it. An array that is larger than it says goes to the launch whole, not as a slice.",
        "Its memcheck reports an error for global memory, and for shared memory beyond what the block has. It said "
        "nothing of some accesses that leave their array and stay in shared or local memory, nor of constant memory.",
    ),
    "misaligned": Kind(
        "an address that is no multiple of what the instruction needs", "error", "a GPU stops the kernel", "memory",
        "Write `__align__(16)` before shared arrays that `float4`, `cp.async` or `ldmatrix` access, and pad rows to "
        "whole vectors. `wmma::load_matrix_sync` needs a pointer that is a multiple of 32 bytes.",
        "Never: a GPU stops the kernel.",
        "Its memcheck reports an error, and the kernel stops. It said nothing of a tile for `wmma.load` that begins at "
        "a multiple of 16 bytes, nor of a vector in local memory that begins at a multiple of 8.",
    ),
    "uninitialised": Kind(
        "a value that nobody wrote is used", "error",
        "the result depends on what the memory or the register held before", "undefined",
        "Set accumulators and the borders of tiles to zero, and write in each branch what is read behind it. For the "
        "mask of a shuffle, take the lanes that execute it, and let no lane use what it read from another one.",
        "Where the value cannot change any result, and this cannot be seen from the data flow: the reason should say "
        "why. An array that another library wrote is better marked, with `x.mark_written()`.",
        "Its initcheck looks at global memory alone, and reports what was allocated on the GPU and read before anybody "
        "wrote it. No tool of it looks at shared memory, local memory or registers.",
    ),
    "partly uninitialised": Kind(
        "an element is stored of which nobody wrote some bytes", "warning",
        "the bytes may be the padding of a structure, which nobody reads, or one that was forgotten", "undefined",
        "Look at which bytes they are. Write them, if somebody reads them.",
        "Where the bytes are the padding of a structure: the reason should name the structure.",
        "Nothing: no tool of it looks at shared memory, local memory or registers.",
    ),
    "read-only": Kind(
        "a write to memory that may only be read", "error",
        "a GPU stops the kernel, or an array that was said to be an input changes", "memory",
        "Store to the output, or leave the array writable (`x.flags.writeable = True`) if the kernel is meant to "
        "change it.",
        "Never: an array that the kernel may change should not be given as read-only.",
        "Nothing: a GPU knows no read-only arrays, and the four tools said nothing of a write to constant memory "
        "through a pointer either.",
    ),
    "race": Kind(
        "threads of different warps access the same bytes, one of them writes, and nothing orders the two", "error",
        "the order is undefined, and so is the result", "races",
        "Between threads of a block: `__syncthreads()` between the two, and in a loop a second one before the next "
        "round overwrites what was read. Between blocks: a flag or an atomic operation with `__threadfence()` on both "
        "sides, or a second launch. Where all of them change one value (`bins[x[i]] += 1`): an atomic operation.",
        "Where every order gives the same result, and the compiler cannot make anything else of the kernel: the reason "
        "should say why the order does not matter.",
        "Its racecheck reports an error in shared memory. It does not look at global memory, and says nothing of races "
        "there.",
    ),
    "race of an unused value": Kind(
        "a load and a store of threads of different warps race, and nothing depends on the value that is loaded",
        "warning",
        "the memory model calls it a race, and so may compute-sanitizer; but the launch was run once more with "
        "undefined bits in place of what these loads give, and none of them was used", "races",
        "In CUDA C++, leave the load out where its value is not needed, or put a barrier between the two. In what a "
        "compiler wrote, such as Triton, there is nothing to mend.",
        "Where a compiler lets several warps load what one of them stores, or a pipeline fetches a stage more than it "
        "uses.",
        "Nothing of such a race in global memory: its racecheck looks at shared memory alone.",
    ),
    "race within a warp": Kind(
        "lanes of one warp access the same bytes, one of them writes, and no __syncwarp() is between", "warning",
        "PTX orders nothing here; chips execute lanes of a warp that go the same way in step, and compute-sanitizer's "
        "racecheck calls it a warning", "races",
        "Write `__syncwarp()` between the two, or `__syncthreads()`. Shuffles and votes wait for lanes, but order no "
        "memory.",
        "In code of others that is known to run on chips whose lanes go in step there. In code of your own, write the "
        "`__syncwarp()`.",
        "Its racecheck reports a warning in shared memory, and an error where one instruction stores different values "
        "to the same bytes. It does not look at global memory.",
    ),
    "lanes store to one place": Kind(
        "lanes of one warp store different bytes to one place in one instruction", "warning",
        "PTX does not define which of them stays; compilers let all lanes that hold copies of a sum store it, "
        "differently rounded, and an NVIDIA H200 keeps the one of the lowest lane of the last 128 bytes (2026-11-23); "
        "compute-sanitizer's racecheck calls it an error in shared memory", "races",
        "Let one lane store, or combine the values with an atomic operation.",
        "Where any of the values will do: lanes that hold copies of one sum, differently rounded, or that search for "
        "any match.",
        "Its racecheck reports an error in shared memory. It does not look at global memory.",
    ),
    "race of equal bytes": Kind(
        "threads store the same bytes to the same place, and nothing orders the stores", "note",
        "PTX does not define which store is the last one, and the bytes are the same whichever it is; "
        "compute-sanitizer's racecheck says nothing either", "races",
        "Nothing has to be mended. An atomic operation, or a store by one thread alone, says what is meant.",
        "Wherever it is meant. It is a note, which fails no test, so that a silence only keeps the report short.",
        "Nothing: its racecheck is silent where the values are equal.",
    ),
    "missing wait": Kind(
        "data of an asynchronous copy or product is used before it is waited for", "error",
        "whether the data has arrived by then is a matter of timing", "synchronisation",
        "Wait, and count the groups: `wait_group N` leaves the last N committed groups under way. In a pipeline of "
        "three stages N is 1 where the loop reads, and 0 behind it. What other threads copied needs a barrier, too.",
        "Never: the data may not have arrived.",
        "Its racecheck reports an error or a warning where `cp.async` writes shared memory that is used too early. It "
        "says nothing of the registers of a `wgmma` that was not waited for.",
    ),
    "barrier divergence": Kind(
        "a barrier of all threads is met by some lanes of a warp, while others go around it", "error",
        "PTX does not define what an aligned barrier does then; compute-sanitizer's synccheck calls it an error",
        "synchronisation",
        "Move the barrier out of the branch, and guard what is before and behind it instead.",
        "Never: what the barrier does is undefined.",
        "Its synccheck reports an error: divergent thread(s) in warp.",
    ),
    "barriers at several instructions": Kind(
        "the threads of a block meet a barrier of all threads at several instructions", "note",
        "PTX allows it on chips from sm_70 on, where a barrier counts threads and not instructions; the CUDA guide "
        "forbids it, and compute-sanitizer's synccheck says so", "synchronisation",
        "Move the barrier out of the branch. Where warps have parts of their own on purpose, leave it, or use a named "
        "barrier with a number of threads.",
        "Where warps have parts of their own on purpose. It is a note, which fails no test.",
        "Its synccheck reports an error where whole warps meet different `bar.sync` instructions: divergent thread(s) "
        "in block. Of `barrier.sync`, which PTX allows in diverging code, it says nothing.",
    ),
    "deadlock": Kind(
        "every thread that is left waits for another", "error", "the kernel does not end", "",
        "Look for a barrier that counts threads which have exited, that asks for more threads than come, or that two "
        "warps meet in different orders.",
        "Never: the launch has ended.",
        "Nothing: the kernel hangs under each of its tools, as it does without them. Where lanes of a warp "
        "that also waits had exited, the chip let the others go, and no tool said anything.",
    ),
    "partial warp": Kind(
        "an instruction of a whole warp is reached by some of its lanes", "error",
        "PTX does not define what the instruction does then", "synchronisation",
        "Launch blocks of whole warps, keep matrix instructions out of branches on the lane, and name in a membermask "
        "the lanes that do come.",
        "Never: what the instruction does is undefined.",
        "Its memcheck reports an error for `ldmatrix` (a read by a partial warp) and for a `wgmma` of three warps, "
        "where the chip stops. No tool says anything of `mma` and `movmatrix`. A shuffle whose lanes wait at a barrier "
        "hangs.",
    ),
    "illegal metadata": Kind(
        "sparsity metadata that the manual forbids", "error", "the product is undefined", "synchronisation",
        "Name two different columns of every group of four, the smaller one first.",
        "Never: the product is undefined.",
        "Nothing: no tool of it looks at the metadata.",
    ),
    "illegal operand": Kind(
        "an operand whose value the manual forbids: a membermask, a barrier's number, a descriptor", "error",
        "what the instruction does is undefined, and some chips stop the kernel", "synchronisation",
        "The message says which value it is, and mostly which would be legal. For the mask of a shuffle, take the "
        "lanes that execute it: `0xffffffff` outside of branches.",
        "Never: what the instruction does is undefined.",
        "Its synccheck reports an error for the membermask of `__syncwarp()`, and of `redux` where the chip stops: "
        "invalid arguments. No tool says anything of the masks of shuffles, votes and `match`.",
    ),
    "trap": Kind(
        "the kernel stopped itself: by a trap, or by an assertion that failed", "error",
        "the kernel itself says that it went wrong", "",
        "The message has the text of the assertion, with function and line. Mend what it asks for, or the assertion.",
        "Never: the launch has ended.",
        "Its memcheck reports an error, with the threads that stopped the kernel.",
    ),
}  # fmt: skip
"""Every kind of finding."""

WORSE = {
    "race within a warp": ("race",),
    "lanes store to one place": ("race", "race within a warp"),
    "race of equal bytes": ("race",),
}  # fmt: skip
"""Kinds that say less of the same lines than others do, and come from the same cause."""

TITLES = {
    "out of bounds": ("out of bounds", "of"),
    "misaligned": ("misaligned access", "to"),
    "uninitialised": ("uninitialised value", "of"),
    "partly uninitialised": ("partly uninitialised value", "of"),
    "read-only": ("write to read-only memory", "of"),
}
"""How the title of a finding begins, and the word before a variable, where that is not the kind and "on"."""
