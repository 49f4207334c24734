# SPDX-License-Identifier: MIT
"""What can go wrong: every exception and warning that the package raises.

Each class has a built-in second base, so that ``except ValueError`` and kin work as a caller expects.
"""

__all__ = [
    "AlignmentError",
    "BackendUnavailableError",
    "DivergenceError",
    "FragmentMismatchError",
    "OutOfBoundsError",
    "UnspecifiedBehaviourWarning",
    "UnsupportedInstructionError",
    "UnverifiedModelWarning",
    "WmmaEmuError",
]


class WmmaEmuError(Exception):
    """Base of every error that the package raises on purpose."""


class UnsupportedInstructionError(WmmaEmuError, ValueError):
    """An instruction, a chip, an option or an engine that does not exist, or that is not modelled."""


class FragmentMismatchError(WmmaEmuError, TypeError):
    """Operands that do not fit the instruction or each other: shape, dtype, number of registers."""


class AlignmentError(WmmaEmuError, ValueError):
    """A pointer or a stride that the hardware would reject or leave undefined."""


class OutOfBoundsError(WmmaEmuError, IndexError):
    """An access outside the array that a pointer belongs to."""


class DivergenceError(WmmaEmuError, RuntimeError):
    """Lanes or warps that do not reach a collective operation together."""


class BackendUnavailableError(WmmaEmuError, ImportError):
    """Something outside the package is missing: a library, a driver, a GPU; or unfit, as a thread that
    flushes subnormal numbers.
    """


class UnverifiedModelWarning(UserWarning):
    """The arithmetic of this instruction on this chip has no recording behind it."""


class UnspecifiedBehaviourWarning(UserWarning):
    """The documentation leaves this open, or the hardware does something else than it says."""
