# SPDX-License-Identifier: MIT
"""``wmma-emu crosscheck``: compare a GPU with the emulator, bit for bit, and write a report."""

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
"""The exit status if bits differ: a result, not an error."""


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run a campaign and write its report; return the exit status, 1 if anything differs."""
    count, per_group = _count("--count", arguments.count), _count("--per-group", arguments.per_group)
    if count is not None and per_group is not None:
        raise UsageError(
            "--count and --per-group exclude each other; give the dot products of each instruction, or of each kind"
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
            say_on_stderr(f"interrupted; the same command continues from {arguments.state}")
        raise
    finally:
        line.clear()
    _write(report, arguments, terminal)
    if report.mismatches or report.self_mismatches:
        return _DIFFERENT
    return 0


def _write(report: CampaignReport, arguments: Namespace, terminal: Terminal) -> None:
    """Save the report and print it; if one file cannot be written, the others are written first."""
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
    """Return None for the GPU, or, for a trial without a GPU, the emulator as the given chip."""
    if not arguments.dry_run:
        if arguments.arch is not None:
            _check_chip(arguments.arch)
        return None
    return EmulatedBackend(arch_of(arguments.arch or "sm_90").name)


def _check_chip(name: str) -> None:
    """Check that the GPU is the chip that --arch names."""
    from wmma_emu.gpu import device

    wanted, found = arch_of(name).name, device().arch
    if wanted != found:
        raise UsageError(f"--arch {quoted(name)} is {wanted}, but this machine's GPU is {found}; omit --arch")


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
    raise UsageError(f"{option} {quoted(given)} is not a number of at least {least}, as in {'1e9' if least else '0'}")


def _check_report(path: str) -> None:
    """Reject a report that cannot be written, before the campaign runs for hours."""
    if path == STANDARD_OUTPUT:
        raise UsageError(
            "--report -: the report is printed on standard output as text anyway; name a file, such as report.html"
        )
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--report {quoted(path)} should end in {listed(_SUFFIXES, 'or')}")
    _check_file("--report", path)


def _check_file(option: str, path: str) -> None:
    file = Path(path)
    if path == STANDARD_OUTPUT:
        raise UsageError(f"{option} -: standard output cannot be read again later; name a file, such as campaign.json")
    if not path or file.is_dir():
        raise UsageError(f"{option} {quoted(path)} is a directory; name a file")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{option} {quoted(path)}: the directory {quoted(str(file.parent))} does not exist")
    if not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise UsageError(f"{option} {quoted(path)} cannot be written")


def _show_progress(line: RewrittenLine, progress: CrosscheckProgress) -> None:
    """Write the progress: on a terminal by rewriting one line, otherwise once a minute."""
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
