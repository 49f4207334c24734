# SPDX-License-Identifier: MIT
"""What the source calls memory: variables and their elements, by debug information and by the symbols of a PTX text."""

from wmma_emu.ptx.names.types import Member, Type, Variable
from wmma_emu.ptx.names.variable_names import ModuleNames, VariableNames

__all__ = ["Member", "ModuleNames", "Type", "Variable", "VariableNames"]
