# SPDX-License-Identifier: MIT
"""The definition of a recipe for training in low precision: the casts of the operands of a layer's three products."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from wmma_emu.errors import OptionError, shorten
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.quantise.delayed import AmaxChoice
from wmma_emu.quantise.fp8 import ScaleGranularity

Direction = Literal["forward", "input gradient", "weight gradient"]
"""A product of a linear layer: y = x W', dx = dy W, dW = dy' x."""

Role = Literal["input", "weight", "gradient"]
"""A tensor of a linear layer: x, W, dy."""

ROLES: dict[Direction, tuple[Role, Role]] = {
    "forward": ("input", "weight"),
    "input gradient": ("gradient", "weight"),
    "weight gradient": ("gradient", "input"),
}
"""The operands A and B of each product."""


@dataclass(frozen=True, slots=True)
class Cast:
    """The conversion of one operand.

    Parameters
    ----------
    format : str
        ``"e4m3"`` or ``"e5m2"``, with float32 scales; or a block format, ``"mxfp8_e4m3"``, ``"nvfp4"``.
    rule : str
        The arithmetic of the scales: an entry of `wmma_emu.quantise.FP8_RULES` or of `SCALE_RULES`.
    granularity : {"tensor", "row", "vector", "block"}
        The elements that share a float32 scale.
    powers_of_two : bool
        Whether float32 scales are powers of two.
    is_delayed : bool
        Whether the scale comes from earlier steps.
    is_square : bool
        Whether the scale of a block comes from a square of the matrix.
    is_rotated : bool
        Whether 16 elements along k are multiplied by a Hadamard matrix first.
    is_stochastic : bool
        Whether elements are rounded stochastically.
    """

    format: str
    rule: str
    granularity: ScaleGranularity = "tensor"
    powers_of_two: bool = False
    is_delayed: bool = False
    is_square: bool = False
    is_rotated: bool = False
    is_stochastic: bool = False

    @property
    def is_fp8(self) -> bool:
        """Whether it is FP8 with float32 scales."""
        return self.format in ("e4m3", "e5m2")

    @property
    def block(self) -> int:
        """The number of k that must be complete: 1 for FP8."""
        return 1 if self.is_fp8 else 16 if self.format == "nvfp4" else 32

    @property
    def scale_format(self) -> str:
        """The format of block scales; ``""`` for FP8."""
        return "" if self.is_fp8 else "ue4m3" if self.format == "nvfp4" else "ue8m0"


@dataclass(frozen=True, slots=True)
class QuantisedProduct:
    """One product of a layer in low precision.

    Parameters
    ----------
    a, b : Cast
    is_precise : bool
        Whether FP8 sums are added to float32 sums every 128 k: the split accumulator of Transformer Engine,
        ``use_fast_accum=False`` of PyTorch. Scales of 128 k imply it.
    """

    a: Cast
    b: Cast
    is_precise: bool = True


@dataclass(frozen=True, slots=True)
class Recipe(Sourced):
    """A recipe for training in low precision: what a library does with the products of a linear layer.

    Parameters
    ----------
    name : str
    forward, input_gradient, weight_gradient : QuantisedProduct or None
        None is a product in the precision of the operands.
    bias : {"epilogue", "after"}
        Whether the bias is added in float32 before the result is rounded, or to the rounded result.
    result : str
        The format of the kernel's result before it is converted to the dtype of the layer; ``""`` is that dtype.
    keeps_weight : bool
        Whether autocast leaves the weight as it is, so that it is quantised from its own precision.
    alpha : {"transformer_engine", "torchao"}
        How the tensor scales of NVFP4 become one factor.
    scale_order : str, optional
        The order in which float32 scales are multiplied, as for `wmma_emu.gemm`.
    history : int
    history_choice : {"max", "most_recent"}
    margin : int
        Of delayed scaling; see `wmma_emu.quantise.DelayedScale`.
    evidence : Evidence

    Examples
    --------
    >>> from wmma_emu.models.recipes import RECIPES
    >>> delayed = RECIPES["te_delayed"]
    >>> delayed.forward.a.format, delayed.input_gradient.a.format, delayed.but(history=16).history
    ('e4m3', 'e5m2', 16)
    """

    name: str
    forward: QuantisedProduct | None
    input_gradient: QuantisedProduct | None
    weight_gradient: QuantisedProduct | None
    evidence: Evidence
    bias: Literal["epilogue", "after"] = "epilogue"
    result: str = ""
    keeps_weight: bool = False
    alpha: Literal["transformer_engine", "torchao"] = "transformer_engine"
    scale_order: str | None = None
    history: int = 1024
    history_choice: AmaxChoice = "max"
    margin: int = 0

    def __str__(self) -> str:
        return self.name

    def product(self, direction: Direction) -> QuantisedProduct | None:
        """Return one of the three products."""
        found: QuantisedProduct | None = getattr(self, direction.replace(" ", "_"))
        return found

    def but(self, **changes: Any) -> "Recipe":
        """Return the same recipe with other fields.

        Raises
        ------
        OptionError
            If a field does not exist.
        """
        for name in changes:
            if name not in self.__dataclass_fields__:
                fields = ", ".join(self.__dataclass_fields__)
                raise OptionError(f"{shorten(name)} is not a field of a recipe; the fields are {fields}")
        return replace(self, **changes)
