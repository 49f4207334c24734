# SPDX-License-Identifier: MIT
"""May a text run on a chip, and a kernel of it be launched so: what .target, the text and the chip say."""

import re
from math import prod

from wmma_emu.errors import LaunchConfigurationError, UnsupportedInstructionError, shorten
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of
from wmma_emu.instructions.launches import LAUNCH_LIMITS, Dim3, require_legal_launch
from wmma_emu.ptx.program.program import KernelProgram

_TARGET = re.compile(r"sm_(\d+)([af]?)")


def require_target(target: str, arch: Arch) -> None:
    """Refuse a text that a chip would refuse: one of a later chip, or of another one's own features.

    Code for sm_80 runs on every later chip; code for sm_90a on Hopper alone; code for sm_100f on sm_100 and on later
    chips of its family, sm_103 (PTX ISA, .target; ptxas 13.0 assembles it for those and no other).

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> require_target("sm_80", arch_of("h200"))
    >>> require_target("sm_90a", arch_of("a100"))
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: the text is for sm_90a, and sm_80 (Ampere) is an older chip; compile it
    for sm_80, or name the chip: arch="sm_90"
    >>> require_target("sm_120f", arch_of("sm_121"))
    """
    found = _TARGET.search(target)
    if found is None:
        raise UnsupportedInstructionError(f"the text's .target is {shorten(target)}, which names no chip such as sm_80")
    number, suffix = int(found[1]), found[2]
    name = f"{arch} ({arch.generation})"
    if number > arch.number:
        problem = f"{name} is an older chip"
    elif suffix == "a" and number != arch.number:
        problem = f"its features are that chip's alone, not those of {name}"
    elif suffix == "f" and number // 10 != arch.number // 10:
        problem = f"its features are those of that chip's family alone, and {name} is of another"
    else:
        return
    raise UnsupportedInstructionError(
        f'the text is for {found[0]}, and {problem}; compile it for {arch}, or name the chip: arch="sm_{number}"'
    )


def arch_for(text: str) -> Arch:
    """Choose a chip that runs a text: the default one if it does, else the one that the text is for.

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
"""Most bytes of .shared variables of a fixed size, and of local memory of a thread (CUDA C++ Programming Guide 13.0,
technical specifications; ptxas refuses more)."""


def require_legal(program: KernelProgram, called: str, arch: Arch, grid: Dim3, block: Dim3, dynamic: int) -> None:
    """Refuse what a driver would refuse, before anything runs; ``called`` is what messages call the kernel."""
    require_legal_launch(grid, block, arch)
    if program.required_block is not None and tuple(block) != tuple(program.required_block):
        raise LaunchConfigurationError(
            f"{called} was compiled for blocks of {program.required_block} (.reqntid), not {tuple(block)}"
        )
    if program.max_block is not None and prod(block) > prod(program.max_block):
        raise LaunchConfigurationError(
            f"{called} was compiled for at most {prod(program.max_block)} threads a block (.maxntid, "
            f"__launch_bounds__); {tuple(block)} has {prod(block)}"
        )
    most, static = LAUNCH_LIMITS[arch.name].shared_bytes, program.shared_bytes
    if static > _STATIC_SHARED:
        raise LaunchConfigurationError(
            f"{called} declares {static} bytes of shared memory; {_STATIC_SHARED} at most are legal, more has to be "
            "dynamic: extern __shared__ char x[], with its bytes named at the launch"
        )
    total = (static if program.dynamic_offset is None else program.dynamic_offset) + dynamic
    if total > most:
        raise LaunchConfigurationError(
            f"{called} needs {total} bytes of shared memory a block, {static} declared and {dynamic} dynamic; "
            f"{arch} has {most}"
        )
    if program.local_bytes > _LOCAL_BYTES:
        raise LaunchConfigurationError(
            f"{called} needs {program.local_bytes} bytes of local memory a thread; {arch} has {_LOCAL_BYTES}"
        )
    cluster = program.required_cluster
    if cluster not in (None, (1, 1, 1)):
        raise UnsupportedInstructionError(f"{called} runs in clusters of {cluster} blocks, which are not modelled")
