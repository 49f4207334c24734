# SPDX-License-Identifier: MIT
"""Explanations of one element of D: every term, shift, truncation, sum and rounding, as data and as text."""

from wmma_emu.arithmetic.explanation.dot import explain_dot
from wmma_emu.arithmetic.explanation.explanation import Explanation
from wmma_emu.arithmetic.explanation.steps import (
    AlignedSum,
    AlignedTerm,
    BitCount,
    BitWord,
    Conversion,
    Converted,
    Execution,
    IntegerSum,
    IntegerTerm,
    MultiplyAdd,
    Number,
    Rounding,
    ScaledBlock,
    Special,
    Step,
)

__all__ = [
    "AlignedSum",
    "AlignedTerm",
    "BitCount",
    "BitWord",
    "Conversion",
    "Converted",
    "Execution",
    "Explanation",
    "IntegerSum",
    "IntegerTerm",
    "MultiplyAdd",
    "Number",
    "Rounding",
    "ScaledBlock",
    "Special",
    "Step",
    "explain_dot",
]
