# SPDX-License-Identifier: MIT
"""Operands of `tcgen05.mma` for tests: in tensor and in shared memory, and as numbers of 64 bits."""

import itertools

import numpy as np

from wmma_emu.formats import format_of
from wmma_emu.formats.codec import decode, encode
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.instructions.tensor import TENSOR_KINDS, tensor_instruction, tensor_sizes
from wmma_emu.layouts import granularity_of
from wmma_emu.tcgen05 import (
    TensorMemory,
    bound_tensor_instruction,
)

A_AT, SCALE_A_AT, SCALE_B_AT, METADATA_AT = 400, 300, 320, 340
TYPES = {
    "f16": ("f32", "bf16", "f16"), "tf32": ("f32", "tf32", "tf32"), "f8f6f4": ("f16", "e2m1", "e4m3"),
    "i8": ("s32", "u8", "s8"), "mxf8f6f4": ("f32", "e3m2", "e2m1"), "mxf4": ("f32", "e2m1", "e2m1"),
    "mxf4nvf4": ("f32", "e2m1", "e2m1"),
}  # fmt: skip
WAYS = [
    (kind, m, group, ws, sparse)
    for kind, group, ws, sparse in itertools.product(TENSOR_KINDS, (1, 2), (False, True), (False, True))
    for m in dict.fromkeys(
        m for row in tensor_sizes(kind, cta_group=group, ws=ws, sparse=sparse) if not row.k for m in row.m
    )
]


def bound(kind, m, n=64, group=1, chip="sm_100", **options):
    scale = {"scale": "ue4m3"} if kind == "mxf4nvf4" else {}
    return bound_tensor_instruction(
        tensor_instruction(kind, m, n, *TYPES[kind], cta_group=group, **scale, **options), chip
    )


def memories(ins):
    found = tuple(TensorMemory() for _ in range(ins.data_path.cta_group))
    for memory in found:
        assert memory.alloc(512) == 0
    return found[0] if len(found) == 1 else found


def small_numbers(fmt, shape, random):
    """Small integers, so that no sum is rounded, and every element counts."""
    fmt = format_of(fmt)
    if fmt.is_float:
        return encode(random.choice([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0], shape), fmt)
    low = -3 if fmt.signed else 0
    return (random.integers(low, 4, shape) & fmt.mask).astype(fmt.storage)


def values(bits, fmt):
    fmt = format_of(fmt)
    if fmt.is_float:
        return decode(bits, fmt)
    wide = bits.astype(np.int64)
    return wide - ((wide & fmt.sign_mask) << 1)


class TensorProduct:
    """Operands of an instruction, in tensor memory and out of it."""

    def __init__(self, ins, seed=0):
        self.ins, row = ins, ins.instruction
        random = np.random.default_rng(seed)
        self.a, self.b = small_numbers(row.a, (row.m, row.k), random), small_numbers(row.b, (row.k, row.n), random)
        self.c = small_numbers(row.d, (row.m, row.n), random)
        self.tmem = memories(ins)
        self.options, self.scales = {}, {}
        packed = from_bits(self.a, row.a)
        if row.is_sparse:
            keep = granularity_of(row)
            cells = self.a.reshape(row.m, -1, keep.chunk // keep.width, keep.width)
            order = random.random(cells.shape[:3]).argsort(-1)
            cells[order >= keep.kept // keep.width] = 0
            packed, nibbles = ins.compress(from_bits(self.a, row.a))
            ins.store(self.tmem, "metadata", METADATA_AT, nibbles)
            self.options["metadata"] = METADATA_AT
        if row.is_block_scaled:
            one = {"ue8m0": 127, "ue4m3": 7 << 3}[row.scale]
            step = {"ue8m0": 1, "ue4m3": 8}[row.scale]
            self.scale_a, self.scale_b = (
                (one + step * random.integers(-1, 3, shape)).astype(np.uint8)
                for shape in ((row.m, row.scale_vec), (row.scale_vec, row.n))
            )
            ins.store(self.tmem, "scale_a", SCALE_A_AT, self.scale_a)
            ins.store(self.tmem, "scale_b", SCALE_B_AT, self.scale_b)
            self.options |= {"scale_a": SCALE_A_AT, "scale_b": SCALE_B_AT}
            self.scales = {"scale_a": self.scale_a, "scale_b": self.scale_b}
        self.packed = packed
        ins.store(self.tmem, "d", 0, from_bits(self.c, row.d))
        self.shared_a = ins.in_shared_memory("a", packed)
        self.shared_b = ins.in_shared_memory("b", from_bits(self.b, row.b))

    def scaled(self, matrix, scale, axis):
        row = self.ins.instruction
        factor = decode(scale, format_of(row.scale)) if row.scale == "ue8m0" else decode(scale, format_of("ue4m3"))
        return matrix * factor.repeat(row.scale_block, axis)

    def want(self, adds=True):
        """D by numbers of 64 bits."""
        row = self.ins.instruction
        a, b = values(self.a, row.a), values(self.b, row.b)
        if self.scales:
            a, b = self.scaled(a, self.scale_a, 1), self.scaled(b, self.scale_b, 0)
        return a @ b + adds * values(self.c, row.d)

    def matrices(self, c=True):
        row = self.ins.instruction
        given = from_bits(self.a, row.a), from_bits(self.b, row.b), from_bits(self.c, row.d) if c else None
        return self.ins(*given, **self.scales)

    def got(self):
        row = self.ins.instruction
        return values(to_bits(self.ins.load(self.tmem, 0), row.d), row.d)


def words(tmem):
    return [x.words.copy() for x in (tmem if isinstance(tmem, tuple) else (tmem,))]
