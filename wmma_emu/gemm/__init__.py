# SPDX-License-Identifier: MIT
"""Matrix products of any size.

Panels, padding, the order of k, scales, the epilogue, and presets for library kernels.
"""

from wmma_emu.first_use import on_first_use
from wmma_emu.renamed import renamed_names

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from wmma_emu.gemm.choice import kind_of_scales
    from wmma_emu.gemm.comparison import Comparison
    from wmma_emu.gemm.comparison_chips import ByChip, compare_archs
    from wmma_emu.gemm.comparison_statistics import DistanceBin, DistanceStatistics, ElementDifference
    from wmma_emu.gemm.element import explain
    from wmma_emu.gemm.gemm import gemm
    from wmma_emu.gemm.k_order import KOrder
    from wmma_emu.gemm.operands import AnyBoundInstruction, bind, bound_to
    from wmma_emu.gemm.options import Factors, ProductOptions
    from wmma_emu.gemm.preset_table import PRESETS, Preset, Recorded
    from wmma_emu.gemm.presets import recording_of
    from wmma_emu.gemm.quantised import Matrix, unpack_quantised, without_tensor_scales
    from wmma_emu.gemm.scale_orders import SCALE_ORDERS, ScaleOrder

__all__ = [
    "PRESETS",
    "SCALE_ORDERS",
    "AnyBoundInstruction",
    "ByChip",
    "Comparison",
    "DistanceBin",
    "DistanceStatistics",
    "ElementDifference",
    "Factors",
    "KOrder",
    "Matrix",
    "Preset",
    "ProductOptions",
    "Recorded",
    "ScaleOrder",
    "bind",
    "bound_to",
    "compare_archs",
    "explain",
    "gemm",
    "kind_of_scales",
    "recording_of",
    "unpack_quantised",
    "without_tensor_scales",
]

_HOMES = {
    "choice": ("kind_of_scales",),
    "comparison": ("Comparison",),
    "comparison_chips": ("ByChip", "compare_archs"),
    "comparison_statistics": ("DistanceBin", "DistanceStatistics", "ElementDifference"),
    "element": ("explain",),
    "gemm": ("gemm",),
    "k_order": ("KOrder",),
    "operands": ("AnyBoundInstruction", "bind", "bound_to"),
    "options": ("Factors", "ProductOptions"),
    "preset_table": ("PRESETS", "Preset", "Recorded"),
    "presets": ("recording_of",),
    "quantised": ("Matrix", "unpack_quantised", "without_tensor_scales"),
    "scale_orders": ("SCALE_ORDERS", "ScaleOrder"),
}  # fmt: skip
"""The module of every public name."""

_OLD_FUNCTIONS = {"old_functions": ("compare_chips", "explain_element")}

_OLD_NAMES = {
    "Bound": "AnyBoundInstruction",
    "Difference": "ElementDifference",
    "Statistics": "DistanceStatistics",
    "taken_apart": "unpack_quantised",
}

if not TYPE_CHECKING:  # type checkers would accept any name if they saw __getattr__
    __getattr__, __dir__ = on_first_use(
        __name__, __all__, _HOMES | _OLD_FUNCTIONS, renamed_names(__name__, _OLD_NAMES, frames=1)
    )
