# SPDX-License-Identifier: MIT
"""PyTorch's matrix products with the bits of a chip: whole models, forward and backward, in code that is not edited.

The package imports PyTorch at its first use, not before.
"""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from wmma_emu.torch import comparing
    from wmma_emu.torch.comparing import batch_invariance, compare
    from wmma_emu.torch.emulation import Emulation, emulate
    from wmma_emu.torch.operations import OPERATIONS
    from wmma_emu.torch.untouched import UNTOUCHED, UNTOUCHED_FAMILIES

__all__ = [
    "OPERATIONS",
    "UNTOUCHED",
    "UNTOUCHED_FAMILIES",
    "Emulation",
    "batch_invariance",
    "compare",
    "comparing",
    "emulate",
]

_HOMES = {
    "comparing": ("batch_invariance", "compare"),
    "emulation": ("Emulation", "emulate"),
    "operations": ("OPERATIONS",),
    "untouched": ("UNTOUCHED", "UNTOUCHED_FAMILIES"),
}
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers would accept any name if they saw __getattr__
    _found, __dir__ = on_first_use(__name__, __all__, _HOMES)

    def __getattr__(name: str) -> object:
        try:
            return _found(name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            from wmma_emu.errors import MissingModuleError

            raise MissingModuleError(
                f"wmma_emu.torch.{name} needs PyTorch, which is not installed; PyTorch for the CPU is enough: "
                "pip install torch --index-url https://download.pytorch.org/whl/cpu"
            ) from error
