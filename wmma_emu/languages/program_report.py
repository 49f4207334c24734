# SPDX-License-Identifier: MIT
"""The report of a program: its launches, what was found, what is not modelled, what is not bit-exact."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from wmma_emu.ptx import Report


@dataclass(frozen=True, slots=True)
class LanguageLaunch:
    """A launch of a kernel by a program.

    Attributes
    ----------
    language, kernel : str
    report : Report, optional
        The report of the emulator; None if the launch was refused.
    refusal : str
        The reason, for a refused launch.
    """

    language: str
    kernel: str
    report: Report | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class ProgramReport:
    """The launches of a program on the emulator.

    Attributes
    ----------
    arch : str
        The emulated chip.
    launches : tuple of LanguageLaunch
        In the order in which they ended.
    notes : mapping
        Remarks of the plug-ins, each with how often it was made.

    Examples
    --------
    >>> print(ProgramReport("sm_90", (), {}))
    wmma_emu: no kernel was launched on the emulated sm_90
    """

    arch: str
    launches: tuple[LanguageLaunch, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_findings(self) -> bool:
        """Whether a launch has a finding, or was refused."""
        return any(x.report is None or x.report.findings for x in self.launches)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if not self.launches:
            yield f"wmma_emu: no kernel was launched on the emulated {self.arch}"
        else:
            kernels = {(x.language, x.kernel) for x in self.launches}
            yield (
                f"wmma_emu: {_counted(len(self.launches), 'launch', 'launches')} of "
                f"{_counted(len(kernels), 'kernel')} on the emulated {self.arch}"
            )
            yield from self._kernels()
        for text, count in self.notes.items():
            yield f"  note: {text}{_times(count)}"

    def _kernels(self) -> Iterator[str]:
        groups: dict[tuple[str, str], list[LanguageLaunch]] = {}
        for launch in self.launches:
            groups.setdefault((launch.language, launch.kernel), []).append(launch)
        for (language, kernel), launches in groups.items():
            reports = [x.report for x in launches if x.report is not None]
            seconds = sum(x.seconds for x in reports)
            yield f"  {kernel} ({language}): {_counted(len(launches), 'launch', 'launches')}, {seconds:.1f} s"
            refusals = Counter(x.refusal.splitlines()[0] for x in launches if x.refusal)
            for refusal, count in refusals.items():
                yield f"    refused: {refusal}{_times(count)}"
            findings = Counter(str(x).splitlines()[0] for y in reports for x in y.findings)
            for finding, count in findings.items():
                yield f"    {finding}{_times(count)}"
            for reason in dict.fromkeys(f"{x.opcode}: {x.reason}" for y in reports for x in y.not_bit_exact):
                yield f"    not bit-exact: {reason}"


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _times(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""
