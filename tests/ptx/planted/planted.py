# SPDX-License-Identifier: MIT
"""Planted bugs: the kernel, its launch, the expected finding, and the instruction.

Every kernel is compiled twice: as it is, with one bug, whose line names the kind after an arrow (``// <- race``), and
with the macro FIXED, without it. The committed PTX is in compiled/; `tools.build_planted_ptx` generates it.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).parent

TARGETS = {"warpgroups": "sm_90a", "idioms": "sm_90", "phases": "sm_90"}
"""The chips of the files; sm_80 by default."""


class Planted(NamedTuple):
    """A kernel with one bug: the finding's kind, the start of the opcode, and a launch that exhibits it."""

    kind: str
    opcode: str
    file: str
    kernel: str
    block: int
    arguments: Callable[[], tuple[Any, ...]]
    grid: int = 1
    shared: int = 0
    severity: str = "error"

    @property
    def source(self) -> str:
        return (FOLDER / f"{self.file}.cu").read_text(encoding="utf-8")

    def ptx(self, fixed: bool) -> str:
        """Return the committed PTX."""
        return (FOLDER / "compiled" / f"{self.file}{'.fixed' if fixed else ''}.ptx").read_text(encoding="utf-8")

    def marked_lines(self) -> set[int]:
        """The lines of the source, counted from one, at which the bug is to be found: at one or more of them."""
        lines = self.source.splitlines()
        begin = next(i for i, x in enumerate(lines) if f" {self.kernel}(" in x)
        end = next(i for i, x in enumerate(lines) if i > begin and x == "}")
        marked = [i for i in range(begin, end) if f"// <- {self.kind}" in lines[i]]
        if not marked:  # the bug is in a function that the kernel calls
            marked = [i for i, x in enumerate(lines) if i < begin and f"// <- {self.kind}" in x and ");" in x]
        if not marked:
            raise ValueError(f"no line of {self.kernel} says {self.kind}")
        return {line + 1 for i in marked for line in range(_begin(lines, i), i + 1)}


def _begin(lines: list[str], i: int) -> int:
    """Return the first line of the assembler statement of a line: compilers name its first line or its last."""
    if re.match(r" *::?[ \"]|  +: ", lines[i]):
        while "asm volatile(" not in lines[i]:
            i -= 1
    return i


def ints(*shape: int, low: int = 0) -> Any:
    """Return consecutive numbers."""
    return np.arange(low, low + int(np.prod(shape)), dtype=np.int32).reshape(shape)


def floats(*shape: int) -> Any:
    return (np.arange(np.prod(shape)) % 13).astype(np.float32).reshape(shape)


def halves(*shape: int) -> Any:
    return floats(*shape).astype(np.float16)


def zeros(*shape: int, dtype: Any = np.int32) -> Any:
    return np.zeros(shape, dtype)


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array
