# SPDX-License-Identifier: MIT
"""The arguments of a product as two values: its factors with their scales, and its options."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from wmma_emu.instructions import DEFAULT_ARCH, Arch, Instruction

if TYPE_CHECKING:
    from wmma_emu.gemm.k_order import KOrder
    from wmma_emu.warp import BoundMatrixInstruction

Form = Literal["fma_accumulator", "fma_source", "after_rounding"]
"""The sum of an accumulator x and C: ``fma(alpha, x, beta * C)``; ``fma(beta, C, alpha * x)``; or, for a beta of 1, C
added to ``alpha * x`` rounded to D's format, in that format.
"""


class Factors(NamedTuple):
    """A and B, their scales, and the formats that were named.

    ``tensor_scale`` is the product of their second-level scales, if any.
    """

    a: Any
    b: Any
    scale_a: Any = None
    scale_b: Any = None
    a_format: str | None = None
    b_format: str | None = None
    tensor_scale: np.float32 | None = None

    @property
    def is_scaled(self) -> bool:
        """Whether any scale was given."""
        return self.scale_a is not None or self.scale_b is not None


@dataclass(frozen=True, slots=True, eq=False)
class ProductOptions:
    """The keywords of `wmma_emu.gemm`, which documents them; ``form`` is the form of a preset's epilogue."""

    instr: "str | Instruction | BoundMatrixInstruction | None" = None
    arch: str | Arch = DEFAULT_ARCH
    lowering: str | None = None
    model: str | None = None
    out_dtype: DTypeLike | None = None
    engine: str = "auto"
    threads: int | None = None
    k_order: "KOrder | None" = None
    alpha: Any = None
    beta: Any = None
    bias: Any = None
    like: str | None = None
    scale_order: str | None = None
    form: Form = "fma_accumulator"
