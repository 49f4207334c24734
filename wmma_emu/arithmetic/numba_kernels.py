# SPDX-License-Identifier: MIT
"""Aligned sums for a tile of D in compiled code: the algorithm of `wmma_emu.arithmetic.tiles`, row by row.

One rounding step of one row of the tile runs along its columns, in loops that a compiler vectorises: the largest
exponent; the power of two that scales the last kept bit to 1; the products, truncated by the conversion to int32 and
summed; the rounding. Elements for which this is not exact are recomputed one by one by the slow path, in float64, as in
`wmma_emu.arithmetic.aligned`. Groups with block scales, whose sums are computed elsewhere, always use float64.

Numba compiles a function for the types of its arguments, and the length of a tuple is part of its type. So the number
of products is passed as the length of a tuple in ``shape``, which lets the compiler unroll the loops. Compiled code
is cached on disk until this file changes; numba checks no other file, so all compiled code is in this file.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

_i8, _i32, _i64, _f32, _f64 = np.int8, np.int32, np.int64, np.float32, np.float64

_LOWEST, _ZERO, _SPECIAL, _NONE = -31, -64, 1 << 12, -(1 << 12)
"""The constants of `wmma_emu.arithmetic.operands`; a test compares them."""

_NO_EXPONENT = -(1 << 14)
"""The constant of `wmma_emu.arithmetic.block_scale`; a test compares them."""

_LOWEST_EXPONENT = -100
"""The limit of `wmma_emu.arithmetic.tiles`: from this exponent upward, no result is a float32 subnormal."""

_ROOM = 1 << 28
"""An upper limit on c in a total in int32: c is below 2**(F + 1), and F is at most 26."""


class StepShape(NamedTuple):
    """The compile-time parameters of a rounding step, as lengths of tuples of zeros.

    The length of ``terms`` is the number of products; of ``at_once`` the number of truncated products that fit in an
    int32 sum: all, or at least half. ``nearest`` has length 1 if results are rounded to f16, and is empty if they are
    truncated to float32; ``own_a`` has length 1 if each column of a tile has its own A: columns are then matrices.
    """

    terms: tuple[int, ...]
    at_once: tuple[int, ...]
    nearest: tuple[int, ...]
    own_a: tuple[int, ...] = ()


@njit(nogil=True, cache=True, error_model="numpy")
def prepare_rows(codes, order, values, exponents, value, exponent, top):
    """Prepare rows of A, lines of one column each, like `prepare_columns`, with loops for this layout."""
    steps, terms = order.shape
    for i in range(codes.shape[0]):
        for s in range(steps):
            largest = _i32(_NONE)
            for t in range(terms):
                largest = max(largest, exponents[codes[i, order[s, t], 0]])
            base = _i32(0) if largest == _NONE or largest == _SPECIAL else largest
            top[s, i, 0] = _SPECIAL if largest == _SPECIAL else base
            for t in range(terms):
                code = codes[i, order[s, t], 0]
                value[s, i, t, 0], exponent[s, i, t, 0] = _relative(values[code], exponents[code], base)


@njit(nogil=True, cache=True, error_model="numpy")
def prepare_columns(codes, order, values, exponents, value, exponent, top):
    """Prepare columns of one or more lines: codes (lines, K, columns); other arrays as `multiply_tile` needs them."""
    lines, _, columns = codes.shape
    for s in range(order.shape[0]):
        for i in range(lines):
            largest = top[s, i]
            largest[:] = _NONE
            for t in range(order.shape[1]):
                row = codes[i, order[s, t]]
                for j in range(columns):
                    largest[j] = max(largest[j], exponents[row[j]])
            for t in range(order.shape[1]):
                row = codes[i, order[s, t]]
                for j in range(columns):
                    base = _i32(0) if largest[j] == _NONE or largest[j] == _SPECIAL else largest[j]
                    value[s, i, t, j], exponent[s, i, t, j] = _relative(values[row[j]], exponents[row[j]], base)
            for j in range(columns):
                largest[j] = _i32(0) if largest[j] == _NONE else largest[j]


@njit(nogil=True, inline="always", error_model="numpy")
def _relative(value, exponent, base):
    """Scale a value by the largest exponent of its row or column; values 2**126 below it become zero."""
    if exponent == _NONE:
        return _f32(0), _i8(_ZERO)
    if exponent == _SPECIAL:
        return _f32(0), _i8(0)
    below = _i32(max(exponent - base, -127))
    return _f32(value * _i32(_i32(below + 127) << 23).view(_f32)), _i8(max(below, _LOWEST))


@njit(nogil=True, cache=True, error_model="numpy")
def multiply_tile(shape, row, line, left, right, operands, c, per_instruction, joins, unit):
    """Execute all steps of all instructions for a tile.

    ``row`` is the tile's first row of A, ``line`` the line of B, 0 if there is only one. ``left`` and ``right`` are the
    prepared A and B: value and exponent (steps, lines, terms, columns), top (steps, lines, columns). Lines of A are
    rows; it has one column, or the columns of the tile if each has its own A. ``operands`` are the codes of A and of B,
    (lines, K, columns), the k of every step, and the values of the codes. ``c``, (rows, columns), has values of the
    accumulator's format, and receives the sums.

    ``joins`` is whether c is added, rounded to nearest, after the steps of an instruction; and whether the results of
    steps are added in the same way, instead of being a term of the next step. ``unit`` has the model's parameters: see
    `_slow_step`.
    """
    columns = c.shape[1]
    scratch = (
        np.empty(columns, np.float32), np.empty(columns, np.int8), np.empty(columns, np.float32),
        np.empty(columns, np.int32), np.empty((2, columns), np.int32),
    )  # fmt: skip
    partial, other = np.empty_like(c), np.empty_like(c)
    for start in range(0, left[0].shape[0], per_instruction):
        steps = range(start, start + per_instruction)
        if not joins[0]:
            for s in steps:
                _step(shape, s, row, line, left, right, operands, c, scratch, unit)
            continue
        partial[:] = 0
        for s in steps:
            if joins[1] and s > start:
                other[:] = 0
                _step(shape, s, row, line, left, right, operands, other, scratch, unit)
                _add(shape, partial, other)
            else:
                _step(shape, s, row, line, left, right, operands, partial, scratch, unit)
        _add(shape, c, partial)


@njit(nogil=True, cache=True, error_model="numpy")
def multiply_lanes(shape, first, last, a, b, c, c_places, order, per_instruction, joins, unit):
    """Multiply many small matrices side by side: columns of a tile are matrices, each with its own A.

    The matrices are numbers ``first`` to ``last - 1``. ``a`` and ``b`` consist of words, uint32 (words, matrices,
    parts); the positions of elements, int32 (lines, K, 3): word, part, lowest bit; a uint32 array of 2: the bits of an
    element, and the number of ignored low bits; the values of the codes. Lines are rows of A and columns of B. ``c``
    has values of the accumulator's format, float32 (words, matrices, parts), and receives the sums; ``c_places``, int32
    (columns, rows, 2), has the position of each: word, part. For the other parameters see `multiply_tile`.
    """
    at_once = 64
    steps, terms = order.shape
    (columns, rows), depth = c_places.shape[:2], a[1].shape[1]
    for start in range(first, last, at_once):
        width = min(at_once, last - start)
        x, y = np.empty((rows, depth, width), np.uint32), np.empty((columns, depth, width), np.uint32)
        left = (
            np.empty((steps, rows, terms, width), np.float32), np.empty((steps, rows, terms, width), np.int8),
            np.empty((steps, rows, width), np.int32),
        )  # fmt: skip
        right = (
            np.empty((steps, columns, terms, width), np.float32), np.empty((steps, columns, terms, width), np.int8),
            np.empty((steps, columns, width), np.int32),
        )  # fmt: skip
        _prepare_lanes(a, start, order, x, left)
        _prepare_lanes(b, start, order, y, right)
        running = np.empty((rows, width), np.float32)
        for q in range(columns):
            for i in range(rows):
                word, part = c_places[q, i, 0], c_places[q, i, 1]
                for w in range(width):
                    running[i, w] = c[word, start + w, part]
            multiply_tile(shape, 0, q, left, right, (x, y, order, a[3], b[3]), running, per_instruction, joins, unit)
            for i in range(rows):
                word, part = c_places[q, i, 0], c_places[q, i, 1]
                for w in range(width):
                    c[word, start + w, part] = running[i, w]


@njit(nogil=True, cache=True, error_model="numpy")
def _prepare_lanes(operand, first, order, code, ready):
    """Prepare matrices starting at ``first``: codes (lines, K, matrices), and arrays as `multiply_tile` needs them."""
    words, places, bits, codes = operand
    mask, ignored = bits
    lines, depth, width = code.shape
    for i in range(lines):
        for k in range(depth):
            word, part, shift = places[i, k]
            for w in range(width):
                code[i, k, w] = np.uint32((words[word, first + w, part] >> np.uint32(shift)) & mask) >> ignored
    prepare_columns(code, order, codes[0], codes[1], ready[0], ready[1], ready[2])


@njit(nogil=True, cache=True, error_model="numpy")
def _step(shape, s, first, line, left, right, operands, running, scratch, unit):
    """Execute step ``s`` of every row of the tile, from row ``first`` of A, with line ``line`` of B."""
    a, b, order, a_codes, b_codes = operands
    out, largest, _, last, sums = scratch
    limit = _limit(shape)
    for i in range(running.shape[0]):
        slow_path = _row_step(shape, s, first + i, line, left, right, running, i, scratch, unit)
        if slow_path != 0:
            for j in range(out.shape[0]):
                wrong = _needs_slow_path(largest[j], _i32(last[j] + unit[0])) | _is_too_large(sums[0, j], limit)
                if len(shape[0]) > len(shape[1]):
                    wrong |= _is_too_large(sums[1, j], limit)
                if wrong != 0:
                    x, y = a[first + i, :, j * len(shape[3])], b[line, :, j]
                    out[j] = _slow_step(x, y, order[s], a_codes, b_codes, running[i, j], unit)
        for j in range(out.shape[0]):
            running[i, j] = out[j]


@njit(nogil=True, inline="always", error_model="numpy")
def _row_step(shape, s, row, line, left, right, c, i, scratch, unit):
    """Execute step ``s`` of row ``row`` of A on sums ``c[i]``; return whether any element needs the slow path."""
    a, a_exponent, a_top = left
    b, b_exponent, b_top = right
    out, largest, scale, last, sums = scratch
    terms, at_once, nearest, own = len(shape[0]), len(shape[1]), len(shape[2]) == 1, len(shape[3])
    fraction_bits, floor, smallest, keep = unit[0], unit[1], unit[2], unit[4]
    columns, limit, slow_path = out.shape[0], _limit(shape), _i32(0)
    for j in range(columns):
        exponent = _i8(-128)
        for k in range(terms):
            exponent = max(exponent, _i8(a_exponent[s, row, k, j * own] + b_exponent[s, line, k, j]))
        largest[j] = exponent
    for j in range(columns):
        base = _i32(a_top[s, row, j * own] + b_top[s, line, j])
        exponent = _exponent_of(c[i, j])
        if nearest:  # subnormals of f16 keep its smallest exponent
            exponent = exponent if exponent == _i32(-127) else max(exponent, smallest)
        exponent = max(max(_i32(_i32(largest[j]) + base), exponent), floor)
        slow_path |= _needs_slow_path(largest[j], exponent)
        scale[j] = _power_of_two(max(_i32(_i32(fraction_bits + base) - exponent), _i32(-126)))
        last[j] = _i32(exponent - fraction_bits)
    for j in range(columns):
        total, power = _i32(0), scale[j]
        for k in range(at_once):
            total = _i32(total + _i32((a[s, row, k, j * own] * power) * b[s, line, k, j]))
        sums[0, j] = total
    if terms > at_once:
        for j in range(columns):
            total, power = _i32(0), scale[j]
            for k in range(at_once, terms):
                total = _i32(total + _i32((a[s, row, k, j * own] * power) * b[s, line, k, j]))
            sums[1, j] = total
    for j in range(columns):
        total = sums[0, j]
        slow_path |= _is_too_large(total, limit)
        if terms > at_once:
            slow_path |= _is_too_large(sums[1, j], limit)
            total = _i32(total + sums[1, j])
        total = _i32(total + _i32(c[i, j] * _power_of_two(_i32(-last[j]))))
        if nearest:
            result = _to_f16(_f64(total) * _f64(_power_of_two(last[j])))
            kept = _f32(c[i, j] + _f32(0))
        else:
            result = _toward_zero(total, last[j], keep)
            kept = _keep(c[i, j], keep)
        # If every product is zero, c is passed through.
        out[j] = kept if largest[j] <= _i8(_ZERO) else result
    return slow_path


@njit(nogil=True, inline="always", error_model="numpy")
def _add(shape, sums, others):
    """Add two tiles, rounded once to nearest in the accumulator's format."""
    for i in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            if len(shape[2]) == 1:
                sums[i, j] = _to_f16(_f64(sums[i, j]) + _f64(others[i, j]))
            else:
                sums[i, j] = _f32(sums[i, j] + others[i, j])


