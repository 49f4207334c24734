# SPDX-License-Identifier: MIT
"""The machine (SASS) instructions of matrix instructions, where they differ from chip to chip.

They were read in disassembled cubins: every instruction in every layout, on sm_75 and later from ptxas 13.0, most of
them also from ptxas 12.8, which agrees; on sm_70 and sm_72, which ptxas 13 does not support, from ptxas 12.4; on
sm_103 and sm_121 from ptxas 13.0 and 13.5, which emit the same machine instructions as for sm_100 and sm_120.
Layouts affect only the software routine of m8n8k4.
"""

from typing import NamedTuple

from wmma_emu.instructions.groups import CodeEntry

_OLD = "ptxas 12.4, cubins disassembled, 2026-11-20"
_QMMA = "ptxas 13.0, 13.5 and, those without block scales, 12.8, cubins disassembled, 2026-11-20 and 2026-11-22"
_SCALED = "ptxas 13.0 and 13.5, cubins disassembled, 2026-11-22"
_SCALED_FP4 = "ptxas 13.0 and 13.5 (4X with ue8m0: 13.1 and 13.5, 13.0 refuses it), cubins disassembled, 2026-11-22"

_FP8 = "e4m3 e5m2"
_QUADS = "a software routine: no matrix instruction is left"
_NIBBLES = "operands widened to 8 bits; saturation, where asked for, in further instructions"
_BITS_90 = "popc(a xor b) as popc(a and not b) + popc(not a and b)"
_BITS_100 = "bits spread to bytes"
_XOR_100 = f"{_BITS_100}; a routine that runs twice: {_BITS_90}"


def _steps(count: str, name: str, steps: int) -> str:
    return " + ".join(f"{count}x HMMA.884.{name}.STEP{i}" for i in range(steps))


def _narrow(registers: str, source_of_fp8: str) -> tuple[CodeEntry, ...]:
    """Return entries for FP8, and FP6 and FP4 that take a byte: on sm_90 and sm_100 FP8 is converted to f16."""
    halves = f"operands converted to f16; lo is bytes 0 and 1 of every register{registers}, hi bytes 2 and 3"
    qmma = "1x QMMA{SF}{SP}.{mnk}.{D}.{A}.{B}{SCALE}"
    return (
        CodeEntry("sm_89", qmma),
        CodeEntry("sm_90", "{count}x HMMA{SP}.{mnk}.{D}", halves, unit="m n k/2"),
        CodeEntry("sm_120", qmma, of="m16n8k16"),
        CodeEntry("sm_120", qmma, source=source_of_fp8, of=_FP8),
        CodeEntry("sm_120", qmma, source=_SCALED),
    )


NARROW, SPARSE_NARROW = _narrow("", _QMMA), _narrow(" of A", _SCALED)

FP4 = (CodeEntry("sm_120", "1x OMMA{SF}{SP}.{mnk}.{D}.{A}.{B}{SCALE}", source=_SCALED_FP4),)

VOLTA = (
    *(
        CodeEntry(since, _steps("{count}", name, steps), source=source, of=sums, unit="m n 4")
        for since, source in (("sm_70", _OLD), ("sm_75", ""))
        for sums, name, steps in (("f32.f32", "F32.F32", 4), ("f32.f16", "F32.F16", 4), ("f16.f16", "F16.F16", 2))
    ),
    CodeEntry("sm_80", "shuffles and float32 FMUL, FFMA, FADD instead of a matrix instruction "
         "({N} instructions)", _QUADS,
         "ptxas 12.8 (sm_86: 12.4; kinds of operations: 13.0), cubins disassembled, 2026-11-20"),
)  # fmt: skip

# .rn is the default and does not appear in the opcode
F64 = (CodeEntry("sm_80", "1x DMMA.{mnk}{RND}"), CodeEntry("sm_90", "1x DMMA.{m}x{n}x{k}{RND}"))
F64_TILES = (
    *F64, CodeEntry("sm_100", "{count}x DMMA.{m}x{n}x{k}{RND}", "tiles of 8 rows, k ascending", unit="8 8 4"),
)  # fmt: skip

