# SPDX-License-Identifier: MIT
"""The report of a launch: its findings, the instructions without proven bits, its cost."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from wmma_emu.errors import printable
from wmma_emu.ptx.findings import SEVERITIES
from wmma_emu.ptx.launch.line_lists import contracted_text, folded_text, grouped
from wmma_emu.ptx.launch.silences import Silence, Silenced
from wmma_emu.ptx.profile import Profile
from wmma_emu.ptx.program.program import NotBitExact
from wmma_emu.ptx.reports.finding import Finding
from wmma_emu.ptx.reports.plain import VERSION
from wmma_emu.ptx.reports.sarif import sarif
from wmma_emu.spellings import in_either_spelling
from wmma_emu.version import __version__

_SHOWN = 3
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a launch.

    Attributes
    ----------
    kernel, arch : str
    instructions : int
        The number of executed instructions, counted for each thread.
    steps : int
        The number of stepped instructions, each for many threads at once; ``max_steps`` limits it.
    seconds : float
    findings : tuple of Finding
        The faults of the kernel in the order of detection, one for each cause, without silenced ones.
    not_bit_exact : tuple of NotBitExact
        Instructions of the kernel whose bits are not proven; if there are none, the bits are the chip's.
    contracted : tuple of int
        The lines of multiplications that were fused with the following addition, as ptxas does.
    contraction : str
        The method that decided about the fusion: the rules, or a ptxas.
    output : str
        The output of the kernel.
    completed : bool
        False if a deadlock or a trap ended the kernel.
    assumed : tuple of str
        The compiler's assumptions about the arguments, which Triton's own launch would derive from them.
    folded : tuple of int
        The lines of functions and quotients of constants that were evaluated as ptxas does, or became products.
    silenced : tuple of Silenced
        Silenced findings, each with its silence.
    unused_silences : tuple of Silence
        Silences at lines of this kernel that silenced nothing in this launch; they are usually stale.
    not_checked : tuple of str
        The `CHECKS` that were disabled.
    grid, block : tuple of int
        The number of blocks in the grid and of threads in a block, (x, y, z).
    shared_bytes : int
        The dynamic shared memory of a block.
    known : tuple of Finding
        Findings in the baseline; ``findings`` does not contain them.
    baseline : str, optional
        The file of the baseline, "" if it is not in a file; None without a baseline.
    paths : mapping
        The paths of files on this machine that have other names in the PTX; "" is the key of the PTX file.
    compiler : str
        The compiler of the CUDA C++ source, if this package compiled it: ``"NVRTC 13.5"``, ``"nvcc 13.0.88"``.
    machine : str
        The machine that ran the launch: "native" or "numpy".
    machine_reason : str
        Why the NumPy machine ran it: what the native machine does not support, or what it suspected.
    version : str
        The version of wmma_emu that ran the launch: ``tool.version`` in JSON, whose own ``version`` is of the format.
    profile : Profile, optional
        The counters of the launch, if they were requested.
    """

    kernel: str
    arch: str
    instructions: int
    steps: int
    seconds: float
    findings: tuple[Finding, ...] = ()
    not_bit_exact: tuple[NotBitExact, ...] = ()
    contracted: tuple[int, ...] = ()
    output: str = ""
    completed: bool = True
    contraction: str = ""
    assumed: tuple[str, ...] = ()
    folded: tuple[int, ...] = ()
    silenced: tuple[Silenced, ...] = ()
    unused_silences: tuple[Silence, ...] = ()
    not_checked: tuple[str, ...] = ()
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0
    known: tuple[Finding, ...] = ()
    baseline: str | None = None
    paths: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    compiler: str = ""
    machine: str = "numpy"
    machine_reason: str = ""
    version: str = __version__
    profile: Profile | None = field(default=None, repr=False, compare=False)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return self._of("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that are warnings."""
        return self._of("warning")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The findings that are notes."""
        return self._of("note")

    def _of(self, severity: str) -> tuple[Finding, ...]:
        return tuple(x for x in self.findings if x.severity == severity)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data, following `report_schema`."""
        paths = self.paths
        return {
            "version": VERSION,
            "tool": {"name": "wmma-emu", "version": self.version},
            "kernel": self.kernel,
            "arch": self.arch,
            "grid": list(self.grid),
            "block": list(self.block),
            "shared_bytes": self.shared_bytes,
            "ptx_file": paths.get("", ""),
            "compiler": self.compiler,
            "instructions": self.instructions,
            "steps": self.steps,
            "seconds": self.seconds,
            "machine": self.machine,
            "machine_reason": self.machine_reason,
            "completed": self.completed,
            "output": self.output,
            "not_checked": list(self.not_checked),
            "assumed": list(self.assumed),
            "contraction": self.contraction,
            "contracted": list(self.contracted),
            "folded": list(self.folded),
            "not_bit_exact": [
                {"opcode": x.opcode, "ptx_line": x.line, "reason": x.reason} for x in self.not_bit_exact
            ],
            "findings": [x.to_dict(paths) for x in self.findings],
            "baseline": self.baseline,
            "known": [x.to_dict(paths) for x in self.known],
            "silenced": [
                {"finding": x.finding.to_dict(paths), "silence": x.silence.to_dict()} for x in self.silenced
            ],
            "unused_silences": [x.to_dict() for x in self.unused_silences],
        }  # fmt: skip

    def to_json(self, indent: int | None = None) -> str:
        """Return all fields as JSON in ASCII, following `report_schema`.

        Parameters
        ----------
        indent : int, optional
            The number of spaces of each level; everything is in one line by default.
        """
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_sarif(self, root: str | PathLike[str] | None = None) -> dict[str, Any]:
        """Return the findings as SARIF 2.1.0, which code hosts show at the lines: `sarif` of this report only.

        Parameters
        ----------
        root : path, optional
            The folder that paths are relative to, usually the root of the repository; the current folder by default.
        """
        return sarif([self.to_dict()], root)

    def __str__(self) -> str:
        return self.to_text()

    @in_either_spelling
    def to_text(self, width: int = 100, *, verbose: bool = False, color: bool = False) -> str:
        """Return the report as text for a terminal.

        Parameters
        ----------
        width : int
            The number of columns.
        verbose : bool
            Whether to show everything about each finding; otherwise a finding has at most 12 lines.
        color : bool
            Whether to add ANSI escape sequences.
        """

        def shown(entry: object) -> str:
            if isinstance(entry, Finding | Silenced):
                return entry.to_text(width - len(_INDENT), verbose=verbose, color=color)
            return str(entry)

        rate = f", {self.instructions / self.seconds / 1e6:.3g} million a second" if self.seconds > 0 else ""
        machine = " on the native machine" if self.machine == "native" else ""
        lines = [
            f"{self.kernel} on {self.arch}: {self.instructions} thread-instructions in {self.seconds:.3g} s{rate}"
            + machine
            + ("" if self.completed else "; it did not reach its end")
        ]
        headed = [(f"{severity}s", self._of(severity)) for severity in SEVERITIES]
        for heading, entries in (
            *([x for x in headed if x[1]] or [("findings", ())]),
            *([("silenced", self.silenced)] if self.silenced else ()),
            *([(_known_text(self), [f"{x.title} [{x.id}]" for x in self.known])] if self.known else ()),
            *([("unused silences", self.unused_silences)] if self.unused_silences else ()),
            ("not bit-exact", grouped(self.not_bit_exact)),
            ("contracted", [contracted_text(self.contracted, self.contraction)] if self.contracted else ()),
            ("folded", [folded_text(self.folded)] if self.folded else ()),
        ):
            lines.append(f"{heading}: {'none' if not entries else ''}".rstrip())
            lines += [f"{_INDENT}{line}" for entry in entries for line in shown(entry).splitlines()]
        if self.not_checked:
            lines.insert(1, not_checked_text(self.not_checked))
        if self.compiler:
            lines.append(f"compiled by: {self.compiler}")
        if verbose:
            reason = f", because {printable(self.machine_reason)}" if self.machine_reason else ""
            lines.append(f"machine: {self.machine}{reason}")
            lines.append(f"wmma_emu: {self.version}")
        if self.assumed:
            lines += ["assumed:", *(f"  {x}" for x in self.assumed)]
        if self.output:
            lines += ["printed:", *(f"  {printable(line.expandtabs())}" for line in self.output.splitlines())]
        return "\n".join(lines)


def not_checked_text(checks: Sequence[str]) -> str:
    """Return which checks were disabled, as text."""
    return f"not looked for: {', '.join(checks)}"


def _known_text(report: Report) -> str:
    """Return the number of known findings, as text."""
    count = len(report.known)
    of = f", of {printable(report.baseline)}" if report.baseline else ""
    return f"{count} known finding{'s' * (count != 1)}{of}"


def summary_of(report: Report, width: int = 100) -> str:
    """Return the first findings of a report as text, for a Python warning or error."""
    by_severity = ((report.errors, "error"), (report.warnings, "warning"), (report.notes, "note"))
    counts = [(len(x), name) for x, name in by_severity if x]
    head = ", ".join(f"{count} {name}{'s' * (count != 1)}" for count, name in counts)
    everything = [x for found, _ in by_severity for x in found]
    lines = [x.to_text(width) for x in everything[:_SHOWN]]
    more = [f"and {len(everything) - _SHOWN} more"] if len(everything) > _SHOWN else []
    off = [not_checked_text(report.not_checked)] if report.not_checked else []
    off += [_known_text(report)] if report.known else []
    return "\n".join([f"{report.kernel}: {head}", *lines, *more, *off])
