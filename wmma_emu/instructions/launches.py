# SPDX-License-Identifier: MIT
"""Limits of grids, blocks and their shared memory on each chip, and a check of launches."""

import operator
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from wmma_emu.chips import ARCHS, Arch
from wmma_emu.errors import LaunchConfigurationError, shorten
from wmma_emu.evidence import Evidence, Sourced


class Dim3(NamedTuple):
    """CUDA's dim3: three sizes, or three indices."""

    x: int
    y: int = 1
    z: int = 1


@dataclass(frozen=True, slots=True)
class LaunchLimits(Sourced):
    """The limits of a chip: the largest grid and block, threads per block, bytes of shared memory per block."""

    grid: Dim3
    block: Dim3
    threads: int
    shared_bytes: int
    evidence: Evidence


def _limits(chip: Arch) -> LaunchLimits:
    kib, known = chip.shared_kib
    return LaunchLimits(Dim3(2**31 - 1, 65535, 65535), Dim3(1024, 1024, 64), 1024, kib * 1024, known)


LAUNCH_LIMITS = {name: _limits(chip) for name, chip in ARCHS.items()}
"""The limits of every chip."""


def dim3(given: object, name: str) -> Dim3:
    """Return a grid or a block, given one to three integers.

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
    """Reject a grid or a block that the chip would reject."""
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
