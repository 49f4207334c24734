# SPDX-License-Identifier: MIT
"""The project flash-linear-attention, without the packages around its files, which import every layer and model.

Its files import einops. ``fla.ops.cp``, for several GPUs, is a mock: Triton 3.9 refuses the keys of its autotuning.
"""

import importlib
from types import ModuleType
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.checkouts import absent, bare_package
from tools.language_programs.tensors import drawn

FLA = Project("fla", "fla-org/flash-linear-attention", "bc3b101dcb713ddc5bd8924b66754eb68b5ccf89", "MIT")

case = cases_of(FLA)


def fla(name: str) -> ModuleType:
    """Import a file of the library."""
    bare_package("fla", FLA.folder, __version__="0.5.2")
    for package in ("fla.ops", "fla.modules"):
        bare_package(package, FLA.folder)
    absent("fla.ops.cp")
    return importlib.import_module(f"fla.{name}")


def heads(tokens: int, size: int = 32) -> Any:
    """Draw a tensor of tokens of one head."""
    return drawn(1, tokens, 1, size) / 2


def gates(tokens: int, *size: int) -> Any:
    """Draw logarithms of factors between 0.5 and 1."""
    import torch

    return -torch.rand(1, tokens, 1, *size) / 2
