# SPDX-License-Identifier: MIT
"""``wmma-emu run``: a Python program, unedited, with its kernels on the emulator."""

import sys
from argparse import Namespace

from wmma_emu.cli.terminal import Terminal, show_on_stderr
from wmma_emu.instructions import DEFAULT_ARCH
from wmma_emu.languages import ProgramReport, emulate, environment
from wmma_emu.languages.programs import run_program


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the program, write the report of its launches to standard error, and return its exit status.

    With ``--findings raise``, a launch that failed makes the status 1, even if the program caught its error.
    """
    environment.end()
    program, *words = arguments.program
    with emulate(arguments.arch or DEFAULT_ARCH, findings=arguments.findings, engine=arguments.engine) as session:
        status = run_program(program, words, arguments.m)
    sys.stdout.flush()
    report = session.report
    show_on_stderr(str(report))
    return status or int(arguments.findings == "raise" and _has_failed(report))


def _has_failed(report: ProgramReport) -> bool:
    return any(x.report is None or x.report.errors for x in report.launches)
