# SPDX-License-Identifier: MIT
"""The time between switching the emulation on and off: its chip, its options, and the launches in it."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from wmma_emu.arithmetic import check_engine
from wmma_emu.instructions import Arch, arch_of
from wmma_emu.languages.program_report import LanguageLaunch, ProgramReport
from wmma_emu.ptx import Report
from wmma_emu.ptx.launch.options import LaunchOptions


@dataclass(eq=False)
class Session:
    """The state of the emulation, for the plug-ins of languages, and the launches that they report.

    Parameters
    ----------
    arch : str or Arch
        The emulated chip.
    engine : str
        The engine for matrix instructions.
    options : dict
        Options of each launch, as in `wmma_emu.ptx.Module`.

    Examples
    --------
    >>> session = Session("h100", options={"findings": "report"})
    >>> session.arch.name, session.module_options["engine"]
    ('sm_90', 'auto')
    """

    arch: Arch
    engine: str = "auto"
    options: dict[str, Any] = field(default_factory=dict)
    launches: list[LanguageLaunch] = field(default_factory=list, repr=False)
    notes: Counter[str] = field(default_factory=Counter, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.arch = arch_of(self.arch)
        check_engine(self.engine)
        LaunchOptions().but(self.options)

    @property
    def module_options(self) -> dict[str, Any]:
        """The keywords with which a plug-in makes a `wmma_emu.ptx.Module` of the PTX of a language."""
        return {"engine": self.engine, "echo": True, **self.options}

    def launched(self, language: str, kernel: str, report: Report) -> None:
        """Note a launch."""
        with self._lock:
            self.launches.append(LanguageLaunch(language, kernel, report))

    def refused(self, language: str, kernel: str, error: Exception) -> None:
        """Note a launch that the emulator refused; the plug-in lets the error pass to the program."""
        with self._lock:
            self.launches.append(LanguageLaunch(language, kernel, refusal=str(error)))

    def note(self, text: str) -> None:
        """Note a remark for the report, such as a configuration that was chosen; equal remarks are counted."""
        with self._lock:
            self.notes[text] += 1

    @property
    def report(self) -> ProgramReport:
        """The report of the program up to now."""
        with self._lock:
            return ProgramReport(str(self.arch), tuple(self.launches), dict(self.notes))
