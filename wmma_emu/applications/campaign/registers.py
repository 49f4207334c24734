# SPDX-License-Identifier: MIT
"""A pool of tiles as the arguments of ``execute``: for all pairs of A and B at once, or for some of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats.codec import Bits
from wmma_emu.generators import Operands, Scales
from wmma_emu.instructions import Instruction
from wmma_emu.instructions.spec import Operand
from wmma_emu.layouts import pack_metadata, selectors_of
from wmma_emu.layouts.block_scales import SCALED, scale_selectors_of
from wmma_emu.warp import BoundInstruction

Arguments = tuple[tuple[Any, Any, Any], dict[str, Any]]
"""Positional arguments a, b, c of ``execute``, and keywords."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What one execution says beside its operands.

    The selector is that of sparse metadata; ``scale_d`` and the signs are of `wgmma`, which reads A from shared memory
    too if ``a_shared``; byte-ids and thread-ids say which bytes of which lanes hold block scales.
    """

    selector: int = 0
    scale_d: int = 1
    negate_a: bool = False
    negate_b: bool = False
    a_shared: bool = False
    byte_id_a: int = 0
    thread_id_a: int = 0
    byte_id_b: int = 0
    thread_id_b: int = 0

    def keywords(self, instruction: Instruction) -> dict[str, Any]:
        """Return them as keywords of ``execute``: those that the instruction knows."""
        keywords: dict[str, Any] = {"selector": self.selector} if instruction.is_sparse else {}
        if instruction.is_block_scaled:
            keywords |= {f"{x}_id_{y}": getattr(self, f"{x}_id_{y}") for x in ("byte", "thread") for y in SCALED}
        if instruction.is_warpgroup:
            keywords["scale_d"] = self.scale_d
            if instruction.format("a").is_float:
                keywords |= {"negate_a": self.negate_a, "negate_b": self.negate_b}
        return keywords


def variants_of(instruction: Instruction) -> tuple[Variant, ...]:
    """List the variants that a campaign gives an instruction in turn, the plain ones first."""
    plain = tuple(Variant(selector=x) for x in (selectors_of(instruction) if instruction.is_sparse else (0,)))
    if instruction.is_block_scaled:
        return (*plain, *_other_lanes(instruction))
    if not instruction.is_warpgroup:
        return plain
    if not instruction.format("a").is_float:
        return (*plain, Variant(scale_d=0, a_shared=True))
    return (*plain, Variant(negate_a=True, a_shared=True), Variant(scale_d=0), Variant(negate_b=True, a_shared=True))


def _other_lanes(instruction: Instruction) -> tuple[Variant, ...]:
    """Variants that read block scales from other bytes and lanes than the first: each selector has each value."""
    choices: dict[str, tuple[int, ...]] = {}
    for operand in SCALED:
        legal = scale_selectors_of(instruction, operand)
        choices |= {f"byte_id_{operand}": legal.byte_ids, f"thread_id_{operand}": legal.thread_ids}
    turns = range(1, max(len(values) for values in choices.values()))
    return tuple(Variant(**_turn(choices, i)) for i in turns)


def _turn(choices: dict[str, tuple[int, ...]], i: int) -> dict[str, Any]:
    """The i-th values; those of B in the opposite order, so that none of A is taken for one of B."""
    return {name: values[(i if name.endswith("a") else -i) % len(values)] for name, values in choices.items()}


def read_scales(instruction: Instruction, scales: Scales | None) -> Scales | None:
    """Leave of block scales what the instruction reads: the top bit of ue4m3 is padding."""
    if scales is None or instruction.scale != "ue4m3":
        return scales
    return Scales(*(x & np.uint8(0x7F) for x in scales))


def apply_variant(instruction: Instruction, operands: Operands, variant: Variant) -> Operands:
    """Carry out on the patterns what a variant says: signs are turned, C is left out."""
    a, b, c, indices = operands
    if variant.negate_a:
        a = a ^ a.dtype.type(instruction.format("a").sign_mask)
    if variant.negate_b:
        b = b ^ b.dtype.type(instruction.format("b").sign_mask)
    return Operands(a, b, c if variant.scale_d else np.zeros_like(c), indices)


@dataclass(frozen=True, slots=True)
class Packed:
    """Operands as ``execute`` takes them, each with its own number of tiles.

    They are registers, (num_registers, tiles, *lanes), whose axis of tiles is 1; or, where ``wgmma`` reads shared
    memory, matrices, whose axis is 0. Metadata has shape (tiles, *lanes), the registers of the block scales of A and of
    B (tiles, 32).
    """

    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]
    a_axis: int
    b_axis: int
    metadata: NDArray[np.uint32] | None
    keywords: dict[str, Any]
    scales: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None

    def all_pairs(self) -> Arguments:
        """Arguments whose tiles' axes (p, 1), (1, q) and (1, q) broadcast to all pairs."""
        keywords = dict(self.keywords)
        if self.metadata is not None:
            keywords["metadata"] = self.metadata[:, None]
        if self.scales is not None:
            keywords |= {"scale_a": self.scales[0][:, None], "scale_b": self.scales[1][None]}
        a, b = np.expand_dims(self.a, self.a_axis + 1), np.expand_dims(self.b, self.b_axis)
        return (a, b, self.c[:, None]), keywords

    def some_pairs(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Arguments:
        """Arguments for the pairs of tiles i of A and tiles j of B and C."""
        keywords = dict(self.keywords)
        if self.metadata is not None:
            keywords["metadata"] = self.metadata[i]
        if self.scales is not None:
            keywords |= {"scale_a": self.scales[0][i], "scale_b": self.scales[1][j]}
        return (self.a.take(i, self.a_axis), self.b.take(j, self.b_axis), self.c[:, j]), keywords


def pack_operands(
    ins: BoundInstruction, operands: Operands, variant: Variant, scales: Scales | None = None
) -> Packed:  # fmt: skip
    """Pack pools of tiles; four tiles a warp where it multiplies four."""
    row = ins.instruction
    a_shared = row.is_warpgroup and variant.a_shared
    a = _matrices(ins, "a", operands.a) if a_shared else _registers(ins, "a", operands.a)
    b = _matrices(ins, "b", operands.b) if row.is_warpgroup else _registers(ins, "b", operands.b)
    metadata = None if operands.indices is None else pack_metadata(row, operands.indices, variant.selector)
    return Packed(
        a, b, _registers(ins, "c", operands.c), int(not a_shared), int(not row.is_warpgroup), metadata,
        variant.keywords(row), _scale_registers(ins, scales, variant),
    )  # fmt: skip


def _scale_registers(
    ins: BoundInstruction, scales: Scales | None, variant: Variant
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]] | None:  # fmt: skip
    if scales is None or ins.scale_a is None or ins.scale_b is None:
        return None
    return (
        ins.scale_a.pack_bits(scales.a, variant.byte_id_a, variant.thread_id_a),
        ins.scale_b.pack_bits(scales.b, variant.byte_id_b, variant.thread_id_b),
    )


def _matrices(ins: BoundInstruction, operand: Operand, tiles: Bits) -> NDArray[Any]:
    """Patterns as a matrix may be given: raw bits of the element's width, and bool where that is one bit."""
    return tiles.astype(np.bool_) if ins.instruction.format(operand).bits == 1 else tiles


def _registers(ins: BoundInstruction, operand: Operand, tiles: Bits) -> NDArray[Any]:
    together = ins.instruction.products
    if together > 1:
        tiles = tiles.reshape(-1, together, *tiles.shape[1:])
    registers: NDArray[Any] = getattr(ins, operand).pack_bits(tiles)
    return registers
