# SPDX-License-Identifier: MIT
"""All exceptions and warnings of the package.

Each class has a built-in second base, so that ``except ValueError`` and similar clauses work as expected. The class
describes the kind of argument that was wrong: an instruction, a name, an option, a call, a launch, registers, an
argument, a shape. Errors of the operating system about files (``FileNotFoundError``, ``PermissionError``) are passed on
unchanged.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

__all__ = [
    "AlignmentError",
    "ArgumentError",
    "ArgumentValueError",
    "AsynchronyDependenceError",
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
    "ProfileLimitError",
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
    """An exception that escapes control characters in its message, whether from a kernel, a file or a compiler."""

    def __str__(self) -> str:
        return printable_lines(Exception.__str__(self))  # KeyError.__str__ would add quotes


class WmmaEmuError(_Message):
    """Base of every error that the package raises on purpose; its text has no control characters except line breaks.

    ``finding_kind`` is the kind of finding of the error in a Python kernel, "" if it is not a finding; ``report``
    describes the launch that it ended.
    """

    finding_kind: str = ""
    report: Any = None


_Error = TypeVar("_Error", bound=WmmaEmuError)


def as_finding(kind: str, error: _Error) -> _Error:
    """Attach the kind of finding to an error.

    Examples
    --------
    >>> as_finding("deadlock", DivergenceError("every warp waits")).finding_kind
    'deadlock'
    """
    error.finding_kind = kind
    return error


class UnsupportedInstructionError(WmmaEmuError, ValueError):
    """An instruction that does not exist, that the chip does not support, or that is not modelled."""


class UnknownNameError(UnsupportedInstructionError, KeyError):
    """A name that does not exist: of a kernel, variable, chip, format, operand or preset."""


class OptionError(UnsupportedInstructionError):
    """An illegal value of an option or a field: an engine, a check, a fill, an order of sums, a swizzle."""


class CallError(OptionError, TypeError):
    """A keyword that a call does not have, or an object of the wrong kind."""


class LaunchConfigurationError(OptionError):
    """An impossible launch: an empty or too large grid or block, too much shared memory, no grid."""


class FragmentMismatchError(WmmaEmuError, TypeError):
    """Registers, fragments or matrices that do not fit the instruction or each other."""


class ArgumentError(FragmentMismatchError):
    """An argument that is missing, not expected, or of the wrong type or dtype."""


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
    """Lanes or warps that disagree: at a collective operation, on a branch, on the writer of an element."""


class BackendUnavailableError(WmmaEmuError, ImportError):
    """Something outside the package is missing, such as a library, a driver or a GPU; or unsuitable, such as a thread
    that flushes subnormal numbers.
    """


class MissingModuleError(BackendUnavailableError, ModuleNotFoundError):
    """A module of this package that cannot be imported, because a library that it needs is not installed.

    ``pytest.importorskip`` skips on it, as on any missing module.
    """


class LaunchLimitError(WmmaEmuError, RuntimeError):
    """A kernel that exceeds its launch's limit of steps, time or memory; ``output`` is its output until then.

    ``report`` has the findings until then, None if the launch had not begun. ``interrupted`` is for internal use.
    """

    output = ""
    interrupted: Any = None


class MemoryLimitError(MemoryError, WmmaEmuError):
    """Arrays that need more memory than this machine has."""


class CompilationError(WmmaEmuError, ValueError):
    """Source that the compiler rejects; the message has the compiler's errors, and ``log`` its complete output."""

    def __init__(self, message: str = "", log: str = "") -> None:
        super().__init__(message)
        self.log = log


class KernelFindingsError(WmmaEmuError, RuntimeError):
    """A kernel with findings that a GPU would not have reported; ``report`` has them, and arrays are unchanged.

    ``findings`` are the findings of the report that made the launch fail.
    """

    def __init__(
        self, message: str, report: Any = None, findings: Sequence[Any] = (), text: Callable[[int], str] | None = None
    ) -> None:
        super().__init__(message)
        self.report = report
        self.findings = tuple(findings)
        self._text = text

    def to_text(self, width: int = 100) -> str:
        """Return the message for a terminal of ``width`` columns."""
        return str(self) if self._text is None else self._text(width)


class ScheduleDependenceError(WmmaEmuError, AssertionError):
    """A kernel's results depend on the order in which its warps run."""


class AsynchronyDependenceError(ScheduleDependenceError):
    """A kernel's results depend on the time at which its asynchronous operations move their data."""


class ProfileLimitError(WmmaEmuError, AssertionError):
    """Counters of a kernel that exceed a limit of a test, or that became worse than in a saved profile."""


class UnmodelledArithmeticError(WmmaEmuError, ValueError):
    """No `DotModel` was found for a function of matrices; ``report`` has the results of the search."""

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


UnmodeledArithmeticError = UnmodelledArithmeticError


class PtxSyntaxError(WmmaEmuError, ValueError):
    """PTX source that is not valid, or whose names do not match; the message has the position and the line.

    Attributes
    ----------
    message : str
        What was found and what is expected.
    line, column : int
        The position, counted from 1.
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
    """The arithmetic or the data layout of this instruction on this chip is not confirmed by a recording."""


class UnspecifiedBehaviourWarning(_Message, UserWarning):
    """The documentation does not specify this, or the hardware differs from it."""


UnspecifiedBehaviorWarning = UnspecifiedBehaviourWarning


class KernelFindingsWarning(_Message, UserWarning):
    """A kernel has findings that a GPU would not have reported: an access out of bounds, a race, a missing wait.

    ``findings`` has a line for each. It is in ``args``, so that the warning can be recreated in another process.
    """

    def __init__(self, message: str = "", findings: Sequence[str] = ()) -> None:
        super().__init__(message, tuple(findings))
        self.findings = tuple(findings)

    def __str__(self) -> str:
        return printable_lines(str(self.args[0]))


class UnusedSilenceWarning(_Message, UserWarning):
    """A silence that matched nothing: the line has moved, the kernel was fixed, or other inputs are needed."""


def printable(text: str) -> str:
    r"""Escape control characters for a terminal.

    Examples
    --------
    >>> print(printable("\x1b]0;a title\x07"))
    \x1b]0;a title\x07
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    r"""Escape control characters in several lines for a terminal: line breaks remain, tabs become spaces.

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
    r"""Return a user's value for an error message: on one line, in at most 80 characters.

    Parameters
    ----------
    value : object
    text : callable
        ``repr``, or ``str`` for exceptions and dtypes; if it raises, the value's type is shown.

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
