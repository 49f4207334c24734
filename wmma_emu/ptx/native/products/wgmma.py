# SPDX-License-Identifier: MIT
"""Rows of wgmma: each warp multiplies its 16 rows at once, as soon as it executes the instruction."""

from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.native.code import address, gathered, load, loop
from wmma_emu.arithmetic.native.product import define_product, reason_against
from wmma_emu.arithmetic.native.tile import Tile
from wmma_emu.formats import Format
from wmma_emu.instructions import Operand
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES
from wmma_emu.layouts.spec import LANES, WARPS
from wmma_emu.llvm.values import Symbol, constant
from wmma_emu.ptx.native.body import Bits, Body, native
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory.operands import read, word
from wmma_emu.ptx.native.memory.products_in_flight import (
    begin_product,
    commit_products,
    fence_writes,
    prepare,
    wait_for_products,
)
from wmma_emu.ptx.native.memory.stamps import flag_if
from wmma_emu.ptx.native.memory.state import Checks, checks_of
from wmma_emu.ptx.native.products.accumulators import require_waits
from wmma_emu.ptx.native.products.fragments import Fragment, from_memory, read_d, write_a, write_c
from wmma_emu.ptx.native.products.metadata import write_chosen
from wmma_emu.ptx.native.products.registers import (
    Registers,
    offsets_of_sources,
    offsets_of_targets,
    raise_flag,
    whole_warp,
)
from wmma_emu.ptx.native.products.shared_operands import SharedPart
from wmma_emu.ptx.native.rows import LONG, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WARP_NUMBER, WARPGROUP, WarpLayout
from wmma_emu.ptx.program.program import Predicate, PtxInstruction, Register
from wmma_emu.ptx.steps.collectives import operands_of
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.matrix_operands import BoundProduct, bind, immediate_of, targets_of
from wmma_emu.ptx.steps.wgmma_operands import SharedMatrix
from wmma_emu.ptx.steps.wgmma_steps import ProductOperands
from wmma_emu.ptx.widths import bits_of_type

_ROWS = 16
"""The rows of a warp."""

_BLOCK = 8
"""The columns whose accumulators are read and written at once."""

_LINE, _SCALE, _B, _DATA = 0, 1, 2, 3
"""The words of a record: the line, scale-d, the descriptor of B; then A (a descriptor or registers), metadata, D."""


