# SPDX-License-Identifier: MIT
"""The state of CUDA's random numbers, which kernels take as a seed and an offset."""

from typing import Any


class ChipGenerator:
    """The generator of ``torch.cuda.default_generators``: a seed and an offset, without numbers.

    Its state has 16 bytes, as in `CUDAGeneratorImpl.cpp` of PyTorch. PyTorch's own random numbers on the device "cuda"
    come from the generator of the CPU.

    Examples
    --------
    >>> generator = ChipGenerator().manual_seed(7)
    >>> generator.set_offset(8)
    >>> generator.initial_seed(), generator.get_offset()
    (7, 8)
    """

    def __init__(self) -> None:
        self._seed, self._offset = 0, 0

    def manual_seed(self, seed: int) -> "ChipGenerator":
        """Set the seed, with the offset 0."""
        self._seed, self._offset = int(seed), 0
        return self

    def seed(self) -> int:
        """Take the seed of the CPU's generator, and return it."""
        import torch

        return self.manual_seed(torch.initial_seed())._seed

    def initial_seed(self) -> int:
        """Return the seed."""
        return self._seed

    def get_offset(self) -> int:
        """Return the offset."""
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Set the offset."""
        self._offset = int(offset)

    @property
    def device(self) -> Any:
        """The CPU, on which all tensors are."""
        import torch

        return torch.device("cpu")

    def get_state(self) -> Any:
        """Return the seed and the offset, as eight bytes each."""
        import torch

        state = [x if x < 1 << 63 else x - (1 << 64) for x in (self._seed, self._offset)]
        return torch.tensor(state, dtype=torch.int64).view(torch.uint8)

    def set_state(self, state: Any) -> "ChipGenerator":
        """Set the seed and the offset."""
        import torch

        self._seed, self._offset = (int(x) % (1 << 64) for x in state.view(torch.int64))
        return self
