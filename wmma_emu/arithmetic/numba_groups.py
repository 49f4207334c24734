# SPDX-License-Identifier: MIT
"""One step of groups with block scales in compiled code: what follows their sums, element after element.

As `wmma_emu.arithmetic.group_sums` does it in NumPy, array after array: terms, alignment, cut, sum and rounding, in
float64, which holds all of that exactly.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wmma_emu.arithmetic.group_sums import Step
from wmma_emu.arithmetic.model import DotProduct

__all__ = ["add_groups", "add_step"]

_i32, _i64, _f32, _f64 = np.int32, np.int64, np.float32, np.float64

_NONE = -(1 << 14)
"""As `wmma_emu.arithmetic.block_scale.NO_EXPONENT`; a test compares them."""


def add_step(product: DotProduct, step: Step, c: NDArray[np.float32]) -> None:
    """Align the groups and c, cut, add, round once; c takes the result."""
    model = product.model
    aligned = model.zero_groups == "aligned"
    add_groups(*step, c, _i32(model.fraction_bits), _i32(model.min_exponent), aligned)


@njit(nogil=True, cache=True, error_model="numpy")
def add_groups(sums, x, y, x_exponent, y_exponent, c, fraction_bits, floor, zeros_count):
    """Take one step for a tile; the arrays are those of `wmma_emu.arithmetic.group_sums.Step`."""
    groups, batch, rows, columns = sums.shape
    largest = np.empty(columns, np.int32)
    total = np.empty(columns, np.float64)
    for q in range(batch):
        for i in range(rows):
            for j in range(columns):
                largest[j] = max(_exponent_of(c[q, i, j]), floor)
            for g in range(groups):
                for j in range(columns):
                    scales = _f32(x[g, q, i, 0] * y[g, q, 0, j])
                    own = _i32(x_exponent[g, q, i, 0] + y_exponent[g, q, 0, j])
                    counts = scales != 0 and (zeros_count or sums[g, q, i, j] != 0)
                    largest[j] = max(largest[j], own if counts else _i32(_NONE))
            for j in range(columns):
                total[j] = np.trunc(_f64(c[q, i, j]) * _power_of_two(_i32(fraction_bits - largest[j])))
            for g in range(groups):
                for j in range(columns):
                    scales = _f32(x[g, q, i, 0] * y[g, q, 0, j])
                    own = _i32(x_exponent[g, q, i, 0] + y_exponent[g, q, 0, j])
                    unit = _power_of_two(_i32(own + fraction_bits - largest[j]))
                    total[j] += np.trunc(_f64(sums[g, q, i, j]) * _f64(scales) * unit)
            for j in range(columns):
                c[q, i, j] = _toward_zero(total[j] * _power_of_two(_i32(largest[j] - fraction_bits)))


@njit(nogil=True, inline="always", error_model="numpy")
def _power_of_two(exponent):
    """2**exponent, a normal float64."""
    return _i64(_i64(exponent + _i32(1023)) << 52).view(_f64)


@njit(nogil=True, inline="always", error_model="numpy")
def _exponent_of(value):
    """Exponent of a running sum; zero has none, subnormals the smallest."""
    field = _i32(_i32(_f32(value).view(_i32) >> _i32(23)) & _i32(255))
    return _i32(_NONE) if value == 0 else _i32(max(field, _i32(1)) - _i32(127))


@njit(nogil=True, inline="always", error_model="numpy")
def _toward_zero(value):
    """Cut to float32; what is beyond it becomes infinite, and a zero +0."""
    if abs(value) < 2.0**-126:
        return _f32(np.trunc(value * 2.0**149) * 2.0**-149) + _f32(0)
    return _f32(_i64(_f64(value).view(_i64) & _i64(-1 << 29)).view(_f64))
