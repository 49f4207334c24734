# SPDX-License-Identifier: MIT
"""What `satf` does to the results of floating-point products: as promised, and as each chip does it.

`mma.h` of CUDA 13 has the parameter for integers alone. For f16 products it is left in PTX, as ``.satfinite`` of
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
    """What a chip does with ``.satfinite`` on f16 products.

    ``"none"``; ``"documented"``: what the documentation says; ``"truncated"``: the conversion of the f32 sums to f16
    rounds toward zero, so that finite sums stay finite.
    """

    effect: Effect
    evidence: Evidence


class _Step(NamedTuple):
    """What happens from a chip on: with D and C of those formats, the effect, and what the machine code shows."""

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
"""The chips whose machine code was read, and when."""


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
    """How the effect is known that follows from machine code: it was also seen where the products were run."""
    read = Evidence("inferred", machine_code)
    seen = Evidence("measured", read.source + _H200, Run("wmma satfinite", arch), read)
    return seen.of(f"wmma.mma.sync.aligned.row.col.m16n16k16.{d}.{c}")


HARDWARE: dict[tuple[str, str, str], SaturationEntry] = _entries()
"""By chip and the formats of D and C. Of Volta and Turing with D in f16 and C in f32, where the sums are clamped in
f32 and converted by HADD2, nothing is known.
"""


def hardware_effect(arch: str, d: str, c: str) -> SaturationEntry:
    """Look up what a chip does.

    Examples
    --------
    >>> hardware_effect("sm_90", "f32", "f32").effect, hardware_effect("sm_90", "f16", "f32").effect
    ('none', 'truncated')
    """
    entry = HARDWARE.get((arch, d, c))
    if entry is None:
        raise UnsupportedInstructionError(
            f"what satf does on {arch} with D in {d} and C in {c} is not known; satf=True gives what the documentation "
            "promises"
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
