# SPDX-License-Identifier: MIT
"""The effect of `satf` on floating-point products: as documented, and as on each chip.

`mma.h` of CUDA 13 has the parameter only for integers. For f16 products it exists only in PTX, as ``.satfinite`` of
`wmma.mma`, up to version 6.4.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from wmma_emu.chip_sets import describe_inheritance, lineage, newest
from wmma_emu.chips import ARCHS
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.evidence import Evidence, Run, Sourced
from wmma_emu.formats import Format, unpack
from wmma_emu.formats.codec import Bits

Effect = Literal["none", "documented", "truncated"]


@dataclass(frozen=True, slots=True)
class SaturationEntry(Sourced):
    """The effect of ``.satfinite`` on f16 products on a chip.

    ``"none"``; ``"documented"``: the documented effect; ``"truncated"``: the conversion of the f32 sums to f16
    rounds toward zero, so that finite sums stay finite.
    """

    effect: Effect
    evidence: Evidence


class _Step(NamedTuple):
    """The effect from a chip onward for formats of D and C, and the evidence in the machine code."""

    since: str
    types: str
    effect: Effect
    shown: str


_FLAG = "the last HMMA of each element carries .SATFINITE ({}, 2026-11-21), which is taken to do what is documented"
_SAME = "the same machine code with and without .satfinite ({})"
_ROUND = "the final F2FP carries .RZ with .satfinite ({})"
_H200 = "; measured on an NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-21"

_STEPS = (
    _Step("sm_70", "f32.f32 f32.f16 f16.f16", "documented", _FLAG),
    _Step("sm_80", "f32.f32 f32.f16 f16.f16", "none", _SAME),
    _Step("sm_80", "f16.f32", "truncated", _ROUND),
)

_READ = {
    "sm_70": "ptxas 12.4, for sm_72", "sm_72": "ptxas 12.4", "sm_75": "ptxas 13.0",
    **dict.fromkeys(("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"), "ptxas 13.0, 2026-11-21"),
    **dict.fromkeys(("sm_103", "sm_121"), "ptxas 13.0, 2026-11-22"),
}  # fmt: skip
"""The chips whose machine code was read, and the toolchain."""


def _entries() -> dict[tuple[str, str, str], SaturationEntry]:
    entries: dict[tuple[str, str, str], SaturationEntry] = {}
    for types in ("f32.f32", "f32.f16", "f16.f16", "f16.f32"):
        d, c = types.split(".")
        for arch in ARCHS:
            step = newest((x for x in _STEPS if types in x.types.split()), arch)
            read = next((x for x in lineage(arch) if x in _READ), None)
            if step is not None and read is not None:
                source = "" if read == arch else f"as on {read}, {describe_inheritance(arch, read)}: "
                known = _known(source + step.shown.format(_READ[read]), arch, d, c)
                entries[arch, d, c] = SaturationEntry(step.effect, known)
    return entries


def _known(machine_code: str, arch: str, d: str, c: str) -> Evidence:
    """Return the evidence for an effect that follows from machine code, measured if the products were also run."""
    read = Evidence("inferred", machine_code)
    seen = Evidence("measured", read.source + _H200, Run("wmma satfinite", arch), read)
    return seen.of(f"wmma.mma.sync.aligned.row.col.m16n16k16.{d}.{c}")


HARDWARE: dict[tuple[str, str, str], SaturationEntry] = _entries()
"""The effects by chip and the formats of D and C. On Volta and Turing with D in f16 and C in f32, where the sums are
clamped in f32 and converted by HADD2, the effect is not known.
"""


def hardware_effect(arch: str, d: str, c: str) -> SaturationEntry:
    """Return the effect on a chip.

    Examples
    --------
    >>> hardware_effect("sm_90", "f32", "f32").effect, hardware_effect("sm_90", "f16", "f32").effect
    ('none', 'truncated')
    """
    entry = HARDWARE.get((arch, d, c))
    if entry is None:
        raise UnsupportedInstructionError(
            f"the effect of satf on {arch} with D in {d} and C in {c} is not known; satf=True has the documented effect"
        )
    return entry


def saturate_as_documented(bits: Bits, fmt: Format) -> Bits:
    """Replace infinities by the largest finite number of their sign and NaN by +0.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> [hex(x) for x in saturate_as_documented(np.array([0x7C00, 0xFC00, 0xFE00], np.uint16), format_of("f16"))]
    ['0x7bff', '0xfbff', '0x0']
    """
    number = unpack(bits, fmt)
    sign = np.where(number.sign, fmt.sign_mask, 0)
    finite = np.where(number.is_infinity, sign | fmt.max_finite, bits)
    return np.where(number.is_nan, 0, finite).astype(fmt.storage)
