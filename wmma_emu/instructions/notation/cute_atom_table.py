# SPDX-License-Identifier: MIT
"""The instructions of CuTe's MMA atoms, and the chip in the atom's name."""

from typing import NamedTuple

SOURCE = "CUTLASS, include/cute/arch/mma_sm*.hpp, revision 7107b055 of 2026-08-20"


class AtomEntry(NamedTuple):
    """Instructions whose atoms have names of the same form.

    ``number`` is the chip in the name, ``operands`` the formats of a and b, ``only`` the types d.a.b.c that have atoms,
    empty for all; ``modifiers`` likewise, separated by ``|``. A name with ``typed`` has its types as template
    arguments.
    """

    number: int
    family: str
    shapes: str
    operands: str
    only: str = ""
    modifiers: str = ""
    typed: bool = False
    source: str = SOURCE


_FP8 = "e4m3 e5m2"
_F8F6F4 = "e4m3 e5m2 e3m2 e2m3 e2m1"

ATOMS = (
    AtomEntry(70, "mma.sync", "m8n8k4", "f16", "f16.f16.f16.f16 f32.f16.f16.f32"),
    AtomEntry(75, "mma.sync", "m16n8k8", "f16"),
    AtomEntry(75, "mma.sync", "m8n8k16", "s8", modifiers="none"),
    AtomEntry(80, "mma.sync", "m16n8k8 m16n8k16", "f16 bf16"),
    AtomEntry(80, "mma.sync", "m16n8k4 m16n8k8", "tf32"),
    AtomEntry(80, "mma.sync", "m8n8k4", "f64", modifiers="none"),
    AtomEntry(80, "mma.sync", "m8n8k16 m16n8k16 m16n8k32", "s8 u8"),
    AtomEntry(80, "mma.sync", "m8n8k32 m16n8k32 m16n8k64", "s4 u4"),
    AtomEntry(80, "mma.sync", "m8n8k128 m16n8k128 m16n8k256", "b1"),
    AtomEntry(89, "mma.sync", "m16n8k32", _FP8, modifiers="none"),
    AtomEntry(90, "mma.sync", "m16n8k4 m16n8k8 m16n8k16", "f64", modifiers="none"),
    AtomEntry(90, "wgmma", "", "f16 bf16 tf32 e4m3 e5m2 s8 u8"),
    AtomEntry(90, "wgmma.sp", "", "f16 bf16 tf32 e4m3 e5m2 s8 u8"),
    AtomEntry(120, "mma.sync", "m16n8k32", _F8F6F4, modifiers="kind::f8f6f4|kind::mxf8f6f4", typed=True),
    AtomEntry(120, "mma.sync", "m16n8k64", "e2m1", modifiers="kind::mxf4nvf4", typed=True),
    AtomEntry(
        120, "mma.sp::ordered_metadata", "m16n8k64", _F8F6F4, modifiers="kind::f8f6f4|kind::mxf8f6f4", typed=True
    ),
    AtomEntry(120, "mma.sp::ordered_metadata", "m16n8k128", "e2m1", modifiers="kind::mxf4nvf4", typed=True),
)
"""Every atom of an instruction that warps execute; ``modifiers`` are compared with an instruction's first modifier."""


class TensorAtomEntry(NamedTuple):
    """Atoms of `tcgen05.mma`: the words of the name for the kind, and an instruction of that kind.

    ``vectors`` are block sizes, the template argument VS, each with the kind that it selects for dense products.
    """

    words: str
    kind: str
    d: str
    a: str
    scale: str = ""
    vectors: tuple[tuple[int, str], ...] = ()
    k: int = 0
    source: str = SOURCE


_VECTORS = ((16, "mxf4nvf4"), (32, "mxf4"))

TENSOR_ATOMS = (
    TensorAtomEntry("F16BF16", "f16", "f32", "f16"),
    TensorAtomEntry("TF32", "tf32", "f32", "tf32"),
    TensorAtomEntry("F8F6F4", "f8f6f4", "f32", "e4m3"),
    TensorAtomEntry("S8", "i8", "s32", "s8"),
    TensorAtomEntry("MXF8F6F4", "mxf8f6f4", "f32", "e4m3", "ue8m0"),
    TensorAtomEntry("MXF4", "mxf4", "f32", "e2m1", "ue8m0", _VECTORS),
    TensorAtomEntry("MXF4NVF4", "mxf4nvf4", "f32", "e2m1", "ue4m3", _VECTORS),
    TensorAtomEntry("MXF4_ULTRA", "mxf4nvf4", "f32", "e2m1", "ue4m3", _VECTORS, 96),
)
"""Kinds of ``SM100_MMA_...`` and ``SM103_...``; d, a (and b) and scale are used if there are no template arguments."""

NO_MATRIX_ATOMS = {
    "SM61_DP2A": "dp2a, a dot product within one lane, which wmma_emu.ptx executes in kernels",
    "SM61_DP4A": "dp4a, a dot product within one lane, which wmma_emu.ptx executes in kernels",
    "SM100_1X2X1_F32F32F32F32": "fma.rn.f32x2, two fused multiply-adds of one lane",
    "SM100_2X1X1_F32F32F32F32": "fma.rn.f32x2, two fused multiply-adds of one lane",
}
"""Atoms that are not matrix instructions, and their instructions."""
