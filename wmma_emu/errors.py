# SPDX-License-Identifier: MIT
"""What can go wrong: every exception and warning that the package raises.

Each class has a built-in second base, so that ``except ValueError`` and kin work as a caller expects.
"""

from collections.abc import Callable
from typing import Any

__all__ = [
    "AlignmentError",
    "BackendUnavailableError",
    "CompilationError",
    "DivergenceError",
    "FragmentMismatchError",
    "KernelFindingsError",
    "KernelFindingsWarning",
    "LaunchLimitError",
    "MemoryLimitError",
    "OptionError",
    "OutOfBoundsError",
    "ScheduleDependenceError",
    "UnmodelledArithmeticError",
    "UnspecifiedBehaviourWarning",
    "UnsupportedInstructionError",
    "UnusedSilenceWarning",
    "UnverifiedModelWarning",
    "WmmaEmuError",
    "printable",
    "shorten",
]

_LIMIT = 80


class WmmaEmuError(Exception):
    """Base of every error that the package raises on purpose."""


class UnsupportedInstructionError(WmmaEmuError, ValueError):
    """An instruction, a chip or an engine that does not exist, or that is not modelled."""


class OptionError(UnsupportedInstructionError):
    """An option that does not exist, or a value that it does not take: a check, a silence, a fill, a grid."""


class FragmentMismatchError(WmmaEmuError, TypeError):
    """Operands that do not fit the instruction or each other: shape, dtype, number of registers."""


class AlignmentError(WmmaEmuError, ValueError):
    """A pointer or a stride that the hardware would reject or leave undefined."""


class OutOfBoundsError(WmmaEmuError, IndexError):
    """An access outside the array that a pointer belongs to."""


class DivergenceError(WmmaEmuError, RuntimeError):
    """Lanes or warps that do not agree: at a collective operation, on a branch, on who writes an element."""


class BackendUnavailableError(WmmaEmuError, ImportError):
    """Something outside the package is missing: a library, a driver, a GPU; or unfit, as a thread that
    flushes subnormal numbers.
    """


class LaunchLimitError(WmmaEmuError, RuntimeError):
    """A kernel that takes more steps, time or memory than its launch allows."""


class MemoryLimitError(WmmaEmuError, MemoryError):
    """Arrays that take more memory than this machine has."""


class CompilationError(WmmaEmuError, ValueError):
    """A source that its compiler refuses; the message is the compiler's."""


class KernelFindingsError(WmmaEmuError, RuntimeError):
    """A kernel did what a GPU would not have reported; ``report`` says what, and the arrays are left as they were."""

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class ScheduleDependenceError(WmmaEmuError, AssertionError):
    """A kernel's results depend on the order in which its warps run."""


class UnmodelledArithmeticError(WmmaEmuError, ValueError):
    """No `DotModel` was found that a function of matrices is; ``report`` says what was found out about it."""

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class PtxSyntaxError(WmmaEmuError, ValueError):
    """A PTX text that is none, or whose names do not fit each other; says where, and shows the line.

    Attributes
    ----------
    message : str
        What was found and what is expected.
    line, column : int
        Where, both counted from 1.
    text : str
        The line.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1, text: str = "") -> None:
        super().__init__(message, line, column, text)
        self.message, self.line, self.column, self.text = message, line, column, text

    def __str__(self) -> str:
        start = max(0, min(self.column - 1 - _LIMIT // 2, len(self.text) - _LIMIT)) if len(self.text) > _LIMIT else 0
        shown = "".join(c if c.isprintable() else " " for c in self.text[start : start + _LIMIT])
        blanks = len(shown) - len(shown.lstrip())
        caret = " " * max(0, self.column - 1 - start - blanks) + "^"
        return f"line {self.line}, column {self.column}: {self.message}\n    {shown.strip()}\n    {caret}"


class UnverifiedModelWarning(UserWarning):
    """What this instruction computes on this chip, or where it puts its data, has no recording behind it."""


class UnspecifiedBehaviourWarning(UserWarning):
    """The documentation leaves this open, or the hardware does something else than it says."""


class KernelFindingsWarning(UserWarning):
    """A kernel did what a GPU would not have reported: an access out of bounds, a race, a missing wait."""


class UnusedSilenceWarning(UserWarning):
    """A silence that silenced nothing: the line has moved, the kernel has been mended, or other inputs need it."""


def printable(text: str) -> str:
    r"""Escape what a terminal would obey rather than print.

    Examples
    --------
    >>> print(printable("\x1b]0;a title\x07"))
    \x1b]0;a title\x07
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shorten(value: object, text: Callable[[Any], str] = repr) -> str:
    r"""Show a user's value in an error message: on one line, in 80 characters at most, whatever it is.

    Parameters
    ----------
    value : object
    text : callable
        ``repr``, or ``str`` for exceptions and dtypes; where it raises, the value's type is shown.

    Examples
    --------
    >>> print(shorten("f17"), shorten(ValueError("two\nlines"), str), len(shorten("m" * 10**6)))
    'f17' two\nlines 80
    """
    try:
        shown = text(value)[: _LIMIT + 1]
    except Exception:
        shown = f"<{type(value).__name__}>"
    shown = printable(shown)
    return shown if len(shown) <= _LIMIT else shown[: _LIMIT - 3] + "..."