INT8 = "1x IMMA{SP}.{mnk}.{A}.{B}{SAT}"
INT8_OF_8_ROWS = (
    CodeEntry("sm_75", INT8), CodeEntry("sm_100", INT8, "eight of the sixteen rows unused", unit="16 n k"),
)  # fmt: skip
INT4 = (
    CodeEntry("sm_75", INT8),
    CodeEntry("sm_90", "{count}x IMMA{SP}.{mnk}.{A8}.{B8}", _NIBBLES, unit="m n k/2"),
    CodeEntry("sm_100", "{count}x IMMA{SP}.{mnk}.{A8}.{B8}", _NIBBLES, unit="16 n k/2"),
)
BITS = (
    CodeEntry("sm_75", "1x BMMA.{mnk}.{OP}.POPC"),
    CodeEntry("sm_90", "2x BMMA.{mnk}.AND.POPC", _BITS_90, of="xor"),
    CodeEntry("sm_90", "1x BMMA.{mnk}.AND.POPC"),
    CodeEntry("sm_100", "{count}x IMMA.{mnk}.U8.U8", _XOR_100, of="xor", unit="16 8 32"),
    CodeEntry("sm_100", "{count}x IMMA.{mnk}.U8.U8", _BITS_100, unit="16 8 32"),
)

WMMA_F16 = (
    CodeEntry("sm_70", _steps("{count}", "F32.F32", 4), source=_OLD, of="f32.f32", unit="m n 4"),
    CodeEntry("sm_70", _steps("1", "F32.F16", 4) + " + " + _steps("{others}", "F32.F32", 4),
         "the first of the four sets of k reads c as f16", _OLD, "f32.f16", "m n 4"),
    CodeEntry("sm_70", _steps("{count}", "F32.F32", 4), "the f32 sums are converted to f16 at the end", _OLD, "f16.f32",
         "m n 4"),
    CodeEntry("sm_70", _steps("{count}", "F16.F16", 2), source=_OLD, of="f16.f16", unit="m n 4"),
    CodeEntry("sm_75", "{count}x HMMA.{mnk}.{F}", "k = 0 to 7 of both tiles, then k = 8 to 15", unit="16 8 8"),
    CodeEntry("sm_80", "{count}x HMMA.{mnk}.{F}", unit="16 8 16"),
)  # fmt: skip
WMMA_BF16 = (CodeEntry("sm_80", "{count}x HMMA.{mnk}.F32.BF16", unit="16 8 16"),)
WMMA_TF32 = (
    CodeEntry("sm_80", "{count}x HMMA.{mnk}.F32.TF32", "k = 0 to 3 of both tiles, then k = 4 to 7", unit="16 8 4"),
)  # fmt: skip
WMMA_INT8 = (
    CodeEntry("sm_72", "{count}x IMMA.{mnk}.{A}.{B}{SAT}", source=_OLD, unit="8 8 16"),
    CodeEntry("sm_75", "{count}x IMMA.{mnk}.{A}.{B}{SAT}", unit="8 8 16"),
    CodeEntry("sm_80", "{count}x IMMA.{mnk}.{A}.{B}{SAT}", unit="16 8 16"),
)

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
"""The number of instructions of the m8n8k4 routine by layouts and d.c, in a kernel that contains nothing else: an order
of magnitude. For sm_103 and sm_121 the numbers match sm_100 and sm_120: the kernels of ptxas 13.0, which are
longer, have equal numbers too."""

COMPARED = ("sm_103", "sm_121")
"""The chips whose cubins were compared, kernel by kernel, with those of the chip that they inherit from: the machine
instructions are the same in the same numbers, except for register moves and NOP."""

READ_ON_ALL_CHIPS = (_QMMA, _SCALED, _SCALED_FP4)
"""The sources of entries that were also read on the compared chips."""

SAME_CODE_SOURCE = "ptxas 13.0 and 13.5, cubins disassembled, 2026-11-22: as on {}"
"""The source of a compared chip's machine code that is equal to another chip's."""


class LoweringEntry(NamedTuple):
    """An order of the machine instructions that a toolchain chooses."""

    name: str
    formula: str
    source: str


LOWERINGS = (
    LoweringEntry("ptxas-12.8", "d = c + H(hi, H(lo, 0))", "ptxas 12.8 and 13.0"),
    LoweringEntry("ptxas-12.4", "d = c + (H(lo, 0) + H(hi, 0))", "ptxas 12.4"),
)
"""FP8 `mma.sync` on sm_90, sm_100 and sm_103, the newest first. H is an HMMA over half of k, + an addition in the
format of d."""
