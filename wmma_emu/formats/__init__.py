# SPDX-License-Identifier: MIT
"""Number formats: the table of formats, decoding, encoding in every rounding mode, and packing.

The table does not import NumPy, so the tables of instructions and chips, which name formats, do not either. Modules
that work on arrays are imported on first use.
"""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
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

_HOMES = {
    "codec": ("decode", "encode", "unpack"),
    "distance": ("NOT_COMPARABLE", "ulp_distance"),
    "rounding": ("round_pack",),
    "spec": ("OVERFLOWS", "ROUNDINGS", "Format", "Overflow", "Rounding"),
    "table": ("FORMATS", "format_of"),
}
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers see the imports above; with __getattr__ they would accept any name
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