@njit(nogil=True, inline="always", error_model="numpy")
def _power_of_two(exponent):
    """Return 2**exponent, a normal float32; otherwise the element takes the slow path."""
    return _i32(_i32(exponent + _i32(127)) << _i32(23)).view(_f32)


@njit(nogil=True, inline="always", error_model="numpy")
def _exponent_of(value):
    """Return the exponent of a running sum, a float32; the exponent of zero is below every floor."""
    return _i32(_i32(_i32(_f32(value).view(_i32) >> _i32(23)) & _i32(255)) - _i32(127))


@njit(nogil=True, inline="always", error_model="numpy")
def _toward_zero(total, exponent, keep):
    """Truncate ``total * 2**exponent`` to float32: subtract a unit if the conversion rounded up, then mask the bits."""
    rounded = _f32(total)
    too_far = _i32(abs(_i32(rounded)) > abs(total))
    return _i32(_i32(_f32(rounded).view(_i32) - too_far) & keep).view(_f32) * _power_of_two(exponent)


@njit(nogil=True, inline="always", error_model="numpy")
def _to_f16(value):
    """Round a float64 to the nearest f16, ties to even, by adding and subtracting 1.5 * 2**52 of its last places."""
    field = (_f64(value).view(_i64) >> 52) & 0x7FF
    magic = _i64((min(max(field, 1023 - 14), 1023 + 64) + 42) << 52).view(_f64) * 1.5
    rounded = _f32((value + magic) - magic)
    return _f32(np.copysign(np.inf, rounded)) if abs(rounded) >= 65536 else rounded


