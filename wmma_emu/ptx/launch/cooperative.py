# SPDX-License-Identifier: MIT
"""Cooperative launches: whether a launch is one, and whether the chip can hold all its blocks at the same time."""

from math import prod

from wmma_emu.errors import LaunchConfigurationError
from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import Dim3
from wmma_emu.instructions.residency import residency_of
from wmma_emu.ptx.memory.shared_layout import static_bytes
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.program.special import reads_grid_workspace


def uses_workspace(
    program: KernelProgram, called: str, arch: Arch, grid: Dim3, block: Dim3, dynamic: int, cooperative: bool | None
) -> bool:
    """Return whether a launch needs a workspace for its grid.

    Raises
    ------
    LaunchConfigurationError
        If the kernel synchronises its grid and ``cooperative`` is None, or if the launch is cooperative and no
        GPU with the chip can hold all blocks at the same time.
    """
    reads = reads_grid_workspace(program)
    if reads and cooperative is None:
        raise LaunchConfigurationError(
            f"{called} synchronises its grid, as this_grid().sync() does: launch it with cooperative=True, or with "
            "cooperative=False if it tests this_grid().is_valid()"
        )
    if cooperative:
        require_resident(called, arch, grid, block, static_bytes(program) + dynamic)
    return reads and bool(cooperative)


def require_resident(called: str, arch: Arch, grid: Dim3, block: Dim3, shared_bytes: int) -> None:
    """Reject a grid with more blocks than any GPU with a chip can hold at the same time.

    Examples
    --------
    >>> from wmma_emu.instructions import ARCHS
    >>> require_resident("k", ARCHS["sm_90"], Dim3(265), Dim3(1024), 0)
    Traceback (most recent call last):
        ...
    wmma_emu.errors.LaunchConfigurationError: the grid of a cooperative launch of k has 265 blocks, which have to run at
    the same time; a multiprocessor of sm_90 holds at most 2 of 1024 threads and 0 bytes of shared memory, and the
    H200, with the most multiprocessors, 132, holds 264: launch at most as many (a GPU may hold fewer, because of their
    registers or because it has fewer multiprocessors, and then returns cudaErrorCooperativeLaunchTooLarge)
    """
    chip = residency_of(arch)
    each = chip.blocks_per_multiprocessor(block, shared_bytes)
    most, blocks = each * chip.multiprocessors, prod(grid)
    if blocks > most:
        raise LaunchConfigurationError(
            f"the grid of a cooperative launch of {called} has {blocks} blocks, which have to run at the same time; a "
            f"multiprocessor of {arch} holds at most {each} of {prod(block)} threads and {shared_bytes} bytes of "
            f"shared memory, and the {chip.product}, with the most multiprocessors, {chip.multiprocessors}, holds "
            f"{most}: launch at most as many (a GPU may hold fewer, because of their registers or because it has "
            "fewer multiprocessors, and then returns cudaErrorCooperativeLaunchTooLarge)"
        )
