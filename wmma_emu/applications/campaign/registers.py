# SPDX-License-Identifier: MIT
"""Pools of tiles as arguments of ``execute``: for all pairs of A and B at once, or for some of them."""

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
"""The positional arguments a, b, c of ``execute``, and the keywords."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The options of one execution in addition to its operands.

    The selector is for sparse metadata; ``scale_d`` and the signs are for `wgmma`, which also reads A from shared
    memory if ``a_shared``; byte-ids and thread-ids select the bytes and lanes of block scales.
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
        """Return the keywords of ``execute`` that the instruction supports."""
        keywords: dict[str, Any] = {"selector": self.selector} if instruction.is_sparse else {}
        if instruction.is_block_scaled:
            keywords |= {f"{x}_id_{y}": getattr(self, f"{x}_id_{y}") for x in ("byte", "thread") for y in SCALED}
        if instruction.is_warpgroup:
            keywords["scale_d"] = self.scale_d
            if instruction.format("a").is_float:
                keywords |= {"negate_a": self.negate_a, "negate_b": self.negate_b}
        return keywords


def variants_of(instruction: Instruction) -> tuple[Variant, ...]:
    """Return the variants that a campaign uses in turn for an instruction, the plain ones first."""
    plain = tuple(Variant(selector=x) for x in (selectors_of(instruction) if instruction.is_sparse else (0,)))
    if instruction.is_block_scaled:
        return (*plain, *_other_lanes(instruction))
    if not instruction.is_warpgroup:
        return plain
    if not instruction.format("a").is_float:
        return (*plain, Variant(scale_d=0, a_shared=True))
    return (*plain, Variant(negate_a=True, a_shared=True), Variant(scale_d=0), Variant(negate_b=True, a_shared=True))


def _other_lanes(instruction: Instruction) -> tuple[Variant, ...]:
    """Return variants that read block scales from other bytes and lanes than the first.

    Each selector takes each value.
    """
    choices: dict[str, tuple[int, ...]] = {}
    for operand in SCALED:
        legal = scale_selectors_of(instruction, operand)
        choices |= {f"byte_id_{operand}": legal.byte_ids, f"thread_id_{operand}": legal.thread_ids}
    turns = range(1, max(len(values) for values in choices.values()))
    return tuple(Variant(**_turn(choices, i)) for i in turns)


def _turn(choices: dict[str, tuple[int, ...]], i: int) -> dict[str, Any]:
    """Return the i-th values; those of B in the opposite order, so that A and B cannot be confused."""
    return {name: values[(i if name.endswith("a") else -i) % len(values)] for name, values in choices.items()}


def read_scales(instruction: Instruction, scales: Scales | None) -> Scales | None:
    """Keep only the bits of block scales that the instruction reads: the top bit of ue4m3 is padding."""
    if scales is None or instruction.scale != "ue4m3":
        return scales
    return Scales(*(x & np.uint8(0x7F) for x in scales))


def apply_variant(instruction: Instruction, operands: Operands, variant: Variant) -> Operands:
    """Apply a variant to the patterns: negate signs, omit C."""
    a, b, c, indices = operands
    if variant.negate_a:
        a = a ^ a.dtype.type(instruction.format("a").sign_mask)
    if variant.negate_b:
        b = b ^ b.dtype.type(instruction.format("b").sign_mask)
    return Operands(a, b, c if variant.scale_d else np.zeros_like(c), indices)


@dataclass(frozen=True, slots=True)
class Packed:
    """Operands as ``execute`` takes them, each with its own number of tiles.

    They are registers, (num_registers, tiles, *lanes), whose axis of tiles is 1; or, if ``wgmma`` reads shared memory,
    matrices, whose axis is 0. Metadata has shape (tiles, *lanes), the registers of the block scales of A and of B
    (tiles, 32).
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
        """Return arguments whose tile axes (p, 1), (1, q) and (1, q) broadcast to all pairs."""
        keywords = dict(self.keywords)
        if self.metadata is not None:
            keywords["metadata"] = self.metadata[:, None]
        if self.scales is not None:
            keywords |= {"scale_a": self.scales[0][:, None], "scale_b": self.scales[1][None]}
        a, b = np.expand_dims(self.a, self.a_axis + 1), np.expand_dims(self.b, self.b_axis)
        return (a, b, self.c[:, None]), keywords

    def some_pairs(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Arguments:
        """Return arguments for the pairs of tiles i of A and tiles j of B and C."""
        keywords = dict(self.keywords)
        if self.metadata is not None:
            keywords["metadata"] = self.metadata[i]
        if self.scales is not None:
            keywords |= {"scale_a": self.scales[0][i], "scale_b": self.scales[1][j]}
        return (self.a.take(i, self.a_axis), self.b.take(j, self.b_axis), self.c[:, j]), keywords


def pack_operands(
    ins: BoundInstruction, operands: Operands, variant: Variant, scales: Scales | None = None
) -> Packed:  # fmt: skip
    """Pack pools of tiles; four tiles per warp if it multiplies four."""
    entry = ins.instruction
    a_shared = entry.is_warpgroup and variant.a_shared
    a = _matrices(ins, "a", operands.a) if a_shared else _registers(ins, "a", operands.a)
    b = _matrices(ins, "b", operands.b) if entry.is_warpgroup else _registers(ins, "b", operands.b)
    metadata = None if operands.indices is None else pack_metadata(entry, operands.indices, variant.selector)
    return Packed(
        a, b, _registers(ins, "c", operands.c), int(not a_shared), int(not entry.is_warpgroup), metadata,
        variant.keywords(entry), _scale_registers(ins, scales, variant),
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
    """Return patterns in a form that a matrix may have: raw bits of the element's width, or bool for one bit."""
    return tiles.astype(np.bool_) if ins.instruction.format(operand).bits == 1 else tiles


def _registers(ins: BoundInstruction, operand: Operand, tiles: Bits) -> NDArray[Any]:
    together = ins.instruction.products
    if together > 1:
        tiles = tiles.reshape(-1, together, *tiles.shape[1:])
    registers: NDArray[Any] = getattr(ins, operand).pack_bits(tiles)
    return registers
