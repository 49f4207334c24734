# SPDX-License-Identifier: MIT
"""What is computed: one model row for each chip and kind of instruction, and engines that agree bit for bit."""

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


def __dir__() -> list[str]:
    return sorted(__all__)
