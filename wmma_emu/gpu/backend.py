# SPDX-License-Identifier: MIT
"""The GPU at hand as the other side of a campaign."""

from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from wmma_emu.gpu.device import device, open_gpu
from wmma_emu.gpu.execute import execute
from wmma_emu.warp import BoundInstruction


class GpuBackend:
    """The GPU at hand, through `wmma_emu.gpu.execute`."""

    def describe(self) -> dict[str, Any]:
        """Name, chip, driver and assembler of the GPU.

        Raises
        ------
        BackendUnavailableError
            If there is none.
        """
        described = asdict(device())
        return {x: described[x] for x in ("name", "arch", "driver", "toolkit", "cuda_core") if x in described}

    @property
    def kernel_seconds(self) -> float:
        """Time that kernels of this process have run, by the GPU's own clock."""
        return open_gpu().kernel_seconds

    def execute(self, ins: BoundInstruction, a: Any, b: Any, c: Any, **keywords: Any) -> NDArray[Any]:
        """Execute on the GPU."""
        return execute(ins, a, b, c, **keywords)
