# SPDX-License-Identifier: MIT
"""The ordering of an access or a fence, from its modifiers: whether it acquires or releases, and its scope."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from wmma_emu.ptx.program.program import PtxInstruction

_BOTH = ("acq_rel", "seq_cst", "sc")
_WIDE = ("gpu", "gl", "sys")
_ATOMIC = ("atom", "red")
_ACCESSES, _FENCES, _BARRIERS = ("ld", "st", *_ATOMIC), ("membar", "fence"), ("mbarrier", "barrier")


class Ordering(NamedTuple):
    """The ordering of an operation.

    ``strong`` is False for weak accesses, which order nothing. ``wide`` is whether the scope reaches beyond the block:
    ``.gpu`` and ``.sys``. ``.cta`` does not; ``.cluster`` does not either, since clusters consist of one block in this
    emulator. ``reads`` is False for ``red``, which returns nothing to its thread.
    """

    strong: bool
    acquires: bool
    releases: bool
    wide: bool
    reads: bool = True


@lru_cache(maxsize=4096)
def ordering_of(mnemonic: str, modifiers: tuple[str, ...]) -> Ordering:
    """Return the ordering of ``ld``, ``st``, ``atom`` or ``red``.

    ``volatile`` and ``mmio`` are ``relaxed.sys``; ``atom`` and ``red`` are ``relaxed.gpu`` by default (PTX ISA 9.1: ld,
    st, atom, red).

    Examples
    --------
    >>> ordering_of("ld", ("global", "u32")).strong, ordering_of("ld", ("volatile", "global", "u32"))
    (False, Ordering(strong=True, acquires=False, releases=False, wide=True, reads=True))
    >>> ordering_of("atom", ("add", "release", "cta", "global", "u32"))
    Ordering(strong=True, acquires=False, releases=True, wide=False, reads=True)
    """
    words = set(modifiers)
    both = not words.isdisjoint(_BOTH)
    strong = both or mnemonic in _ATOMIC or not words.isdisjoint(("relaxed", "acquire", "release", "volatile", "mmio"))
    unsaid = words.isdisjoint(("cta", "cluster"))
    return Ordering(strong, both or "acquire" in words, both or "release" in words, unsaid, mnemonic != "red")


def fence_of(instruction: PtxInstruction) -> Ordering | None:
    """Return the ordering of ``fence`` or ``membar``; None if it orders no accesses of different threads.

    Examples
    --------
    >>> fence_of(PtxInstruction("fence.acq_rel.gpu", "fence", ("acq_rel", "gpu"), (), None, 1, 1))
    Ordering(strong=True, acquires=True, releases=True, wide=True, reads=True)
    >>> fence_of(PtxInstruction("fence.proxy.async", "fence", ("proxy", "async"), (), None, 1, 1)) is None
    True
    """
    words = set(instruction.modifiers)
    if any(x.startswith("proxy") for x in words):
        return None
    wide = not words.isdisjoint(_WIDE)
    if instruction.mnemonic == "membar":
        return Ordering(True, True, True, wide)
    one_way = words & {"acquire", "release"}
    return Ordering(True, one_way != {"release"}, one_way != {"acquire"}, wide)


def synchronises_through_memory(instructions: Sequence[PtxInstruction]) -> bool:
    """Return whether threads can synchronise by strong accesses or fences, rather than by barriers alone.

    Examples
    --------
    >>> load = PtxInstruction("ld.acquire.gpu.u32", "ld", ("acquire", "gpu", "u32"), (), None, 1, 1)
    >>> store = PtxInstruction("st.release.gpu.u32", "st", ("release", "gpu", "u32"), (), None, 2, 1)
    >>> synchronises_through_memory([load]), synchronises_through_memory([load, store])
    (False, True)
    """
    fences = [found for x in instructions if x.mnemonic in _FENCES and (found := fence_of(x)) is not None]
    strong = [
        (x.mnemonic, found) for x in instructions
        if x.mnemonic in _ACCESSES and (found := ordering_of(x.mnemonic, x.modifiers)).strong
    ]  # fmt: skip
    writes = [found for mnemonic, found in strong if mnemonic != "ld"]
    reads = any(mnemonic in ("ld", "atom") for mnemonic, _ in strong)
    relaxed = [x for x in instructions if x.mnemonic in _BARRIERS and "relaxed" in x.modifiers]
    is_fenced = any(x.releases for x in fences)
    is_released = any(x.releases for x in writes) or (bool(writes) and is_fenced)
    told_at_fence = is_fenced and any(not _is_wait(x) for x in relaxed)
    seen_by_fence = any(x.acquires for x in fences) and any(_is_wait(x) for x in relaxed)
    return (is_released and reads) or told_at_fence or seen_by_fence


def _is_wait(instruction: PtxInstruction) -> bool:
    return not {"wait", "test_wait", "try_wait"}.isdisjoint(instruction.modifiers)
