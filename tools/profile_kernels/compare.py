# SPDX-License-Identifier: MIT
"""The counters of the emulator beside those of Nsight Compute."""

from pathlib import Path


def compare(measured: Path, parts: list[str], page: Path | None, vectors: Path | None) -> int:
    """Count each launch, and compare."""
    raise NotImplementedError
