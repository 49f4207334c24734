# SPDX-License-Identifier: MIT
"""Which machine (SASS) instructions a matrix instruction becomes on each chip, as the assembler lowers it.

Read from disassembled cubins: every instruction in every layout, on sm_75 and later from ptxas 13.0, most of
them from ptxas 12.8 too, which agrees; on sm_70 and sm_72, which ptxas 13 no longer knows, from ptxas 12.4; on
sm_103 and sm_121 from ptxas 13.0 and 13.5, which make of each the machine instructions of sm_100 and of sm_120.
The layouts matter to nothing but the software of m8n8k4.
"""

from collections.abc import Iterator
from typing import NamedTuple

READ = "ptxas 13.0 and 12.8, cubins disassembled, 2026-11-20"
_OLD = "ptxas 12.4, cubins disassembled, 2026-11-20"
_QMMA = "ptxas 13.0, 13.5 and, those without block scales, 12.8, cubins disassembled, 2026-11-20 and 2026-11-22"
_SCALED = "ptxas 13.0 and 13.5, cubins disassembled, 2026-11-22"
_SCALED_FP4 = "ptxas 13.0 and 13.5 (4X with ue8m0: 13.1 and 13.5, 13.0 refuses it), cubins disassembled, 2026-11-22"


class CodeRow(NamedTuple):
    """Instructions that become the same machine code, but for types that are filled in.

    ``operands`` are the formats of a (b is one of them too), ``"b1:xor"`` is b1 with xor. ``accumulators``
    are written d.c, empty for all. The row of the newest ``since`` is a chip's. In ``code``, ``{D}``, ``{A}``, ``{B}``
    are the types, ``{F}`` is F32 if c or d is f32, ``{A8}``, ``{B8}`` are 8-bit types for 4-bit ones, ``{OP}`` is
    XOR or AND, ``{SAT}`` and ``{RND}`` the modifiers, ``{n}`` is n, ``{mnk}`` the shape, ``{N}`` a count that has
    its own table; ``{SF}`` and ``{SCALE}`` say that there are block scales, and which: nothing where there are none.
    """

    family: str
    shapes: str
    operands: str
    since: str
    code: str
    accumulators: str = ""
    note: str = ""
    source: str = READ


def _steps(count: int, name: str, steps: int) -> str:
    return " + ".join(f"{count}x {name}.STEP{i}" for i in range(steps))


_WMMA_16 = "m16n16k16 m32n8k16 m8n32k16"
_FP8 = "e4m3 e5m2"
_FP6_FP4 = "e3m2 e2m3 e2m1"

_QUADS = "a software routine: no matrix instruction is left"
_HALVES = "operands converted to f16; lo is bytes 0 and 1 of every register, hi bytes 2 and 3"
_NIBBLES = "operands widened to 8 bits; saturation, where asked for, in further instructions"
_BITS_90 = "popc(a xor b) as popc(a and not b) + popc(not a and b)"
_BITS_100 = "bits spread to bytes"
_XOR_100 = f"{_BITS_100}; a routine that runs twice: {_BITS_90}"
_HALF = "eight of the sixteen rows unused"
_TILES = "tiles of 8 rows, k ascending"
_SPARSE_HALVES = "operands converted to f16; lo is bytes 0 and 1 of every register of A, hi bytes 2 and 3"
SPARSE_READ = "ptxas 13.0, cubins disassembled, 2026-11-21"


