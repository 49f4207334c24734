# SPDX-License-Identifier: MIT
"""The arithmetic of matrix units: a model for each chip and kind of instruction, and engines that agree bit for bit."""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # not imported from typing, which is slow to import
if TYPE_CHECKING:
    from wmma_emu.arithmetic.blocks import thread_count
    from wmma_emu.arithmetic.engines import ENGINES, check_engine, fastest, is_installed, matmul
    from wmma_emu.arithmetic.lookup import alternatives_for, dot_product_of, model_for, models_for
    from wmma_emu.arithmetic.model import E8M13, DotModel, DotProduct
    from wmma_emu.arithmetic.table import FMA_F32, MODELS
    from wmma_emu.arithmetic.variants import applied

__all__ = [
    "E8M13",
    "ENGINES",
    "FMA_F32",
    "MODELS",
    "DotModel",
    "DotProduct",
    "alternatives_for",
    "applied",
    "check_engine",
    "dot_product_of",
    "fastest",
    "is_installed",
    "matmul",
    "model_for",
    "models_for",
    "thread_count",
]

_HOMES = {
    "blocks": ("thread_count",),
    "engines": ("ENGINES", "check_engine", "fastest", "is_installed", "matmul"),
    "lookup": ("alternatives_for", "dot_product_of", "model_for", "models_for"),
    "model": ("E8M13", "DotModel", "DotProduct"),
    "table": ("FMA_F32", "MODELS"),
    "variants": ("applied",),
}  # fmt: skip
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers see the imports above; with __getattr__ they would accept any name
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
