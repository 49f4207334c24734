# SPDX-License-Identifier: MIT
"""Which matrix instructions exist: a few rows, multiplied out."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Literal, NamedTuple

from wmma_emu.chip_sets import chips_since
from wmma_emu.evidence import Evidence, Run
from wmma_emu.formats import format_of
from wmma_emu.instructions.machine_table import MACHINE_CODE, READ, SPARSE_READ, CodeRow
from wmma_emu.instructions.spec import Family, Instruction

Layout = Literal["row", "col"]

_SECTIONS: dict[Family, str] = {
    "mma.sync": "PTX ISA 9.1, section 9.7.14.5 (mma)",
    "wmma.mma": "PTX ISA 9.1, section 9.7.14.4 (wmma.mma)",
    "mma.sp": "PTX ISA 9.1, section 9.7.14.6 (mma.sp)",
    "mma.sp::ordered_metadata": "PTX ISA 9.1, section 9.7.14.6 (mma.sp::ordered_metadata)",
    "wgmma": "PTX ISA 9.1, section 9.7.15.5 (wgmma.mma_async)",
    "wgmma.sp": "PTX ISA 9.1, section 9.7.15.5 (wgmma.mma_async.sp)",
}
_ASSEMBLED = "; chips and register counts as ptxas 13.0 accepts them (.version 9.0), 2026-11-20"

_SINCE_9_1 = "; as ptxas 13.1 and 13.5 accept it (.version 9.1); 13.0, which knows PTX 9.0, refuses it, 2026-11-22"

_ROW_COL: tuple[tuple[Layout, Layout], ...] = (("row", "col"),)
_ANY: tuple[tuple[Layout, Layout], ...] = (("row", "col"), ("row", "row"), ("col", "row"), ("col", "col"))

_PLAIN = ("",)
_SATURATE = ("", "satfinite")
_ROUNDED = ("", "rn", "rz", "rm", "rp")


class _Group(NamedTuple):
    """Instructions that one product of shapes, types, modifiers and layouts describes.

    ``types`` are written d.a.b.c. ``since`` says which chips accept them, as `chips_since` reads it. A modifier may be
    several words, with dots between them. ``code`` is the machine code, as in `CodeRow`, and ``code_read`` where it
    was read; `MACHINE_CODE` has what differs from chip to chip.
    """

    family: Family
    since: str
    shapes: str
    types: str
    modifiers: tuple[str, ...] = _PLAIN
    layouts: tuple[tuple[Layout, Layout], ...] = _ROW_COL
    scale: str = ""
    scale_vec: int = 0
    evidence: str = _ASSEMBLED
    code: str = ""
    code_read: str = READ


def _mixes(d: str, first: str, second: str) -> str:
    """All four products of two operand formats that may be mixed, with each accumulator of ``d``."""
    return " ".join(f"{x}.{a}.{b}.{x}" for a, b, x in product((first, second), (first, second), d.split()))


def _pairs(d: str, formats: str, but: str = "") -> str:
    """All pairs of operand formats, with each accumulator of ``d``; without those whose formats are all in ``but``."""
    pairs = [(a, b) for a, b in product(formats.split(), repeat=2) if not {a, b} <= set(but.split())]
    return " ".join(f"{x}.{a}.{b}.{x}" for x in d.split() for a, b in pairs)


_FP8 = _mixes("f32 f16", "e4m3", "e5m2")
_INT8 = _mixes("s32", "s8", "u8")
_INT4 = _mixes("s32", "s4", "u4")
_F64 = "f64.f64.f64.f64"
_B1 = "s32.b1.b1.s32"
_TALL = "m16n16k16 m32n8k16 m8n32k16"
_F16 = "f32.f16.f16.f32 f16.f16.f16.f16"
_BF16 = "f32.bf16.bf16.f32"
_TF32 = "f32.tf32.tf32.f32"
_FP8_F32 = _mixes("f32", "e4m3", "e5m2")
_FP8_F16 = _mixes("f16", "e4m3", "e5m2")
_F8F6F4 = "e4m3 e5m2 e3m2 e2m3 e2m1"
_WITH_FP6_FP4 = _pairs("f32 f16", _F8F6F4, but="e4m3 e5m2")
_FP4 = "f32.e2m1.e2m1.f32"
_F16_ANY = "f32.f16.f16.f32 f32.f16.f16.f16 f16.f16.f16.f32 f16.f16.f16.f16"

_EIGHTS = range(8, 257, 8)
"""n of `wgmma` for floating point."""

_SIXTEENS = (8, 24, *range(16, 257, 16))
"""n of `wgmma` for integers and bits: ptxas 13.0 takes 240 and 256 too, where the manual's list stops at 224."""


