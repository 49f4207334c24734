# SPDX-License-Identifier: MIT
"""What a bit pattern means: the table of formats, decoding, encoding in every rounding mode, packing."""

from wmma_emu.formats.codec import decode, encode, unpack
from wmma_emu.formats.distance import NOT_COMPARABLE, ulp_distance
from wmma_emu.formats.rounding import round_pack
from wmma_emu.formats.spec import OVERFLOWS, ROUNDINGS, Format, Overflow, Rounding
from wmma_emu.formats.table import FORMATS, format_of

__all__ = [
    "FORMATS",
    "NOT_COMPARABLE",
    "OVERFLOWS",
    "ROUNDINGS",
    "Format",
    "Overflow",
    "Rounding",
    "decode",
    "encode",
    "format_of",
    "round_pack",
    "ulp_distance",
    "unpack",
]


def __dir__() -> list[str]:
    return sorted(__all__)
