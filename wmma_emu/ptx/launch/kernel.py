# SPDX-License-Identifier: MIT
"""A kernel of a module, to be launched with a grid and a block."""

from typing import Any

from wmma_emu.errors import LaunchConfigurationError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions.launches import dim3
from wmma_emu.ptx.launch.calls import errors_at_the_caller
from wmma_emu.ptx.launch.launching import Launch
from wmma_emu.ptx.launch.prepared_kernel import PreparedKernel


class Kernel(PreparedKernel):
    """A kernel of a module, ready to be launched as ``kernel[grid, block](...)``.

    Attributes
    ----------
    name : str
        The name in the PTX.
    called : str
        Its name in C++, if the PTX has a mangled name; messages use it.
    parameters : tuple of Parameter
    types : SourceTypes
        The types of the parameters, from the mangled name or Triton's signature.
    assumed : tuple of str
        The compiler's assumptions about the arguments.
    """

    @errors_at_the_caller
    def __getitem__(self, launch: Any) -> Launch:
        """Choose the grid, the block, and the bytes of dynamic shared memory: integers, or tuples of up to three.

        Python treats ``kernel[(2, 3)]`` as ``kernel[2, 3]``: two blocks of three threads. For a grid of 2 x 3 blocks,
        write ``kernel[(2, 3), block]``.
        """
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 3:
            raise LaunchConfigurationError(
                f"a launch needs a grid and a block, {self.called}[grid, block](...), and the bytes of dynamic shared "
                f"memory if it uses any, {self.called}[grid, block, bytes](...), not [{shorten(launch)}]"
            )
        grid, block, shared = *launch[:2], launch[2] if len(launch) == 3 else 0
        return Launch(self, dim3(grid, "grid"), dim3(block, "block"), _shared_bytes(shared))

    @errors_at_the_caller
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Raise an error: a kernel needs a grid and a block."""
        raise LaunchConfigurationError(
            f"{self.called} is a kernel: launch it with a grid and a block, {self.called}[grid, block](...)"
        )


def _shared_bytes(given: object) -> int:
    number = integer_of(given)
    if number is None or number < 0:
        raise LaunchConfigurationError(
            f"the bytes of dynamic shared memory must be a non-negative integer, not {shorten(given)}"
        )
    return number
