# SPDX-License-Identifier: MIT
"""All matrix instructions, as a few table entries that are expanded to every combination."""

from collections.abc import Iterable, Iterator
from itertools import product

from wmma_emu.instructions.groups import EXACT, SUFFICES, CodeEntry, Group, Layout, PtxVersion
from wmma_emu.instructions.machine_table import (
    BITS,
    F64,
    F64_TILES,
    FP4,
    INT4,
    INT8,
    INT8_OF_8_ROWS,
    NARROW,
    SPARSE_NARROW,
    VOLTA,
    WMMA_BF16,
    WMMA_F16,
    WMMA_INT8,
    WMMA_TF32,
)
from wmma_emu.instructions.spec import Family, Instruction

_EXACT_NARROW = "ptxas 13.0, every row under every version, 2026-11-20: the oldest that it takes"
_PTX_FP8 = (PtxVersion((8, 4), EXACT), PtxVersion((8, 7), EXACT, "f16.f16 m16n8k16"))
_PTX_KINDS = (
    PtxVersion((8, 7), SUFFICES + "8.6 of FP8 for f32", "e4m3 e5m2"),
    PtxVersion((8, 7), _EXACT_NARROW),
)
_PTX_SCALES = (PtxVersion((8, 7), _EXACT_NARROW),)
_PTX_9_1 = (
    PtxVersion((9, 1), "ptxas 13.1, 2026-11-22: the oldest that it takes; 13.0, which ends with PTX 9.0, refuses it"),
)  # fmt: skip
_PTX_MIXED = (PtxVersion((8, 4), EXACT, "s8.u8 u8.s8"),)

_SINCE_9_1 = "; as ptxas 13.1 and 13.5 accept it (.version 9.1); 13.0, which ends at PTX 9.0, rejects it, 2026-11-22"

_ANY: tuple[tuple[Layout, Layout], ...] = (("row", "col"), ("row", "row"), ("col", "row"), ("col", "col"))

_SATURATE = ("", "satfinite")
_ROUNDED = ("", "rn", "rz", "rm", "rp")


def _mixes(d: str, first: str, second: str) -> str:
    """Return all four products of two operand formats that may be mixed, with each accumulator of ``d``."""
    return " ".join(f"{x}.{a}.{b}.{x}" for a, b, x in product((first, second), (first, second), d.split()))


def _pairs(d: str, formats: str, but: str = "") -> str:
    """Return all pairs of operand formats with each accumulator of ``d``, except pairs of formats in ``but``."""
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
"""The legal n of `wgmma` for floating point."""

_SIXTEENS = (8, 24, *range(16, 257, 16))
"""The legal n of `wgmma` for integers and bits: ptxas 13.0 also accepts 240 and 256; the manual's list ends at 224."""


def _sparse(family: Family) -> tuple[Group, ...]:
    return (
        Group(family, "sm_80", "m16n8k16 m16n8k32", _F16, code="1x HMMA.SP.{mnk}.{D}"),
        Group(family, "sm_80", "m16n8k16 m16n8k32", _BF16, code="1x HMMA.SP.{mnk}.F32.BF16"),
        Group(family, "sm_80", "m16n8k8 m16n8k16", _TF32, code="1x HMMA.SP.{mnk}.F32.TF32"),
        Group(family, "sm_89", "m16n8k64", _FP8_F32, code=SPARSE_NARROW, ptx=_PTX_FP8),
        Group(family, "sm_80", "m16n8k32 m16n8k64", _INT8, _SATURATE, code=INT8),
        Group(family, "sm_80", "m16n8k64 m16n8k128", _INT4, _SATURATE, code=INT4),
    )


def _block_scaled(
    family: Family, eight_bits: str, four_bits: str, code: tuple[CodeEntry, ...], figures: tuple[str, str] = ("", "")
) -> Iterator[Group]:
    yield Group(
        family, "sm_120", eight_bits, _pairs("f32", _F8F6F4), ("kind::mxf8f6f4.block_scale.scale_vec::1X",),
        code=code, figures=figures[0], ptx=_PTX_SCALES, scale="ue8m0", scale_vec=1,
    )  # fmt: skip
    for kind, count, scale in (("mxf4", 2, "ue8m0"), ("mxf4nvf4", 2, "ue8m0"), ("mxf4nvf4", 4, "ue4m3")):
        yield Group(
            family, "sm_120", four_bits, _FP4, (f"kind::{kind}.block_scale.scale_vec::{count}X",),
            code=FP4, figures=figures[1], ptx=_PTX_SCALES, scale=scale, scale_vec=count,
        )  # fmt: skip
    yield Group(
        family, "sm_120", four_bits, _FP4, ("kind::mxf4nvf4.block_scale.scale_vec::4X",),
        code=FP4, figures=figures[1], ptx=_PTX_9_1, scale="ue8m0", scale_vec=4, accepted=_SINCE_9_1,
    )  # fmt: skip


