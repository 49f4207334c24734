# SPDX-License-Identifier: MIT
"""Rows of mma, mma.sp and wmma.mma: products of the registers of a warp."""

from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.native.code import memory_of
from wmma_emu.arithmetic.native.product import define_product, reason_against
from wmma_emu.arithmetic.native.tile import Tile
from wmma_emu.instructions import Arch, Instruction, Operand
from wmma_emu.layouts import LaneMap, scale_selectors_of
from wmma_emu.layouts.block_scales import SCALED, Scaled, scale_map
from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm.values import Symbol
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
from wmma_emu.ptx.program.flow import writes
from wmma_emu.ptx.program.program import Immediate, KernelProgram, PtxInstruction, Register
from wmma_emu.ptx.steps.collectives import operands_of
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.loads import elements_of
from wmma_emu.ptx.steps.matrix_operands import BoundProduct, Metadata, bind, immediate_of, sources_of, targets_of
from wmma_emu.ptx.steps.matrix_scales import OPERANDS_OF_SCALES, BlockScales, OperandScales
from wmma_emu.warp import BoundInstruction, bound_instruction
from wmma_emu.warp.quad_pairs import per_quad_pair

_ScaleSelectors = tuple[tuple[int, int], ...]

_LETTERS: tuple[Operand, ...] = ("a", "b", "c", "d")


