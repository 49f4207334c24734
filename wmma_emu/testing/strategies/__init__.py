# SPDX-License-Identifier: MIT
"""Hypothesis strategies: bit patterns, matrices, and operands of instructions that expose a chip's rounding.

Importing this package imports Hypothesis; ``import wmma_emu`` and ``import wmma_emu.testing`` never do.
"""

# First, because Hypothesis may call the hook during these imports.
from hypothesis_wmma_emu import _hypothesis_setup_hook

try:
    import hypothesis as _  # noqa: F401
except ModuleNotFoundError:
    from wmma_emu.documentation import how_to_install
    from wmma_emu.errors import MissingModuleError

    raise MissingModuleError(
        "wmma_emu.testing.strategies needs Hypothesis, which is not installed: install the extra `hypothesis` "
        f"({how_to_install('hypothesis')}). The same inputs without it: "
        "wmma_emu.testing.generators.matrices"
    ) from None

from wmma_emu.renamed import renamed_names
from wmma_emu.testing.strategies.fragments import fragment_operands, fragments
from wmma_emu.testing.strategies.instructions import (
    archs,
    instruction_entries,
    instructions,
    models,
)
from wmma_emu.testing.strategies.matrices import matrices
from wmma_emu.testing.strategies.metadata import metadata
from wmma_emu.testing.strategies.operand_matrices import OperandMatrices
from wmma_emu.testing.strategies.operands import operands
from wmma_emu.testing.strategies.patterns import bit_patterns, formats, from_dtype
from wmma_emu.testing.strategies.registers import Registers, registers
from wmma_emu.testing.strategies.scales import scales

_hypothesis_setup_hook()  # registers strategies for types even if the package is not installed

__all__ = [
    "OperandMatrices",
    "Registers",
    "archs",
    "bit_patterns",
    "formats",
    "fragment_operands",
    "fragments",
    "from_dtype",
    "instruction_entries",
    "instructions",
    "matrices",
    "metadata",
    "models",
    "operands",
    "registers",
    "scales",
]

__getattr__ = renamed_names(__name__, {"instruction_rows": "instruction_entries"})


def __dir__() -> list[str]:
    return sorted(__all__)
