# SPDX-License-Identifier: MIT
"""Further recordings of WMMA: the rounding to tf32, edited fragments, saturated floats."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.record_registers import kernel as register_kernel
from tools.record_registers import kernel_name
from tools.recording_inputs import random_words
from tools.recordings import all_inputs
from tools.wmma_products import Bits, WmmaOverload
from wmma_emu.formats import Format, encode
from wmma_emu.instructions import INSTRUCTIONS, Instruction
from wmma_emu.instructions.spec import Operand
from wmma_emu.layouts.wmma import fragment_layout
from wmma_emu.layouts.wmma_table import MemoryLayout, Use

Run = Callable[..., NDArray[Any]]

TF32_SOURCE = """
extern "C" __global__ void float_to_tf32(const float* in, float* out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = wmma::__float_to_tf32(in[i]);
}
"""

EDIT_SOURCE = """
// An edit is four words: operand, lane, element, 1 to add or 0 to overwrite; and the pattern of a value.
template <class Fragment>
__device__ void apply(Fragment& fragment, const unsigned* edit, unsigned operand)
{
    if (edit[0] == operand && edit[1] == threadIdx.x) {
        using Element = typename Fragment::storage_element_type;
        const Element value = *reinterpret_cast<const Element*>(edit + 4);
        for (unsigned i = 0; i < fragment.num_storage_elements; ++i)
            if (i == edit[2])
                fragment.x[i] = edit[3] ? Element(fragment.x[i] + value) : value;
    }
    __syncwarp();
}
"""


# --- __float_to_tf32 -----------------------------------------------------------------------------------------------


def tf32_patterns() -> NDArray[np.uint32]:
    """Return float32 patterns around everything that rounding to tf32 can do: 4,096, half of them negative."""
    low = np.array([0x0000, 0x0001, 0x0FFF, 0x1000, 0x1001, 0x1FFF], np.uint32)
    exponents = np.array([0, 1, 2, 0x40, 0x7E, 0x7F, 0x80, 0xFD, 0xFE, 0xFF], np.uint32) << np.uint32(23)
    fractions = np.array([0, 1, 2, 3, 0x155, 0x1FF, 0x200, 0x201, 0x3FE, 0x3FF], np.uint32) << np.uint32(13)
    edges = (exponents[:, np.newaxis, np.newaxis] | fractions[:, np.newaxis] | low).reshape(-1)
    random = random_words("wmma_emu float_to_tf32 1", 2048 - edges.size).astype(np.uint32)
    ties = random[:512] & np.uint32(0xFFFFE000) | np.uint32(0x1000)
    positive = np.concatenate([edges, ties, random[512:]]) & np.uint32(0x7FFFFFFF)
    return np.concatenate([positive, positive | np.uint32(0x80000000)])


def record_tf32(run: Run) -> NDArray[np.uint32]:
    """Return the results of `wmma::__float_to_tf32` for the patterns."""
    patterns = tf32_patterns()
    return run("float_to_tf32", (patterns,), patterns.shape, "u4", blocks=patterns.size // 256, threads=256)


# --- edited fragments ----------------------------------------------------------------------------------------------


class Edit(NamedTuple):
    """One element of one lane, overwritten with a value or with the value added, between the load and the product."""

    operand: int
    lane: int
    element: int
    adds: bool
    pattern: int


EDITED = tuple(
    f"wmma.mma.sync.aligned.row.col.{shape}.{types}"
    for shapes, several in (
        (("m16n16k16", "m32n8k16", "m8n32k16"), ("f32.f32", "f16.f16", "f32.bf16.bf16.f32", "s32.s8.s8.s32",
                                               "s32.u8.u8.s32")),
        (("m16n16k8",), ("f32.tf32.tf32.f32",)),
        (("m8n8k4",), ("f64.f64.f64.f64",)),
    )
    for shape in shapes for types in several
)  # fmt: skip
"""Products whose fragments are edited; 4-bit and 1-bit fragments give whole words of elements, no single ones."""


def edits(entry: Instruction) -> list[Edit]:
    """Edit each element of the fragments of A, B and C once, in one lane or another; the first edits nothing."""
    found = [Edit(99, 0, 0, False, 0)]
    fragments: tuple[tuple[Operand, Use, MemoryLayout | None], ...] = (
        ("a", "matrix_a", entry.a_layout), ("b", "matrix_b", entry.b_layout), ("c", "accumulator", None),
    )  # fmt: skip
    for number, (operand, use, stored) in enumerate(fragments):
        fmt = entry.format(operand)
        count = len(fragment_layout(use, entry.m, entry.n, entry.k, fmt, stored, "sm_90").coords)
        words = random_words(f"wmma_emu edits 1|{entry.shape}|{entry.d}|{entry.a}|{operand}", count)
        for i, word in enumerate(words.tolist()):
            found.append(Edit(number, word % 32, i, bool(word >> 8 & 1), _value(fmt, word >> 16)))
    return found


def _value(fmt: Format, word: int) -> int:
    """Return small numbers that a sum shows; of tf32 ones that are not rounded."""
    if not fmt.is_float:
        return word & fmt.mask & (0xFFFF if fmt.bits == 32 else 0xFF)
    pattern = int(encode(np.array([3.0, -5.0, 24.0, -96.0])[word % 4 : word % 4 + 1], fmt)[0])
    return pattern | (word >> 2) & ((1 << fmt.ignored_low_bits) - 1)


def edited_source(product: WmmaOverload) -> str:
    """Return the kernel of a product with one edit a block, all on the first tile."""
    head, _, rest = product.source.partition("\n    wmma::mma_sync")
    head = head.replace(f"{product.kernel}(", f"edited_{product.kernel}(const unsigned* edits, ")
    calls = "".join(f"\n    apply(f{x}, edits + 6 * blockIdx.x, {i});" for i, x in enumerate("abc"))
    return f"{head}{calls}\n    wmma::mma_sync{rest}"


def record_edits(product: WmmaOverload, run_twice: Callable[..., tuple[Bits, Bits]], seed: int) -> Bits:
    """Return D of every edit, as bits that differ from D of the first, which edits nothing."""
    listed = edits(product.row)
    words = np.array([[*edit[:4], edit.pattern & 0xFFFFFFFF, edit.pattern >> 32] for edit in listed], np.uint32)
    images = [image[:1].repeat(len(listed), axis=0) for image in product.images(seed)]
    name, shape = f"edited_{product.kernel}", (len(listed), product.d.nbytes)
    one, other = run_twice(name, (words, *images), shape, "u1", *product.scalars, blocks=len(listed))
    d = product.d.read(one)
    if not np.array_equal(d, product.d.read(other)):
        raise ValueError(f"{product.mnemonic}: two launches with edited fragments differ")
    return np.concatenate([d[:1], d[1:] ^ d[:1]])


# --- .satfinite of floats ------------------------------------------------------------------------------------------

SATURATED = tuple(f"wmma.mma.sync.aligned.row.col.m16n16k16.{d}.{c}" for d in ("f16", "f32") for c in ("f16", "f32"))
"""Products with f16 that PTX 6.3 let saturate, with a warning; 6.5 took that away."""

SATURATED_GENERATORS = ("special", "extremes")


def saturated_row(mnemonic: str) -> Instruction:
    return dataclasses.replace(INSTRUCTIONS[mnemonic], modifiers=("satfinite",))


def saturated_source() -> str:
    """Return PTX 6.3 with the kernels."""
    head = "// SPDX-License-Identifier: MIT\n.version 6.3\n.target sm_70\n.address_size 64\n"
    return head + "".join(register_kernel(saturated_row(x)) for x in SATURATED)


def record_saturated(mnemonic: str, run: Run, seed: int, tiles: int) -> Bits:
    """Return D registers (registers, tiles, 32) of a saturating product."""
    entry = saturated_row(mnemonic)
    a, b, c = all_inputs(mnemonic, SATURATED_GENERATORS, seed, tiles)
    count = a.shape[1]
    return run(kernel_name(entry), (a, b, c), (entry.registers("d"), count, 32), "u4", count, blocks=count)
