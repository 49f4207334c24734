# SPDX-License-Identifier: MIT
"""Hypothesis strategies: bit patterns, matrices, operands of instructions that bring out what a chip does.

Importing this imports Hypothesis; ``import wmma_emu`` and ``import wmma_emu.testing`` never do.
"""


def _hypothesis_setup_hook() -> None:
    """Register strategies for the package's types; Hypothesis calls it, through its entry point, when it is imported.

    It stands above all imports: where this module is imported first, Hypothesis asks for it while they run.
    """
    from wmma_emu.testing.strategies.registration import register

    register()


try:
    import hypothesis as _  # noqa: F401
except ModuleNotFoundError:
    from wmma_emu.errors import BackendUnavailableError

    raise BackendUnavailableError(
        "wmma_emu.testing.strategies needs Hypothesis, which is not installed: install the extra `hypothesis` of "
        "wmma-emu (from a clone: pip install '.[hypothesis]'). The same inputs without it: "
        "wmma_emu.testing.families.matrices"
    ) from None

from wmma_emu.testing.strategies.fragments import fragment_operands, fragments  # noqa: E402
from wmma_emu.testing.strategies.instructions import (  # noqa: E402
    archs,
    instruction_rows,
    instructions,
    models,
)
from wmma_emu.testing.strategies.matrices import matrices  # noqa: E402
from wmma_emu.testing.strategies.metadata import metadata  # noqa: E402
from wmma_emu.testing.strategies.operand_matrices import OperandMatrices  # noqa: E402
from wmma_emu.testing.strategies.operands import operands  # noqa: E402
from wmma_emu.testing.strategies.patterns import bit_patterns, formats, from_dtype  # noqa: E402
from wmma_emu.testing.strategies.registers import Registers, registers  # noqa: E402
from wmma_emu.testing.strategies.scales import scales  # noqa: E402

__all__ = [
    "OperandMatrices",
    "Registers",
    "archs",
    "bit_patterns",
    "formats",
    "fragment_operands",
    "fragments",
    "from_dtype",
    "instruction_rows",
    "instructions",
    "matrices",
    "metadata",
    "models",
    "operands",
    "registers",
    "scales",
]
