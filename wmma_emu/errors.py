# SPDX-License-Identifier: MIT
"""What can go wrong: every exception and warning that the package raises.

Each class has a built-in second base, so that ``except ValueError`` and kin work as a caller expects. The class says
what was wrong with what was given: an instruction, a name, an option, a call, a launch, registers, an argument, a
shape. What the operating system says of a file (``FileNotFoundError``, ``PermissionError``) is passed on as it is.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

__all__ = [
    "AlignmentError",
    "ArgumentError",
    "ArgumentValueError",
    "BackendUnavailableError",
    "CallError",
    "CompilationError",
    "DivergenceError",
    "FragmentMismatchError",
    "KernelFindingsError",
    "KernelFindingsWarning",
    "LaunchConfigurationError",
    "LaunchLimitError",
    "MemoryLimitError",
    "MissingModuleError",
    "OptionError",
    "OutOfBoundsError",
    "PtxSyntaxError",
    "ScheduleDependenceError",
    "ShapeError",
    "UnknownNameError",
    "UnmodeledArithmeticError",
    "UnmodelledArithmeticError",
    "UnspecifiedBehaviorWarning",
    "UnspecifiedBehaviourWarning",
    "UnsupportedInstructionError",
    "UnusedSilenceWarning",
    "UnverifiedModelWarning",
    "WmmaEmuError",
    "printable",
    "printable_lines",
    "shorten",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_LIMIT = 80


class _Message(Exception):
    """What a terminal would obey is escaped in what is shown, wherever it came from: a kernel, a file, a compiler."""

    def __str__(self) -> str:
        return printable_lines(Exception.__str__(self))  # KeyError's own would put the message in quotes


class WmmaEmuError(_Message):
    """Base of every error that the package raises on purpose; its text has lines, and no character that moves one.

    ``finding_kind`` is the kind of finding that it is where a kernel of Python meets it, "" where it is none; the
    launch that it ends is described in ``report`` then.
    """

    finding_kind: str = ""
    report: Any = None


_Error = TypeVar("_Error", bound=WmmaEmuError)


def as_finding(kind: str, error: _Error) -> _Error:
    """Say which kind of finding an error is.

    Examples
    --------
    >>> as_finding("deadlock", DivergenceError("every warp waits")).finding_kind
    'deadlock'
    """
    error.finding_kind = kind
    return error


class UnsupportedInstructionError(WmmaEmuError, ValueError):
    """An instruction that does not exist, that the chip does not have, or that is not modelled."""


class UnknownNameError(UnsupportedInstructionError, KeyError):
    """A name of nothing: there is no such kernel, variable, chip, format, operand or preset."""


class OptionError(UnsupportedInstructionError):
    """A value that an option or a field does not take: an engine, a check, a fill, an order of sums, a swizzle."""


class CallError(OptionError, TypeError):
    """A keyword that a call does not have, or an object of another kind than it works on."""


class LaunchConfigurationError(OptionError):
    """A launch that cannot be: an empty or too large grid or block, too much shared memory, no grid at all."""


class FragmentMismatchError(WmmaEmuError, TypeError):
    """Registers, fragments or matrices that do not fit the instruction or each other."""


class ArgumentError(FragmentMismatchError):
    """An argument that is missing, one too many, or of another type or dtype than is taken."""


class ArgumentValueError(ArgumentError, ValueError):
    """An argument of the right type whose value is not legal: out of its range, not contiguous, damaged."""


class ShapeError(ArgumentValueError):
    """Arrays whose shapes or numbers of elements do not fit the call or each other."""


class AlignmentError(WmmaEmuError, ValueError):
    """A pointer or a stride that the hardware would reject or leave undefined."""

    finding_kind = "misaligned"


class OutOfBoundsError(WmmaEmuError, IndexError):
    """An access outside the array that a pointer belongs to."""

    finding_kind = "out of bounds"


class DivergenceError(WmmaEmuError, RuntimeError):
    """Lanes or warps that do not agree: at a collective operation, on a branch, on who writes an element."""


class BackendUnavailableError(WmmaEmuError, ImportError):
    """Something outside the package is missing: a library, a driver, a GPU; or unfit, as a thread that
    flushes subnormal numbers.
    """


class MissingModuleError(BackendUnavailableError, ModuleNotFoundError):
    """A module of this package that cannot be imported, because a library that it needs is not installed.

    ``pytest.importorskip`` skips on it, as on any module that is not there.
    """


class LaunchLimitError(WmmaEmuError, RuntimeError):
    """A kernel that takes more steps, time or memory than its launch allows; ``output`` is what it had printed."""

    output = ""


class MemoryLimitError(MemoryError, WmmaEmuError):
    """Arrays that take more memory than this machine has."""


class CompilationError(WmmaEmuError, ValueError):
    """A source that its compiler refuses; the message has the compiler's errors, and ``log`` all that it said."""

    def __init__(self, message: str = "", log: str = "") -> None:
        super().__init__(message)
        self.log = log


class KernelFindingsError(WmmaEmuError, RuntimeError):
    """A kernel did what a GPU would not have reported; ``report`` says what, and the arrays are left as they were.

    ``findings`` are those of the report that made the launch fail.
    """

    def __init__(
        self, message: str, report: Any = None, findings: Sequence[Any] = (), text: Callable[[int], str] | None = None
    ) -> None:
        super().__init__(message)
        self.report = report
        self.findings = tuple(findings)
        self._text = text

    def to_text(self, width: int = 100) -> str:
        """Write the message for a terminal of so many columns."""
        return str(self) if self._text is None else self._text(width)


class ScheduleDependenceError(WmmaEmuError, AssertionError):
    """A kernel's results depend on the order in which its warps run."""


class UnmodelledArithmeticError(WmmaEmuError, ValueError):
    """No `DotModel` was found that a function of matrices is; ``report`` says what was found out about it."""

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


UnmodeledArithmeticError = UnmodelledArithmeticError


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
        said = printable_lines(self.message)
        return f"line {self.line}, column {self.column}: {said}\n    {shown.strip()}\n    {caret}"


class UnverifiedModelWarning(_Message, UserWarning):
    """What this instruction computes on this chip, or where it puts its data, has no recording behind it."""


class UnspecifiedBehaviourWarning(_Message, UserWarning):
    """The documentation leaves this open, or the hardware does something else than it says."""


UnspecifiedBehaviorWarning = UnspecifiedBehaviourWarning


class KernelFindingsWarning(_Message, UserWarning):
    """A kernel did what a GPU would not have reported: an access out of bounds, a race, a missing wait.

    ``findings`` says each in a line. It is among ``args``, with which the warning is made anew in another process.
    """

    def __init__(self, message: str = "", findings: Sequence[str] = ()) -> None:
        super().__init__(message, tuple(findings))
        self.findings = tuple(findings)

    def __str__(self) -> str:
        return printable_lines(str(self.args[0]))


class UnusedSilenceWarning(_Message, UserWarning):
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


def printable_lines(text: str) -> str:
    r"""Escape what a terminal would obey in a text of several lines: line breaks stay, tabs become blanks.

    Examples
    --------
    >>> print(printable_lines("1 error:\r\n\tfoo \x1b[2J"))
    1 error:
            foo \x1b[2J
    """
    if text.isprintable():
        return text
    return "\n".join(printable(line.expandtabs()) for line in text.replace("\r\n", "\n").split("\n"))


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