def _sparse() -> Iterator[CodeRow]:
    rows = (
        ("m16n8k64", _FP8, "sm_89", "1x QMMA.SP.16864.{D}.{A}.{B}", ""),
        ("m16n8k64", _FP8, "sm_90", "2x HMMA.SP.16832.{D}", _SPARSE_HALVES),
        ("m16n8k64", _FP8, "sm_120", "1x QMMA{SF}.SP.16864.{D}.{A}.{B}{SCALE}", ""),
        ("m16n8k64", "s4 u4", "sm_80", "1x IMMA.SP.16864.{A}.{B}{SAT}", ""),
        ("m16n8k64", "s4 u4", "sm_90", "2x IMMA.SP.16832.{A8}.{B8}", _NIBBLES),
        ("m16n8k128", "s4 u4", "sm_80", "1x IMMA.SP.168128.{A}.{B}{SAT}", ""),
        ("m16n8k128", "s4 u4", "sm_90", "2x IMMA.SP.16864.{A8}.{B8}", _NIBBLES),
    )
    for family in ("mma.sp", "mma.sp::ordered_metadata"):
        for shape, operands, since, code, note in rows:
            source = _SCALED if "{SF}" in code else SPARSE_READ
            yield CodeRow(family, shape, operands, since, code, note=note, source=source)
    for shape, operands, name, source in (
        ("m16n8k64", _FP6_FP4, "QMMA{SF}.SP.16864", _SCALED),
        ("m16n8k128", "e2m1", "OMMA{SF}.SP.168128", _SCALED_FP4),
    ):
        code = f"1x {name}.{{D}}.{{A}}.{{B}}{{SCALE}}"
        yield CodeRow("mma.sp::ordered_metadata", shape, operands, "sm_120", code, source=source)


def _warpgroup() -> Iterator[CodeRow]:
    rows = (
        (16, "f16", "HGMMA", "{D}"),
        (16, "bf16", "HGMMA", "F32.BF16"),
        (8, "tf32", "HGMMA", "F32.TF32"),
        (32, _FP8, "QGMMA", "{D}.{A}.{B}"),
        (32, "s8 u8", "IGMMA", "{A}.{B}{SAT}"),
        (256, "b1", "BGMMA", "{OP}.POPC"),
    )
    for family, times in (("wgmma", 1), ("wgmma.sp", 2)):
        for k, operands, name, types in rows:
            if operands == "b1" and times == 2:
                continue
            shapes = " ".join(f"m64n{n}k{k * times}" for n in range(8, 257, 8))
            code = f"1x {name}{'.SP' if times == 2 else ''}.64x{{n}}x{k * times}.{types}"
            yield CodeRow(family, shapes, operands, "sm_90", code, source=SPARSE_READ)


