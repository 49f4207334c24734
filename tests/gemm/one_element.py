# SPDX-License-Identifier: MIT
"""One element of a product with an order of accumulation, on Python integers: what `gemm` must equal."""

from functools import reduce
from itertools import pairwise

from wmma_emu.arithmetic import reference
from wmma_emu.formats import format_of
from wmma_emu.scalar import reference as scalar


def element(product, step, row, column, order, start=0):
    """Pattern of the sum, in the format in which ranges are added: f32 for f16 accumulators."""
    wide = format_of("f32" if product.d.name == "f16" else product.d.name)
    sums = [
        one_range(product, step, row[a:b], column[a:b], order, start if a == 0 else 0)
        for a, b in range_ends(order, len(row), step)
    ]
    if len(sums) == 1:
        return sums[0]
    nan = product.model.nan

    def plus(x, y):
        return (x + y) & 0xFFFF_FFFF if wide.name == "s32" else scalar.add(x, y, wide, nan=nan)

    def store(x):
        fmt = format_of(order.partials) if order.partials else wide
        return scalar.convert(scalar.convert(x, wide, fmt), fmt, wide)

    if order.reduction == "serial":
        return reduce(lambda stored, x: store(plus(x, stored)), sums[1:], store(sums[0]))
    sums = [store(x) for x in sums]
    if order.reduction == "pairwise":
        while len(sums) > 1:
            pairs = [plus(*sums[i : i + 2]) for i in range(0, len(sums) - 1, 2)]
            sums = pairs + sums[len(pairs) * 2 :]
        return sums[0]
    return reduce(plus, sums[::-1] if order.reduction == "descending" else sums)


def range_ends(order, k, step):
    """Where each range starts and stops."""
    if order.cuts:
        return list(pairwise((0, *order.cuts, k)))
    multiple = order.split_multiple or order.tile or step
    length = multiple
    while length * order.splits < k:
        length += multiple
    return [(a, min(a + length, k)) for a in range(0, k, length)]


def one_range(product, step, row, column, order, start):
    """The sum of one range: the partial tile first or last, promoted or not."""
    wide = format_of("f32" if product.d.name == "f16" else product.d.name)
    tile = order.tile or step
    tiles = [list(range(a, min(a + tile, len(row)))) for a in range(0, len(row), tile)]
    if order.residue == "first" and len(row) % tile:
        first = len(row) % tile
        tiles = [list(range(first))] + [list(range(a, a + tile)) for a in range(first, len(row), tile)]
    groups = [[]]
    for ks in tiles:
        whole = tile if order.residue == "first" else -(-len(ks) // step) * step
        padded = ks + [None] * (whole - len(ks))
        for i in range(0, len(padded), step):
            if order.promote_every and len(groups[-1]) == order.promote_every:
                groups.append([])
            groups[-1].append(padded[i : i + step])
    total = start
    for group in groups:
        running = 0 if order.promote_every else start
        for ks in group:
            a = [0 if k is None else row[k] for k in ks]
            b = [0 if k is None else column[k] for k in ks]
            running = reference.dot(product, a, b, running)
        total = scalar.add(total, running, wide) if order.promote_every else scalar.convert(running, product.d, wide)
    return total
