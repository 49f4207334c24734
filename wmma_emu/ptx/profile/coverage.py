# SPDX-License-Identifier: MIT
"""Coverage: the source lines of kernels that launches reached, and the outcomes of their branches."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from wmma_emu.display import in_columns, runs_of
from wmma_emu.errors import printable
from wmma_emu.ptx.profile.lines import ProfiledInstruction
from wmma_emu.ptx.profile.same_names import other_names, shown_names
from wmma_emu.ptx.reports.frames import short_path

VERSION = 1

SourcePlace = tuple[str, int]
"""A file and a line."""


class BranchOutcomes(NamedTuple):
    """The number of threads that took a branch and that did not, and of warps that did both."""

    taken: int = 0
    not_taken: int = 0
    divided: int = 0

    def __add__(self, other: tuple[Any, ...]) -> "BranchOutcomes":
        return BranchOutcomes(*(x + y for x, y in zip(self, other, strict=True)))


@dataclass(frozen=True)
class KernelCoverage:
    """The lines that kernels have, and that their launches reached.

    Attributes
    ----------
    lines : mapping
        The executions of each line, by file and number: 0 for lines that no launch reached.
    branches : mapping
        The outcomes of each branch, by file, line, and line of the PTX.
    sources : mapping
        The SHA-256 of each available file, which distinguishes files of one name.

    Examples
    --------
    >>> found = KernelCoverage({("k.cu", 3): 8, ("k.cu", 4): 0}, {("k.cu", 3, 20): BranchOutcomes(0, 64, 0)})
    >>> print(found)
    file  lines  reached  branches  both ways  in one warp  not reached
    k.cu      2      50%         1          0            0  4
    >>> found.percent
    50.0
    >>> print(found.to_lcov(), end="")
    TN:
    SF:k.cu
    BRDA:3,20,0,0
    BRDA:3,20,1,64
    BRF:2
    BRH:1
    DA:3,8
    DA:4,0
    LF:2
    LH:1
    end_of_record
    """

    lines: Mapping[SourcePlace, int] = field(default_factory=dict)
    branches: Mapping[tuple[str, int, int], BranchOutcomes] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, instructions: Iterable[ProfiledInstruction], known: Iterable[SourcePlace], sources: Mapping[str, str]
    ) -> "KernelCoverage":
        """Return the coverage of counted instructions; ``known`` are the lines of the module's other kernels, and
        ``sources`` the contents of the files.
        """
        lines = dict.fromkeys(known, 0)
        branches: dict[tuple[str, int, int], BranchOutcomes] = {}
        for x in instructions:
            if not x.file:
                continue
            lines[x.file, x.number] = lines.get((x.file, x.number), 0) + x.executions
            if x.is_branch:
                key = x.file, x.number, x.line
                outcomes = x.threads_taken, x.threads_not_taken, x.divergent_branches
                branches[key] = branches.get(key, BranchOutcomes()) + outcomes
        return cls(lines, branches, {file: sha256(text.encode()).hexdigest() for file, text in sources.items()})

    def __add__(self, other: "KernelCoverage") -> "KernelCoverage":
        """Merge the coverage of other launches; a file that has the name of another is numbered: "kernel (2).cu"."""
        names = other_names(self.sources, other.sources)
        lines, branches = dict(self.lines), dict(self.branches)
        for (file, number), count in other.lines.items():
            place = names.get(file, file), number
            lines[place] = lines.get(place, 0) + count
        for (file, number, ptx), outcomes in other.branches.items():
            key = names.get(file, file), number, ptx
            branches[key] = branches.get(key, BranchOutcomes()) + outcomes
        sources = {names.get(file, file): content for file, content in other.sources.items()}
        return KernelCoverage(lines, branches, {**self.sources, **sources})

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the kernels."""
        return tuple(sorted({file for file, _ in self.lines}))

    @property
    def percent(self) -> float:
        """The share of all lines that launches reached, in percent; 100 without lines."""
        return 100 * sum(map(bool, self.lines.values())) / len(self.lines) if self.lines else 100.0

    def missing(self, file: str) -> tuple[int, ...]:
        """Return the lines of a file that no launch reached."""
        return tuple(sorted(number for (name, number), count in self.lines.items() if name == file and not count))

    def _of_file(self, file: str) -> tuple[dict[int, int], dict[tuple[int, int], BranchOutcomes]]:
        lines = {number: count for (name, number), count in sorted(self.lines.items()) if name == file}
        branches = {(n, ptx): x for (name, n, ptx), x in sorted(self.branches.items()) if name == file}
        return lines, branches

    def __str__(self) -> str:
        rows = [("file", "lines", "reached", "branches", "both ways", "in one warp", "not reached")]
        for file, name in shown_names(self.files).items():
            lines, branches = self._of_file(file)
            missing = ", ".join(
                str(x[0]) if len(x) == 1 else f"{x[0]}-{x[-1]}" for x in runs_of(self.missing(file))
            )  # fmt: skip
            both = sum(bool(x.taken and x.not_taken) for x in branches.values())
            divided = sum(bool(x.divided) for x in branches.values())
            share = sum(map(bool, lines.values())) / len(lines)
            counts = str(len(branches)), str(both), str(divided)
            rows.append((printable(name), str(len(lines)), f"{share:.0%}", *counts, missing))
        return "\n".join(in_columns(rows, right=range(1, 6)))

    def to_lcov(self) -> str:
        """Return the coverage in the format of lcov, which genhtml and code hosts read.

        Each branch has two outcomes, "taken" and "not taken", counted in threads; its block is its line of the PTX.
        """
        found: list[str] = []
        for file in self.files:
            lines, branches = self._of_file(file)
            found += ["TN:", f"SF:{file}"]
            for (number, ptx), x in branches.items():
                found += [f"BRDA:{number},{ptx},0,{x.taken}", f"BRDA:{number},{ptx},1,{x.not_taken}"]
            reached = sum(bool(x.taken) + bool(x.not_taken) for x in branches.values())
            found += [f"BRF:{2 * len(branches)}", f"BRH:{reached}"]
            found += [f"DA:{number},{count}" for number, count in lines.items()]
            found += [f"LF:{len(lines)}", f"LH:{sum(map(bool, lines.values()))}", "end_of_record"]
        return "\n".join([*found, ""])

    def to_cobertura(self) -> str:
        """Return the coverage as Cobertura XML, which code hosts and editors read."""
        reached = sum(map(bool, self.lines.values()))
        outcomes = sum(bool(x.taken) + bool(x.not_taken) for x in self.branches.values())
        rate, of_branches = _share(reached, len(self.lines)), _share(outcomes, 2 * len(self.branches))
        classes = "".join(map(self._class_of, self.files))
        return (
            '<?xml version="1.0" ?>\n'
            f'<coverage line-rate="{rate}" branch-rate="{of_branches}" lines-covered="{reached}" '
            f'lines-valid="{len(self.lines)}" branches-covered="{outcomes}" branches-valid="{2 * len(self.branches)}" '
            'complexity="0" version="wmma_emu" timestamp="0"><sources><source>.</source></sources>'
            f'<packages><package name="kernels" line-rate="{rate}" branch-rate="{of_branches}" complexity="0">'
            f"<classes>{classes}</classes></package></packages></coverage>\n"
        )

    def _class_of(self, file: str) -> str:
        lines, branches = self._of_file(file)
        written = []
        for number, count in lines.items():
            here = [x for (line, _), x in branches.items() if line == number]
            covered = sum(bool(x.taken) + bool(x.not_taken) for x in here)
            more = ""
            if here:
                share = 100 * covered // (2 * len(here))
                more = f' branch="true" condition-coverage="{share}% ({covered}/{2 * len(here)})"'
            written.append(f'<line number="{number}" hits="{count}"{more}/>')
        rate = _share(sum(map(bool, lines.values())), len(lines))
        of_branches = _share(sum(bool(x.taken) + bool(x.not_taken) for x in branches.values()), 2 * len(branches))
        return (
            f'<class name={quoteattr(short_path(file))} filename={quoteattr(file)} line-rate="{rate}" '
            f'branch-rate="{of_branches}" complexity="0"><methods/><lines>{"".join(written)}</lines></class>'
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the coverage as plain data, for another process that merges it."""
        return {
            "version": VERSION,
            "lines": [[*place, count] for place, count in self.lines.items()],
            "branches": [[*key, *outcomes] for key, outcomes in self.branches.items()],
            "sources": dict(self.sources),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "KernelCoverage":
        """Return the coverage of plain data."""
        return cls(
            {(file, number): count for file, number, count in given["lines"]},
            {(file, n, ptx): BranchOutcomes(*outcomes) for file, n, ptx, *outcomes in given["branches"]},
            given["sources"],
        )


def _share(part: int, whole: int) -> str:
    return f"{part / whole if whole else 1:.4f}"
