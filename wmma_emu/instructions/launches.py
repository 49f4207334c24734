# SPDX-License-Identifier: MIT
"""How large a grid, a block and its shared memory may be on each chip: rows only, and their check."""

import operator
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from wmma_emu.errors import LaunchConfigurationError, shorten
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.instructions.spec import Arch

__all__ = ["LAUNCH_LIMITS", "Dim3", "LaunchLimits", "dim3", "require_legal_launch"]


class Dim3(NamedTuple):
    """CUDA's dim3: three sizes, or three indices."""

    x: int
    y: int = 1
    z: int = 1


@dataclass(frozen=True, slots=True)
class LaunchLimits(Sourced):
    """What a chip takes: the largest grid and block, threads a block, bytes of shared memory a block."""

    grid: Dim3
    block: Dim3
    threads: int
    shared_bytes: int
    evidence: Evidence


_GUIDE = "CUDA C++ Programming Guide {}, compute capabilities: technical specifications (shared memory: opt-in)"
_KIB = {"sm_70": 96, "sm_72": 96, "sm_75": 64, "sm_80": 163, "sm_86": 99, "sm_89": 99, "sm_90": 227, "sm_100": 227,
        "sm_103": 227, "sm_120": 99, "sm_121": 99}  # fmt: skip
_BEFORE_13 = {
    "sm_70": Evidence("documented", _GUIDE.format(12) + "; 13 no longer lists the chip"),
    "sm_72": Evidence("inferred", "as sm_70"),
}


def _limits(arch: str, kib: int) -> LaunchLimits:
    known = _BEFORE_13.get(arch, Evidence("documented", _GUIDE.format("13.0")))
    return LaunchLimits(Dim3(2**31 - 1, 65535, 65535), Dim3(1024, 1024, 64), 1024, kib * 1024, known)


LAUNCH_LIMITS = {arch: _limits(arch, kib) for arch, kib in _KIB.items()}
"""Limits by chip."""


def dim3(given: object, name: str) -> Dim3:
    """Read a grid or a block: an integer, or up to three of them.

    Raises
    ------
    LaunchConfigurationError
        For anything else.

    Examples
    --------
    >>> dim3((8, 8), "grid")
    Dim3(x=8, y=8, z=1)
    """
    sizes = given if isinstance(given, tuple | list) else (given,)
    try:
        found = tuple(0 if isinstance(x, bool) else operator.index(x) for x in sizes)
    except TypeError:
        found = ()
    if not 1 <= len(found) <= 3 or min(found) < 1:
        hint = "; divide with //" if any(isinstance(x, float) for x in sizes) else ""
        raise LaunchConfigurationError(f"the {name} is one to three positive integers, not {shorten(given)}{hint}")
    return Dim3(*found)


def require_legal_launch(grid: Dim3, block: Dim3, arch: Arch) -> None:
    """Refuse a grid or a block that the chip would refuse.

    Raises
    ------
    LaunchConfigurationError
    """
    limits = LAUNCH_LIMITS[arch.name]
    for name, size, largest in (("grid", grid, limits.grid), ("block", block, limits.block)):
        for axis, given, most in zip("xyz", size, largest, strict=True):
            if given > most:
                raise LaunchConfigurationError(f"{name}.{axis} is {shorten(given)}; {arch} takes at most {most}")
    threads = prod(block)
    if threads > limits.threads:
        raise LaunchConfigurationError(
            f"a block of {' x '.join(map(str, block))} has {threads} threads; {arch} takes at most {limits.threads}"
        )
