# SPDX-License-Identifier: MIT
"""May a kernel be launched so: what its text and the chip say of grids, blocks and memory."""

from math import prod

from wmma_emu.errors import LaunchConfigurationError, UnsupportedInstructionError
from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import LAUNCH_LIMITS, Dim3, require_legal_launch
from wmma_emu.ptx.program.program import KernelProgram

__all__ = ["require_legal"]

_STATIC_SHARED = 48 * 1024
_LOCAL_BYTES = 512 * 1024
"""Most bytes of .shared variables of a fixed size, and of local memory of a thread (CUDA C++ Programming Guide 13.0,
technical specifications; ptxas refuses more)."""


def require_legal(program: KernelProgram, called: str, arch: Arch, grid: Dim3, block: Dim3, dynamic: int) -> None:
    """Refuse what a driver would refuse, before anything runs; ``called`` is what messages call the kernel.

    Raises
    ------
    LaunchConfigurationError
        For a grid, a block, or bytes of shared memory that the kernel or the chip does not take.
    UnsupportedInstructionError
        For a kernel that cannot be launched in any way.
    """
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