def _sparse(family: Family) -> tuple[_Group, ...]:
    return (
        _Group(family, "sm_80", "m16n8k16 m16n8k32", _F16, code="1x HMMA.SP.{mnk}.{D}", code_read=SPARSE_READ),
        _Group(family, "sm_80", "m16n8k16 m16n8k32", _BF16, code="1x HMMA.SP.{mnk}.F32.BF16", code_read=SPARSE_READ),
        _Group(family, "sm_80", "m16n8k8 m16n8k16", _TF32, code="1x HMMA.SP.{mnk}.F32.TF32", code_read=SPARSE_READ),
        _Group(family, "sm_89", "m16n8k64", _FP8_F32),
        _Group(family, "sm_80", "m16n8k32 m16n8k64", _INT8, _SATURATE, code="1x IMMA.SP.{mnk}.{A}.{B}{SAT}",
               code_read=SPARSE_READ),
        _Group(family, "sm_80", "m16n8k64 m16n8k128", _INT4, _SATURATE),
    )  # fmt: skip


def _block_scaled(family: Family, eight_bits: str, four_bits: str) -> tuple[_Group, ...]:
    return (
        _Group(family, "sm_120", eight_bits, _pairs("f32", _F8F6F4),
               ("kind::mxf8f6f4.block_scale.scale_vec::1X",), scale="ue8m0", scale_vec=1),
        _Group(family, "sm_120", four_bits, _FP4,
               ("kind::mxf4.block_scale.scale_vec::2X",), scale="ue8m0", scale_vec=2),
        _Group(family, "sm_120", four_bits, _FP4,
               ("kind::mxf4nvf4.block_scale.scale_vec::2X",), scale="ue8m0", scale_vec=2),
        _Group(family, "sm_120", four_bits, _FP4,
               ("kind::mxf4nvf4.block_scale.scale_vec::4X",), scale="ue4m3", scale_vec=4),
        _Group(family, "sm_120", four_bits, _FP4,
               ("kind::mxf4nvf4.block_scale.scale_vec::4X",), scale="ue8m0", scale_vec=4, evidence=_SINCE_9_1),
    )  # fmt: skip


def _warpgroup(
    family: Family, columns: Iterable[int], k: int, types: str, modifiers: tuple[str, ...] = _PLAIN
) -> _Group:
    shapes = " ".join(f"m64n{n}k{k}" for n in sorted(columns))
    return _Group(family, "sm_90f", shapes, types, modifiers)


_GROUPS = (
    _Group("mma.sync", "sm_70", "m8n8k4", "f32.f16.f16.f32 f32.f16.f16.f16 f16.f16.f16.f16", layouts=_ANY),
    _Group("mma.sync", "sm_75", "m16n8k8", _F16, code="1x HMMA.{mnk}.{D}"),
    _Group("mma.sync", "sm_80", "m16n8k16", _F16, code="1x HMMA.{mnk}.{D}"),
    _Group("mma.sync", "sm_80", "m16n8k8 m16n8k16", _BF16, code="1x HMMA.{mnk}.F32.BF16"),
    _Group("mma.sync", "sm_80", "m16n8k4 m16n8k8", _TF32, code="1x HMMA.{mnk}.F32.TF32"),
    _Group("mma.sync", "sm_89", "m16n8k16 m16n8k32", _FP8),
    # With FP8 operands the kind is the product without it: ptxas makes the same machine code of both on sm_100 and
    # sm_120.
    _Group("mma.sync", "sm_100", "m16n8k32", _FP8, ("kind::f8f6f4",)),
    _Group("mma.sync", "sm_120", "m16n8k32", _WITH_FP6_FP4, ("kind::f8f6f4",)),
    *_block_scaled("mma.sync", "m16n8k32", "m16n8k64"),
    _Group("mma.sync", "sm_80", "m8n8k4", _F64, _ROUNDED),
    _Group("mma.sync", "sm_90", "m16n8k4 m16n8k8 m16n8k16", _F64, _ROUNDED),
    _Group("mma.sync", "sm_75", "m8n8k16", _INT8, _SATURATE),
    _Group("mma.sync", "sm_80", "m16n8k16 m16n8k32", _INT8, _SATURATE, code="1x IMMA.{mnk}.{A}.{B}{SAT}"),
    _Group("mma.sync", "sm_75", "m8n8k32", _INT4, _SATURATE),
    _Group("mma.sync", "sm_80", "m16n8k32 m16n8k64", _INT4, _SATURATE),
    _Group("mma.sync", "sm_75", "m8n8k128", _B1, ("xor.popc",)),
    _Group("mma.sync", "sm_80", "m8n8k128", _B1, ("and.popc",)),
    _Group("mma.sync", "sm_80", "m16n8k128 m16n8k256", _B1, ("xor.popc", "and.popc")),
    _Group("wmma.mma", "sm_70", _TALL, _F16_ANY, layouts=_ANY),
    _Group("wmma.mma", "sm_80", _TALL, "f32.bf16.bf16.f32", layouts=_ANY),
    _Group("wmma.mma", "sm_80", "m16n16k8", "f32.tf32.tf32.f32", layouts=_ANY),
    _Group("wmma.mma", "sm_80", "m8n8k4", _F64, _ROUNDED, _ANY),
    _Group("wmma.mma", "sm_72", _TALL, "s32.s8.s8.s32 s32.u8.u8.s32", _SATURATE, _ANY),
    _Group("wmma.mma", "sm_75", "m8n8k32", "s32.s4.s4.s32 s32.u4.u4.s32", _SATURATE),
    _Group("wmma.mma", "sm_75", "m8n8k128", _B1, ("xor.popc",)),
    _Group("wmma.mma", "sm_80", "m8n8k128", _B1, ("and.popc",)),
    *_sparse("mma.sp"),
    *_sparse("mma.sp::ordered_metadata"),
    _Group("mma.sp::ordered_metadata", "sm_120", "m16n8k64", _FP8_F16),
    _Group("mma.sp::ordered_metadata", "sm_100", "m16n8k64", _FP8_F32, ("kind::f8f6f4",)),
    _Group("mma.sp::ordered_metadata", "sm_120", "m16n8k64", _FP8_F16, ("kind::f8f6f4",)),
    _Group("mma.sp::ordered_metadata", "sm_120", "m16n8k64", _WITH_FP6_FP4, ("kind::f8f6f4",)),
    *_block_scaled("mma.sp::ordered_metadata", "m16n8k64", "m16n8k128"),
    _warpgroup("wgmma", _EIGHTS, 16, _F16),
    _warpgroup("wgmma", _EIGHTS, 16, _BF16),
    _warpgroup("wgmma", _EIGHTS, 8, _TF32),
    _warpgroup("wgmma", _EIGHTS, 32, _FP8),
    _warpgroup("wgmma", _SIXTEENS, 32, _INT8, _SATURATE),
    _warpgroup("wgmma", _SIXTEENS, 256, _B1, ("and.popc",)),
    _warpgroup("wgmma.sp", _EIGHTS, 32, _F16),
    _warpgroup("wgmma.sp", _EIGHTS, 32, _BF16),
    _warpgroup("wgmma.sp", _EIGHTS, 16, _TF32),
    _warpgroup("wgmma.sp", _EIGHTS, 64, _FP8),
    _warpgroup("wgmma.sp", _SIXTEENS, 64, _INT8, _SATURATE),
)  # fmt: skip


