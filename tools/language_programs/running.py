# SPDX-License-Identifier: MIT
"""One case on the emulator: its launches, its findings, its distance from PyTorch, its time."""

import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import wmma_emu as we
from tools.language_programs.bundles import BundleWriter
from tools.language_programs.case import Case
from wmma_emu.languages.program_report import LanguageLaunch

__all__ = ["Outcome", "call", "run_case"]

RECORDED_ON = "sm_90"
"""The chip of the GPU that records bundles: it also runs PTX for older chips."""


@dataclass
class Outcome:
    """The result of a case.

    Attributes
    ----------
    case, project, arch : str
    kernels : dict
        The number of launches of each kernel, by its name.
    missing : list of str
        The kernels of the case that were not launched.
    findings : list
        For each finding, its launch's kernel, its severity, its title and its first line in the PTX.
    inexact : dict
        The instructions whose bits are not proved, each with the reason.
    distance : float, optional
    error : str
        The error that ended the case, if there was one.
    seconds, again, unchecked : float
        The time of the first call, with compilation, of the second, and of a second call without the emulator's checks.
    bundles : list of str
    """

    case: str
    project: str
    arch: str
    kernels: dict[str, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    findings: list[tuple[str, str, str, int]] = field(default_factory=list)
    inexact: dict[str, str] = field(default_factory=dict)
    distance: float | None = None
    error: str = ""
    seconds: float = 0.0
    again: float = 0.0
    unchecked: float = 0.0
    bundles: list[str] = field(default_factory=list)

    @property
    def ran(self) -> bool:
        """Whether all kernels of the case were launched, and its result is a number."""
        return not self.error and not self.missing and self.distance is not None and self.distance < float("inf")

    def as_dict(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return asdict(self)


def call(run: Callable[..., float], **tensors: Any) -> tuple[float | None, str, float]:
    """Call a case: its distance, the error that ended it, and the seconds. The random numbers are always the same."""
    import torch

    torch.manual_seed(0)
    begin = time.perf_counter()
    try:
        return run(**tensors), "", time.perf_counter() - begin
    except Exception as error:
        said = str(error).strip().splitlines() or [""]
        return None, f"{type(error).__name__}: {said[0]}"[:300], time.perf_counter() - begin


def run_case(case: Case, arch: str, bundles: Path | None = None, *, twice: bool = False) -> Outcome:
    """Run a case under the switch; with a folder of bundles, write its launches there."""
    chip = case.arch or arch
    out = Outcome(case.name, case.project.name, chip)
    source = {
        "repository": f"https://github.com/{case.project.repository}", "revision": case.project.revision,
        "licence": case.project.licence, "file": ", ".join(dict.fromkeys(x.file for x in case.kernels)),
    }  # fmt: skip
    tensors = case.pointed()
    memory = {name: x.numpy() for name, x in tensors.items()}
    options: dict[str, Any] = {"addresses": "host", "reachable": memory} if memory else {}
    writer = BundleWriter(bundles, case.name, RECORDED_ON, source, pointed=memory) if bundles else None
    observed = {"observe": writer.observe} if writer else {}
    with warnings.catch_warnings(), we.emulate(chip, findings="report", **options, **observed) as session:
        warnings.simplefilter("ignore")
        out.distance, out.error, out.seconds = call(case.run, **tensors)
        launches = session.report.launches
        if twice and not out.error:
            _, _, out.again = call(case.run, **tensors)
    if twice and not out.error:
        with warnings.catch_warnings(), we.emulate(chip, findings="report", checks=(), **options):
            warnings.simplefilter("ignore")
            call(case.run, **tensors)
            _, _, out.unchecked = call(case.run, **tensors)
    _note(out, launches, case)
    out.bundles = [x.name for x in writer.written] if writer else []
    return out


def _note(out: Outcome, launches: Sequence[LanguageLaunch], case: Case) -> None:
    out.kernels = dict(Counter(x.kernel for x in launches if x.report is not None))
    out.missing = [x.name for x in case.kernels if x.name not in out.kernels]
    for launch in launches:
        if launch.report is not None:
            out.findings += [(launch.kernel, x.severity, x.title, x.line) for x in launch.report.findings]
            out.inexact |= {x.opcode: x.reason for x in launch.report.not_bit_exact}