MACHINE_CODE = (
    # mma.sync, floating point
    *(
        CodeRow("mma.sync", "m8n8k4", "f16", since, _steps(1, name, steps), accumulators, source=source)
        for since, source in (("sm_70", _OLD), ("sm_75", READ))
        for accumulators, name, steps in (
            ("f32.f32", "HMMA.884.F32.F32", 4),
            ("f32.f16", "HMMA.884.F32.F16", 4),
            ("f16.f16", "HMMA.884.F16.F16", 2),
        )
    ),
    CodeRow("mma.sync", "m8n8k4", "f16", "sm_80", "no MMA: shuffles and float32 FMUL, FFMA, FADD ({N} instructions)",
            note=_QUADS, source="ptxas 12.8 (sm_86: 12.4; kinds of operations: 13.0), cubins disassembled, 2026-11-20"),
    CodeRow("mma.sync", "m16n8k16", _FP8, "sm_89", "1x QMMA.16816.{D}.{A}.{B}"),
    CodeRow("mma.sync", "m16n8k32", _FP8, "sm_89", "1x QMMA.16832.{D}.{A}.{B}"),
    CodeRow("mma.sync", "m16n8k16", _FP8, "sm_90", "2x HMMA.1688.{D}", note=_HALVES),
    CodeRow("mma.sync", "m16n8k32", _FP8, "sm_90", "2x HMMA.16816.{D}", note=_HALVES),
    CodeRow("mma.sync", "m16n8k16", _FP8, "sm_120", "1x QMMA.16816.{D}.{A}.{B}"),
    CodeRow("mma.sync", "m16n8k32", _FP8, "sm_120", "1x QMMA{SF}.16832.{D}.{A}.{B}{SCALE}", source=_QMMA),
    CodeRow("mma.sync", "m16n8k32", _FP6_FP4, "sm_120", "1x QMMA{SF}.16832.{D}.{A}.{B}{SCALE}",
            source=_SCALED),
    CodeRow("mma.sync", "m16n8k64", "e2m1", "sm_120", "1x OMMA{SF}.16864.{D}.{A}.{B}{SCALE}",
            source=_SCALED_FP4),
    # f64; .rn is the default and leaves no trace
    CodeRow("any", "m8n8k4", "f64", "sm_80", "1x DMMA.884{RND}"),
    CodeRow("any", "m8n8k4", "f64", "sm_90", "1x DMMA.8x8x4{RND}"),
    CodeRow("mma.sync", "m16n8k4", "f64", "sm_90", "1x DMMA.16x8x4{RND}"),
    CodeRow("mma.sync", "m16n8k8", "f64", "sm_90", "1x DMMA.16x8x8{RND}"),
    CodeRow("mma.sync", "m16n8k16", "f64", "sm_90", "1x DMMA.16x8x16{RND}"),
    CodeRow("mma.sync", "m16n8k4", "f64", "sm_100", "2x DMMA.8x8x4{RND}", note=_TILES),
    CodeRow("mma.sync", "m16n8k8", "f64", "sm_100", "4x DMMA.8x8x4{RND}", note=_TILES),
    CodeRow("mma.sync", "m16n8k16", "f64", "sm_100", "8x DMMA.8x8x4{RND}", note=_TILES),
    # mma.sync, integers and bits
    CodeRow("mma.sync", "m8n8k16", "s8 u8", "sm_75", "1x IMMA.8816.{A}.{B}{SAT}"),
    CodeRow("mma.sync", "m8n8k16", "s8 u8", "sm_100", "1x IMMA.16816.{A}.{B}{SAT}", note=_HALF),
    CodeRow("any", "m8n8k32", "s4 u4", "sm_75", "1x IMMA.8832.{A}.{B}{SAT}"),
    CodeRow("any", "m8n8k32", "s4 u4", "sm_90", "2x IMMA.8816.{A8}.{B8}", note=_NIBBLES),
    CodeRow("any", "m8n8k32", "s4 u4", "sm_100", "2x IMMA.16816.{A8}.{B8}", note=_NIBBLES),
    CodeRow("mma.sync", "m16n8k32", "s4 u4", "sm_80", "1x IMMA.16832.{A}.{B}{SAT}"),
    CodeRow("mma.sync", "m16n8k32", "s4 u4", "sm_90", "2x IMMA.16816.{A8}.{B8}", note=_NIBBLES),
    CodeRow("mma.sync", "m16n8k64", "s4 u4", "sm_80", "1x IMMA.16864.{A}.{B}{SAT}"),
    CodeRow("mma.sync", "m16n8k64", "s4 u4", "sm_90", "2x IMMA.16832.{A8}.{B8}", note=_NIBBLES),
    *(
        row
        for shape, name, count in (
            ("m8n8k128", "88128", 4), ("m16n8k128", "168128", 4), ("m16n8k256", "168256", 8),
        )
        for row in (
            CodeRow("any", shape, "b1", "sm_75", f"1x BMMA.{name}.{{OP}}.POPC"),
            CodeRow("any", shape, "b1:xor", "sm_90", f"2x BMMA.{name}.AND.POPC", note=_BITS_90),
            CodeRow("any", shape, "b1:and", "sm_90", f"1x BMMA.{name}.AND.POPC"),
            CodeRow("any", shape, "b1:xor", "sm_100", f"{count}x IMMA.16832.U8.U8", note=_XOR_100),
            CodeRow("any", shape, "b1:and", "sm_100", f"{count}x IMMA.16832.U8.U8", note=_BITS_100),
        )
    ),
    # wmma.mma
    CodeRow("wmma.mma", _WMMA_16, "f16", "sm_70", _steps(4, "HMMA.884.F32.F32", 4), "f32.f32", source=_OLD),
    CodeRow("wmma.mma", _WMMA_16, "f16", "sm_70",
            _steps(1, "HMMA.884.F32.F16", 4) + " + " + _steps(3, "HMMA.884.F32.F32", 4), "f32.f16",
            "the first of the four sets of k reads c as f16", _OLD),
    CodeRow("wmma.mma", _WMMA_16, "f16", "sm_70", _steps(4, "HMMA.884.F32.F32", 4), "f16.f32",
            "the f32 sums are converted to f16 at the end", _OLD),
    CodeRow("wmma.mma", _WMMA_16, "f16", "sm_70", _steps(4, "HMMA.884.F16.F16", 2), "f16.f16", source=_OLD),
    CodeRow("wmma.mma", _WMMA_16, "f16", "sm_75", "4x HMMA.1688.{F}",
            note="k = 0 to 7 of both tiles, then k = 8 to 15"),
    CodeRow("wmma.mma", _WMMA_16, "f16", "sm_80", "2x HMMA.16816.{F}"),
    CodeRow("wmma.mma", _WMMA_16, "bf16", "sm_80", "2x HMMA.16816.F32.BF16"),
    CodeRow("wmma.mma", "m16n16k8", "tf32", "sm_80", "4x HMMA.1684.F32.TF32",
            note="k = 0 to 3 of both tiles, then k = 4 to 7"),
    CodeRow("wmma.mma", _WMMA_16, "s8 u8", "sm_72", "4x IMMA.8816.{A}.{B}{SAT}", source=_OLD),
    CodeRow("wmma.mma", _WMMA_16, "s8 u8", "sm_75", "4x IMMA.8816.{A}.{B}{SAT}"),
    CodeRow("wmma.mma", _WMMA_16, "s8 u8", "sm_80", "2x IMMA.16816.{A}.{B}{SAT}"),
    *_sparse(),
    *_warpgroup(),
)  # fmt: skip
"""The machine code of instructions whose row in the table of instructions does not say it: it differs from chip to
chip, or within the group."""