def _registers(elements: int, bits: int) -> int:
    """Count the registers a lane that hold a warp's elements: 64-bit ones for f64, else 32-bit ones."""
    return elements // 32 * bits // max(bits, 32)


def _expand(group: _Group) -> Iterator[Instruction]:
    archs = chips_since(group.since)
    accepted = Evidence("documented", _SECTIONS[group.family] + group.evidence, Run("assembled", archs[0]))
    for shape, types, modifier, (a_layout, b_layout) in product(
        group.shapes.split(), group.types.split(), group.modifiers, group.layouts
    ):
        m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
        d, a, b, c = types.split(".")
        a_elements, b_elements, c_elements = m * k, k * n, m * n
        if group.family in ("mma.sp", "mma.sp::ordered_metadata", "wgmma.sp"):
            a_elements //= 2
        if group.family in ("wgmma", "wgmma.sp"):  # four warps share a, c and d; b is in shared memory
            a_elements, b_elements, c_elements = a_elements // 4, 0, c_elements // 4
        if a == "f16" and group.family == "wmma.mma":
            a_elements = b_elements = 32 * 16  # 16 elements a lane, duplicates where fewer differ
        elif a == "f16" and shape == "m8n8k4":
            a_elements, b_elements, c_elements = 4 * m * k, 4 * k * n, 4 * m * n  # one product a quad pair
        bits = dict(zip((a, b, c, d), (format_of(x).bits for x in (a, b, c, d)), strict=True))
        if modifier.startswith(("kind::f8f6f4", "kind::mxf8f6f4")):
            bits[a] = bits[b] = 8  # each element takes a byte
        yield Instruction(
            group.family, m, n, k, a_layout, b_layout, d, a, b, c,
            modifiers=_words(modifier),
            num_registers=(
                _registers(a_elements, bits[a]), _registers(b_elements, bits[b]),
                _registers(c_elements, bits[c]), _registers(c_elements, bits[d]),
            ),
            archs=archs, evidence=accepted, scale=group.scale, scale_vec=group.scale_vec,
        )  # fmt: skip


def _words(modifier: str) -> tuple[str, ...]:
    """Take modifiers of several words apart; ``xor.popc`` is one word."""
    if modifier.endswith(".popc"):
        return (modifier,)
    return tuple(modifier.split(".")) if modifier else ()


INSTRUCTIONS: dict[str, Instruction] = {row.mnemonic: row for group in _GROUPS for row in _expand(group)}
"""Every matrix instruction by its full PTX mnemonic, family by family: the type of the operands first (f16, bf16,
tf32, FP8, f64, integers, bits), then shapes from small to large."""


def _operands(group: _Group) -> str:
    """Formats of A, as a row of machine code names them."""
    return " ".join(dict.fromkeys(x.split(".")[1] for x in group.types.split()))


CODE_ROWS: tuple[CodeRow, ...] = (
    *MACHINE_CODE,
    *(CodeRow(x.family, x.shapes, _operands(x), x.since, x.code, source=x.code_read) for x in _GROUPS if x.code),
)
"""The machine code of every instruction on every chip that has it."""
