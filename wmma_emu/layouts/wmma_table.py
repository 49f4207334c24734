# SPDX-License-Identifier: MIT
"""The WMMA fragments and their layouts, which NVIDIA does not specify: one rule, and exceptions."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from wmma_emu.chips import WmmaGeneration
from wmma_emu.formats import format_of
from wmma_emu.instructions.spec import Instruction
from wmma_emu.instructions.table import GROUPS, INSTRUCTIONS
from wmma_emu.layouts.quad_pairs import Octets
from wmma_emu.layouts.tiling import Tiling

Use = Literal["matrix_a", "matrix_b", "accumulator"]
MemoryLayout = Literal["row", "col"]

USES: tuple[Use, ...] = get_args(Use)


class FragmentShape(NamedTuple):
    """A fragment: its tiling, the first chip that supports it, and the memory layouts from which it can be loaded."""

    shape: str
    use: Use
    format: str
    tiling: Tiling
    since: str
    stored: tuple[MemoryLayout, ...]


def _doublings(whole: int, tile: int) -> int:
    return max(whole // tile, 1).bit_length() - 1


def _tiling(use: Use, m: int, n: int, k: int, bits: int) -> Tiling:
    """Tile a fragment as the machine instructions divide the product: 16 rows of one operand, 8 columns of the other.

    A product of 8 rows and more columns is computed as its transpose: A is tiled as B is otherwise, and pairs of
    accumulator elements run down columns.
    """
    runs_transposed = m < min(n, 16)
    rows, columns = (n, m) if runs_transposed else (m, n)
    if use == "accumulator":
        run, whole, tile, across = 2, rows, 16, _doublings(columns, 8)
    else:
        run = max(1, 32 // bits)
        whole, tile = (rows, 16) if (use == "matrix_a") != runs_transposed else (columns, 8)
        across = _doublings(k, 4 * run)
    steps = "d" * _doublings(min(whole, tile), 8) + "a" * across + "d" * _doublings(whole, tile)
    return Tiling(run, steps, transposed=runs_transposed if use == "accumulator" else use == "matrix_b")


def _fragments() -> dict[tuple[str, str, str], FragmentShape]:
    """Collect the fragments of all instructions, in the order of the table."""
    found: dict[tuple[str, str, str], FragmentShape] = {}

    def add(instruction: Instruction, use: Use, name: str, stored: Iterable[MemoryLayout]) -> None:
        if (key := (instruction.shape, use, name)) not in found:
            tiling = _tiling(use, instruction.m, instruction.n, instruction.k, format_of(name).bits)
            found[key] = FragmentShape(*key, tiling, instruction.archs[0], tuple(sorted(set(stored), reverse=True)))

    entries = [instruction for instruction in INSTRUCTIONS.values() if instruction.family == "wmma.mma"]
    for instruction in entries:
        of_a, of_b = zip(*GROUPS[instruction.mnemonic].layouts, strict=True)
        add(instruction, "matrix_a", instruction.a, of_a)
        add(instruction, "matrix_b", instruction.b, of_b)
    for instruction in sorted(entries, key=lambda instruction: instruction.d):
        add(instruction, "accumulator", instruction.d, ("row", "col"))
    return found


FRAGMENTS = _fragments()
"""Every fragment by shape, use and element format."""

_TURING = {("m8n32k16", "accumulator", "s32"): Tiling(2, "aa")}
"""Until Turing the integer product was not transposed."""

_VOLTA = {
    (shape, use, name): Octets(down)
    for shape, down in (("m16n16k16", 2), ("m32n8k16", 4), ("m8n32k16", 1))
    for use, names in (("matrix_a", "f16"), ("matrix_b", "f16"), ("accumulator", "f16 f32"))
    for name in names.split()
}

DIFFERENT: dict[WmmaGeneration, dict[tuple[str, str, str], Tiling | Octets]] = {
    "ampere": {},
    "turing": {**_TURING},
    "volta": {**_TURING, **_VOLTA},
}
"""The layouts in which each generation differs from the table."""

PADDED = {("matrix_a", "f16"): 16, ("matrix_b", "f16"): 16}
"""The number of elements that `mma.h` declares in every shape: if fewer are distinct, they repeat."""


def stride_multiple(bits: int) -> int:
    """Return the number of elements that must divide the stride of rows (or columns): 16 bytes, 8 for 8-bit types.

    The source is the CUDA C++ Programming Guide 13.0, load_matrix_sync.

    Examples
    --------
    >>> [stride_multiple(bits) for bits in (16, 8, 4)]
    [8, 8, 32]
    """
    return (64 if bits == 8 else 128) // bits