def _warpgroup(
    family: Family, columns: Iterable[int], k: int, types: str, code: str, modifiers: tuple[str, ...] = ("",),
    ptx: tuple[PtxVersion, ...] = (),
) -> Group:  # fmt: skip
    shapes = " ".join(f"m64n{n}k{k}" for n in sorted(columns))
    return Group(family, "sm_90f", shapes, types, modifiers, code=code, ptx=ptx)


TABLE = (
    Group("mma.sync", "sm_70", "m8n8k4", "f32.f16.f16.f32 f32.f16.f16.f16 f16.f16.f16.f16", layouts=_ANY,
           code=VOLTA, figures="1"),
    Group("mma.sync", "sm_75", "m16n8k8", _F16, code="1x HMMA.{mnk}.{D}", figures="7"),
    Group("mma.sync", "sm_80", "m16n8k16", _F16, code="1x HMMA.{mnk}.{D}", figures="8"),
    Group("mma.sync", "sm_80", "m16n8k8 m16n8k16", _BF16, code="1x HMMA.{mnk}.F32.BF16", figures="7 8"),
    Group("mma.sync", "sm_80", "m16n8k4 m16n8k8", _TF32, code="1x HMMA.{mnk}.F32.TF32", figures="6 7"),
    Group("mma.sync", "sm_89", "m16n8k16 m16n8k32", _FP8, code=NARROW, figures="9 10", ptx=_PTX_FP8),
    # With FP8 operands the kind is equal to the product without it: ptxas emits the same machine code for both on
    # sm_100 and sm_120.
    Group("mma.sync", "sm_100", "m16n8k32", _FP8, ("kind::f8f6f4",), code=NARROW, figures="10", ptx=_PTX_KINDS),
    Group("mma.sync", "sm_120", "m16n8k32", _WITH_FP6_FP4, ("kind::f8f6f4",), code=NARROW,
           figures="10", ptx=_PTX_KINDS),
    *_block_scaled("mma.sync", "m16n8k32", "m16n8k64", NARROW, ("10", "11")),
    Group("mma.sync", "sm_80", "m8n8k4", _F64, _ROUNDED, code=F64, figures="2"),
    Group("mma.sync", "sm_90", "m16n8k4 m16n8k8 m16n8k16", _F64, _ROUNDED, code=F64_TILES,
           figures="6 7 8"),
    Group("mma.sync", "sm_75", "m8n8k16", _INT8, _SATURATE, code=INT8_OF_8_ROWS, figures="3"),
    Group("mma.sync", "sm_80", "m16n8k16 m16n8k32", _INT8, _SATURATE, code=INT8,
           figures="9 10"),
    Group("mma.sync", "sm_75", "m8n8k32", _INT4, _SATURATE, code=INT4, figures="4"),
    Group("mma.sync", "sm_80", "m16n8k32 m16n8k64", _INT4, _SATURATE, code=INT4,
           figures="10 11"),
    Group("mma.sync", "sm_75", "m8n8k128", _B1, ("xor.popc",), code=BITS, figures="5"),
    Group("mma.sync", "sm_80", "m8n8k128", _B1, ("and.popc",), code=BITS, figures="5"),
    Group("mma.sync", "sm_80", "m16n8k128 m16n8k256", _B1, ("xor.popc", "and.popc"), code=BITS, figures="12 13"),
    Group("wmma.mma", "sm_70", _TALL, _F16_ANY, layouts=_ANY, code=WMMA_F16),
    Group("wmma.mma", "sm_80", _TALL, _BF16, layouts=_ANY, code=WMMA_BF16),
    Group("wmma.mma", "sm_80", "m16n16k8", _TF32, layouts=_ANY, code=WMMA_TF32),
    Group("wmma.mma", "sm_80", "m8n8k4", _F64, _ROUNDED, _ANY, code=F64),
    Group("wmma.mma", "sm_72", _TALL, "s32.s8.s8.s32 s32.u8.u8.s32", _SATURATE, _ANY, code=WMMA_INT8),
    Group("wmma.mma", "sm_75", "m8n8k32", "s32.s4.s4.s32 s32.u4.u4.s32", _SATURATE, code=INT4),
    Group("wmma.mma", "sm_75", "m8n8k128", _B1, ("xor.popc",), code=BITS),
    Group("wmma.mma", "sm_80", "m8n8k128", _B1, ("and.popc",), code=BITS),
    *_sparse("mma.sp"),
    *_sparse("mma.sp::ordered_metadata"),
    Group("mma.sp::ordered_metadata", "sm_120", "m16n8k64", _FP8_F16, code=SPARSE_NARROW, ptx=_PTX_FP8),
    Group("mma.sp::ordered_metadata", "sm_100", "m16n8k64", _FP8_F32, ("kind::f8f6f4",), code=SPARSE_NARROW,
           ptx=_PTX_KINDS),
    Group("mma.sp::ordered_metadata", "sm_120", "m16n8k64", _FP8_F16, ("kind::f8f6f4",), code=SPARSE_NARROW,
           ptx=_PTX_KINDS),
    Group("mma.sp::ordered_metadata", "sm_120", "m16n8k64", _WITH_FP6_FP4, ("kind::f8f6f4",), code=SPARSE_NARROW,
           ptx=_PTX_KINDS),
    *_block_scaled("mma.sp::ordered_metadata", "m16n8k64", "m16n8k128", SPARSE_NARROW),
    _warpgroup("wgmma", _EIGHTS, 16, _F16, "1x HGMMA{SP}.{m}x{n}x{k}.{D}"),
    _warpgroup("wgmma", _EIGHTS, 16, _BF16, "1x HGMMA{SP}.{m}x{n}x{k}.F32.BF16"),
    _warpgroup("wgmma", _EIGHTS, 8, _TF32, "1x HGMMA{SP}.{m}x{n}x{k}.F32.TF32"),
    _warpgroup("wgmma", _EIGHTS, 32, _FP8, "1x QGMMA{SP}.{m}x{n}x{k}.{D}.{A}.{B}"),
    _warpgroup("wgmma", _SIXTEENS, 32, _INT8, "1x IGMMA{SP}.{m}x{n}x{k}.{A}.{B}{SAT}", _SATURATE, ptx=_PTX_MIXED),
    _warpgroup("wgmma", _SIXTEENS, 256, _B1, "1x BGMMA{SP}.{m}x{n}x{k}.{OP}.POPC", ("and.popc",)),
    _warpgroup("wgmma.sp", _EIGHTS, 32, _F16, "1x HGMMA{SP}.{m}x{n}x{k}.{D}"),
    _warpgroup("wgmma.sp", _EIGHTS, 32, _BF16, "1x HGMMA{SP}.{m}x{n}x{k}.F32.BF16"),
    _warpgroup("wgmma.sp", _EIGHTS, 16, _TF32, "1x HGMMA{SP}.{m}x{n}x{k}.F32.TF32"),
    _warpgroup("wgmma.sp", _EIGHTS, 64, _FP8, "1x QGMMA{SP}.{m}x{n}x{k}.{D}.{A}.{B}"),
    _warpgroup("wgmma.sp", _SIXTEENS, 64, _INT8, "1x IGMMA{SP}.{m}x{n}x{k}.{A}.{B}{SAT}", _SATURATE, ptx=_PTX_MIXED),
)  # fmt: skip
"""The entries, family by family: by the type of the operands (f16, bf16, tf32, FP8, f64, integers, bits), then by
shape, from small to large."""

INSTRUCTIONS: dict[str, Instruction] = {}
"""Every matrix instruction by its full PTX mnemonic, in the order of the table."""

GROUPS: dict[str, Group] = {}
"""The table entry of each instruction, by its mnemonic, with the facts that it shares with others."""

for _group in TABLE:
    for _entry in _group.instructions():
        if INSTRUCTIONS.setdefault(_mnemonic := _entry.mnemonic, _entry) is not _entry:
            raise ValueError(f"two entries of the table have {_mnemonic}")
        GROUPS[_mnemonic] = _group
