# SPDX-License-Identifier: MIT
"""Two functions by the names and with the order of arguments of version 0.1.0, kept for one version."""

from typing import Any

from wmma_emu.arithmetic.explanation import Explanation
from wmma_emu.gemm.comparison import Comparison
from wmma_emu.gemm.comparison_chips import compare_archs
from wmma_emu.gemm.element import explain
from wmma_emu.renamed import warn_renamed

_OF_COMPARISON = ("instr", "archs", "reference", "engine", "a_format", "b_format", "k_order", "lowering", "model",
                  "scale_a", "scale_b", "scale_order")  # fmt: skip
_OF_EXPLANATION = ("row", "col", "arch", "lowering", "a_format", "b_format", "model", "scale_a", "scale_b")


def compare_chips(A: Any, B: Any, C: Any, *args: Any, **kwargs: Any) -> Comparison:
    """Call `wmma_emu.gemm.compare_archs` with arguments in the old order."""
    warn_renamed("wmma_emu.gemm.compare_chips", "wmma_emu.gemm.compare_archs, which takes keywords after C")
    return compare_archs(A, B, C, **dict(zip(_OF_COMPARISON, args, strict=False)), **kwargs)


def explain_element(ins: Any, A: Any, B: Any, C: Any, *args: Any, **kwargs: Any) -> Explanation:
    """Call `wmma_emu.gemm.explain` with arguments in the old order."""
    warn_renamed("wmma_emu.gemm.explain_element", "wmma_emu.gemm.explain, which takes keywords after C")
    return explain(ins, A, B, C, **dict(zip(_OF_EXPLANATION, args, strict=False)), **kwargs)
