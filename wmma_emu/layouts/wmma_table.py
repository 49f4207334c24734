# SPDX-License-Identifier: MIT
"""Which WMMA fragments exist and where their elements live, which NVIDIA leaves unspecified: rows only."""

from typing import Literal, NamedTuple, get_args

from wmma_emu.chips import WmmaGeneration
from wmma_emu.layouts.quad_pairs import Octets
from wmma_emu.layouts.tiling import Tiling

Use = Literal["matrix_a", "matrix_b", "accumulator"]
MemoryLayout = Literal["row", "col"]

USES: tuple[Use, ...] = get_args(Use)


class Fragment(NamedTuple):
    """One fragment: where its elements live, the first chip with it, the memory layouts to load it from."""

    shape: str
    use: Use
    formats: str
    tiling: Tiling
    since: str
    stored: str = "row col"


_ROWS = (
    Fragment("m16n16k16", "matrix_a", "f16", Tiling(2, "da"), "sm_70"),
    Fragment("m16n16k16", "matrix_b", "f16", Tiling(2, "ad", True), "sm_70"),
    Fragment("m16n16k16", "matrix_a", "bf16", Tiling(2, "da"), "sm_80"),
    Fragment("m16n16k16", "matrix_b", "bf16", Tiling(2, "ad", True), "sm_80"),
    Fragment("m16n16k16", "matrix_a", "s8 u8", Tiling(4, "d"), "sm_72"),
    Fragment("m16n16k16", "matrix_b", "s8 u8", Tiling(4, "d", True), "sm_72"),
    Fragment("m16n16k16", "accumulator", "f16 f32", Tiling(2, "da"), "sm_70"),
    Fragment("m16n16k16", "accumulator", "s32", Tiling(2, "da"), "sm_72"),
    Fragment("m32n8k16", "matrix_a", "f16", Tiling(2, "dad"), "sm_70"),
    Fragment("m32n8k16", "matrix_b", "f16", Tiling(2, "a", True), "sm_70"),
    Fragment("m32n8k16", "matrix_a", "bf16", Tiling(2, "dad"), "sm_80"),
    Fragment("m32n8k16", "matrix_b", "bf16", Tiling(2, "a", True), "sm_80"),
    Fragment("m32n8k16", "matrix_a", "s8 u8", Tiling(4, "dd"), "sm_72"),
    Fragment("m32n8k16", "matrix_b", "s8 u8", Tiling(4, "", True), "sm_72"),
    Fragment("m32n8k16", "accumulator", "f16 f32", Tiling(2, "dd"), "sm_70"),
    Fragment("m32n8k16", "accumulator", "s32", Tiling(2, "dd"), "sm_72"),
    # m8n32k16 runs as its transpose, so it mirrors m32n8k16: accumulator pairs run down columns.
    Fragment("m8n32k16", "matrix_a", "f16", Tiling(2, "a"), "sm_70"),
    Fragment("m8n32k16", "matrix_b", "f16", Tiling(2, "dad", True), "sm_70"),
    Fragment("m8n32k16", "matrix_a", "bf16", Tiling(2, "a"), "sm_80"),
    Fragment("m8n32k16", "matrix_b", "bf16", Tiling(2, "dad", True), "sm_80"),
    Fragment("m8n32k16", "matrix_a", "s8 u8", Tiling(4), "sm_72"),
    Fragment("m8n32k16", "matrix_b", "s8 u8", Tiling(4, "dd", True), "sm_72"),
    Fragment("m8n32k16", "accumulator", "f16 f32", Tiling(2, "dd", True), "sm_70"),
    Fragment("m8n32k16", "accumulator", "s32", Tiling(2, "dd", True), "sm_72"),
    Fragment("m16n16k8", "matrix_a", "tf32", Tiling(1, "da"), "sm_80"),
    Fragment("m16n16k8", "matrix_b", "tf32", Tiling(1, "ad", True), "sm_80"),
    Fragment("m16n16k8", "accumulator", "f32", Tiling(2, "da"), "sm_80"),
    Fragment("m8n8k4", "matrix_a", "f64", Tiling(1), "sm_80"),
    Fragment("m8n8k4", "matrix_b", "f64", Tiling(1, "", True), "sm_80"),
    Fragment("m8n8k4", "accumulator", "f64", Tiling(2), "sm_80"),
    Fragment("m8n8k32", "matrix_a", "s4 u4", Tiling(8), "sm_75", "row"),
    Fragment("m8n8k32", "matrix_b", "s4 u4", Tiling(8, "", True), "sm_75", "col"),
    Fragment("m8n8k32", "accumulator", "s32", Tiling(2), "sm_75"),
    Fragment("m8n8k128", "matrix_a", "b1", Tiling(32), "sm_75", "row"),
    Fragment("m8n8k128", "matrix_b", "b1", Tiling(32, "", True), "sm_75", "col"),
    Fragment("m8n8k128", "accumulator", "s32", Tiling(2), "sm_75"),
)

FRAGMENTS = {(row.shape, row.use, name): row for row in _ROWS for name in row.formats.split()}
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
"""What each layout generation does otherwise than the table."""

PADDED = {("matrix_a", "f16"): 16, ("matrix_b", "f16"): 16}
"""`mma.h` gives these so many elements in every shape: where fewer are distinct, they repeat."""


def stride_multiple(bits: int) -> int:
    """Elements of which the distance of rows (or columns) in memory is a multiple: 16 bytes, 8 of 8-bit types.

    Notes
    -----
    CUDA C++ Programming Guide 13.0, load_matrix_sync.

    Examples
    --------
    >>> [stride_multiple(bits) for bits in (16, 8, 4)]
    [8, 8, 32]
    """
    return (64 if bits == 8 else 128) // bits
