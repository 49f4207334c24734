# SPDX-License-Identifier: MIT
"""The kernel languages that this project knows."""

from wmma_emu.languages.plugin import Language

LANGUAGES: tuple[Language, ...] = ()
"""One entry for each language."""
