# SPDX-License-Identifier: MIT
"""A program of a suite: its source without the host's part, its label, its launches, and its findings."""

import os
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import wmma_emu as we
from wmma_emu.ptx import KINDS
from wmma_emu.ptx.program.special import reads_grid_workspace

__all__ = ["LabelledLaunch", "LabelledProgram", "examined", "verdict"]

Row = dict[str, Any]


class LabelledLaunch(NamedTuple):
    kernel: str
    grid: Any
    block: Any
    arguments: Sequence[Any]
    shared: int = 0


class LabelledProgram(NamedTuple):
    """``label`` names the bug, and is empty for a correct program; ``launches`` makes new arrays for a module."""

    suite: str
    program: str
    variant: str
    label: str
    source: str
    launches: Callable[[Any], list[LabelledLaunch]]
    options: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()


def examined(case: LabelledProgram, seconds: float) -> Row:
    """Compile and launch a program; say what was found."""
    row: Row = {"suite": case.suite, "program": case.program, "variant": case.variant, "label": case.label}
    try:
        module = we.ptx.Module.from_cuda(
            case.source, arch="sm_90", options=list(case.options), include=list(case.include),
            instantiate=list(case.instantiate), name=os.path.basename(case.program),
        )  # fmt: skip
    except we.errors.BackendUnavailableError:
        raise
    except we.errors.WmmaEmuError as error:
        lines = str(error).splitlines()
        return row | {"not_compiled": " ".join([x for x in lines if "error" in x][:2] or lines[:2])[:300]}
    row["findings"] = []
    try:
        for launch in case.launches(module):
            if not _launch(module, launch, seconds, row["findings"]):
                break
    except we.errors.WmmaEmuError as error:
        row["refused"] = f"{type(error).__name__}: {error}"[:300]
    except Exception as error:  # a defect of the emulator: the page has to say so
        row["crash"] = "".join(traceback.format_exception(error))[-1500:]
    return row


def _launch(module: Any, launch: LabelledLaunch, seconds: float, findings: list[Row]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = module[launch.kernel][launch.grid, launch.block, launch.shared]
        cooperative = reads_grid_workspace(kernel.kernel.program) or None
        report = kernel(*launch.arguments, findings="report", max_seconds=seconds, cooperative=cooperative)
    findings += [
        {
            "kind": x.kind, "severity": KINDS[x.kind].severity, "source": str(x.source or ""),
            "message": x.message[:300], "cause": finding.id,
        }
        for finding in report.findings for x in finding.sightings
    ]  # fmt: skip
    return bool(report.completed)


def verdict(row: Row) -> str:
    """Return the gravest thing that is to be said of a program.

    >>> verdict({"findings": [{"severity": "note"}, {"severity": "warning"}]}), verdict({"findings": []})
    ('warning', 'silent')
    """
    if "not_compiled" in row or "crash" in row:
        return "crash" if "crash" in row else "not compiled"
    severities = {x["severity"] for x in row["findings"]}
    if "error" in severities:
        return "error"
    if "refused" in row:
        return "refused"
    return "warning" if "warning" in severities else "silent"
