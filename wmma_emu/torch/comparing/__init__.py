# SPDX-License-Identifier: MIT
"""Where two chips part in a model: layer by layer, mechanism by mechanism, and the first decision that changes."""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from wmma_emu.torch.comparing.batches import BatchReport, BatchVariant, batch_invariance
    from wmma_emu.torch.comparing.compare import compare
    from wmma_emu.torch.comparing.mechanisms import MECHANISMS, Mechanism
    from wmma_emu.torch.comparing.result import (
        ChangedDecision,
        LayerDifference,
        MechanismEffect,
        ModelComparison,
        ProductDifference,
    )

__all__ = [
    "MECHANISMS",
    "BatchReport",
    "BatchVariant",
    "ChangedDecision",
    "LayerDifference",
    "Mechanism",
    "MechanismEffect",
    "ModelComparison",
    "ProductDifference",
    "batch_invariance",
    "compare",
]

_HOMES = {
    "batches": ("BatchReport", "BatchVariant", "batch_invariance"),
    "compare": ("compare",),
    "mechanisms": ("MECHANISMS", "Mechanism"),
    "result": ("ChangedDecision", "LayerDifference", "MechanismEffect", "ModelComparison", "ProductDifference"),
}
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers would accept any name if they saw __getattr__
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
