# SPDX-License-Identifier: MIT
"""Descriptions of PTX lines whose instructions are fused, folded, missing, or not bit-exact."""

from collections.abc import Sequence

from wmma_emu.ptx.program.program import Missing, NotBitExact

_LINES_SHOWN = 10


def contracted_text(lines: Sequence[int], contraction: str) -> str:
    """Describe the fused products, and the method that decided about them."""
    return f"{len(lines)} product{'s' * (len(lines) != 1)}, {lines_text(lines)}; {contraction}"


def folded_text(lines: Sequence[int]) -> str:
    """Describe the functions and quotients of constants that were evaluated."""
    return f"{len(lines)} of constants, {lines_text(lines)}"


def grouped(entries: Sequence[Missing | NotBitExact]) -> tuple[str, ...]:
    """Describe missing or inexact instructions, once for each opcode and reason, with their lines.

    Examples
    --------
    >>> grouped([NotBitExact("ex2.approx.f32", line, "on sm_80 it was not proved") for line in (7, 9)])
    ('lines 7, 9: ex2.approx.f32: on sm_80 it was not proved',)
    """
    lines: dict[tuple[str, str], list[int]] = {}
    for opcode, line, reason in entries:
        text = reason.splitlines()[0].removeprefix(f"line {line}: ") if reason else ""
        lines.setdefault((opcode, text), []).append(line)
    return tuple(
        f"{lines_text(numbers)}: {text if opcode in text else f'{opcode}: {text}'}"
        for (opcode, text), numbers in lines.items()
    )


def lines_text(numbers: Sequence[int]) -> str:
    """Return some line numbers as text; only the first ones if there are many."""
    more = f" and {len(numbers) - _LINES_SHOWN} more" if len(numbers) > _LINES_SHOWN else ""
    return f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_LINES_SHOWN]))}{more}"