_COUNTED_ON = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

M8N8K4_COUNTS: dict[str, dict[str, int]] = {
    name: dict(zip(_COUNTED_ON, counts, strict=True))
    for name, counts in {
        "row.col.f32.f32": (64, 64, 64, 64, 64, 64),
        "row.row.f32.f32": (168, 160, 160, 160, 160, 152),
        "col.row.f32.f32": (176, 176, 176, 168, 168, 168),
        "col.col.f32.f32": (128, 128, 128, 120, 120, 120),
        "row.col.f32.f16": (88, 88, 88, 80, 80, 80),
        "row.row.f32.f16": (184, 184, 184, 176, 176, 176),
        "col.row.f32.f16": (200, 192, 192, 184, 184, 184),
        "col.col.f32.f16": (144, 144, 144, 136, 136, 128),
        "row.col.f16.f16": (80, 80, 80, 72, 72, 72),
        "row.row.f16.f16": (192, 200, 200, 184, 184, 192),
        "col.row.f16.f16": (200, 200, 200, 192, 192, 200),
        "col.col.f16.f16": (120, 120, 120, 112, 112, 112),
    }.items()
}
"""Instructions of the m8n8k4 routine by layouts and d.c, in a kernel of its own: an order of magnitude. Those of sm_103
and sm_121 are sm_100's and sm_120's: of ptxas 13.0, whose kernels are longer, they have the same number too."""

COMPARED = ("sm_103", "sm_121")
"""Chips whose cubins were compared, kernel by kernel, with those of the chip that they inherit from: the same machine
instructions in the same numbers, but for moves of registers and NOP."""

READ_ON_ALL_CHIPS = (_QMMA, _SCALED, _SCALED_FP4)
"""Sources of rows that were read on the chips compared too."""

SAME_CODE_SOURCE = "ptxas 13.0 and 13.5, cubins disassembled, 2026-11-22: as on {}"
"""Where the machine code of the chips compared was read, where it is another's."""


class LoweringRow(NamedTuple):
    """One way to order the machine instructions, where the choice is the toolchain's."""

    name: str
    formula: str
    source: str


LOWERINGS = (
    LoweringRow("ptxas-12.8", "d = c + H(hi, H(lo, 0))", "ptxas 12.8 and 13.0"),
    LoweringRow("ptxas-12.4", "d = c + (H(lo, 0) + H(hi, 0))", "ptxas 12.4"),
)
"""FP8 `mma.sync` on sm_90, sm_100 and sm_103, the newest first. H is an HMMA over half of k, + an addition in the
format of d."""
