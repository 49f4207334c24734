# SPDX-License-Identifier: MIT
"""Rows of mma, mma.sp and wmma.mma: products of the registers of a warp."""

from hashlib import sha256
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.native.code import memory_of
from wmma_emu.arithmetic.native.product import define_product, reason_against
from wmma_emu.arithmetic.native.tile import Tile
from wmma_emu.instructions import Operand
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.products.fragments import (
    Fragment,
    columns_of,
    places_of_b,
    read_d,
    write_a,
    write_b,
    write_c,
)
from wmma_emu.ptx.native.products.metadata import write_chosen
from wmma_emu.ptx.native.products.registers import (
    Registers,
    offsets_of_sources,
    offsets_of_targets,
    raise_flag,
    whole_warp,
)
from wmma_emu.ptx.native.rows import FUNCTION, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.collectives import operands_of
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.loads import elements_of
from wmma_emu.ptx.steps.matrix_operands import BoundProduct, Metadata, bind, immediate_of, sources_of, targets_of
from wmma_emu.warp import BoundInstruction
from wmma_emu.warp.quad_pairs import per_quad_pair

_LETTERS: tuple[Operand, ...] = ("a", "b", "c", "d")


class WarpProduct(NamedTuple):
    """A product of the registers of a warp: its layouts, the places of its elements, and the selector of metadata."""

    matrix: BoundInstruction
    selector: int
    layouts: tuple[LaneMap, ...]
    fragments: tuple[Fragment, ...]
    tile: Tile

    @classmethod
    def of(cls, matrix: BoundInstruction, selector: int = 0) -> "WarpProduct":
        """Derive the places from the layouts of an instruction on a chip."""
        reason = reason_against(matrix.product)
        if reason:
            raise NotNativeError(f"{matrix.mnemonic}: {reason}")
        operands = matrix.a, matrix.b, matrix.c, matrix.d
        layouts = tuple(x.layout for x in operands)
        if any(x.reads_copies for x in layouts):
            layouts = tuple(per_quad_pair(x) for x in layouts)
        fragments = tuple(
            Fragment.of(layout, matrix.instruction.container(x), matrix.instruction.format(x).bits)
            for layout, x in zip(layouts, _LETTERS, strict=True)
        )
        if matrix.product.a.bits == 1:
            fragments = (fragments[0].words(2), fragments[1].words(1), *fragments[2:])
        return cls(matrix, selector, layouts, fragments, _tile(matrix, layouts, fragments))

    @property
    def name(self) -> str:
        """The name of the code, which differs from the name of all other code."""
        product = self.matrix.product
        known = [
            product.model.parameters,
            product.k,
            product.satfinite,
            product.rounding,
            product.bit_operation,
            self.selector,
        ]
        known += [self.selector, *(x.name for x in (product.a, product.b, product.c, product.d))]
        arrays = [x.tobytes() for fragment in self.fragments for x in fragment[:3]]
        arrays += [layout.coords.tobytes() for layout in self.layouts]
        digest = sha256(repr(known).encode() + b"".join(arrays)).hexdigest()
        return f"{self.matrix.mnemonic} {self.selector} {digest[:16]}"

    def counts(self) -> list[int]:
        """Return the number of registers of each operand, and of the metadata."""
        return [*(x.num_registers for x in self.layouts), int(self.matrix.instruction.is_sparse)]

    def define(self, module: ir.Module) -> ir.Function:
        """Add the function of the row to a module: A, B and C to memory, the product, D to the registers."""
        tile, bits = self.tile, [x.register_bits for x in self.layouts]
        product = define_product(module, tile, self.name)
        function = ir.Function(module, FUNCTION, self.name)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        context, warp, record, mask = function.args
        sizes = [tile.bytes_of(tile.size_of_a), tile.bytes_of(tile.size_of_b)]
        sizes += [len(tile.columns) * tile.rows * tile.word_dtype.itemsize]
        sizes += [4 * tile.terms * tile.rows] * tile.is_sparse
        memory = [memory_of(builder, size) for size in sizes]
        whole_warp(builder, context, mask)
        registers = Registers(builder, warp, record)
        counts = self.counts()
        first = np.cumsum([0, *counts]).tolist()
        a, b, c = (registers.read(first[i], counts[i], bits[i]) for i in range(3))
        write_a(tile, self.fragments[0], a, memory[0])
        write_b(tile, self.fragments[1], self.layouts[1].register_bits // _slot_bits(self.layouts[1]), b, memory[1])
        write_c(tile, self.fragments[2], c, memory[2])
        if tile.is_sparse:
            [words] = registers.read(first[4], 1, 32)
            illegal = write_chosen(tile, self.matrix.instruction, self.selector, words, memory[3])
            with builder.if_then(illegal):
                raise_flag(builder, context, Flag.UNSUPPORTED)
                builder.ret_void()
        builder.call(product, memory)
        registers.write(first[3], read_d(tile, self.layouts[3], builder, memory[2]))
        builder.ret_void()
        return function


def _slot_bits(layout: LaneMap) -> int:
    """Return the bits of an element in a register; single bits are read as words."""
    return 32 if layout.element_bits == 1 else layout.element_bits


def _tile(matrix: BoundInstruction, layouts: tuple[LaneMap, ...], fragments: tuple[Fragment, ...]) -> Tile:
    product, b = matrix.product, layouts[1]
    _, height, width = fragments[2].lane.shape
    rows = min(height, 16)
    slots = b.register_bits // _slot_bits(b)
    places = places_of_b(fragments[1], slots)
    depth = places[0, :, 0] - places[0, 0, 0]
    columns = places[:, 0, :]
    if not (places == columns[:, None, :] + depth[:, None]).all():
        raise NotNativeError(f"{matrix.mnemonic}: the layout of B is not a sum over k and column")
    blocks, of_columns = [], []
    for number, (which, _, column) in enumerate(columns_of(fragments[2], rows)):
        blocks.append(number // width)
        of_columns.append(int(columns[which, column]))
    size = b.num_registers * slots * LANES
    return Tile(product, rows, tuple(blocks), tuple(of_columns), tuple(depth.tolist()), size)


def multiply_row(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Make the row of mma, mma.sp or wmma.mma, with the checks of the NumPy machine's step."""
    bound: BoundProduct = bind(instruction.opcode, context)
    entry = bound.entry
    if entry.is_block_scaled:
        raise NotNativeError(f"{instruction.opcode}: products with block scales have no native code")
    given = operands_of(instruction, 4 + 2 * entry.is_sparse)
    targets = targets_of(instruction, given[0], entry.registers("d"))
    selector, metadata = 0, []
    if entry.is_sparse:
        selector = immediate_of(instruction, given[5], "the sparsity selector")
        one = elements_of(given[4])
        register = Metadata.of(entry, one[0] if len(one) == 1 else given[4], selector).register
        metadata = offsets_of_sources(layout, [register], 32)
    warp_product = WarpProduct.of(bound.matrix, selector)
    record: list[int] = []
    for name, x, fragment in zip(_LETTERS[:3], given[1:4], warp_product.layouts, strict=False):
        sources = sources_of(instruction, x, entry.registers(name))
        record += offsets_of_sources(layout, sources, fragment.register_bits)
    record += offsets_of_targets(layout, targets, warp_product.layouts[3].register_bits)
    return Row(warp_product.name, warp_product.define, (*record, *metadata))
