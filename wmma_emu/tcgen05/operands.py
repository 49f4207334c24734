# SPDX-License-Identifier: MIT
"""Preparation of the operands of `tcgen05.mma`: A and B, signs, zero columns, a scaled D, disabled lanes, metadata."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.instructions.spec import Arch, Instruction
from wmma_emu.layouts import granularity_of
from wmma_emu.layouts.spec import Ints
from wmma_emu.tcgen05.data_layouts import data_path, metadata_placement
from wmma_emu.tcgen05.pairs import shared_memories
from wmma_emu.tcgen05.shared_descriptor import SharedMemoryDescriptor, descriptor_on
from wmma_emu.tcgen05.shared_matrix import read_matrix
from wmma_emu.tcgen05.zero_column_mask import ZeroColumnMask

_LEGAL_NIBBLES = frozenset((0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110))
"""Nibbles that `tcgen05.mma.sp` defines: PTX ISA 9.3, sparse matrices of tcgen05."""

SharedMemories = tuple[NDArray[np.uint8], ...]


def shared_operand(name: str, given: Any, group: int, chip: Arch) -> tuple[SharedMemories, SharedMemoryDescriptor]:
    """Check an operand in shared memory; return the memories of the CTAs, and the descriptor for both."""
    wanted = "memory" if group == 1 else "(memory of the even CTA, memory of the odd one)"
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ArgumentError(
            f"{name} is in shared memory: give ({wanted}, descriptor), as in_shared_memory returns them for a matrix"
            + (", or an address of tensor memory" if name == "a" else "")
            + f"; not {shorten(given)}"
        )
    memory, descriptor = given
    return shared_memories(memory, group, f"{name} of cta_group::{group}"), descriptor_on(descriptor, chip)


def read_a_from_shared_memory(instruction: Instruction, chip: Arch, given: Any, transposed: bool) -> Bits:
    """Read A, (m, terms): each CTA of a pair has half of the rows."""
    path = data_path(instruction)
    memories, descriptor = shared_operand("a", given, path.cta_group, chip)
    parts = [_matrix(instruction, "a", x, descriptor, path.rows, instruction.terms, transposed) for x in memories]
    return np.concatenate(parts)


def read_b_from_shared_memory(
    instruction: Instruction, chip: Arch, given: Any, transposed: bool, mask: ZeroColumnMask | None, max_shift: int
) -> Bits:
    """Read B, (k, n); each CTA of a pair has half of the columns. The mask shifts columns, or makes them zero."""
    group = data_path(instruction).cta_group
    memories, descriptor = shared_operand("b", given, group, chip)
    columns = instruction.n // group
    if mask is None:
        return np.concatenate(
            [_matrix(instruction, "b", x, descriptor, columns, instruction.k, transposed) for x in memories]
        ).T
    zeros = mask.columns(instruction.m, instruction.n)
    if mask.shift > max_shift:
        raise UnsupportedInstructionError(
            f"a zero-column mask that shifts B by {mask.shift} needs max_shift of at least that in the instruction "
            f"descriptor, not {max_shift}: the elements that are read otherwise are not documented"
        )
    wide = _matrix(instruction, "b", memories[0], descriptor, columns + max_shift, instruction.k, transposed)
    shifted = wide[mask.shift : mask.shift + columns]
    return np.where(zeros[:, None], shifted.dtype.type(0), shifted).T


def _matrix(
    instruction: Instruction,
    operand: Literal["a", "b"],
    memory: NDArray[np.uint8],
    descriptor: SharedMemoryDescriptor,
    lines: int,
    k: int,
    transposed: bool,
) -> Bits:
    container = instruction.container(operand)
    return read_matrix(
        memory, descriptor, lines, k, instruction.format(operand), "mn" if transposed else "k", container
    )


def negated(bits: Bits, fmt: Format) -> Bits:
    """Change the sign of every pattern, including zeros and NaN.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> negated(np.array([0x3C00], np.uint16), format_of("f16")).tolist() == [0xBC00]
    True
    """
    return bits ^ bits.dtype.type(fmt.sign_mask)


def scaled_input(bits: Bits, fmt: Format, exponent: int) -> Bits:
    """Multiply D by ``2 ** -exponent`` before it is added; infinities and NaN are unchanged.

    PTX ISA 9.3, tcgen05.mma: ``D = A*B + D * (2 ^ -scale-input-d)``. A result that the format cannot represent is an
    error: the manual does not say whether the lower bits are truncated, rounded or kept.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> scaled_input(np.array([0x3C00, 0x0001 << 10], np.uint16), format_of("f16"), 3).tolist() == [0x3000, 0x0080]
    True
    """
    fraction, fields = fmt.fraction_bits, (1 << fmt.exponent_bits) - 1
    wide = bits.astype(np.int64)
    sign, magnitude = wide & fmt.sign_mask, wide & (fmt.sign_mask - 1)
    field = magnitude >> fraction
    significand = magnitude & (1 << fraction) - 1 | np.where(field > 0, 1 << fraction, 0)
    shift = np.clip(exponent - field + 1, 0, exponent)  # subnormal numbers have the exponent of field value 1
    cut = significand & (1 << shift) - 1
    special = field == fields
    lost = (cut != 0) & ~special
    if lost.any():
        i, j = np.argwhere(lost)[0].tolist()
        raise UnsupportedInstructionError(
            f"scale_input_d={exponent}: D[{i}, {j}], {bits[i, j]:#x}, times 2**-{exponent} is not representable in "
            f"{fmt}; whether the lower bits are truncated, rounded or kept is not documented"
        )
    normal = magnitude - (np.int64(exponent) << fraction)
    found = np.where(special, magnitude, np.where(field > exponent, normal, significand >> shift))
    return (sign | found).astype(bits.dtype)


def disabled_lanes(given: Any, group: int) -> NDArray[np.bool_]:
    """Return for each lane whether ``disable-output-lane`` keeps its D, (CTAs, 128).

    The option is four words of 32 bits, eight for cta_group::2; the lowest bit of the first is lane 0. With None every
    lane is written.

    Examples
    --------
    >>> np.argwhere(disabled_lanes([0, 5, 0, 0], 1)).tolist()
    [[0, 32], [0, 34]]
    """
    words: Any = [0] * (4 * group) if given is None else given
    if isinstance(words, np.ndarray):
        words = list(words.reshape(-1))
    if not isinstance(words, tuple | list) or len(words) != 4 * group:
        raise ArgumentValueError(
            f"disable_output_lane of cta_group::{group} is {4 * group} words of 32 bits, not {shorten(given)}"
        )
    numbers = [integer_of(x) for x in words]
    if any(x is None or not 0 <= x < 1 << 32 for x in numbers):
        raise ArgumentError(f"words of disable_output_lane are integers of 32 bits, not {shorten(given)}")
    lanes = np.array(numbers, np.uint64)[:, None] >> np.arange(32, dtype=np.uint64) & np.uint64(1)
    return lanes.astype(np.bool_).reshape(group, 128)


def indices_of(instruction: Instruction, nibbles: Ints) -> Ints:
    """Return the k of the packed elements of a sparse A, (m, terms), given its metadata, (m, chunks).

    Examples
    --------
    >>> from wmma_emu.instructions.tensor import tensor_instruction
    >>> instruction = tensor_instruction("tf32", 64, 8, "f32", "tf32", "tf32", sparse=True)
    >>> indices_of(instruction, np.full((64, 8), 0b1110))[0].tolist()
    [1, 3, 5, 7, 9, 11, 13, 15]
    """
    legal = _nibbles(instruction)
    unknown = ~np.isin(nibbles, list(legal))
    if unknown.any():
        i, chunk = np.argwhere(unknown)[0].tolist()
        shown = ", ".join(f"{x:#06b}" for x in legal)
        raise ArgumentValueError(
            f"metadata of row {i}, chunk {chunk} of A is {int(nibbles[i, chunk]):#06b}; legal values are {shown}"
        )
    chunk = granularity_of(instruction).chunk
    table = np.zeros((16, len(next(iter(legal.values())))), np.int64)
    for nibble, places in legal.items():
        table[nibble] = places
    starts = np.arange(nibbles.shape[1])[:, None] * chunk
    found: Ints = (table[nibbles] + starts).reshape(nibbles.shape[0], -1)
    return found


def nibbles_of(instruction: Instruction, indices: Ints) -> Ints:
    """Return the metadata, (m, chunks), for the k of the packed elements: the inverse of `indices_of`."""
    kept, chunk = granularity_of(instruction).kept, granularity_of(instruction).chunk
    places = indices.reshape(*indices.shape[:-1], -1, kept) % chunk
    found = np.zeros(places.shape[:-1], np.int64)
    for nibble, its in _nibbles(instruction).items():
        found[(places == its).all(-1)] = nibble
    return found


def _nibbles(instruction: Instruction) -> dict[int, tuple[int, ...]]:
    metadata_placement(instruction)  # rejects a dense instruction
    return {x: y for x, y in granularity_of(instruction).nibbles.items() if x in _LEGAL_NIBBLES}
