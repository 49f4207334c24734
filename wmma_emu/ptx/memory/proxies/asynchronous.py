# SPDX-License-Identifier: MIT
"""Which instructions access memory through the asynchronous proxy, and what a program has of them."""

from collections.abc import Iterable
from typing import NamedTuple

from wmma_emu.ptx.program.program import PtxInstruction

_FENCED = {"shared": ("shared::cta", "shared::cluster"), "global": ("global",)}


def is_asynchronous(instruction: PtxInstruction) -> bool:
    """Return whether an instruction accesses memory through the asynchronous proxy.

    These are bulk copies and reductions, and wgmma's reads of shared memory (PTX ISA 9.1, Async proxy).

    Examples
    --------
    >>> store = PtxInstruction("st.b32", "st", ("b32",), (), None, 1, 1)
    >>> copy = PtxInstruction("cp.async.bulk.global.shared::cta", "cp", ("async", "bulk"), (), None, 2, 1)
    >>> is_asynchronous(store), is_asynchronous(copy)
    (False, True)
    """
    kind = instruction.modifiers
    return ("bulk" if instruction.mnemonic == "cp" else "mma_async") in kind and instruction.mnemonic in ("cp", "wgmma")


def fenced_spaces(instruction: PtxInstruction) -> tuple[str, ...]:
    """Return the spaces that a ``fence.proxy.async`` concerns; none for other fences.

    Examples
    --------
    >>> words = ("proxy", "async", "global")
    >>> fenced_spaces(PtxInstruction("fence.proxy.async.global", "fence", words, (), None, 1, 1))
    ('global',)
    >>> fenced_spaces(PtxInstruction("fence.proxy.async", "fence", words[:2], (), None, 1, 1))
    ('shared', 'global')
    """
    kind = instruction.modifiers
    if "proxy" not in kind or not any(x in kind for x in ("async", "async::generic")):
        return ()
    named = tuple(space for space, words in _FENCED.items() if any(x.endswith(y) for x in kind for y in words))
    return named or tuple(_FENCED)


class UsedProxies(NamedTuple):
    """The uses of the asynchronous proxy in a program: copies to shared memory, by maps, and to global memory."""

    loads: bool
    maps: bool
    stores: bool

    @classmethod
    def of(cls, instructions: Iterable[PtxInstruction]) -> "UsedProxies | None":
        """Return what a program uses; None if it accesses memory through the generic proxy only."""
        found = [x.modifiers for x in instructions if is_asynchronous(x)]
        if not found:
            return None
        words = "mbarrier::complete_tx::bytes", "tensor", "bulk_group"
        return cls(*(any(word in x for x in found) for word in words))