@njit(nogil=True, inline="always", error_model="numpy")
def _needs_slow_path(largest, exponent):
    """Return whether the fast step is invalid: clipped exponents, results near float32's limits, infinities, NaN."""
    low = (largest <= _i8(_LOWEST)) | (exponent < _i32(_LOWEST_EXPONENT))
    return _i32(1) if (low & (largest > _i8(_ZERO))) | (exponent > _i32(127)) else _i32(0)


@njit(nogil=True, inline="always", error_model="numpy")
def _limit(shape):
    """Return the limit of an int32 sum above which c, or the sum of the other half, might not fit."""
    return _i32(((1 << 31) if len(shape[0]) <= len(shape[1]) else (1 << 30)) - _ROOM)


@njit(nogil=True, inline="always", error_model="numpy")
def _is_too_large(total, limit):
    return _i32(1) if (total > limit) | (total < -limit) else _i32(0)


@njit(nogil=True, error_model="numpy")
def _slow_step(a, b, ks, a_codes, b_codes, c, unit):
    """Align the terms of one step, truncate, add, round once: exactly, in float64.

    The step uses the elements ``ks`` of a row of A and a column of B, shape (K,). c is a value of the accumulator's
    format. ``unit``, int32, has the model's parameters from `wmma_emu.arithmetic.numba_lanes`: fraction_bits,
    min_exponent, the accumulator's smallest exponent, whether results are rounded to the nearest f16, the bits of
    float32 that the output keeps.
    """
    largest, special, sum_of_specials = _examine(a, b, ks, a_codes, b_codes)
    if special or not np.isfinite(c):
        return _f32(sum_of_specials + c)
    largest = max(largest, max(_exponent_of_number(c, unit[2]), unit[1]))
    total = np.trunc(_f64(c) * _wide_power_of_two(unit[0] - largest))
    for k in ks:
        x, y = a[k], b[k]
        p, q = a_codes[1][x], b_codes[1][y]
        if p != _NONE and q != _NONE:
            power = _wide_power_of_two(max(p + q + unit[0] - largest, -1022))
            total += np.trunc(_f64(a_codes[0][x]) * _f64(b_codes[0][y]) * power)
    value = total * _wide_power_of_two(largest - unit[0])
    return _to_f16(value) if unit[3] else _cut_to_f32(value, unit[4])


