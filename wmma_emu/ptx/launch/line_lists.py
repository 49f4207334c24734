# SPDX-License-Identifier: MIT
"""Lines of the PTX with what is said of them: what is fused, evaluated beforehand, missing, or not bit-exact."""

from collections.abc import Sequence

from wmma_emu.ptx.program.program import Missing, NotBitExact

_LINES_SHOWN = 10


def contracted_text(lines: Sequence[int], contraction: str) -> str:
    """Say which products were fused, and who decided it."""
    return f"{len(lines)} product{'s' * (len(lines) != 1)}, {lines_text(lines)}; {contraction}"


def folded_text(lines: Sequence[int]) -> str:
    """Say which functions and quotients of constants were evaluated."""
    return f"{len(lines)} of constants, {lines_text(lines)}"


def grouped(entries: Sequence[Missing | NotBitExact]) -> tuple[str, ...]:
    """Say what is missing, or not bit-exact: once for each opcode and reason, with its lines.

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
    """Name some lines of the text, the first of them if there are many."""
    more = f" and {len(numbers) - _LINES_SHOWN} more" if len(numbers) > _LINES_SHOWN else ""
    return f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_LINES_SHOWN]))}{more}"
