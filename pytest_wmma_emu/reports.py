# SPDX-License-Identifier: MIT
"""The reports on kernels of a test: a summary line, sections of a failure, properties for JUnit."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_wmma_emu.examples import seen_with
from pytest_wmma_emu.launches import Launches, LaunchRecord
from wmma_emu.errors import KernelFindingsError, KernelFindingsWarning, printable
from wmma_emu.ptx.launch.options import Launched
from wmma_emu.ptx.launch.report import not_checked_text
from wmma_emu.ptx.reports.finding import Finding

__all__ = ["SECTIONS", "add_properties", "add_sections", "fit"]

_MODULE = "wmma_emu.errors."
"""The note if a summary line is too long for the findings."""

_WIDEST, _MARGIN = 108, 8
"""The most columns of text, and the columns before it in a failure."""


def add_properties(item: pytest.Item, call: pytest.CallInfo[None], launches: Launches | None) -> None:
    """Add properties to the test, which JUnit's report has: findings that failed or warned, and what was launched.

    JUnit records the properties that exist at teardown.
    """
    if call.excinfo is not None and call.when != "teardown":
        error = call.excinfo.value
        findings = [x for seen in _seen(error, launches) for x in seen.findings.values()]
        findings += [x for one in _of_kernels(error) for x in _findings(one)]
    else:
        findings = list(launches.findings.values()) if launches is not None and call.when == "call" else []
    fresh = dict.fromkeys(("kernel_finding", f"{x.title} [{x.id}]") for x in findings)
    item.user_properties += [x for x in fresh if x not in item.user_properties]
    if call.when == "teardown" and launches is not None and launches.total:
        kernels = (f"{name} x{count}" if count > 1 else name for name, count in launches.kernels.items())
        item.user_properties.append(("kernel_launches", ", ".join(kernels)))
        item.user_properties.append(("kernel_thread_instructions", launches.instructions))


def fit(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Format the messages of errors for the terminal's width, less pytest's margin, before pytest reads them."""
    if call.excinfo is None:
        return
    for error in _of_kernels(call.excinfo.value):
        if isinstance(error, KernelFindingsError):
            error.args = (error.to_text(_columns(item) - _MARGIN), *error.args[1:])


def _columns(item: pytest.Item) -> int:
    reporter: Any = item.config.pluginmanager.getplugin("terminalreporter")
    return _WIDEST if reporter is None else min(reporter._tw.fullwidth, _WIDEST)


def add_sections(
    item: pytest.Item, report: pytest.TestReport, call: pytest.CallInfo[None], launches: Launches | None
) -> None:  # fmt: skip
    """Let the summary line of a failure say what is wrong with a kernel and where, and add the sections."""
    if call.excinfo is None or not report.failed:
        return
    error = call.excinfo.value
    titles = list(dict.fromkeys(x for one in _of_kernels(error) for x in _titles(one)))
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:  # changed in place: pytest has it in a chain, too
        crash.message = titles[0] + _more(len(titles) - 1) if titles else crash.message.removeprefix(_MODULE)
    width = _columns(item)
    shown = "\n".join(str(x) for x in _errors(error))
    for heading, make in SECTIONS:
        texts = [text for seen in _seen(error, launches) if (text := make(seen, shown, width))]
        if texts:
            report.sections.append((heading, "\n\n".join(texts)))


def _more(count: int) -> str:
    return f" (and {count} more finding{'s' * (count != 1)})" if count else ""


def _findings_text(seen: LaunchRecord, shown: str, width: int) -> str:
    """Return the findings that the failure itself does not show."""
    return "\n\n".join(x.to_text(width, verbose=True) for x in seen.findings.values() if x.id not in shown)


def _launches_text(seen: LaunchRecord, shown: str, width: int) -> str:
    """Return the facts of the last launches."""
    before = seen.count - len(seen.last)
    head = [f"{before} launch{'es' * (before != 1)} before these"] if before else []
    return "\n".join([*head, *map(_launch_text, seen.last)])


def _launch_text(launched: Launched) -> str:
    launch, report, _, _ = launched
    counts = (
        (report.errors, "error"), (report.warnings, "warning"), (report.notes, "note"),
        (report.known, "known finding"), (report.silenced, "silenced"),
    )  # fmt: skip
    said = [f"{len(x)} {name}{'s' * (len(x) != 1 and name != 'silenced')}" for x, name in counts if x]
    lines = [
        f"{printable(report.kernel)} on {report.arch}, grid {_size(launch.grid)}, block {_size(launch.block)}: "
        f"{report.instructions} thread-instructions in {report.seconds:.3g} s; {', '.join(said) or 'no findings'}"
    ]
    if report.not_checked:
        lines.append(not_checked_text(report.not_checked))
    lines += [f"silenced: {x.silence}" for x in report.silenced]
    return "\n    ".join(lines)


def _size(given: tuple[int, int, int]) -> str:
    """Return the size of a grid or a block, without dimensions that it does not use."""
    used = max((i + 1 for i, x in enumerate(given) if x != 1), default=1)
    return " x ".join(map(str, given[:used]))


SECTIONS: list[tuple[str, Callable[[LaunchRecord, str, int], str]]] = [
    ("kernel findings", _findings_text),
    ("kernel launches", _launches_text),
]
"""Sections of a failure: each made of what was launched, of what the failure shows already, and of the columns there
are; none where it is "".
"""


def _errors(error: BaseException) -> Iterator[BaseException]:
    """Return an error, the errors that it groups, and their causes."""
    yield error
    within = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for x in (*within, error.__cause__):
        if x is not None:
            yield from _errors(x)


def _of_kernels(error: BaseException) -> list[KernelFindingsError | KernelFindingsWarning]:
    return [x for x in _errors(error) if isinstance(x, KernelFindingsError | KernelFindingsWarning)]


def _findings(error: KernelFindingsError | KernelFindingsWarning) -> tuple[Finding, ...]:
    return error.findings if isinstance(error, KernelFindingsError) else ()


def _titles(error: KernelFindingsError | KernelFindingsWarning) -> list[str]:
    return [x.title for x in error.findings] if isinstance(error, KernelFindingsError) else list(error.findings)


def _seen(error: BaseException, launches: Launches | None) -> list[LaunchRecord]:
    """Return the launches of the errors' examples, or else all launches of the test."""
    if launches is None:
        return []
    found = [seen for x in _errors(error) if (seen := seen_with(x)) is not None]
    return found or [launches.seen]