@njit(nogil=True, inline="always", error_model="numpy")
def _examine(a, b, ks, a_codes, b_codes):
    """Return the largest exponent of non-zero products, whether any is special, and the sum of the specials."""
    largest, special, total = _i32(_NO_EXPONENT), False, _f32(0)
    for k in ks:
        x, y = a[k], b[k]
        p, q = a_codes[1][x], b_codes[1][y]
        if p == _SPECIAL or q == _SPECIAL:
            special = True
            total += a_codes[0][x] * b_codes[0][y]
        elif p != _NONE and q != _NONE:
            largest = max(largest, _i32(p + q))
    return largest, special, total


@njit(nogil=True, cache=True, error_model="numpy")
def add_groups(sums, x, y, x_exponent, y_exponent, c, unit, zeros_count):
    """Execute one step of groups with block scales for a tile, from the sums of the groups; c receives the result.

    See `wmma_emu.arithmetic.group_sums.GroupStep` for the arrays. ``zeros_count`` is whether groups of zeros
    affect the alignment.
    """
    groups, batch, rows, columns = sums.shape
    fraction_bits, floor, smallest, keep = unit[0], unit[1], unit[2], unit[4]
    largest = np.empty(columns, np.int32)
    total = np.empty(columns, np.float64)
    for q in range(batch):
        for i in range(rows):
            for j in range(columns):
                largest[j] = max(_exponent_of_number(c[q, i, j], smallest), floor)
            for g in range(groups):
                for j in range(columns):
                    scales = _f32(x[g, q, i, 0] * y[g, q, 0, j])
                    own = _i32(x_exponent[g, q, i, 0] + y_exponent[g, q, 0, j])
                    counts = scales != 0 and (zeros_count or sums[g, q, i, j] != 0)
                    largest[j] = max(largest[j], own if counts else _i32(_NO_EXPONENT))
            for j in range(columns):
                total[j] = np.trunc(_f64(c[q, i, j]) * _wide_power_of_two(_i32(fraction_bits - largest[j])))
            for g in range(groups):
                for j in range(columns):
                    scales = _f32(x[g, q, i, 0] * y[g, q, 0, j])
                    own = _i32(x_exponent[g, q, i, 0] + y_exponent[g, q, 0, j])
                    power = _wide_power_of_two(_i32(own + fraction_bits - largest[j]))
                    total[j] += np.trunc(_f64(sums[g, q, i, j]) * _f64(scales) * power)
            for j in range(columns):
                c[q, i, j] = _cut_to_f32(total[j] * _wide_power_of_two(_i32(largest[j] - fraction_bits)), keep)


@njit(nogil=True, inline="always", error_model="numpy")
def _wide_power_of_two(exponent):
    """Return 2**exponent, a normal float64."""
    return _i64(_i64(exponent + _i32(1023)) << 52).view(_f64)


@njit(nogil=True, inline="always", error_model="numpy")
def _exponent_of_number(value, smallest):
    """Return the exponent of a running sum; zero has none, subnormals the smallest of the accumulator's format."""
    return _i32(_NO_EXPONENT) if value == 0 else max(_exponent_of(value), _i32(smallest))


@njit(nogil=True, inline="always", error_model="numpy")
def _cut_to_f32(value, keep):
    """Truncate to the kept bits of float32; numbers beyond its range become infinite, and a zero +0."""
    if abs(value) < 2.0**-126:
        return _keep(_f32(np.trunc(value * 2.0**149) * 2.0**-149), keep)
    return _keep(_f32(_i64(_f64(value).view(_i64) & _i64(-1 << 29)).view(_f64)), keep)


@njit(nogil=True, inline="always", error_model="numpy")
def _keep(value, keep):
    """Truncate a float32 to the kept bits; a zero result becomes +0."""
    return _f32(_i32(_f32(value).view(_i32) & keep).view(_f32) + _f32(0))