class WarpProduct(NamedTuple):
    """A product of the registers of a warp: its layouts, the places of its elements, and its selectors.

    ``scale_selectors`` are the byte-id and the thread-id of the scales of A and of B.
    """

    matrix: BoundInstruction
    selector: int
    scale_selectors: _ScaleSelectors
    layouts: tuple[LaneMap, ...]
    fragments: tuple[Fragment, ...]
    tile: Tile

    @classmethod
    def of(
        cls,
        matrix: BoundInstruction,
        selector: int = 0,
        scale_selectors: tuple[tuple[int, int], ...] = ((0, 0), (0, 0)),
    ) -> "WarpProduct":
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
        return cls(matrix, selector, scale_selectors, layouts, fragments, _tile(matrix, layouts, fragments))

    @property
    def name(self) -> str:
        """The name of the code, which differs from the name of all other code."""
        product = self.matrix.product
        formats = [x.name for x in (product.a, product.b, product.c, product.d)]
        known = (
            product.model.parameters, product.k, product.satfinite, product.rounding, product.bit_operation, formats,
            str(product.scale), product.scale_vec, self.selector, self.scale_selectors,
        )  # fmt: skip
        arrays = [x.tobytes() for fragment in self.fragments for x in fragment[:3]]
        arrays += [layout.coords.tobytes() for layout in self.layouts]
        digest = sha256(repr(known).encode() + b"".join(arrays)).hexdigest()
        return f"{self.matrix.mnemonic} {self.selector} {digest[:16]}"

    def counts(self) -> list[int]:
        """Return the number of registers of each operand, of the metadata, and of the scales of A and B."""
        entry = self.matrix.instruction
        scales = int(entry.is_block_scaled)
        return [*(x.num_registers for x in self.layouts), int(entry.is_sparse), scales, scales]

    def define(self, module: ir.Module) -> ir.Function:
        """Add the function of the row to a module: A, B and C to memory, the product, D to the registers."""
        tile, bits = self.tile, [x.register_bits for x in self.layouts]
        product = define_product(module, tile, self.name)
        function = ir.Function(module, FUNCTION, self.name)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        context, warp, record, mask = function.args
        rows, columns, scale_bytes = tile.rows, len(tile.columns), 8 * tile.scale_vec
        sizes = {
            "a": tile.bytes_of(tile.size_of_a), "b": tile.bytes_of(tile.size_of_b), "chosen": 4 * tile.terms * rows,
            "scale_a": scale_bytes * rows, "scale_b": scale_bytes * columns,
        }  # fmt: skip
        memory = {name: memory_of(builder, sizes[name]) for name in tile.operands}
        sums = memory_of(builder, columns * rows * tile.word_dtype.itemsize)
        whole_warp(builder, context, mask)
        registers = Registers(builder, warp, record)
        counts = self.counts()
        first = np.cumsum([0, *counts]).tolist()
        a, b, c = (registers.read(first[i], counts[i], bits[i]) for i in range(3))
        write_a(tile, self.fragments[0], a, memory["a"])
        write_b(tile, self.fragments[1], self.layouts[1].register_bits // _slot_bits(self.layouts[1]), b, memory["b"])
        write_c(tile, self.fragments[2], c, sums)
        if tile.is_sparse:
            [words] = registers.read(first[4], 1, 32)
            illegal = write_chosen(tile, self.matrix.instruction, self.selector, words, memory["chosen"])
            with builder.if_then(illegal):
                raise_flag(builder, context, Flag.UNSUPPORTED)
                builder.ret_void()
        if tile.scale_vec:
            for i, name in enumerate(SCALED):
                [words] = registers.read(first[5 + i], 1, 32)
                self._write_scales(words, name, memory[f"scale_{name}"])
        builder.call(product, [sums, *memory.values()])
        registers.write(first[3], read_d(tile, self.layouts[3], builder, sums))
        builder.ret_void()
        return function

    def _write_scales(self, words: Symbol, operand: Scaled, pointer: ir.Value) -> None:
        """Write the scales of A or of B, whose places the selectors choose."""
        found = scale_map(self.matrix.instruction, operand, *self.scale_selectors[SCALED.index(operand)])
        lanes, bytes_ = (x if operand == "b" else x.T for x in (found.lane, found.byte))
        for block, (lane, byte) in enumerate(zip(lanes, bytes_, strict=True)):
            pattern = words.picked(lane) >> (8 * byte).astype(np.uint32) & np.uint32(255)
            self.tile.write_scales(pattern, pointer, block)


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
    given = operands_of(instruction, 4 + 2 * entry.is_sparse + OPERANDS_OF_SCALES * entry.is_block_scaled)
    targets = targets_of(instruction, given[0], entry.registers("d"))
    selector, metadata = 0, []
    if entry.is_sparse:
        selector = immediate_of(instruction, given[5], "the sparsity selector")
        one = elements_of(given[4])
        register = Metadata.of(entry, one[0] if len(one) == 1 else given[4], selector).register
        metadata = offsets_of_sources(layout, [register], 32)
    scale_selectors: _ScaleSelectors = ((0, 0), (0, 0))
    scales: list[int] = []
    if entry.is_block_scaled:
        sides = BlockScales.of(instruction, entry, given[-OPERANDS_OF_SCALES:]).sides
        scale_selectors = tuple(_selectors(entry, layout.program, side) for side in sides)
        scales = [x for side in sides for x in offsets_of_sources(layout, side.data, 32)]
    name, warp_product = _code_of(entry, bound.matrix.arch, bound.matrix.product, selector, scale_selectors)
    record: list[int] = []
    for letter, x, fragment in zip(_LETTERS[:3], given[1:4], warp_product.layouts, strict=False):
        sources = sources_of(instruction, x, entry.registers(letter))
        record += offsets_of_sources(layout, sources, fragment.register_bits)
    record += offsets_of_targets(layout, targets, warp_product.layouts[3].register_bits)
    return Row(name, warp_product.define, (*record, *metadata, *scales))


@lru_cache(maxsize=256)
def _code_of(
    entry: Instruction, arch: Arch, product: DotProduct, selector: int, scale_selectors: _ScaleSelectors
) -> tuple[str, WarpProduct]:
    """Return the code of a product and its name, which take a millisecond: kernels repeat their products."""
    found = WarpProduct.of(bound_instruction(entry, arch, warns=False), selector, scale_selectors)
    if found.matrix.product != product:
        raise NotNativeError(f"{entry.mnemonic} with an altered model has no native code")
    return found.name, found


def _selectors(entry: Instruction, program: KernelProgram, side: OperandScales) -> tuple[int, int]:
    byte, thread = (_constant(program, x) for x in side[2:])
    allowed = scale_selectors_of(entry, side.operand)
    if byte is None or thread is None or byte not in allowed[0] or thread not in allowed[1]:
        raise NotNativeError(
            f"{entry.mnemonic} with selectors of scales that are not legal constants has no native code"
        )
    return byte, thread


def _constant(program: KernelProgram, operand: object) -> int | None:
    """Return the value of a selector; None if it is not a constant, nor a register that is always given one."""
    if isinstance(operand, Immediate):
        return operand.value
    if not isinstance(operand, Register):
        return None
    writers = [x for x in program.instructions if operand.index in writes(x)]
    values = {x.operands[1] if x.mnemonic == "mov" else None for x in writers}
    value = values.pop() if len(values) == 1 else None
    return value.value & 0xFFFF if isinstance(value, Immediate) else None
