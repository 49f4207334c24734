# SPDX-License-Identifier: MIT
"""What can be wrong with a kernel: the kinds of findings, how bad each is, and which check looks for it. Rows only."""

from typing import NamedTuple

__all__ = ["CHECKS", "KINDS", "SEVERITIES", "Kind"]

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


class Kind(NamedTuple):
    """A kind of finding.

    ``says`` is what a finding of this kind means, ``severity`` one of `SEVERITIES` and ``reason`` why it is that one;
    ``check`` the one of `CHECKS` that looks for it, "" where it is what ends a launch and is said in any case.
    """

    says: str
    severity: str
    reason: str
    check: str


KINDS = {
    "out of bounds": Kind(
        "an access outside of every allocation, or of the space's memory", "error",
        "a GPU stops the kernel, or the access meets memory of somebody else", "memory",
    ),
    "misaligned": Kind(
        "an address that is no multiple of what the instruction needs", "error", "a GPU stops the kernel", "memory"
    ),
    "uninitialised": Kind(
        "a value that nobody wrote is used", "error", "the result is what the memory held before", "undefined"
    ),
    "partly uninitialised": Kind(
        "an element is stored of which nobody wrote some bytes", "warning",
        "the bytes may be the padding of a structure, which nobody reads, or one that was forgotten", "undefined",
    ),
    "read-only": Kind(
        "a write to memory that may only be read", "error",
        "a GPU stops the kernel, or an array changes that was said to be an input", "memory",
    ),
    "race": Kind(
        "threads of different warps access the same bytes, one of them writes, and nothing orders the two", "error",
        "which of them comes first is left open, and the result with it", "races",
    ),
    "race of an unused value": Kind(
        "a load and a store of threads of different warps race, and nothing depends on the value that is loaded",
        "warning",
        "the memory model calls it a race, and so may compute-sanitizer; but the launch was run once more with "
        "undefined bits in place of what these loads give, and none of them was used", "races",
    ),
    "race within a warp": Kind(
        "lanes of one warp access the same bytes, one of them writes, and no __syncwarp() is between", "warning",
        "PTX orders nothing here; chips execute lanes of a warp that go the same way in step, and compute-sanitizer's "
        "racecheck calls it a warning", "races",
    ),
    "lanes store to one place": Kind(
        "lanes of one warp store different bytes to one place in one instruction", "warning",
        "PTX leaves open which of them stays; compilers let all lanes that hold copies of a sum store it, differently "
        "rounded, and an NVIDIA H200 keeps the one of the lowest lane of the last 128 bytes (2026-11-23); "
        "compute-sanitizer's racecheck calls it an error in shared memory", "races",
    ),
    "race of equal bytes": Kind(
        "threads store the same bytes to the same place, and nothing orders the stores", "note",
        "PTX leaves open which store is the last one, and the bytes are the same whichever it is; compute-sanitizer's "
        "racecheck says nothing either", "races",
    ),
    "missing wait": Kind(
        "data of an asynchronous copy or product is used before it is waited for", "error",
        "whether the data is there depends on how fast it comes", "synchronisation",
    ),
    "barrier divergence": Kind(
        "a barrier of all threads is met by some lanes of a warp, while others go around it", "error",
        "PTX leaves open what an aligned barrier does then; compute-sanitizer's synccheck calls it an error",
        "synchronisation",
    ),
    "barriers at several instructions": Kind(
        "the threads of a block meet a barrier of all threads at several instructions", "note",
        "PTX allows it on chips from sm_70 on, where a barrier counts threads and not instructions; the CUDA guide "
        "forbids it, and compute-sanitizer's synccheck says so", "synchronisation",
    ),
    "deadlock": Kind(
        "every thread that is left waits for another", "error", "the kernel does not end", ""
    ),
    "partial warp": Kind(
        "an instruction of a whole warp is reached by some of its lanes", "error",
        "PTX leaves open what the instruction does then", "synchronisation",
    ),
    "illegal metadata": Kind(
        "sparsity metadata that the manual forbids", "error", "the product is undefined", "synchronisation"
    ),
    "illegal operand": Kind(
        "an operand whose value the manual forbids: a membermask, a barrier's number, a descriptor", "error",
        "what the instruction does is undefined, and some chips stop the kernel", "synchronisation",
    ),
    "trap": Kind("the kernel gave up: trap, or an assertion", "error", "the kernel itself says that it went wrong", ""),
}  # fmt: skip
"""Every kind of finding."""
