# SPDX-License-Identifier: MIT
"""Display: warnings at the caller's line, progress on a terminal, text in columns, and renderers of objects."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

_DELAY = 1.0
_INTERVAL = 0.2


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that led to the call, so that once-per-line filters see the user's lines.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("unverified", UserWarning)
    >>> str(caught[0].message)
    'unverified'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def in_columns(rows: Sequence[Sequence[str]], indent: str = "", right: Collection[int] = ()) -> list[str]:
    """Format rows of cells as lines, with two spaces between columns; columns listed in ``right`` are right-aligned.

    Examples
    --------
    >>> in_columns([("lane", "bits"), ("7", "0x3c00")], right=[0])
    ['lane  bits', '   7  0x3c00']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [f"{x:{'>' if i in right else '<'}{w}}" for i, (x, w) in enumerate(zip(row, widths, strict=True))]
        lines.append(indent + "  ".join(cells).rstrip())
    return lines


def runs_of(numbers: Iterable[int]) -> list[range]:
    """Join consecutive numbers to ranges.

    Examples
    --------
    >>> runs_of([0, 1, 4, 5, 6])
    [range(0, 2), range(4, 7)]
    """
    runs: list[range] = []
    for number in numbers:
        if runs and number == runs[-1].stop:
            runs[-1] = range(runs[-1].start, number + 1)
        else:
            runs.append(range(number, number + 1))
    return runs


_noted: set[str] = set()


def note_once(text: str) -> None:
    """Print a line on standard error once per process.

    Examples
    --------
    >>> note_once("")
    """
    if not text or text in _noted:
        return
    _noted.add(text)
    with suppress(OSError, ValueError, AttributeError):  # standard error is closed, or does not exist
        print(f"wmma_emu: {text}", file=sys.stderr, flush=True)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None] | None]:
    """Show the progress of a computation on standard error, if that is a terminal, after one second.

    Yields a function that takes the completed share of the work; or None if nothing would be shown.

    Examples
    --------
    >>> with progress_bar("gemm") as progress:
    ...     if progress is not None:
    ...         progress(0.5)
    """
    if not _is_terminal():
        yield None
        return
    line, start = RewrittenLine(), time.monotonic()

    def update(share: float) -> None:
        if line.is_due(_INTERVAL):
            elapsed, share = time.monotonic() - start, min(max(share, 0.0), 1.0)
            left = f", {_duration(elapsed / share - elapsed)} left" if share > 0 else ""
            filled = int(share * 30)
            text = f"{title} [{'=' * filled}{' ' * (30 - filled)}] {share:4.0%}{left}"
            line.write(text[: _columns() - 1])  # a wrapped line could not be overwritten

    try:
        yield update
    finally:
        line.clear()


def _is_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # standard error is closed
        return False


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _duration(seconds: float) -> str:
    """Format a waiting time: seconds, then minutes, then hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class RewrittenLine:
    """A line on standard error that is rewritten repeatedly, first after a second, and finally cleared."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _DELAY
        self._width = 0

    def is_due(self, interval: float) -> bool:
        """Return whether it is time to write; at most once per ``interval`` seconds."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + interval
        return True

    def write(self, text: str) -> None:
        """Overwrite the line."""
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def clear(self) -> None:
        """Clear the line."""
        if self._width:
            print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)
            self._width = 0


_renderers: dict[str, str] = {
    "campaign.html": "wmma_emu.applications.campaign.report_html:page",
    "campaign.txt": "wmma_emu.applications.campaign.report_text:text",
    "comparison.md": "wmma_emu.gemm.comparison_text:markdown",
    "comparison.svg": "wmma_emu.viz.comparisons.comparison:svg",
    "comparison.txt": "wmma_emu.gemm.comparison_text:text",
    "conflicts.html": "wmma_emu.viz.memory.conflict_view:explanation_html",
    "errors.txt": "wmma_emu.applications.error_analysis.report_text:report_text",
    "explanation.html": "wmma_emu.viz.arithmetic.explanation:html",
    "fragment.html": "wmma_emu.viz.operands.pages:fragment_html",
    "history.html": "wmma_emu.ptx.history.pages:page",
    "history.txt": "wmma_emu.ptx.history.text:written",
    "instruction.html": "wmma_emu.viz.operands.pages:instruction_html",
    "layout.html": "wmma_emu.viz.operands.pages:layout_html",
    "models.fragment": "wmma_emu.viz.models.page:fragment",
    "models.html": "wmma_emu.viz.models.page:page",
    "models.rich": "wmma_emu.torch.comparing.text:rich_text",
    "models.txt": "wmma_emu.torch.comparing.text:text",
    "operand.html": "wmma_emu.viz.operands.pages:operand_html",
    "schedule.html": "wmma_emu.viz.schedules.schedule:html",
    "schedule.txt": "wmma_emu.schedule.text:text_of",
    "tile.html": "wmma_emu.viz.operands.pages:tile_html",
}
"""The ``module:function`` of each renderer. Renderers import the classes that they draw, so objects name them."""


def render(name: str, *arguments: Any, **options: Any) -> Any:
    """Draw something, or write it as text, with the renderer of a name.

    Examples
    --------
    >>> render("sonata.svg", None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    LookupError: nothing draws 'sonata.svg'; there is campaign.html, campaign.txt, ..., tile.html
    """
    if name not in _renderers:
        raise LookupError(f"nothing draws {name!r}; there is {', '.join(sorted(_renderers))}")
    module, _, function = _renderers[name].partition(":")
    return getattr(import_module(module), function)(*arguments, **options)
