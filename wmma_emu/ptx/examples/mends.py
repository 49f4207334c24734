# SPDX-License-Identifier: MIT
"""What a reader sees of the kernel that shows a kind of finding: its lines, and those that mend it."""

import difflib
from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.ptx.examples.texts import source_of

__all__ = ["FIRST_LINE", "Changed", "mend_of", "shown_source"]

FIRST_LINE = 2
"""The line of a source at which the kernel begins: the licence is before it."""


class Changed(NamedTuple):
    """A line of a mended kernel: ``sign`` is "+" of a new one, "-" of one that is taken out, " " of others."""

    sign: str
    text: str


def shown_source(kind: str, mended: bool = False) -> list[str]:
    r"""Return the lines of a kernel, without the one that has its licence.

    Examples
    --------
    >>> print(*shown_source("out of bounds"), sep="\n")
    __global__ void fill(int* x, int n, int value)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i <= n)
            x[i] = value;
    }
    """
    return source_of(kind, mended).splitlines()[FIRST_LINE - 1 :]


def mend_of(kind: str) -> Iterator[Changed]:
    r"""Give the lines that mend a kernel, with one line before and behind each group of them.

    Examples
    --------
    >>> print(*(x.sign + x.text for x in mend_of("out of bounds")), sep="\n")
         int i = blockIdx.x * blockDim.x + threadIdx.x;
    -    if (i <= n)
    +    if (i < n)
             x[i] = value;
    """
    lines = difflib.unified_diff(shown_source(kind), shown_source(kind, mended=True), n=1, lineterm="")
    for line in list(lines)[2:]:
        if not line.startswith("@@"):
            yield Changed(line[:1], line[1:])
