# SPDX-License-Identifier: MIT
"""The statements of a kernel whose late completion changes its results."""

from collections.abc import Callable, Sequence

from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction

_MOST_NAMED = 3
_WAITS = {"commit_group", "wait_group", "wait_all", "prefetch"}


def is_asynchronous(instruction: PtxInstruction) -> bool:
    """Return whether an instruction begins an asynchronous operation that moves data."""
    kind = instruction.modifiers
    if instruction.mnemonic == "wgmma":
        return "mma_async" in kind
    if "async" not in kind:
        return False
    return instruction.mnemonic in ("st", "red") or (instruction.mnemonic == "cp" and _WAITS.isdisjoint(kind))


def asynchronous_lines(program: KernelProgram) -> list[int]:
    """Return the lines of the PTX with asynchronous operations that move data."""
    return sorted({x.line for x in program.instructions if is_asynchronous(x)})


def narrowed(lines: Sequence[int], differs: Callable[[Sequence[int]], bool]) -> Sequence[int]:
    """Return a part of some lines for which ``differs`` still holds: one line, if its delay alone is sufficient.

    Examples
    --------
    >>> narrowed([3, 5, 8, 9], lambda lines: 8 in lines), narrowed([3, 5, 8], lambda lines: {3, 8} <= set(lines))
    ([8], [3, 5, 8])
    """
    while len(lines) > 1:
        middle = len(lines) // 2
        part = next((x for x in (lines[:middle], lines[middle:]) if differs(x)), None)
        if part is None:
            break
        lines = part
    return lines


def named(program: KernelProgram, lines: Sequence[int]) -> str:
    """Return the end of a message that names the statements."""
    shown = [f"line {x} of the PTX ({program.text(x)})" for x in lines[:_MOST_NAMED]]
    more = f" and {len(lines) - _MOST_NAMED} more" if len(lines) > _MOST_NAMED else ""
    one = "The operation that changes it when it is late: " if len(lines) == 1 else "Operations that change it: "
    return f". {one}{', '.join(shown)}{more}"
