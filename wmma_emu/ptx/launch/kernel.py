# SPDX-License-Identifier: MIT
"""A kernel of a module that waits for its grid and its block."""

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
        As the text has it.
    called : str
        Its name in C++, where the text has a mangled one: what messages say.
    parameters : tuple of Parameter
    types : SourceTypes
        What the mangled name, or Triton's signature, says of them.
    assumed : tuple of str
        What its compiler took for granted that a launch of its own would have known.
    """

    @errors_at_the_caller
    def __getitem__(self, launch: Any) -> Launch:
        """Choose the grid, the block, and the bytes of dynamic shared memory: integers, or tuples of up to three.

        ``kernel[(2, 3)]`` is ``kernel[2, 3]`` to Python: two blocks of three threads. A grid of 2 x 3 blocks is
        ``kernel[(2, 3), block]``.
        """
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 3:
            raise LaunchConfigurationError(
                f"a launch names a grid and a block, {self.called}[grid, block](...), and the bytes of dynamic shared "
                f"memory if there is some, {self.called}[grid, block, bytes](...), not [{shorten(launch)}]"
            )
        grid, block, shared = *launch[:2], launch[2] if len(launch) == 3 else 0
        return Launch(self, dim3(grid, "grid"), dim3(block, "block"), _shared_bytes(shared))

    @errors_at_the_caller
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: a kernel is launched with a grid and a block."""
        raise LaunchConfigurationError(
            f"{self.called} is a kernel: launch it with a grid and a block, {self.called}[grid, block](...)"
        )


def _shared_bytes(given: object) -> int:
    number = integer_of(given)
    if number is None or number < 0:
        raise LaunchConfigurationError(
            f"the bytes of dynamic shared memory are an integer from 0 on, not {shorten(given)}"
        )
    return number
