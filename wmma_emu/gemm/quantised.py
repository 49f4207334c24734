# SPDX-License-Identifier: MIT
"""Matrices that `wmma_emu.quantise` made, as operands: their elements, their block scales, and alpha of the rest."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard, Union

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.errors import ArgumentValueError, OptionError, shorten
from wmma_emu.first_use import named_later
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.options import Factors, ProductOptions
from wmma_emu.scalar import mul

if TYPE_CHECKING:
    from wmma_emu.quantise import BlockScaled

if TYPE_CHECKING:
    Matrix = Union[ArrayLike, BlockScaled]  # noqa: UP007
else:  # `typing.get_type_hints` of whoever names it finds the class, which a product of plain arrays does not import
    Matrix = Union[ArrayLike, named_later("wmma_emu.quantise", "BlockScaled")]  # noqa: UP007
"""What A and B may be."""


def unpack_quantised(factors: Factors) -> Factors:
    """Take elements and scales out of what `quantise` returned; arrays stay as they are.

    The product of two tensor scales is rounded to float32, to nearest even, as a kernel's host code has it.

    Raises
    ------
    FragmentMismatchError
        Where blocks do not lie along k.
    UnsupportedInstructionError
        Where scales were given beside those that a matrix brings along.
    """
    tensors: list[Bits] = []
    operands = []
    for matrix, scale, name, k_axis in (
        (factors.a, factors.scale_a, "A", -1),
        (factors.b, factors.scale_b, "B", -2),
    ):
        if not _is_block_scaled(matrix):
            operands.append((matrix, scale))
            continue
        if scale is not None:
            raise OptionError(
                f"scale_{name.lower()} was given, and {name} is {shorten(matrix)}, which has scales; leave it out, or "
                f"pass {name}.elements"
            )
        axes = max(matrix.elements.ndim, 1)
        if matrix.axis % axes - axes != k_axis:
            raise ArgumentValueError(
                f"{name} is {shorten(matrix)}: its blocks lie along axis {matrix.axis}, and k is axis {k_axis}; "
                f"quantise it with axis={k_axis}"
            )
        if matrix.tensor_scale is not None:
            tensors.append(np.array([_tensor_scale_bits(matrix.tensor_scale)], np.uint32))
        operands.append((matrix.elements, matrix.scales))
    tensor = None
    if tensors:
        word = tensors[0] if len(tensors) == 1 else mul(tensors[0], tensors[1], "f32")
        tensor = word.view(np.float32)[0]
    (a, of_a), (b, of_b) = operands
    return factors._replace(a=a, b=b, scale_a=of_a, scale_b=of_b, tensor_scale=tensor)


def with_tensor_scales(factors: Factors, C: ArrayLike | None, options: ProductOptions) -> ProductOptions:
    """Make the tensor scales, where the matrices have such, the alpha of a product.

    Refused are another alpha beside them, and a C from which accumulators would start, which they would multiply.
    """
    if factors.tensor_scale is None:
        return options
    if options.alpha is not None:
        raise OptionError(
            f"alpha={shorten(options.alpha)} was given, and the tensor scales of A and B are alpha; pass A.elements, "
            "B.elements, scale_a=A.scales, scale_b=B.scales, and the alpha that your kernel makes of all of them"
        )
    if C is not None and options.beta is None:
        raise OptionError(
            "C was given without beta, and the tensor scales of A and B would multiply it, as alpha does; pass beta=1, "
            "which adds C behind them"
        )
    return replace(options, alpha=factors.tensor_scale)


def without_tensor_scales(factors: Factors, what: str) -> Factors:
    """Refuse tensor scales, where nothing is behind the accumulators.

    Raises
    ------
    UnsupportedInstructionError
        If there are any.
    """
    if factors.tensor_scale is not None:
        raise OptionError(
            f"A or B has a tensor scale, which {what} has no place for; pass A.elements, B.elements, scale_a=A.scales, "
            "scale_b=B.scales for the accumulators, or use wmma_emu.gemm, whose alpha it is"
        )
    return factors


def _is_block_scaled(matrix: object) -> "TypeGuard[BlockScaled]":
    """Whether `quantise` made it; its room is not imported to find out."""
    room = sys.modules.get("wmma_emu.quantise.block_scaled")
    return room is not None and isinstance(matrix, room.BlockScaled)


def _tensor_scale_bits(given: object) -> int:
    from wmma_emu.quantise.block_scaled import tensor_scale_bits  # there is one, so that its room is loaded

    return tensor_scale_bits(given)
