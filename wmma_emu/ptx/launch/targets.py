# SPDX-License-Identifier: MIT
"""Compatibility of PTX with a chip, and of a launch with a kernel and a chip."""

import re
from math import prod

from wmma_emu.errors import LaunchConfigurationError, UnsupportedInstructionError, shorten
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of
from wmma_emu.instructions.launches import LAUNCH_LIMITS, Dim3, require_legal_launch
from wmma_emu.ptx.program.program import KernelProgram

_TARGET = re.compile(r"sm_(\d+)([af]?)")


def require_target(target: str, arch: Arch) -> None:
    """Reject PTX that a chip would reject: PTX for a later chip, or for the specific features of another chip.

    Code for sm_80 runs on every later chip; code for sm_90a only on Hopper; code for sm_100f on sm_100 and later chips
    of its family, such as sm_103 (PTX ISA, .target; ptxas 13.0 assembles it for these chips only).

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> require_target("sm_80", arch_of("h200"))
    >>> require_target("sm_90a", arch_of("a100"))
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: the PTX is for sm_90a, and sm_80 (Ampere) is an older chip; compile it
    for sm_80, or name the chip: arch="sm_90"
    >>> require_target("sm_120f", arch_of("sm_121"))
    """
    found = _TARGET.search(target)
    if found is None:
        raise UnsupportedInstructionError(f"the .target of the PTX is {shorten(target)}; expected a chip such as sm_80")
    number, suffix = int(found[1]), found[2]
    name = f"{arch} ({arch.generation})"
    if number > arch.number:
        problem = f"{name} is an older chip"
    elif suffix == "a" and number != arch.number:
        problem = f"its features exist only on that chip, not on {name}"
    elif suffix == "f" and number // 10 != arch.number // 10:
        problem = f"its features exist only in that chip's family, to which {name} does not belong"
    else:
        return
    raise UnsupportedInstructionError(
        f'the PTX is for {found[0]}, and {problem}; compile it for {arch}, or name the chip: arch="sm_{number}"'
    )


def arch_for(text: str) -> Arch:
    """Choose a chip that runs PTX: the default chip if possible, else the chip that the PTX is for.

    Examples
    --------
    >>> arch_for(".version 8.0 .target sm_80").name, arch_for(".version 8.7 .target sm_120a").name
    ('sm_90', 'sm_120')
    """
    found = re.search(r"^[^\n{]*\.target\s+(sm_\d+[af]?)", text, re.MULTILINE)
    default = arch_of(DEFAULT_ARCH)
    try:
        if found is not None:
            require_target(found[1], default)
    except UnsupportedInstructionError:
        return arch_of(re.sub(r"[af]$", "", found[1])) if found is not None else default
    return default


_STATIC_SHARED = 48 * 1024
_LOCAL_BYTES = 512 * 1024
"""The maximum bytes of .shared variables with a fixed size, and of a thread's local memory (CUDA C++ Programming Guide
13.0, technical specifications; ptxas rejects more)."""


def require_legal(program: KernelProgram, called: str, arch: Arch, grid: Dim3, block: Dim3, dynamic: int) -> None:
    """Reject a launch that a driver would reject, before it runs; ``called`` is the kernel's name in messages."""
    require_legal_launch(grid, block, arch)
    if program.required_block is not None and tuple(block) != tuple(program.required_block):
        raise LaunchConfigurationError(
            f"{called} was compiled for blocks of {program.required_block} (.reqntid), not {tuple(block)}"
        )
    if program.max_block is not None and prod(block) > prod(program.max_block):
        raise LaunchConfigurationError(
            f"{called} was compiled for at most {prod(program.max_block)} threads per block (.maxntid, "
            f"__launch_bounds__); {tuple(block)} has {prod(block)}"
        )
    most, static = LAUNCH_LIMITS[arch.name].shared_bytes, program.shared_bytes
    if static > _STATIC_SHARED:
        raise LaunchConfigurationError(
            f"{called} declares {static} bytes of shared memory; at most {_STATIC_SHARED} are legal; more must be "
            "dynamic: extern __shared__ char x[], with the number of bytes passed at the launch"
        )
    total = (static if program.dynamic_offset is None else program.dynamic_offset) + dynamic
    if total > most:
        raise LaunchConfigurationError(
            f"{called} needs {shorten(total)} bytes of shared memory per block, {static} declared and "
            f"{shorten(dynamic)} dynamic; "
            f"{arch} has {most}"
        )
    if program.local_bytes > _LOCAL_BYTES:
        raise LaunchConfigurationError(
            f"{called} needs {program.local_bytes} bytes of local memory per thread; {arch} has {_LOCAL_BYTES}"
        )
    cluster = program.required_cluster
    if cluster not in (None, (1, 1, 1)):
        raise UnsupportedInstructionError(f"{called} runs in clusters of {cluster} blocks, which are not modelled")