def warpgroup_row(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Make the row of wgmma.mma_async, wgmma.fence, wgmma.commit_group or wgmma.wait_group."""
    require_waits(layout.program)
    prepare(layout)
    kind = instruction.modifiers[0]
    if kind == "mma_async":
        return _multiply(instruction, layout, context)
    count = (
        immediate_of(instruction, operands_of(instruction, 1)[0], "the number of groups") if kind == "wait_group" else 0
    )
    name = f"wgmma {kind}"
    return Row(name, lambda module: native(name, module, _SYNCHRONISE[kind]), (instruction.line, count))


def _met(body: Body, context: Bits, warp: Bits, mask: Bits, *numbers: Bits) -> None:
    """Check that the lanes of a warp take part, and note what all warps of the warpgroup must have in common."""
    whole_warp(body.builder, context.value, mask.value)
    place = warp.at(WARPGROUP)
    for x in numbers:
        place.store((place.load(LONG, 8) + x) * 0x5851_F42D_4C95_7F2D, 8)


def _fence(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
    _met(body, context, warp, mask, word(record, _LINE))


def _commit(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
    _met(body, context, warp, mask, word(record, _LINE))
    commit_products(body, warp)


def _wait(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
    _met(body, context, warp, mask, word(record, _LINE))
    wait_for_products(body, context, warp, word(record, 1).cast(32))


_SYNCHRONISE = {"fence": _fence, "commit_group": _commit, "wait_group": _wait}


def proxy_fence_row(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row | None:
    """Make the row of a fence between proxies, if only products of warpgroups use the asynchronous one."""
    is_bulk = any(x.mnemonic in ("cp", "red") and "bulk" in x.modifiers for x in layout.program.instructions)
    if (instruction.modifiers[:2] != ("proxy", "async") and "proxy" not in instruction.modifiers[:1]) or is_bulk:
        return None
    if not instruction.modifiers[1].startswith("async") or "global" in instruction.modifiers:
        return None
    prepare(layout)
    name = "fence of proxies"
    return Row(name, lambda module: native(name, module, _fence_proxies), ())


def _fence_proxies(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
    with body.when(mask.equals((1 << LANES) - 1)):
        fence_writes(body, context, warp)


def _multiply(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    bound = bind(instruction.opcode, context)
    reason = reason_against(bound.matrix.product)
    if reason:
        raise NotNativeError(f"{instruction.opcode}: {reason}")
    operands = ProductOperands.of(instruction, bound)
    code = WarpgroupProduct(bound, operands, checks_of(layout.program))
    scale = operands.scale_d
    offset, negated = (
        layout.source(scale, "pred") if scale is not None else 0,
        isinstance(scale, Predicate) and scale.negated,
    )
    record = [instruction.line, offset, _descriptor(layout, operands.b)]
    if isinstance(operands.a, SharedMatrix):
        record.append(_descriptor(layout, operands.a))
    else:
        record += offsets_of_sources(layout, operands.a, 32)
    if operands.metadata is not None:
        record += offsets_of_sources(layout, [operands.metadata.register], 32)
    targets = targets_of(instruction, instruction.operands[0], bound.entry.registers("d"))
    record += offsets_of_targets(layout, targets, 32)
    name = f"{code.name} {negated}"
    return Row(
        name, lambda module: native(name, module, partial(code.write, name=name, negated=negated)), tuple(record)
    )


def _descriptor(layout: WarpLayout, matrix: SharedMatrix) -> int:
    given = matrix.descriptor
    if isinstance(given, Register) and bits_of_type(given.type) != 64:
        raise NotNativeError(f"the descriptor of {matrix.name} is in a register of .{given.type}")
    return layout.source(given, "b64") if given is not None else 0


@dataclass(frozen=True)
class WarpgroupProduct:
    """The code of a wgmma.mma_async for one warp."""

    bound: BoundProduct
    operands: ProductOperands
    checks: Checks

    @property
    def name(self) -> str:
        """The name of the code, which differs from the name of all other code."""
        product, operands = self.bound.matrix.product, self.operands
        a = operands.a.major if isinstance(operands.a, SharedMatrix) else "registers"
        selector = -1 if operands.metadata is None else operands.metadata.selector
        known = (
            product.model.parameters,
            a,
            operands.b.major,
            operands.negate_a,
            operands.negate_b,
            selector,
            self.checks,
        )
        return f"{self.bound.entry.mnemonic} {sha256(repr((known, self.checks)).encode()).hexdigest()[:16]}"

    @cached_property
    def _b_part(self) -> SharedPart:
        return _part(self.operands.b, self.operands.b.rows)

    @cached_property
    def tile(self) -> Tile:
        """The positions of the operands in the memory of the function."""
        product, b = self.bound.matrix.product, self.operands.b
        unit = 32 if product.b.bits == 1 else 1
        k, n = b.k // unit, b.rows
        depth, columns = (1, k) if b.major == "k" else (n, 1)
        return Tile(
            product, _ROWS, (0,) * n, tuple(range(0, n * columns, columns)), tuple(range(0, k * depth, depth)), k * n
        )

    @cached_property
    def _fragments(self) -> tuple[Fragment, Fragment]:
        """The positions of A and of C in the registers of a warp: its own rows, and of C the first eight columns."""
        matrix = self.bound.matrix
        entry = matrix.instruction
        found = []
        widths: tuple[tuple[Operand, int | None], ...] = (("a", None), ("c", _BLOCK))
        for operand, width in widths:
            if operand == "a" and isinstance(self.operands.a, SharedMatrix):
                continue
            whole = Fragment.of(getattr(matrix, operand).layout, entry.container(operand), entry.format(operand).bits)
            part = (slice(None), slice(0, _ROWS), slice(0, width))
            found.append(whole._replace(register=whole.register[part], lane=whole.lane[part], bit=whole.bit[part]))
        a = found[0]
        return (a.words(2) if matrix.product.a.bits == 1 and len(found) > 1 else a), found[-1]

    def write(
        self, body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, *, name: str, negated: bool
    ) -> None:
        """Write the body of the function."""
        tile, matrix, builder = self.tile, self.bound.matrix, body.builder
        product = define_product(body.module, tile, name)
        whole_warp(builder, context.value, mask.value)
        number = warp.at(WARP_NUMBER).load(ir.IntType(32), 4).cast(64)
        missing = context.at(8 * Word.WARPS).load(LONG, 8) <= (number | WARPS - 1)
        flag_if(body, missing, context, Flag.UNSUPPORTED)
        adds = self._scale(body, context, warp, record, negated)
        b_word = self._uniform(body, context, warp, record, _B)
        _met(body, context, warp, mask, word(record, _LINE), adds.cast(64), b_word)
        sizes = [tile.bytes_of(tile.size_of_a), tile.bytes_of(tile.size_of_b)]
        sizes += [tile.rows * tile.word_dtype.itemsize * len(tile.columns), 4 * tile.terms * tile.rows]
        memory = [body.variable(ir.IntType(8), size, alignment=64) for size in sizes]
        zero = body.constant(LONG, 0)
        image = body.variable(ir.IntType(8), -(-self._b_part.bytes // 512) * 512, alignment=64)
        low, high = self._b_part.copy(body, context, warp, b_word, zero, zero, image, self.checks)
        begin_product(body, context, warp, low, high)
        self._convert_b(builder, image.value, memory[1].value)
        registers = Registers(builder, warp.value, record.value)
        first = self._read_a(body, context, warp, record, mask, registers, number & WARPS - 1, memory[0])
        if self.operands.metadata is not None:
            [words] = registers.read(first, 1, 32)
            illegal = write_chosen(tile, matrix.instruction, self.operands.metadata.selector, words, memory[3].value)
            with builder.if_then(illegal):
                raise_flag(builder, context.value, Flag.UNSUPPORTED)
                builder.ret_void()
            first += 1
        self._accumulate(body, registers, first, adds, memory, product)

    def _scale(self, body: Body, context: Bits, warp: Bits, record: Bits, negated: bool) -> Bits:
        """Return whether C is added, which has to be the same in all lanes."""
        lanes = warp.at(word(record, _SCALE)).load(ir.IntType(32), 4)
        lanes = ~lanes if negated else lanes
        full = (1 << LANES) - 1
        flag_if(body, lanes.differs(0) & lanes.differs(full), context, Flag.UNSUPPORTED)
        return lanes.differs(0)

    def _uniform(self, body: Body, context: Bits, warp: Bits, record: Bits, index: int) -> Bits:
        """Return a descriptor, which has to be the same in all lanes."""
        lanes = read(body, warp, word(record, index), 64)
        one = Bits(body, body.builder.extract_element(lanes.value, ir.Constant(ir.IntType(32), 0)))
        flag_if(body, lanes.differs(one.repeated(LANES)).any(), context, Flag.UNSUPPORTED)
        return one

    def _convert_b(self, builder: ir.IRBuilder, image: ir.Value, pointer: ir.Value) -> None:
        """Convert the elements of B, in their order in memory."""
        fmt = self.bound.matrix.product.b
        with loop(builder, -(-self.tile.size_of_b // LANES)) as index:
            place = builder.mul(index, ir.Constant(LONG, LANES))
            pattern = _patterns(builder, image, place, fmt)
            if self.operands.negate_b:
                pattern = pattern ^ np.uint32(fmt.sign_mask)
            self.tile.write(pattern, "b", pointer, place, self.tile.size_of_b)

    def _read_a(
        self, body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, registers: Registers, number: Bits,
        pointer: Bits,
    ) -> int:  # fmt: skip
        """Convert A from registers or from shared memory; return the number of the next word of the record."""
        tile, fmt, a = self.tile, self.bound.matrix.product.a, self.operands.a
        sign = np.uint32(fmt.sign_mask if self.operands.negate_a else 0)
        if not isinstance(a, SharedMatrix):
            words = registers.read(_DATA, len(a), 32)
            write_a(tile, self._fragments[0], words, pointer.value, int(sign))
            return _DATA + len(a)
        part = _part(a, _ROWS)
        descriptor = self._uniform(body, context, warp, record, _DATA)
        _met(body, context, warp, mask, descriptor)
        image = body.variable(ir.IntType(8), -(-part.bytes // 512) * 512, alignment=64)
        zero = body.constant(LONG, 0)
        start = (number * part.lines, zero) if a.major == "k" else (zero, number * part.chunks)
        low, high = part.copy(body, context, warp, descriptor, *start, image, self.checks)
        begin_product(body, context, warp, low, high)
        for k in range(tile.terms):
            pattern = _rows_of(body.builder, image.value, k, a, fmt)
            tile.write(pattern ^ sign if sign else pattern, "a", pointer.value, k * _ROWS, tile.size_of_a)
        return _DATA + 1

    def _accumulate(
        self, body: Body, registers: Registers, first: int, adds: Bits, memory: list[Bits], product: ir.Function
    ) -> None:
        """Read C, multiply, and write D, eight columns of the accumulators at a time."""
        builder, tile = body.builder, self.tile
        fragment, layout = self._fragments[1], self.bound.matrix.d.layout
        count = _BLOCK * layout.num_registers // layout.cols
        size = tile.rows * tile.word_dtype.itemsize * _BLOCK
        with loop(builder, layout.cols // _BLOCK) as block:
            here = builder.add(builder.mul(block, ir.Constant(LONG, count)), ir.Constant(LONG, first))
            words = [_masked(x, adds) for x in registers.read(here, count, 32)]
            write_c(tile, fragment, words, address(builder, memory[2].value, block, size))
        builder.call(product, [x.value for x in (memory[2], *memory[:2], *memory[3:][: tile.is_sparse])])
        part = _part_of_layout(layout)
        with loop(builder, layout.cols // _BLOCK) as block:
            here = builder.add(builder.mul(block, ir.Constant(LONG, count)), ir.Constant(LONG, first))
            registers.write(here, read_d(tile, part, builder, address(builder, memory[2].value, block, size)))


def _masked(words: Symbol, condition: Bits) -> Symbol:
    """Return words, or zeros if a condition does not hold."""
    none = constant(words.builder, 0, words.dtype, words.shape)
    value = words.builder.select(condition.value, words.value, none.value)
    return Symbol(words.builder, value, words.dtype, words.shape)


def _part(matrix: SharedMatrix, rows: int) -> SharedPart:
    """Return the part of a matrix with some of its rows."""
    bits = matrix.format.bits
    if matrix.major == "k":
        return SharedPart("k", rows, matrix.k * bits // 8 // CHUNK_BYTES, matrix.k * bits // 8)
    return SharedPart("mn", matrix.k, rows * bits // 8 // CHUNK_BYTES, matrix.rows * bits // 8)


def _part_of_layout(layout: LaneMap) -> LaneMap:
    """Return the layout of the first warp's rows, and the first eight columns."""
    count = _BLOCK * layout.num_elements // layout.cols
    coords = layout.coords[:count, 0]
    return LaneMap(coords, _ROWS, _BLOCK, layout.element_bits, count, layout.source, layout.status)


def _patterns(builder: ir.IRBuilder, image: ir.Value, place: ir.Value, fmt: Format) -> Any:
    """Load 32 patterns of a matrix, one after another; single bits as words."""
    width = max(fmt.bits // 8, 4 if fmt.bits == 1 else 1)
    return load(builder, address(builder, image, place, width), f"u{width}", LANES, width).astype(np.uint32)


def _rows_of(builder: ir.IRBuilder, image: ir.Value, k: int, matrix: SharedMatrix, fmt: Format) -> Any:
    """Return the patterns of all rows of A for one k, or one word of single bits."""
    if matrix.major == "mn":
        return from_memory(builder, image, np.arange(_ROWS) + k * _ROWS, f"u{fmt.bits // 8}").astype(np.uint32)
    width = 32 if fmt.bits == 1 else fmt.bits
    per_word = 32 // width
    words_of_row = matrix.k * fmt.bits // 32
    where = constant(builder, np.arange(_ROWS) * words_of_row + k // per_word, np.int32, (_ROWS,))
    words: Any = gathered(image, where, np.uint32)
    if per_word == 1:
        return words
    return words >> np.uint32(k % per_word * width) & np.uint32((1 << width) - 1)
