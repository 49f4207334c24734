# SPDX-License-Identifier: MIT
"""The files that ``wmma-emu ptx run`` writes for other programs: JSON, SARIF, a baseline."""

import json
from argparse import Namespace
from collections.abc import Callable

from wmma_emu.cli.files import check_output, write_text
from wmma_emu.cli.output import STANDARD_OUTPUT
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import UsageError, quoted
from wmma_emu.ptx import Baseline, LaunchOptions, Report

_EXAMPLES = {"write_baseline": "known.json", "json": "report.json", "sarif": "findings.sarif"}
_FORMATS: dict[str, Callable[[Report], str]] = {
    "json": lambda report: report.to_json(),
    "sarif": lambda report: json.dumps(report.to_sarif()),
}
"""The formats that can be written on standard output too."""


def check_files(arguments: Namespace) -> None:
    """Reject files that cannot be written, before anything is run."""
    seen: dict[str, str] = {}
    alone = on_standard_output(arguments)
    if len(alone) > 1:
        raise UsageError(f"{' and '.join(alone)} both write to standard output; name a file for one of them")
    for name, example in _EXAMPLES.items():
        path = getattr(arguments, name)
        if path is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if path in seen:
            raise UsageError(f"{seen[path]} and {option} both write {quoted(path)}; name two files")
        seen[path] = option
        if path != STANDARD_OUTPUT:
            check_output(path, [arguments.file], example)
        elif name not in _FORMATS:
            raise UsageError(
                f"{option} writes a file, such as {example}; only --json and --sarif can write to standard output"
            )


def on_standard_output(arguments: Namespace) -> list[str]:
    """List the options that write to standard output, for another program, instead of the report."""
    options = [f"--{name}" for name in (*_FORMATS, "keep") if getattr(arguments, name) == STANDARD_OUTPUT]
    return [*options, *(f"--arg {x[:80]}" for x in arguments.arg if x.startswith(f"{STANDARD_OUTPUT}="))]


def written_baseline(arguments: Namespace, options: LaunchOptions, report: Report) -> Baseline | None:
    """Write and return the baseline of a launch's and the known findings; None without --write-baseline."""
    if arguments.write_baseline is None:
        return None
    found = Baseline.of([report])
    found = found if options.known is None else options.known.merged(found)
    found.write(arguments.write_baseline)
    return found


def write_files(arguments: Namespace, report: Report, terminal: Terminal) -> None:
    """Write a report in the requested formats."""
    for name, written in _FORMATS.items():
        path = getattr(arguments, name)
        if path == STANDARD_OUTPUT:
            terminal.raw(written(report) + "\n")
        elif path is not None:
            write_text(path, written(report) + "\n")
