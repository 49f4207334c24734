# SPDX-License-Identifier: MIT
"""Which kernels cannot be run for what they call, or for what their variables hold."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from wmma_emu.ptx.program.faults import shown
from wmma_emu.ptx.program.linked import Callee
from wmma_emu.ptx.program.program import Missing, Symbol
from wmma_emu.ptx.program.variables import Relocation


def recursions(functions: list[Callee]) -> Iterator[Missing]:
    """Find the calls of functions that are running, over however many others: each has one frame."""
    callees = {x.function.name: x for x in functions}
    finished: dict[str, bool] = {}
    for function in functions:
        path = [(function.function.name, iter(function.calls))] if function.function.name not in finished else []
        finished.setdefault(function.function.name, False)
        while path:
            name, calls = path[-1]
            for called, text in calls:
                if called not in finished:
                    finished[called] = False
                    path.append((called, iter(callees[called].calls)))
                    break
                if not finished[called]:
                    opcode = ".".join((text.mnemonic, *text.modifiers))
                    reason = f"recursion: {shown(called)} is called while it runs, which is not supported"
                    yield Missing(opcode, text.line, reason)
            else:
                finished[name] = True
                path.pop()


def reaching(
    refused: dict[Symbol, Missing], symbols: Iterable[Symbol], relocations: Iterable[tuple[str, Relocation]]
) -> dict[Symbol, Missing]:
    """Find the variables that are refused, and those whose initial values lead to one of them.

    ``symbols`` are all variables, those of a space in the order of their places, and ``relocations`` the addresses in
    initial values, with the space that holds them.
    """
    if not refused:
        return {}
    by_space: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_space.setdefault(symbol.space, []).append(symbol)
    offsets = {space: [x.offset for x in found] for space, found in by_space.items()}
    holders: dict[Symbol, list[Symbol]] = {}
    for space, (offset, meant, _, _) in relocations:
        holders.setdefault(meant, []).append(by_space[space][bisect_right(offsets[space], offset) - 1])
    found, waiting = dict(refused), list(refused)
    for symbol in waiting:
        for holder in holders.get(symbol, ()):
            if holder not in found:
                found[holder] = found[symbol]
                waiting.append(holder)
    return found
