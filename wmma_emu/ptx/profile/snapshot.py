# SPDX-License-Identifier: MIT
"""Profiles as short text for snapshot files: lines without their numbers, so that a change reviews well."""

from collections.abc import Iterable

from wmma_emu.errors import printable
from wmma_emu.ptx.profile.comparison import COMPARED
from wmma_emu.ptx.profile.counters import Counters
from wmma_emu.ptx.profile.lines import KernelProfile

_LEFT_OUT = ("executions",)
"""Counters that the lines leave out, because every line has them, and any change of the code changes them."""


def snapshot_of(kernels: Iterable[KernelProfile], lines: Iterable[tuple[str, Counters]]) -> str:
    """Return the kernels, and the counters of the lines that access memory, branch, multiply or synchronise.

    Examples
    --------
    >>> print(snapshot_of([], [("k.cu: x = s[i];", Counters(shared_requests=1, shared_wavefronts=32))]), end="")
    k.cu: x = s[i];
        shared requests 1, shared wavefronts 32
    """
    found = []
    for kernel in kernels:
        sizes = "x".join(map(str, kernel.grid)), "x".join(map(str, kernel.block))
        found.append(f"{printable(kernel.kernel)} on {kernel.arch}: grid {sizes[0]}, block {sizes[1]}")
        found.append(f"    {_counts(kernel.total)}")
    for name, counters in lines:
        if text := _counts(counters):
            found += [printable(name), f"    {text}"]
    return "\n".join(found) + "\n" if found else ""


def _counts(counters: Counters) -> str:
    named = ((x, getattr(counters, x)) for x in COMPARED if x not in _LEFT_OUT)
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in named if value)
