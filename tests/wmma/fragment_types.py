# SPDX-License-Identifier: MIT
"""What `mma.h` of CUDA 13 declares, written down by hand: fragments, loads, stores, products."""

import warnings
from contextlib import contextmanager
from itertools import product

import numpy as np

from wmma_emu import UnverifiedModelWarning, wmma
from wmma_emu.formats import encode, format_of
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.instructions import ARCHS

TF32 = wmma.precision.tf32
S4, U4, B1 = (getattr(wmma.experimental.precision, name) for name in ("s4", "u4", "b1"))
A, B, C = wmma.matrix_a, wmma.matrix_b, wmma.accumulator
ROW, COL = wmma.row_major, wmma.col_major
MEM_ROW, MEM_COL = wmma.mem_row_major, wmma.mem_col_major
TALL = ((16, 16, 16), (32, 8, 16), (8, 32, 16))


def fragments():
    """(use, m, n, k, type, layout) of every fragment."""
    for shape in TALL:
        for type_, use, layout in product((wmma.half, wmma.int8, wmma.uint8, wmma.bfloat16), (A, B), (ROW, COL)):
            yield use, *shape, type_, layout
        for type_ in (wmma.half, wmma.float32, wmma.int32):
            yield C, *shape, type_, None
    for shape, type_, accumulator in (((16, 16, 8), TF32, wmma.float32), ((8, 8, 4), wmma.double, wmma.double)):
        for use, layout in product((A, B), (ROW, COL)):
            yield use, *shape, type_, layout
        yield C, *shape, accumulator, None
    for shape, types in (((8, 8, 32), (U4, S4)), ((8, 8, 128), (B1,))):
        for type_ in types:
            yield A, *shape, type_, ROW
            yield B, *shape, type_, COL
        yield C, *shape, wmma.int32, None


FRAGMENTS = list(fragments())


def overloads():
    """(m, n, k), types of d, a (and b) and c, layouts of a and b: every `mma_sync`."""
    layouts = list(product((ROW, COL), (ROW, COL)))
    floats = (wmma.half, wmma.float32)
    for shape in TALL:
        for d, c, (a_layout, b_layout) in product(floats, floats, layouts):
            yield shape, d, wmma.half, c, a_layout, b_layout
        for type_, (a_layout, b_layout) in product((wmma.int8, wmma.uint8), layouts):
            yield shape, wmma.int32, type_, wmma.int32, a_layout, b_layout
        for a_layout, b_layout in layouts:
            yield shape, wmma.float32, wmma.bfloat16, wmma.float32, a_layout, b_layout
    for a_layout, b_layout in layouts:
        yield (16, 16, 8), wmma.float32, TF32, wmma.float32, a_layout, b_layout
        yield (8, 8, 4), wmma.double, wmma.double, wmma.double, a_layout, b_layout
    for type_ in (S4, U4):
        yield (8, 8, 32), wmma.int32, type_, wmma.int32, ROW, COL


OVERLOADS = list(overloads())

_SINCE = {wmma.half: 70, wmma.float32: 70, wmma.int8: 72, wmma.uint8: 72, wmma.int32: 72, S4: 75, U4: 75, B1: 75}


def since(m, n, k, type_):
    """The number of the first chip."""
    if (m, n, k) in ((8, 8, 32), (8, 8, 128)):
        return 75
    if (m, n, k) == (16, 16, 8):
        return 80
    return _SINCE.get(type_, 80)


def chips(m, n, k, type_):
    return [name for name, row in ARCHS.items() if row.number >= since(m, n, k, type_)]


def identity(use, m, n, k, type_, layout):
    return f"{use.name}-{m}x{n}x{k}-{type_.name}" + ("" if layout is None else f"-{layout.name}")


def matrix_shape(use, m, n, k):
    return {A: (m, k), B: (k, n), C: (m, n)}[use]


def random_bits(fmt, shape, seed=0):
    """Patterns of all kinds, NaNs with payloads too."""
    words = np.random.default_rng(seed).integers(0, 2**64, shape, np.uint64, endpoint=False)
    return (words & np.uint64(fmt.mask)).astype(fmt.storage)


def random_array(type_, shape, seed=0):
    return from_bits(random_bits(type_.format, shape, seed), type_.format)


def factors(fmt, shape, seed=0):
    """Patterns to multiply: numbers near one, among them some of all kinds, so that few sums are NaN."""
    bits = random_bits(fmt, shape, seed)
    if not fmt.is_float:
        return bits
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal(shape) * 2.0 ** rng.integers(-4, 5, shape)
    near_one = encode(numbers, format_of("f32") if fmt.name == "tf32" else fmt)
    return np.where(rng.random(shape) < 1 / 16, bits, near_one)


def filled(use, m, n, k, type_, layout=None, arch="sm_90", seed=0, warps=()):
    """A fragment of random elements that agree where they are copies."""
    frag = wmma.fragment(use, m, n, k, type_, layout, arch)
    frag.write_bits(frag.lane_map.gather(factors(type_.format, (*warps, *matrix_shape(use, m, n, k)), seed)))
    return frag


@contextmanager
def unverified():
    """Ignore the warnings about chips whose arithmetic was not recorded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnverifiedModelWarning)
        yield
