# SPDX-License-Identifier: MIT
"""What compiled code is told of a model: how many products a step has, how c joins, and the numbers of the unit."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.numba_kernels import Shape
from wmma_emu.arithmetic.tiles import largest_exact_step


def shape_of(product: DotProduct) -> Shape:
    """Lengths of tuples that the compiler is to know."""
    terms = len(product.steps[0])
    at_once = terms if terms <= largest_exact_step(product) else terms // 2
    return Shape((0,) * terms, (0,) * at_once, (0,) * (product.model.accumulator == "f16"))


def joins_of(product: DotProduct) -> tuple[bool, bool]:
    """Whether c is added last, and whether the steps' results are added."""
    return product.model.c_joins == "last_add", product.model.partial_sums == "added"


def unit_of(product: DotProduct) -> NDArray[np.int32]:
    """The numbers of a model that compiled code takes, in the order in which `numba_kernels` reads them."""
    model, out = product.model, product.model.output_format
    keep = -1 << (23 - out.fraction_bits) if model.accumulator == "f32" else -1
    numbers = model.fraction_bits, model.min_exponent, model.accumulator_format.emin, model.rounding == "RNE", keep
    return np.array(numbers, np.int32)
