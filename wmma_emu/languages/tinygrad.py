# SPDX-License-Identifier: MIT
"""The function that tinygrad's mock GPU calls for each launch, instead of the function of gpuocelot.

The mock GPU, in tinygrad's tests, is a model of the CUDA driver. It passes the PTX of the kernel, and the arguments as
64-bit numbers: addresses in the memory of this driver, or values.
"""

import ctypes
import functools
import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from wmma_emu.ptx import Kernel, Module


def argument_of(value: int, bits: int, memory: Mapping[int, Any]) -> Any:
    """Return the argument of a launch: the driver's memory that begins at an address, or the number itself.

    Examples
    --------
    >>> argument_of(1002, 64, {1000: bytearray(b"abcd")}).tobytes(), argument_of(0xFFFFFFFF, 32, {})
    (b'cd', np.int32(-1))
    """
    if bits < 64:
        return np.array([value & (1 << bits) - 1], f"u{bits // 8}").view(f"i{bits // 8}")[0]
    for base, cells in memory.items():
        if base <= value < base + len(cells):
            return np.frombuffer(cells, np.uint8)[value - base :]
    return value


@functools.cache
def _kernel(text: str) -> Kernel:
    module = Module(text)
    return module[next(iter(module))]


def run_kernel(
    text: str, values: list[int], launch: tuple[Any, Any, int], memory: Mapping[int, Any], **options: Any
) -> None:  # fmt: skip
    """Launch the kernel of a module on the memory of a driver; ``launch`` is its grid, its block and its bytes."""
    grid, block, shared = launch
    kernel = _kernel(text)
    arguments = [argument_of(x, 8 * y.bytes, memory) for x, y in zip(values, kernel.parameters, strict=True)]
    kernel[grid, block, shared](*arguments, **options)


def ptx_run(
    source: Any, n_args: int, args: Any, blck_x: int, blck_y: int, blck_z: int, grid_x: int, grid_y: int,
    grid_z: int, shared_mem_size: int, **options: Any,
) -> None:  # fmt: skip
    """Launch a kernel, as `ptx_run` of tinygrad's `test/mockgpu/helpers.py`, which it replaces.

    Parameters
    ----------
    source : ctypes pointer or bytes
        The PTX, which ends with a zero byte.
    n_args : int
    args : sequence of int
        An address of the mock driver, or a value; None is 0.
    blck_x, blck_y, blck_z, grid_x, grid_y, grid_z : int
    shared_mem_size : int
        The bytes of dynamic shared memory of a block.
    **options
        Options of the launch, such as ``findings``.
    """
    memory = importlib.import_module("test.mockgpu.cuda.cuda").cuda_state.memory
    text = (source if isinstance(source, bytes) else ctypes.string_at(source)).rstrip(b"\0").decode()
    launch = ((grid_x, grid_y, grid_z), (blck_x, blck_y, blck_z), shared_mem_size)
    run_kernel(text, [args[i] or 0 for i in range(n_args)], launch, memory, **options)
