# SPDX-License-Identifier: MIT
"""The short kernels that show each kind of finding: their sources, their PTX, and what a launch of them says."""

from pathlib import Path

from wmma_emu.ptx.examples.table import EXAMPLES
from wmma_emu.ptx.findings import slug_of
from wmma_emu.ptx.launch.module import Module
from wmma_emu.ptx.launch.report import Report

__all__ = ["FOLDER", "TARGET", "launch_of", "ptx_of", "source_of"]

FOLDER = Path(__file__).parent / "kernels"
"""Each kernel in CUDA C++ and in the PTX that `tools.build_finding_ptx` makes of it: with its bug, and mended."""

TARGET = "sm_80"
"""The chip that all of them are compiled for."""


def source_of(kind: str, mended: bool = False) -> str:
    """Return the text of a kernel in CUDA C++."""
    return _read(kind, mended, "cu")


def ptx_of(kind: str, mended: bool = False) -> str:
    """Return the committed PTX of a kernel."""
    return _read(kind, mended, "ptx")


def _read(kind: str, mended: bool, ending: str) -> str:
    return (FOLDER / f"{slug_of(kind)}{'.mended' if mended else ''}.{ending}").read_text(encoding="utf-8")


def launch_of(kind: str, mended: bool = False) -> Report:
    """Launch the kernel that shows a kind of finding, and return the report.

    Examples
    --------
    >>> [x.kind for x in launch_of("race").findings], [x.kind for x in launch_of("race", mended=True).findings]
    (['race'], [])
    """
    example = EXAMPLES[kind]
    module = Module(ptx_of(kind, mended), arch=TARGET, findings="report")
    module.sources = {f"{slug_of(kind)}.cu": source_of(kind, mended)}
    return module.kernel[example.grid, example.block](*example.arguments())
