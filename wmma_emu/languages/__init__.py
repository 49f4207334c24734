# SPDX-License-Identifier: MIT
"""Programs in kernel languages, unedited, with their launches on the emulator."""

from wmma_emu.languages.plugin import Language
from wmma_emu.languages.program_report import LanguageLaunch, ProgramReport
from wmma_emu.languages.session import Session
from wmma_emu.languages.switch import emulate
from wmma_emu.languages.table import LANGUAGES

__all__ = ["LANGUAGES", "Language", "LanguageLaunch", "ProgramReport", "Session", "emulate"]


def __dir__() -> list[str]:
    return sorted(__all__)
