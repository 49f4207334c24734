# SPDX-License-Identifier: MIT
"""The kernel languages that this project knows."""

from wmma_emu.languages.plugin import Language

LANGUAGES: tuple[Language, ...] = (
    Language(
        "numba-cuda", "numba.cuda", "wmma_emu.languages.numba_cuda:install", "numba-cuda", extra="numba-cuda",
        versions=("0.30.4",),
    ),
)  # fmt: skip
"""One entry for each language."""
