# SPDX-License-Identifier: MIT
"""The modules with cases, one for each project."""

from tools.language_programs import (
    fla,
    fla_linear_attention,
    fla_operations,
    flaggems,
    gluon,
    helion,
    liger,
    sglang,
    torchao,
    tutorials,
    unsloth,
    vllm,
)  # fmt: skip

__all__ = ["PROJECTS", "fla_linear_attention", "fla_operations"]

PROJECTS = (
    tutorials.TUTORIALS, tutorials.FORK, gluon.GLUON, liger.LIGER, fla.FLA, unsloth.UNSLOTH, helion.HELION,
    torchao.TORCHAO, flaggems.FLAGGEMS, sglang.SGLANG, vllm.VLLM,
)  # fmt: skip
"""The projects in the order of the tables."""
