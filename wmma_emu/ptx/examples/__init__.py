# SPDX-License-Identifier: MIT
"""A short kernel for each kind of finding: with a bug that is that finding and no other, and mended."""

from wmma_emu.ptx.examples.texts import (
    EXAMPLES,
    FIRST_LINE,
    FOLDER,
    TARGET,
    Changed,
    Example,
    launch_of,
    mend_of,
    ptx_of,
    shown_source,
    source_of,
)

__all__ = [
    "EXAMPLES", "FIRST_LINE", "FOLDER", "TARGET", "Changed", "Example", "launch_of", "mend_of", "ptx_of",
    "shown_source", "source_of",
]  # fmt: skip
