# SPDX-License-Identifier: MIT
"""Products of whole models on a chip, for any library: the options, the instruction of each dtype, the log."""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from wmma_emu.models.kinds import RULES, KindRule, ProductKind, kind_of
    from wmma_emu.models.log import EmulationLog, ProductRecord
    from wmma_emu.models.multiplier import ArrayProduct, ModelMultiplier
    from wmma_emu.models.options import EmulationOptions, options_of

__all__ = [
    "RULES",
    "ArrayProduct",
    "EmulationLog",
    "EmulationOptions",
    "KindRule",
    "ModelMultiplier",
    "ProductKind",
    "ProductRecord",
    "kind_of",
    "options_of",
]

_HOMES = {
    "kinds": ("RULES", "KindRule", "ProductKind", "kind_of"),
    "log": ("EmulationLog", "ProductRecord"),
    "multiplier": ("ArrayProduct", "ModelMultiplier"),
    "options": ("EmulationOptions", "options_of"),
}  # fmt: skip
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers would accept any name if they saw __getattr__
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
