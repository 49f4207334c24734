# SPDX-License-Identifier: MIT
"""Source names of memory: variables and their elements, from debug information and from the symbols of PTX source."""

from wmma_emu.ptx.names.types import Member, Type, Variable
from wmma_emu.ptx.names.variable_names import ModuleNames, VariableNames

__all__ = ["Member", "ModuleNames", "Type", "Variable", "VariableNames"]
