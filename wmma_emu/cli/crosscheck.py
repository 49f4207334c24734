# SPDX-License-Identifier: MIT
"""``wmma-emu crosscheck``: a GPU against the emulator, bit for bit; out comes a report."""

import os
import re
import sys
from argparse import Namespace
from pathlib import Path

from wmma_emu.applications.campaign import Backend, CampaignReport, EmulatedBackend
from wmma_emu.applications.campaign.report_text import duration, facts, findings, large, tables, verdict
from wmma_emu.applications.campaign.rows import load_rows
from wmma_emu.cli.fit import fit
from wmma_emu.cli.output import STANDARD_OUTPUT
from wmma_emu.cli.terminal import Terminal, say_on_stderr
from wmma_emu.cli.usage import UsageError, names_in, quoted
from wmma_emu.display import RewrittenLine
from wmma_emu.gpu.crosscheck import CrosscheckProgress, crosscheck
from wmma_emu.instructions import arch_of
from wmma_emu.suggestions import listed

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?:e(\d{1,2}))?", re.IGNORECASE)
_SUFFIXES = (".txt", ".json", ".html")
_ALL = "."
_INTERVAL = 0.2
_DIFFERENT = 1
"""The exit status where bits differ: a result, no wrong use."""


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run a campaign and write its report; returns the exit status, 1 if anything differs."""
    count, per_group = _count("--count", arguments.count), _count("--per-group", arguments.per_group)
    if count is not None and per_group is not None:
        raise UsageError(
            "--count and --per-group exclude each other: dot products of each instruction, or of each kind"
        )
    seed = _count("--seed", arguments.seed, least=0)
    workers = _count("--workers", arguments.workers, least=0)
    for path in arguments.report or ():
        _check_report(path)
    for option, path in (("--rows", arguments.rows), ("--state", arguments.state)):
        if path is not None:
            _check_file(option, path)
    if arguments.rows is not None and Path(arguments.rows).exists():
        load_rows(arguments.rows)
    line = RewrittenLine()
    try:
        report = crosscheck(
            arguments.instr or _ALL, count=10**6 if count is None else count, per_group=per_group,
            generators=None if arguments.generators is None else names_in(arguments.generators), seed=seed or 0,
            workers=workers, state=arguments.state, progress=lambda x: _show_progress(line, x),
            backend=_backend(arguments),
        )  # fmt: skip
    except KeyboardInterrupt:
        line.clear()
        if arguments.state is not None:
            say_on_stderr(f"interrupted; the same command goes on from {arguments.state}")
        raise
    finally:
        line.clear()
    _write(report, arguments, terminal)
    if report.mismatches or report.self_mismatches:
        return _DIFFERENT
    return 0


def _write(report: CampaignReport, arguments: Namespace, terminal: Terminal) -> None:
    """Save the report and print it; a file that cannot be written after all does not keep the others back."""
    failed: OSError | None = None
    for path in arguments.report or ():
        try:
            report.save(path)
        except OSError as error:
            failed = failed or error
    terminal.text(verdict(report))
    terminal.line()
    terminal.fields(facts(report))
    for table in tables(report):
        terminal.line(table)
    found = findings(report)
    for paragraph in ([x] for x in found) if terminal.width is None else fit(found, terminal.width):
        for line in paragraph:
            terminal.line(line)
    if arguments.rows is not None:
        new = report.save_rows(arguments.rows)
        terminal.line()
        terminal.line(f"{new} new rows in {arguments.rows}")
    if failed is not None:
        raise failed


def _backend(arguments: Namespace) -> Backend | None:
    """The GPU; or, to try a campaign out where there is none, the emulator itself as some chip."""
    if not arguments.dry_run:
        if arguments.arch is not None:
            _check_chip(arguments.arch)
        return None
    return EmulatedBackend(arch_of(arguments.arch or "sm_90").name)


def _check_chip(name: str) -> None:
    """A GPU is what it is: --arch only makes sure of it."""
    from wmma_emu.gpu import device

    wanted, found = arch_of(name).name, device().arch
    if wanted != found:
        raise UsageError(f"--arch {quoted(name)} is {wanted}, but the GPU here is {found}; leave --arch out")


def _count(option: str, given: str | None, least: int = 1) -> int | None:
    """Read a number, as in 1000000 or 1e9."""
    if given is None:
        return None
    found = _NUMBER.fullmatch(given.strip())
    if found:
        whole, _, fraction = found[1].partition(".")
        zeros = int(found[2] or 0) - len(fraction)
        if zeros >= 0 and len(whole) < 20:
            number: int = int(whole + fraction) * 10**zeros
            if number >= least:
                return number
    raise UsageError(f"{option} {quoted(given)} is no number from {least} on, as in {'1e9' if least else '0'}")


def _check_report(path: str) -> None:
    """Say at the beginning, not after hours, that a report cannot be written."""
    if path == STANDARD_OUTPUT:
        raise UsageError("--report -: standard output has the report as text already; name a file, such as report.html")
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--report {quoted(path)} should end in {listed(_SUFFIXES, 'or')}")
    _check_file("--report", path)


def _check_file(option: str, path: str) -> None:
    file = Path(path)
    if path == STANDARD_OUTPUT:
        raise UsageError(f"{option} -: it is read again later; name a file, such as campaign.json")
    if not path or file.is_dir():
        raise UsageError(f"{option} {quoted(path)} is a directory; name a file")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{option} {quoted(path)}: there is no directory {quoted(str(file.parent))}")
    if not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise UsageError(f"{option} {quoted(path)} cannot be written")


def _show_progress(line: RewrittenLine, progress: CrosscheckProgress) -> None:
    """Write how far it is: on a terminal in one line again and again, else once a minute."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if not line.is_due(_INTERVAL if is_terminal else 60.0):
        return
    left = (progress.total - progress.done) / max(progress.rate, 1e-9)
    wrong = f"{progress.mismatches:,} mismatch{'' if progress.mismatches == 1 else 'es'}"
    show = line.write if is_terminal else say_on_stderr
    show(
        f"{progress.done / progress.total:4.0%}  {large(progress.done)} of {large(progress.total)} dot products, "
        f"{large(progress.rate)} a second, {wrong}, {duration(left)} left"
    )
