# SPDX-License-Identifier: MIT
"""Instructions of a fragment of `mma.h`: ``wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>``."""

import re

from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.formats.names import formats_called
from wmma_emu.instructions.spec import Instruction, Operand
from wmma_emu.instructions.table import INSTRUCTIONS

FRAGMENT = re.compile(r"\bfragment\s*<(?P<arguments>.*)", re.DOTALL)
"""A fragment's type, or its beginning, in a line of C++."""

_USES: dict[str, Operand] = {"matrix_a": "a", "matrix_b": "b", "accumulator": "d"}
_STORED = {"row_major": "row", "col_major": "col"}
_FORM = "wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>"


def fragment_meaning(text: str) -> tuple[tuple[Instruction, ...], Operand]:
    """Find the instructions that use a fragment, and its operand; an accumulator is C and D, named ``"d"``.

    Examples
    --------
    >>> found, operand = fragment_meaning("fragment<matrix_b, 16, 16, 8, precision::tf32, col_major>")
    >>> print(found[0], operand)
    wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 b
    """
    found = FRAGMENT.search(text)
    given = found["arguments"] if found else text
    words = [_bare(x) for x in given.split(">")[0].split(",")]
    if len(words) < 5 or words[0] not in _USES or not all(x.isdecimal() for x in words[1:4]):
        raise UnsupportedInstructionError(
            f"{shorten(text)} does not have the use, m, n, k and type of a fragment; write it as {_FORM}. Uses are "
            f"{', '.join(_USES)}"
        )
    operand, formats, shape = _USES[words[0]], formats_called(words[4]), "m{}n{}k{}".format(*words[1:4])
    stored = _STORED.get(words[5], words[5]) if len(words) > 5 else ""
    if stored and (operand == "d" or stored not in _STORED.values()):
        raise UnsupportedInstructionError(
            f"{shorten(text)}: {shorten(words[5])} is not a memory layout"
            + (" of an accumulator, which has none" if operand == "d" else "; layouts are row_major and col_major")
        )
    entries = [entry for entry in INSTRUCTIONS.values() if entry.family == "wmma.mma" and entry.shape == shape]
    having = [entry for entry in entries if getattr(entry, operand) in formats]
    taking = [entry for entry in having if not stored or getattr(entry, f"{operand}_layout") == stored]
    if not taking:
        raise UnsupportedInstructionError(f"{shorten(text)}: {_lack(entries, having, operand, shape, words[4])}")
    return tuple(sorted(taking, key=lambda entry: _plainness(entry, operand))), operand


def _bare(word: str) -> str:
    """Drop namespaces and keywords from a template argument."""
    plain = " ".join(word.split()).removeprefix("const ")
    return plain if "precision::" in plain else plain.rsplit("::", 1)[-1]


def _plainness(instruction: Instruction, operand: Operand) -> tuple[int, ...]:
    """Order instructions: the usual layouts and accumulators first, without modifiers."""
    others = (instruction.a_layout != "row") + (instruction.b_layout != "col")
    return (
        instruction.c != instruction.d,
        instruction.d == "f16" and operand != "d",
        bool(instruction.modifiers),
        others,
    )


def _lack(entries: list[Instruction], having: list[Instruction], operand: Operand, shape: str, written: str) -> str:
    if not entries:
        shapes = dict.fromkeys(entry.shape for entry in INSTRUCTIONS.values() if entry.family == "wmma.mma")
        return f"WMMA has no {shape}; it has {', '.join(shapes)}"
    if having:
        layouts = dict.fromkeys(getattr(entry, f"{operand}_layout") for entry in having)
        return f"{shape} of {written} accepts only {', '.join(f'{x}_major' for x in layouts)}"
    formats = dict.fromkeys(getattr(entry, operand) for entry in entries)
    return f"{shape} has no {written} for this operand; it has {', '.join(formats)}"
